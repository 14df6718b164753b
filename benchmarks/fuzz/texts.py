"""Texts that are nearly cases: the shipped ones with bytes, lines, tokens and numbers changed, and spliced together."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

from benchmarks.fuzz.values import VALUES

CASES = Path(__file__).parents[2] / "cases"
_TOKEN = re.compile(r"\w+(?:\.\d+)?|[^\w\s]|\s+")
_VALUE = re.compile(r"(: |- |\[|, |\()([^\s,\[\](){}#][^,\[\](){}#\n]*)")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?")
NUMBERS = (
    *[
        "0",
        "1",
        "-1",
        "2",
        "3",
        "7",
        "64",
        "1000",
        "1e-300",
        "1e300",
        "1e400",
        "0.5",
        "-0.0",
        ".inf",
        ".nan",
        "9 ** 9 ** 9",
    ],
    *[
        "2 ** 62",
        "2 ** 63",
        "-(2 ** 63)",
        "10 ** 8",
        "1e-45",
        "65504",
        "65520",
        "3.5e38",
        "1j",
        "True",
        "None",
        "0x1F",
        "1_0",
    ],
)
#: Words of the language, and what looks like some.
WORDS = (
    *[
        "x",
        "y",
        "loss",
        "grad(x)",
        "grad(y)",
        "grad(nobody)",
        "float32",
        "torch.bfloat16",
        "x.shape",
        "x.T",
        "x.mT",
        "len",
    ],
    *[
        "inf",
        "nan",
        "pi",
        "e",
        "[]",
        "()",
        "[[]]",
        "''",
        "...",
        "None",
        "x[None]",
        "x[..., 0]",
        "x[x > 0]",
        "x[::2]",
        "*x",
    ],
    *[
        "ones_like(x)",
        "randn(3)",
        "randn(0)",
        "randn(2, 0)",
        "zeros(3)",
        "eye(2)",
        "arange(3)",
        "tensor([1, 2])",
        "detach(x)",
    ],
    *[
        "@",
        "**",
        "//",
        "%",
        "&",
        "|",
        "~",
        "==",
        "<",
        "if",
        "lambda",
        "x for x in x",
        "{",
        "}",
        ":",
        "- ",
        "#",
        "|-",
        ">",
        "---",
    ],
    *[
        "inputs:",
        "graph:",
        "backward:",
        "steps:",
        "formulas:",
        "expected:",
        "values:",
        "checks:",
        "let:",
        "dims:",
        "shapes:",
    ],
    *["wrong_formulas:", "constants:", "tolerance:", "generalize:", "dtype: bfloat16", "dtype: complex128", "seed: -1"],
    *[
        "retain_graph: false",
        "raises: shape_mismatch",
        "zero_grad: all",
        "forward: {}",
        "null",
        "true",
        "&a",
        "*a",
        "!!int",
        "\t",
    ],
    *["é", "λ", "\u2028", "\x00", "\x1b[31m", "\U0001f600", "\ufeff"],
)


@cache
def shipped() -> tuple[str, ...]:
    """Every document of the shipped cases but the cookbook's, which are of a few kinds."""
    files = (path for path in sorted(CASES.rglob("*.yaml")) if path.parent.name != "cookbook")
    texts = [path.read_text(encoding="utf-8") for path in files]
    return tuple(piece.strip("\n") + "\n" for text in texts for piece in re.split(r"^---\n", text, flags=re.MULTILINE))


def spoiled(random: Random) -> bytes:
    """One or two documents, changed in some places."""
    text = "---\n".join(random.choice(shipped()) for _ in range(random.choice((1, 1, 1, 2))))
    for _ in range(random.choice((0, 1, 1, 1, 2, 3, 6))):
        text = random.choice(CHANGES)(text, random)
    data = text.encode("utf-8", "surrogatepass")
    if random.random() < 0.08:
        return random.choice(ENCODINGS)(text)
    return _bytes(data, random) if random.random() < 0.1 else data


def _bytes(data: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.randint(1, 4)):
        place = random.randrange(len(changed) + 1)
        match random.randrange(3):
            case 0:
                changed[place:place] = bytes([random.randrange(256)])
            case 1:
                del changed[place : place + random.randint(1, 3)]
            case _:
                changed[place : place + 1] = bytes([random.randrange(256)])
    return bytes(changed)


#: Texts as editors of other systems save them: marks, line ends, two bytes a character, letters taken apart.
ENCODINGS: tuple[Callable[[str], bytes], ...] = (
    lambda text: text.encode("utf-8-sig"),
    lambda text: text.encode("utf-16"),
    lambda text: text.encode("utf-16-le"),
    lambda text: text.encode("utf-32"),
    lambda text: text.encode("latin-1", "replace"),
    lambda text: text.replace("\n", "\r\n").encode(),
    lambda text: text.replace("\n", "\r").encode(),
    lambda text: text.replace("\n", "\u2028").encode(),
    lambda text: text.replace("x", "e\u0301").encode(),
    lambda text: text.replace("x", "\u00e9").replace("y", "e\u0301").encode(),
    lambda text: text.replace("x", "\uff58").encode(),
    lambda text: text.encode() + b"\x00",
    lambda text: b"\x00" * 3 + text.encode(),
    lambda text: text.encode() + b"\x1a",
)


