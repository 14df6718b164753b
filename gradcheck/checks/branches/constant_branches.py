"""Branches on drawn integers: labels, indices and masks in claims.

A claim may branch on them alone (`c.all()`, `t == t[0]`, `t.max() > 3`). Proofs take integers and booleans as
constants, so drawn ones are varied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from gradcheck.checks.branches.size_branches import choice_nodes, formula_expressions, node_outcomes
from gradcheck.language.array_structures import STRUCTURES, Structure
from gradcheck.language.expr.nodes import Literal
from gradcheck.language.expr.traverse import free_names, ops_in, postorder
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import RANDOM_OPS
from gradcheck.language.trial_draws import symbolic_sizes

#: Draws a problem of some sizes, with a structure or without, in an attempt; None for none.
Draw: TypeAlias = Callable[[Mapping[str, int], Structure | None, int], Problem | None]

#: The sizes, the draws without structure at each, and the largest size.
_SIZES, _PLAIN, _LARGEST = 6, 24, 40


class ConstantBranches:
    """The branches of a case's formulas, and the outcomes seen so far."""

    def __init__(self, problem: Problem) -> None:
        self.case, self._own = problem.case, problem.sizes
        self.words = symbolic_sizes(self.case)
        drawn = drawn_integers(problem)
        nodes = choice_nodes(formula_expressions(self.case), {*self.words, *drawn}) if drawn else []
        self.nodes = [node for node in nodes if not drawn.isdisjoint(free_names(node))]
        self._seen: set[tuple[int, Any]] = set()
        self._uninformative: set[tuple[int, Any]] = set()

    def mark_seen(self, problem: Problem, tells: bool = True) -> None:
        """Note outcomes; those without gradients only at the second time."""
        found = self._outcomes(problem)
        self._seen |= found if tells else found & self._uninformative
        self._uninformative |= found

    def unseen_problems(self, visited: Sequence[Problem], draw: Draw) -> Iterator[Problem]:
        for sizes in self._sizes(visited) if self.nodes else ():
            for structure, attempt in _draws():
                found = draw(sizes, structure, attempt)
                if found is not None and self._outcomes(found) - self._seen:
                    yield found

    def _outcomes(self, problem: Problem) -> set[tuple[int, Any]]:
        return node_outcomes(self.nodes, {**problem.sizes, **problem.constants})

    def _sizes(self, visited: Sequence[Problem]) -> list[Mapping[str, int]]:
        """Return the case's sizes, small ones, the trials', and beyond literals."""
        stated = {} if self.case.generalize is None else self.case.generalize.dims
        small = [{word: max(size, stated.get(word, (1, 0))[0]) for word in self.words} for size in (2, 1)]
        found: list[Mapping[str, int]] = [self._own, *({**self._own, **sizes} for sizes in small)]
        found += [problem.sizes for problem in visited]
        for number in sorted(self._literal_integers()):
            low_high = {word: stated.get(word, (1, _LARGEST)) for word in self.words}
            found.append({**self._own, **{w: min(max(number + 2, low), high) for w, (low, high) in low_high.items()}})
        unlike = [sizes for i, sizes in enumerate(found) if sizes not in found[:i]]
        return unlike[: _SIZES + 3]

    def _literal_integers(self) -> set[int]:
        parts = [part for node in self.nodes for part in postorder(node) if isinstance(part, Literal)]
        return {int(p.value) for p in parts if isinstance(p.value, (int, float)) and 1 < p.value < _LARGEST}


def _draws() -> Iterator[tuple[Structure | None, int]]:
    """Yield structures and attempts; equal numbers recur, for any value."""
    yield from ((structure, 1) for structure in STRUCTURES)
    for number in range(_PLAIN):
        yield None, 2 * number + 1
        yield "equal", 2 * number + 3


def drawn_integers(problem: Problem) -> set[str]:
    """Return the constants of integers or booleans that are drawn."""
    case = problem.case
    random = {name for name in (*case.inputs, *case.constants) if name in case.shapes}
    waiting = [(name, value.expr) for name, value in (*case.inputs.items(), *case.constants.items())]
    for _ in waiting:  # the file's order does not matter
        before = len(random)
        for name, expr in waiting:
            if expr is not None and not (RANDOM_OPS.isdisjoint(ops_in(expr)) and random.isdisjoint(free_names(expr))):
                random.add(name)
        if len(random) == before:
            break
    return {n for n, array in problem.constants.items() if n in random and np.asarray(array).dtype.kind in "biu"}
