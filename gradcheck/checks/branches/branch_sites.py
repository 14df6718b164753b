"""Comparisons and roundings, their margins, sides and search targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gradcheck.autograd.tensor import Tensor
from gradcheck.language.case import Case, Claim
from gradcheck.language.expr.nodes import Call, Expr
from gradcheck.language.random_streams import stream

#: Ops that test for equality, or for 0.
EQUALITY_OPS = frozenset(
    (
        *("eq", "ne", "isclose", "to", "any", "all", "count_nonzero"),
        *("logical_not", "logical_and", "logical_or", "logical_xor"),
    )
)
#: Ops that round the quotient of two numbers, if they round; and all that are flat nearly everywhere.
_DIVIDES = frozenset(("floor_divide", "fmod", "remainder", "div"))
_CASTS = frozenset(("to", "int", "long", "short", "type"))
ROUNDING_OPS = _CASTS | (_DIVIDES - {"div"}) | {"round", "floor", "ceil", "trunc", "frac"}
#: Tests for overflow, or a change of it.
TESTS = frozenset(("isinf", "isfinite", "isnan", "isposinf", "isneginf", "nan_to_num"))
#: Ops that choose among elements, and those that put constants among them.
CHOOSES = frozenset(("argmax", "argmin", "amax", "amin", "argsort", "median_of_all"))
CHOOSES |= {"running_place", "ranked_place", "mode_place"}
JOINS = frozenset(("cat", "stack", "hstack", "vstack", "dstack", "column_stack", "pad"))
#: Comparisons, and ops through which a check states that one holds.
_COMPARISONS = frozenset(("gt", "ge", "lt", "le", "eq", "ne", "isclose"))
_ASSERTING = frozenset(("all", "any", "logical_and", "logical_or", "logical_not", "bitwise_and", "bitwise_or"))
#: Ops with boolean elements, which can be flipped.
FLIPPABLE_OPS = _COMPARISONS | {"signbit", "logical_not", "to"}
#: Between the steps of every rounding, to either side of 0.
_SECOND = 1.5
#: A smaller threshold guards against rounding: no derivation is about its other side.
_GUARD = 1e-5


class BranchSite(NamedTuple):
    """One comparison: its entry or claim, its number there, and its op."""

    owner: str
    number: int
    op: str
    #: True if it may be about all elements at once: `(x > 0).all()`.
    is_reduced: bool = False
    #: True if integers are compared, `x.argmax() == 2`: no slope leads there.
    compares_integers: bool = False

    @property
    def sides(self) -> tuple[int, ...]:
        """The sides to visit.

        Some element below or above 0 (-1, 1), or equal and not (0, 1); together, all below, above or equal (-2, 2).
        """
        some = (0, 1) if self.op in EQUALITY_OPS else (-1, 1)
        return some if not self.is_reduced else (*some, 2) if self.op in EQUALITY_OPS else (-2, *some, 2)

    def sign_of(self, side: int) -> int:
        return (1 if side == 1 else 0) if self.op in EQUALITY_OPS else int(np.sign(side))

    def is_on(self, numbers: np.ndarray, side: int) -> bool:
        """Return whether finite numbers of a margin are on this side."""
        known = numbers[np.isfinite(numbers)]
        are = self.elements_on(known, side)
        return bool(known.size and (np.all(are) if abs(side) == 2 else np.any(are)))

    def elements_on(self, numbers: np.ndarray, side: int) -> np.ndarray:
        signs = np.abs(np.sign(numbers)) if self.op in EQUALITY_OPS else np.sign(numbers)
        return np.asarray(signs == self.sign_of(side))


class Margin(NamedTuple):
    """`a - b` of a comparison, tensor or array, and the smaller magnitude."""

    difference: Any
    scale: np.ndarray
    is_stated: bool = False  # a claim spells it out

    @property
    def numbers(self) -> np.ndarray:
        return as_array(self.difference).astype(np.float64)

    @property
    def is_guard(self) -> bool:
        """True if a number only guards against a division by 0."""
        return not self.is_stated and bool(np.all((self.scale > 0) & (self.scale < _GUARD)))


def as_array(margin: Any) -> np.ndarray:
    return np.asarray(margin.data if isinstance(margin, Tensor) else margin)


def step_margins(op: str, args: tuple[Any, ...], result: Any) -> Iterator[Margin | None]:
    """Yield margins of a rounding, a test for overflow, or a choice.

    A rounding has thresholds without end: the second of each sign stands for all, None for a sign that no number has.
    Overflow and choices have no slope: their margins tell only whether something holds.
    """
    number, made = args[0], as_array(result)
    if op in TESTS:
        yield _outcome(made if made.dtype.kind == "b" else ~np.isfinite(as_array(number)))
    elif op in CHOOSES:
        given = as_array(number).ravel()
        ends = given[[0, -1]] if given.size > 1 else ()
        yield from (_outcome(end == extreme) for end in ends for extreme in (given.max(), given.min()))
    elif (op != "div" or args[2]) and (op != "to" or made.dtype.kind in "iu"):
        number = number / args[1] if op in _DIVIDES else number * 10.0 ** args[1] if op == "round" else number
        for sign in (1, -1):
            margin = Margin(number - sign * _SECOND, np.full(made.shape, _SECOND))
            yield margin if np.any(sign * as_array(number) > 0) else None


def _outcome(holds: Any) -> Margin:
    return Margin(0.5 * np.asarray(holds) - 0.25, np.full(np.shape(holds), 0.25))


#: A comparison and a side of it.
Goal: TypeAlias = tuple[BranchSite, int]
#: The most work of a case's searches, a few seconds.
_WORK = 400_000


@dataclass(slots=True)
class SearchBudget:
    """The work left to a case's searches: ops, weighted by their numbers."""

    left: float = _WORK

    @property
    def is_spent(self) -> bool:
        return self.left <= 0