def _lines(text: str, random: Random) -> str:
    """A line lost, doubled, moved, or set in or out."""
    lines = text.splitlines()
    if not lines:
        return text
    place = random.randrange(len(lines))
    line = lines[place]
    match random.randrange(5):
        case 0:
            del lines[place]
        case 1:
            lines.insert(place, line)
        case 2:
            lines.insert(random.randrange(len(lines)), lines.pop(place))
        case 3:
            lines[place] = "  " * random.randint(1, 2) + line
        case _:
            lines[place] = line.lstrip()
    return "\n".join(lines) + "\n"


def _tokens(text: str, random: Random) -> str:
    """A token lost, doubled, exchanged for another of the text, or for a word of the language."""
    tokens = _TOKEN.findall(text)
    if not tokens:
        return text
    place = random.randrange(len(tokens))
    match random.randrange(5):
        case 0:
            del tokens[place]
        case 1:
            tokens.insert(place, random.choice(tokens))
        case 2:
            tokens[place] = random.choice(tokens)
        case 3:
            tokens[place] = random.choice(WORDS)
        case _:
            other = random.randrange(len(tokens))
            tokens[place], tokens[other] = tokens[other], tokens[place]
    return "".join(tokens)


def _numbers(text: str, random: Random) -> str:
    """A number exchanged for another."""
    found = list(_NUMBER.finditer(text))
    if not found:
        return text
    match = random.choice(found)
    number = random.choice(NUMBERS) if random.random() < 0.7 else str(random.randint(-3, 9))
    return f"{text[: match.start()]}{number}{text[match.end() :]}"


def _spliced(text: str, random: Random) -> str:
    """Lines of another document in its middle, or a piece of one."""
    lines, others = text.splitlines(), random.choice(shipped()).splitlines()
    if random.random() < 0.5:
        return "\n".join([*lines[: random.randint(0, len(lines))], *others[random.randint(0, len(others)) :]]) + "\n"
    first = random.randrange(len(others))
    place = random.randint(0, len(lines))
    return "\n".join([*lines[:place], *others[first : first + random.randint(1, 3)], *lines[place:]]) + "\n"


def _yaml(text: str, random: Random) -> str:
    """What YAML has and cases have not, or not so much of: anchors, merges, tags, keys twice, depth, length."""
    lines = text.splitlines() or [""]
    place = random.randrange(len(lines))
    line = lines[place]
    key, colon, value = line.partition(":")
    depth = random.choice((3, 60, 2000))
    lines[place : place + 1] = random.choice(
        (
            [f"{key}: &a {value}", f"{key}2: *a"],
            [f"{key}: *nobody"],
            [line, f"{key[: len(key) - len(key.lstrip())]}<<: {{x: 1}}"],
            [f"{key}: !!{random.choice(('python/object/apply:os.system', 'binary', 'set', 'float', 'str'))} {value}"],
            [f"{key}{colon} {'[' * depth}1{']' * depth}"],
            [f"{key}{colon} {'{a: ' * depth}1{'}' * depth}"],
            [f"{key}{colon} {'(' * depth}1{')' * depth}"],
            [f"{key}{colon} {'-' * depth}1"],
            [f"{key}{colon} {' + '.join(['x'] * depth)}"],
            [f"{key}{colon} {'9' * depth}"],
            [f"{key}{colon} 0.{'1' * depth}e-{depth}"],
            [f"{key}{colon} {'x' * 50 * depth}"],
            [line, line],
            [f"? {line}"],
            [f"{key}{colon} |", f"    {value}"],
            [f"{key}{colon} >-", f"    {value}", f"    {value}"],
            ["%YAML 1.1", "---", line],
            ["...", line],
            [f"{key}{colon} 2026-01-31"],
            [f"{key}{colon} 1_000:30"],
            [f"{key}{colon} 0o17"],
        )
    )
    return "\n".join(lines) + "\n"


def _values(text: str, random: Random) -> str:
    """What stands behind a colon, in a list or in brackets exchanged for a value that nobody means."""
    found = list(_VALUE.finditer(text))
    if not found:
        return text
    match = random.choice(found)
    value = random.choice(list(VALUES.values()))
    inside = match.group(1) == "("
    return f"{text[: match.start(2)]}{value.strip(chr(34)) if inside else value}{text[match.end(2) :]}"


def _arguments(text: str, random: Random) -> str:
    """An argument given to some call, or taken away."""
    places = [match.end() for match in re.finditer(r"\w\(", text)]
    if not places:
        return text
    place = random.choice(places)
    if random.random() < 0.5:
        extra = random.choice(("dim=0", "dim=-1", "dim=(0, 1)", "keepdim=True", "2", "x", "-1", "[0]", "dtype=float32"))
        return f"{text[:place]}{extra}, {text[place:]}"
    return text[:place] + re.sub(r"^[^,()]*,?", "", text[place:], count=1)


CHANGES: tuple[Callable[[str, Random], str], ...] = (
    *(_lines, _tokens, _tokens, _numbers, _numbers, _values, _values, _spliced, _arguments, _yaml),
)
