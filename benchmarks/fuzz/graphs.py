"""Cases over the whole op table: its samples strung together, their tensors shared, in any dtype, with any claims."""

from __future__ import annotations

import re
from functools import cache
from random import Random

import gradcheck.autograd.ops  # noqa: F401 (it fills the table)
from benchmarks.fuzz.texts import CHANGES, NUMBERS
from gradcheck.autograd.op import Op, whole_table
from gradcheck.language.random_streams import RANDOM_OPS

DTYPES = ("float64", "float64", "float64", "float32", "float16", "bfloat16", "complex64", "complex128")
#: A random creator whose sizes are written out.
_CREATOR = re.compile(rf"\b(?:{'|'.join(sorted(RANDOM_OPS - {'dropout'}))})\((?:[^()\[\]]|\[[^\[\]]*\])*\)")
_SHAPES = ("[]", "[0]", "[1]", "[3]", "[2, 3]", "[1, 1]", "[2, 0]", "[3, 3]", "[2, 2, 2]")
#: Numbers written out, some of which are hardly any.
_LITERALS = (
    *[
        "[]",
        "[[]]",
        "[0.0, 1, -1]",
        "[.inf, 1, 2]",
        "[.nan, 0]",
        "[[1e300, 1e-300], [-1e300, 0]]",
        "[1e-45, 65504, 3e38]",
    ],
    *[
        "[[0, 0, 0], [0, 0, 0]]",
        "[[1, 1, 1], [1, 1, 1]]",
        "-0.0",
        "[[[1, 2], [3, 4]]]",
        "[1, 1, 2, 2]",
        "[[2, 1], [1, 2]]",
    ],
)
_INCOMING = (
    "ones_like({z})",
    "randn_like({z})",
    "{z}",
    "1",
    "[1, 2]",
    "2 * ones_like({z})",
    "zeros_like({z})",
    "{z} / 0",
)
_FORMULAS = (
    *["grad({z})", "2 * {x}", "grad({z}) * {x}", "ones_like({x})", "zeros_like({x})", "grad({x})", "{x} @ grad({z})"],
    *[
        "where({x} > 0, grad({z}), 0)",
        "grad({z}).sum() * {x}",
        "{x} / {x}",
        "inv({x})",
        "0",
        "{z}",
        "sqrt({x})",
        "[1, 2]",
    ],
)
_CHECKS = ("{x} == {x}", "({x} * grad({x})).sum() == {z}", "{z} >= 0", "grad({z}) == 1", "{x}.shape == (3,)")


@cache
def _calls() -> tuple[str, ...]:
    """A call of every op, or several."""
    return tuple(text for op in whole_table().values() if op.name not in RANDOM_OPS for text in _samples(op))


def _samples(op: Op) -> tuple[str, ...]:
    if op.samples or not op.elementwise:
        return op.samples
    parts = [op.domain[min(i, len(op.domain) - 1)] for i in range(sum(p.required for p in op.parameters))]
    return (f"{op.name}({', '.join(f'uniform({low}, {high}, [2, 3])' for low, high in parts)})",)


def graph(random: Random) -> bytes:
    """A case of some ops, each over tensors of its own and over what others have made; now and then spoiled."""
    text = _case(random)
    return (random.choice(CHANGES)(text, random) if random.random() < 0.2 else text).encode("utf-8", "surrogatepass")


def _case(random: Random) -> str:
    inputs: dict[str, str] = {}
    entries: dict[str, str] = {}
    for number in range(random.choice((1, 1, 2, 3, 5))):
        entries[f"h{number}"] = _entry(random.choice(_calls()), inputs, list(entries), random)
    if not inputs:
        inputs["x"] = "randn(2, 3)"
    if random.random() < 0.5:
        terms = [f"{name}.sum()" for name in random.sample(list(entries), random.randint(1, len(entries)))]
        entries["loss"] = " + ".join(terms)
    dims = _named_sizes(inputs, random) if random.random() < 0.4 else {}
    for name in list(inputs) if random.random() < 0.3 else ():
        inputs[name] = random.choice((inputs[name], *_LITERALS))
    lines = [f"dtype: {random.choice(DTYPES)}", f"seed: {random.randrange(5)}"]
    lines += [f"dims: {{{', '.join(f'{word}: {size}' for word, size in dims.items())}}}"] * bool(dims) + ["inputs:"]
    constants = [name for name in inputs if len(inputs) > 1 and random.random() < 0.1][:1]
    lines += [f"  {name}: {_quoted(text)}" for name, text in inputs.items() if name not in constants]
    lines += ["constants:"] * bool(constants) + [f"  {name}: {_quoted(inputs[name])}" for name in constants]
    lines += ["graph:", *(f"  {name}: {_quoted(text)}" for name, text in entries.items())]
    return "\n".join([*lines, *_claims(list(inputs), list(entries), random)]) + "\n"


