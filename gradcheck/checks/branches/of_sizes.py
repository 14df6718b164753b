"""Branches of sizes: what a claim compares, rounds or chooses among that is made of sizes alone, `n == m + 1`, `n % 3`,
`min(n, 7)`, `arange(n) > 9`; and sizes at which it comes out as it has not yet.

Found by looking at many sizes, the smallest first: no size that is written beside them is passed over, nor those next
to it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Attribute, Call, Expr, Literal, Name
from gradcheck.language.expr.traverse import postorder
from gradcheck.language.random import stream
from gradcheck.language.trials import symbolic_sizes

Sizes = Mapping[str, int]

#: Sizes that are looked at besides those near numbers that are written out, which count up to a limit; and how many
#: combinations of them.
_PLAIN, _LARGEST, _MOST = range(1, 13), 64, 3000
#: Ops that choose nothing.
_SMOOTH = frozenset(
    (
        *("add", "sub", "mul", "div", "neg", "pow", "matmul", "sum", "mean", "sqrt", "exp", "log", "square"),
        *("reciprocal", "arange", "ones", "zeros", "full", "eye", "reshape", "getitem", "unsqueeze", "expand", "to"),
        *("T", "transpose"),
    )
)


class SizeBranches:
    """Those of a case's formulas, with what was seen of them so far."""

    def __init__(self, case: Case) -> None:
        listed = [claims for section in (case.formulas, case.wrong_formulas) for claims in section.values()]
        exprs = [claim.expr for claims in listed for claim in claims]
        steps = dict.fromkeys(step for expr in exprs for step in case.steps_of(expr))
        self.case, self.words = case, symbolic_sizes(case)
        given = [*(case.let[step].expr for step in steps), *exprs]
        self.nodes = _choosing(given, {*self.words}) if self.words else []
        self._seen: set[tuple[int, Any]] = set()

    def see(self, sizes: Sizes) -> bool:
        """Note what comes out at these sizes; whether something does that has not before."""
        new = self._outcomes(sizes) - self._seen
        self._seen |= new
        return bool(new)

    def unseen(self, own: Sizes, held: Collection[str]) -> Iterator[dict[str, int]]:
        """Sizes at which something comes out that was not seen until then, the smallest first; `held` words stay."""
        for sizes in self._candidates(own, held) if self.nodes else ():
            if self._outcomes(sizes) - self._seen:
                yield sizes

    def _outcomes(self, sizes: Sizes) -> set[tuple[int, Any]]:
        found = set()
        for number, node in enumerate(self.nodes):
            try:
                found.add((number, _outcome(evaluate(node, sizes))))
            except (GradcheckError, TypeError, ValueError, ArithmeticError):
                continue
        return found

    def _candidates(self, own: Sizes, held: Collection[str]) -> list[dict[str, int]]:
        written = {
            int(part.value)
            for node in self.nodes
            for part in postorder(node)
            if isinstance(part, Literal) and isinstance(part.value, (int, float)) and 1 < part.value <= _LARGEST
        }
        listed = sorted({*_PLAIN, *(size for v in written for size in (v - 1, v, v + 1, 2 * v, 3 * v))})
        stated = {} if self.case.generalize is None else self.case.generalize.dims
        choices = [
            [own[word]] if word in held else _within(listed, *stated.get(word, (1, max(listed)))) for word in self.words
        ]
        total = int(np.prod([len(choice) for choice in choices], dtype=float))
        if total <= _MOST:
            chosen: Sequence[Sequence[int]] = list(product(*choices))
        else:
            generator = stream(0, "sizes of branches")
            chosen = [[int(generator.choice(choice)) for choice in choices] for _ in range(_MOST)]
        found = [{**own, **dict(zip(self.words, one, strict=True))} for one in chosen]
        return sorted(found, key=lambda sizes: sum(sizes[word] for word in self.words))


def _within(listed: Sequence[int], low: int, high: int) -> list[int]:
    return [size for size in listed if low <= size <= high] or [low]


def _choosing(exprs: Sequence[Expr], words: Collection[str]) -> list[Expr]:
    """The parts that are made of sizes and choose among them, or are made of parts that do."""
    static: dict[int, bool] = {}
    chooses: dict[int, bool] = {}
    found: dict[Expr, None] = {}
    for expr in exprs:
        for node in postorder(expr):
            below = node.children
            is_leaf = isinstance(node, Literal) or (isinstance(node, Name) and node.name in words)
            is_made = bool(below) and not isinstance(node, Attribute) and all(static[id(child)] for child in below)
            static[id(node)] = is_leaf or is_made
            is_choice = isinstance(node, Call) and node.op not in _SMOOTH
            chooses[id(node)] = is_choice or any(chooses[id(child)] for child in below)
            if static[id(node)] and chooses[id(node)] and isinstance(node, Call) and _mentions(node, words):
                found[node] = None
    return list(found)


def _mentions(node: Expr, words: Collection[str]) -> bool:
    return any(isinstance(part, Name) and part.name in words for part in node.walk())


def _outcome(value: Any) -> Any:
    """As what it counts: true or false, of many whether any is and all are; of numbers the small whole ones."""
    array = np.asarray(value)
    if array.dtype.kind == "b":
        return bool(array.any()), bool(array.all())
    if array.size != 1:
        return array.dtype.kind
    number = float(array.ravel()[0])
    return number if number in range(6) else "another"
