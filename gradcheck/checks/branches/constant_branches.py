"""Branches of whole numbers that are drawn: what a claim makes of labels, indices and masks alone (`c.all()`,
`t == t[0]`, `t.max() > 3`), and draws at which it comes out as it has not yet.

A proof takes integers and booleans for what they are. So those that a case draws are varied beside it.
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
from gradcheck.language.trial_draws import size_bounds, symbolic_sizes

#: A problem of these sizes, with a structure or without, for an attempt; None where there is none.
Draw: TypeAlias = Callable[[Mapping[str, int], Structure | None, int], Problem | None]

#: At so many sizes draws are made; so many without a structure at each; and the largest size that is made.
_SIZES, _PLAIN, _LARGEST = 6, 24, 40


class ConstantBranches:
    """Those of a case's formulas, with what was seen of them so far."""

    def __init__(self, problem: Problem) -> None:
        self.case, self._own = problem.case, problem.sizes
        self.words = symbolic_sizes(self.case)
        drawn = drawn_integers(problem)
        nodes = choice_nodes(formula_expressions(self.case), {*self.words, *drawn}) if drawn else []
        self.nodes = [node for node in nodes if not drawn.isdisjoint(free_names(node))]
        self._seen: set[tuple[int, Any]] = set()
        self._uninformative: set[tuple[int, Any]] = set()

    def mark_seen(self, problem: Problem, tells: bool = True) -> None:
        """Note what comes out there; where all gradients are 0, which may be for what comes out, the second time."""
        found = self._outcomes(problem)
        self._seen |= found if tells else found & self._uninformative
        self._uninformative |= found

    def unseen_problems(self, visited: Sequence[Problem], draw: Draw) -> Iterator[Problem]:
        """Problems at which something comes out that was not seen until then."""
        for sizes in self._sizes(visited) if self.nodes else ():
            for structure, attempt in _draws():
                found = draw(sizes, structure, attempt)
                if found is not None and self._outcomes(found) - self._seen:
                    yield found

    def _outcomes(self, problem: Problem) -> set[tuple[int, Any]]:
        return node_outcomes(self.nodes, {**problem.sizes, **problem.constants})

    def _sizes(self, visited: Sequence[Problem]) -> list[Mapping[str, int]]:
        """Those of the case, small ones, those of its trials, and one beyond each number that is written beside
        them."""
        stated = size_bounds(self.case)
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
    """With which structure, and in which attempt; all the same several times, for they may be any number."""
    yield from ((structure, 1) for structure in STRUCTURES)
    for number in range(_PLAIN):
        yield None, 2 * number + 1
        yield "equal", 2 * number + 3


def drawn_integers(problem: Problem) -> set[str]:
    """The integers and booleans among a problem's constants that are drawn, or made of what is."""
    case = problem.case
    random = {name for name in (*case.inputs, *case.constants) if name in case.shapes}
    waiting = [(name, value.expr) for name, value in (*case.inputs.items(), *case.constants.items())]
    for _ in waiting:  # in any order of the file
        before = len(random)
        for name, expr in waiting:
            if expr is not None and not (RANDOM_OPS.isdisjoint(ops_in(expr)) and random.isdisjoint(free_names(expr))):
                random.add(name)
        if len(random) == before:
            break
    return {n for n, array in problem.constants.items() if n in random and np.asarray(array).dtype.kind in "biu"}
