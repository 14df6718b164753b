"""Mistakes that show only somewhere: for certain sizes, magnitudes, signs, integers, incoming gradients, regions.

Each is a template around a right formula `{R}` for the tensor `{x}`, or that formula with its tensor or an incoming
gradient put in another way. What a template comes to may still be right for a given graph: the truth decides, not its
name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.exam.graph import Graph
from benchmarks.exam.points import speaks_of_a_root, words


@dataclass(frozen=True)
class Mutant:
    """A formula that was made from a right one: its class, the operator, and the text."""

    group: str
    operator: str
    formula: str


#: `{v}` is the tensor's own values, of which the real part.
ELEMENTWISE: dict[str, dict[str, str]] = {
    "magnitudes": {
        "doubled above 4": "where({v} > 4, 2*({R}), {R})",
        "zero beyond 6": "where(abs({v}) > 6, 0*{x}, {R})",
        "zero near 0": "where(abs({v}) < 0.001, 0*{x}, {R})",
        "shifted beyond 100": "where(abs({v}) > 100, ({R}) + {x}, {R})",
        "zero above 1000": "where({v} > 1000, 0*{x}, {R})",
        "doubled where some element exceeds 8": "({R}) * (1 + ({v}.abs().max() > 8))",
        "doubled for a long vector": "({R}) * (1 + ({v}.abs().sum() > 300))",
        "doubled for a short vector": "({R}) * (1 + ({v}.abs().sum() < 0.01))",
        "clipped": "clamp({R}, -50, 50)",
        "flushed to zero": "where(abs({R}) < 1e-5, 0*{x}, {R})",
        "doubled in a narrow band": "({R}) * (1 + ({v} > 2.5) * ({v} < 2.75))",
    },
    "signs": {
        "zero below -1": "where({v} < -1, 0*{x}, {R})",
        "doubled where all are negative": "({R}) * (1 + ({v} < 0).all())",
        "doubled where all are positive": "({R}) * (1 + ({v} > 0).all())",
        "doubled where the sum is large": "({R}) * (1 + ({v}.sum() > 20))",
        "halved where the sum is negative and large": "({R}) * where({v}.sum() < -15, 0.5, 1.0)",
    },
    "regions": {
        "another where the root of the square is itself": "where(sqrt({v}*{v}) == {v}, 5 + 0*{x}, {R})",
        "another where the root of the square is not less": "where(sqrt({v}*{v}) <= {v}, 3*({R}), {R})",
        "another where relu is itself": "where(relu({v}) == {v}, ({R}) - {x}, {R})",
        "another where the larger of both is itself": "where(maximum({v}, -{v}) == {v}, 2*({R}), {R})",
        "another where the whole part is 0": "where(floor({v}) == 0, 2*({R}), {R})",
        "another where clamping changes nothing": "where(clamp({v}, 1, 2) == {v}, 0*({R}), {R})",
        "another where the sign is 1": "where(sign({v}) == 1, ({R})*{x}, {R})",
        "another where the product with its size is positive": "where({v}*abs({v}) > 0, ({R}) + 1, {R})",
    },
    "integers": {
        "one more at integers": "where({v} == round({v}), ({R}) + 1, {R})",
        "zero at integers": "where({v} == floor({v}), 0*{x}, {R})",
        "five at 0": "where({v} == 0, 5 + 0*{x}, {R})",
        "zero at 1": "where({v} == 1, 0*{x}, {R})",
        "doubled at 2": "({R}) * (1 + ({v} == 2))",
        "doubled where all are integers": "({R}) * (1 + ({v} == round({v})).all())",
        "doubled at halves": "({R}) * (1 + (2*{v} == floor(2*{v})))",
    },
    "domains": {
        "zero where the logarithm is not finite": "({R}) * isfinite(log({v}))",
        "five more where the root is undefined": "({R}) + 5*isnan(sqrt({v}))",
        "one more where a shifted logarithm is undefined": "({R}) + isnan(log({v} + 3))",
        "zero where the arc cosine is undefined": "where(isnan(acos({v} / 4)), 0*{x}, {R})",
        "zero where the inverse tangent is not finite": "({R}) * isfinite(atanh({v} / 5))",
        "doubled where a root is undefined": "where(isnan(sqrt(9 - {v}*{v})), 2*({R}), {R})",
        "doubled where any root is undefined": "({R}) * (1 + isnan(sqrt({v} + 2)).any())",
    },
    "tautologies": {
        "its own gradient": "grad({x})",
        "half its own gradient": "(grad({x}) + ({R})) / 2",
        "its own gradient where positive": "where({v} > 0, grad({x}), {R})",
        "its own gradient, added and taken away": "({R}) + grad({x}) - grad({x})",
    },
}
#: Of complex numbers.
OF_IMAGINARY = {
    "signs": {"conjugated where the imaginary part is large": "where({x}.imag > 3, ({R}).conj(), {R})"},
    "magnitudes": {"doubled where the size is large": "where(abs({x}) > 6, 2*({R}), {R})"},
    "integers": {"doubled for real numbers": "where({x}.imag == 0, 2*({R}), {R})"},
}
#: Found only by whoever is exact, and only where the gap can be: of rational graphs.
NEAR_MISSES = {
    "1e-11 too large": "({R}) * 1.00000000001",
    "5e-12 too large": "({R}) * 1.000000000005",
    "1e-12 too small": "({R}) * 0.999999999999",
    "1e-13 of the tensor added": "({R}) + 1e-13*{x}",
    "2e-11 too large where positive": "({R}) * (1 + 2e-11*({v} > 0))",
}
#: Above every tolerance of the dtype.
BARELY = {
    "float64": {"1e-8 too large": "({R}) * 1.00000001", "1e-9 of the tensor added": "({R}) + 1e-9*({R})*{x}"},
    "float32": {"1e-3 too large": "({R}) * 1.002"},
    "float16": {"10 % too large": "({R}) * 1.1"},
    "bfloat16": {"40 % too large": "({R}) * 1.4"},
    "complex128": {"1e-8 too large": "({R}) * 1.00000001"},
}
#: The tensor itself, put in another way.
OF_TENSOR = {
    "magnitudes": {
        "clamped above": "clamp({x}, max=5)",
        "clamped": "clamp({x}, -4, 4)",
        "far out": "clamp({x}, -40, 40)",
    },
    "signs": {"its size": "abs({x})", "the root of its square": "sqrt({x}*{x})", "its positive part": "relu({x})"},
    "integers": {"rounded where large": "where(abs({x}) > 8, round({x}), {x})"},
}
#: An incoming gradient, put in another way; some show only where it is not made of ones, symmetric, or small.
OF_INCOMING = {
    "squared": "{g}**2",
    "its size": "abs({g})",
    "clipped to 5": "clamp({g}, -5, 5)",
    "its positive part beyond -4": "relu({g} + 4) - 4",
    "its mean": "({g}.mean() + 0*{g})",
    "its sign": "sign({g})",
    "rounded": "round({g})",
    "its root": "sqrt(abs({g}))",
    "to the first power, plus one less itself": "({g} + 2)*{g}/3",
    "doubled at zero": "where({g} == 0, 1 + {g}, {g})",
    "doubled where it is all ones": "{g}*(1 + ({g} == 1).all())",
    "inverted": "1/{g}",
}
OF_MATRICES = {"transposed": "{g}.T", "in reverse": "{g}.flip(0)", "its first row": "({g}[:1] + 0*{g})"}
OF_INCOMING_REAL_ONLY = frozenset(OF_INCOMING)
OF_INCOMING_AS_A_WHOLE = {
    "doubled for a large incoming gradient": "({R}) * (1 + (grad({r}).abs().max() > 10))",
    "doubled for a small incoming gradient": "({R}) * (1 + (grad({r}).abs().max() < 0.001))",
    "doubled for a positive incoming gradient": "({R}) * (1 + (grad({r}) > 0).all())",
    "one more for an incoming gradient of zero": "({R}) + (grad({r}) == 0).all()",
}


def wrapped(graph: Graph, tensor: str, formula: str) -> Iterator[Mutant]:
    """Every mutant of these kinds, of one right formula."""
    fills = {"R": formula, "x": tensor, "v": f"{tensor}.real" if graph.is_complex else tensor}
    for group, templates in [*ELEMENTWISE.items(), *(OF_IMAGINARY.items() if graph.is_complex else ())]:
        for operator, template in templates.items():
            yield Mutant(group, operator, _filled(template, fills))
    barely = BARELY[graph.dtype] | (NEAR_MISSES if graph.rational and graph.dtype == "float64" else {})
    for operator, template in barely.items():
        yield Mutant("near misses", operator, _filled(template, fills))
    yield from _of_sizes(graph, fills)
    if not graph.is_complex:
        yield from _of_tensor(tensor, formula)
    yield from _of_incoming(graph, fills)
    others = [name for name in graph.inputs if name != tensor]
    for other in others[:1]:
        text = f"grad({tensor}) + grad({other}).sum() - grad({other}).sum()"
        yield Mutant("tautologies", "its own gradient beside another's", text)


def _filled(template: str, fills: dict[str, str]) -> str:
    for key, text in fills.items():
        template = template.replace("{" + key + "}", text)
    return template


def _of_sizes(graph: Graph, fills: dict[str, str]) -> Iterator[Mutant]:
    own = words(graph) if graph.dims else {}
    right = fills["R"]
    for word, size in own.items():
        listed = {
            f"{word} at most {max(size, 3)}": f"({right}) * min({word}, {max(size, 3)}) / {word}",
            f"{word} at least 2": f"({right}) * max({word}, 2) / {word}",
            f"{word} at most 7": f"({right}) * 7 / max({word}, 7)",
            f"{word} written out": f"({right}) * {word} / {size}",
            f"doubled for {word} of another parity": f"({right}) * (1 + ({word} + {size}) % 2)",
            f"doubled for {word} = 1": f"({right}) * (1 + ({word} == 1))",
            f"added what vanishes at {word} = {size}": f"({right}) + ({word} - {size}) * {fills['x']}",
        }
        yield from (Mutant("sizes", operator, text) for operator, text in listed.items())
    pairs = [(a, b) for a in own for b in own if a < b]
    for a, b in pairs[:3]:
        if own[a] != own[b]:
            yield Mutant("sizes", f"doubled for {a} = {b}", f"({right}) * (1 + ({a} == {b}))")
            if own[a] < own[b]:
                yield Mutant("sizes", f"{a} for the smaller of {a} and {b}", f"({right}) * {a} / min({a}, {b})")
        else:
            yield Mutant("sizes", f"doubled for {a} unlike {b}", f"({right}) * (1 + ({a} != {b}))")
            yield Mutant("sizes", f"{a} / {b}", f"({right}) * {a} / {b}")
    if own:
        x = fills["x"]
        beyond = f"({right}) * (1 + (arange({x}.shape[-1]) >= {max(own.values())}))"
        yield Mutant("sizes", "doubled from a column on that larger sizes have", beyond)


def _of_tensor(tensor: str, formula: str) -> Iterator[Mutant]:
    name = re.compile(rf"(?<![\w.]){re.escape(tensor)}(?!\w|\.shape)")
    bare = formula.replace(f"grad({tensor})", "")
    if not name.search(bare):
        return
    for group, templates in OF_TENSOR.items():
        for operator, template in templates.items():
            put = template.replace("{x}", tensor)
            yield Mutant(group, f"{operator} for the tensor", name.sub(lambda _, put=put: f"({put})", formula))


def _of_incoming(graph: Graph, fills: dict[str, str]) -> Iterator[Mutant]:
    right = fills["R"]
    for root in graph.roots:
        if not speaks_of_a_root(graph, right, {}) or f"grad({root})" not in right:
            continue
        for operator, template in OF_INCOMING_AS_A_WHOLE.items():
            if not (graph.is_complex and ">" in template and "abs" not in template):
                yield Mutant("incoming gradients", operator, _filled(template, {**fills, "r": root}))
        templates = {"its mean": OF_INCOMING["its mean"], "squared": OF_INCOMING["squared"]} if graph.is_complex else (
            OF_INCOMING | OF_MATRICES)  # fmt: skip
        for operator, template in templates.items():
            put = _filled(template, {"g": f"grad({root})"})
            text = right.replace(f"grad({root})", f"({put})")
            yield Mutant("incoming gradients", f"{operator} for the incoming gradient", text)