class SearchTargets:
    """The elements to move (all, or half with the nearest), and their targets."""

    def __init__(self, seed: int, goals: Sequence[Goal], beyond: Sequence[float]) -> None:
        self.seed, self.goals, self.offsets = seed, goals, beyond
        self._chosen: list[np.ndarray] = []
        self._targets: list[np.ndarray] = []

    def residuals(self, met: Sequence[Margin]) -> list[np.ndarray]:
        """Return the distances to the targets.

        With several goals, elements beyond their target have none, or goals would pull against each other.
        """
        numbers = [margin.numbers for margin in met]
        if [n.shape for n in numbers] != [t.shape for t in self._targets]:
            self._choose(met)
        found = []
        for (site, side), n, chosen, target in zip(self.goals, numbers, self._chosen, self._targets, strict=True):
            is_beyond = (site.sign_of(side) * (n - target) > 0) if len(self.goals) > 1 else False
            found.append(np.where(chosen & np.isfinite(n) & ~np.asarray(is_beyond), n - target, 0.0))
        return found

    def are_reached(self, residuals: Sequence[np.ndarray]) -> bool:
        for residual, chosen, target in zip(residuals, self._chosen, self._targets, strict=True):
            least = float(np.abs(target).min(initial=np.inf, where=chosen))
            if float(np.abs(residual).max(initial=0.0)) > (0.5 * least if np.any(target) else 1e-15):
                return False
        return True

    def _choose(self, met: Sequence[Margin]) -> None:
        self._chosen, self._targets = [], []
        masks: dict[tuple[int, ...], np.ndarray] = {}
        for (site, side), margin in zip(self.goals, met, strict=True):
            sizes = np.where(np.isfinite(margin.numbers), np.abs(margin.numbers), np.inf)
            generator = stream(self.seed, "branch", *site[:4], side)
            chosen = (generator.random(sizes.shape) < 0.5) | (abs(side) == 2)
            turn = np.arange(sizes.size).reshape(sizes.shape) % len(self.offsets)
            if sizes.size:
                nearest = sizes == sizes.min()
                turn = np.where(nearest, 0, turn) if len(self.goals) == 1 else turn  # just beyond
                chosen = chosen | nearest if len(self.offsets) > 1 or abs(side) == 2 else nearest
            self._chosen.append(masks.setdefault(sizes.shape, chosen) | (abs(side) == 2))
            scale = np.where(margin.scale > 0, margin.scale, 1.0)
            shares = [share * (np.maximum(scale, 1) if share > 1 else scale) for share in self.offsets]
            self._targets.append(site.sign_of(side) * np.choose(turn, shares))


def select_margins(goals: Sequence[Goal], found: Mapping[BranchSite, Margin]) -> list[Margin]:
    """Return the goals' margins; [] if one is missing."""
    met = [found[site] for site, _ in goals if site in found]
    return met if len(met) == len(goals) else []


def are_goals_met(goals: Sequence[Goal], met: Sequence[Margin]) -> bool:
    """Return whether margins are on their sides, equal shapes in one element."""
    if not all(site.is_on(margin.numbers, side) for (site, side), margin in zip(goals, met, strict=True)):
        return False
    together: dict[tuple[int, ...], np.ndarray] = {}
    for (site, side), margin in zip(goals, met, strict=True):
        if abs(side) != 2:
            on = site.elements_on(margin.numbers, side)
            together[on.shape] = together.get(on.shape, True) & on
    return all(bool(on.any()) for on in together.values())


def named_claims(case: Case) -> Iterator[tuple[str, Claim]]:
    """Yield steps, formulas and sides of checks by their `BranchSite.owner`."""
    yield from case.let.items()
    for listed in (*case.formulas.values(), *case.wrong_formulas.values()):
        yield from ((claim.text, claim) for claim in listed)
    for check in case.checks:
        yield from ((side.text, side) for side in compared_sides(check))


def compared_sides(check: Claim) -> list[Claim]:
    """Return what a check compares; the comparison itself must hold."""
    stack, sides = [check.expr], list[Expr]()
    while stack:
        node = stack.pop()
        if isinstance(node, Call) and node.op in _ASSERTING:
            stack.extend(node.children)
        else:
            sides += node.children if isinstance(node, Call) and node.op in _COMPARISONS else [node]
    return [Claim.of(side) for side in sides if isinstance(side, Call)]