def _named_sizes(inputs: dict[str, str], random: Random) -> dict[str, str]:
    """Words for the sizes of the inputs, one for each number."""
    dims: dict[str, str] = {}

    def word(match: re.Match[str]) -> str:
        size = match.group()
        return dims.setdefault(size, f"n{size}") and f"n{size}"

    for name, creator in inputs.items():
        if creator.startswith("randn("):
            inputs[name] = re.sub(r"\b\d+\b", word, creator)
    return {name: random.choice((size, size, size, "0", "1")) for size, name in dims.items()}


def _entry(call: str, inputs: dict[str, str], entries: list[str], random: Random) -> str:
    """The call, its tensors named: new ones, those of others, or now and then drawn in another shape."""

    def named(match: re.Match[str]) -> str:
        known = [*inputs, *entries]
        if known and random.random() < 0.35:
            return random.choice(known)
        creator = match.group()
        if random.random() < 0.1:
            creator = f"uniform(-2, 2, {random.choice(_SHAPES)})"
        name = f"x{len(inputs)}"
        inputs[name] = creator
        return name

    text = _CREATOR.sub(named, call)
    if random.random() < 0.12:
        text = re.sub(r"(?<![\w.])\d+(?:\.\d+)?", lambda m: random.choice((m.group(), random.choice(NUMBERS))), text)
    if entries and random.random() < 0.2:
        text = f"{text} {random.choice('+-*/@')} {random.choice(entries)}"
    return text


def _claims(inputs: list[str], entries: list[str], random: Random) -> list[str]:
    """Where the backward pass starts, and what is said of it; mostly wrong."""
    names = {"x": random.choice(inputs), "z": random.choice(entries)}
    lines = []
    match random.randrange(6):
        case 0:
            lines.append(f"backward: {{{names['z']}: {_quoted(random.choice(_INCOMING).format(**names))}}}")
        case 1:
            lines.append(f"backward: {names['z']}")
        case 2:
            step = f"backward: {{{names['z']}: {_quoted(random.choice(_INCOMING).format(**names))}}}"
            others = ("- zero_grad: all", "- forward: {}", f"- {step}", "- backward: " + names["z"])
            lines += ["steps:", f"  - {step}", *(f"  {random.choice(others)}" for _ in range(random.randrange(3)))]
    if random.random() < 0.4:
        kind = random.choice(("formulas", "formulas", "wrong_formulas"))
        lines.append(f"{kind}: {{{names['x']}: {_quoted(random.choice(_FORMULAS).format(**names))}}}")
    if random.random() < 0.1:
        lines.append(f"let: {{k: {_quoted(random.choice(_FORMULAS).format(**names))}}}")
    if random.random() < 0.1:
        lines.append(
            random.choice(("tolerance: {rtol: 0}", "tolerance: {rtol: 1, atol: 1}", "generalize: {trials: 4}"))
        )
    if random.random() < 0.05:
        lines.append(random.choice(("xfail: known", "only: [core]", "generalize: false", "tags: [a, b]")))
    if random.random() < 0.15:
        lines.append(f"checks: [{_quoted(random.choice(_CHECKS).format(**names))}]")
    if random.random() < 0.15:
        lines.append(f"expected: {{{names['x']}: {random.choice(('[1, 2]', '0', 'null', '[[1, 2, 3]]', '.nan'))}}}")
    return lines


def _quoted(text: str) -> str:
    if text.startswith(("[", "-", ".")):
        return text
    return "'" + text.replace("'", "''") + "'"
