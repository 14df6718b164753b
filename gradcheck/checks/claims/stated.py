"""What a case itself states: values, gradients, formulas right and wrong, and checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.checks.claims.engines import place_of
from gradcheck.checks.closeness.compare import compare
from gradcheck.checks.closeness.tolerance import base, of_claim
from gradcheck.checks.ground import Ground
from gradcheck.checks.result import Comparison, What
from gradcheck.engines.base import Evaluation, State
from gradcheck.errors import GradcheckError, Place
from gradcheck.language.case import Case, Claim, Step, Tolerance, Value
from gradcheck.language.evaluation.host import NUMPY, Host
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import claimed

_FLOAT64, _COMPLEX128 = np.dtype(np.float64), np.dtype(np.complex128)


@dataclass(frozen=True, slots=True)
class Court:
    """Where the claims about one step of one problem are heard."""

    problem: Problem
    ground: Ground
    step: int
    reference: str
    override: Tolerance | None = None
    trial: Mapping[str, Any] | None = None

    def about(self, what: str, tensor: str, place: Place) -> dict[str, Any]:
        """The fields that every comparison here has."""
        return {"what": what, "tensor": tensor, "step": self.step, "place": place, "trial": self.trial}

    def compare(self, got: np.ndarray | None, want: np.ndarray | None, about: dict[str, Any]) -> Comparison:
        """One comparison at the tolerance that the case states for the tensor."""
        judge = want if want is not None else got
        dtype = judge.dtype if judge is not None else _FLOAT64
        limits = of_claim(self.problem.case.tolerance, about["tensor"], dtype, self.override)
        return compare(got, want, limits, **about)


# Known values and gradients ------------------------------------------------------------------------


def known(
    court: Court, values: Mapping[str, Value], expected: Mapping[str, Value | None], states: Mapping[str, State]
) -> Iterator[Comparison]:
    """Every engine's values and gradients against those that the file gives."""
    for engine, state in states.items():
        for name, value in values.items():
            yield _known(court, "expected_value", name, value, state.values.get(name), engine)
        for name, stated in expected.items():
            actual = state.gradients.get(name)
            if name not in state.gradients and name not in state.values:
                yield _unheard(court, name, stated, engine)
            elif stated is None:
                about = court.about("expected", name, place_of(court.problem.case, name))
                yield compare_with_none(actual, about | {"engine": engine, "reference": "case"})
            else:
                yield _known(court, "expected", name, stated, actual, engine)


def _known(court: Court, what: str, name: str, value: Value, actual: np.ndarray | None, engine: str) -> Comparison:
    about = court.about(what, name, value.place) | {"engine": engine, "reference": "case"}
    try:
        stated = claimed(court.problem, value)
    except GradcheckError as error:
        return Comparison(status="failed", message=f"cannot be computed: {error}", **about)
    if actual is not None:
        stated, actual = aligned(stated, actual)
    return court.compare(actual, stated, about)


def compare_with_none(actual: np.ndarray | None, about: dict[str, Any]) -> Comparison:
    """`null`: none, or only zeros."""
    if actual is None:
        return Comparison(status="passed", **about)
    return compare(actual, None, base(actual.dtype), **about)


def unheard(case: Case, evaluation: Evaluation) -> Iterator[Comparison]:
    """All that a case claims, where its graph could not be evaluated: failed, since nobody can hear it. That there is
    no gradient (`null`) is true then."""
    last = len(case.steps) - 1
    levels: list[tuple[int, Step | Case]] = [*enumerate(case.steps), (last, case)]
    message = f"not compared: {evaluation.failed_at} could not be evaluated"

    def missed(what: What, step: int, tensor: str, place: Place, formula: str = "") -> Comparison:
        return Comparison(
            what=what, tensor=tensor, step=step, status="failed", engine=evaluation.engine, reference="case",
            place=place, formula=formula, message=message,
        )  # fmt: skip

    for step, level in levels:
        yield from (missed("expected_value", step, name, value.place) for name, value in level.values.items())
        yield from (missed("expected", step, name, value.place) for name, value in level.expected.items() if value)
        yield from (missed("check", step, "", claim.place, claim.text) for claim in level.checks)
    for name, claims in case.formulas.items():
        yield from (missed("formula", last, name, claim.place, claim.text) for claim in claims)
    for name, claims in case.wrong_formulas.items():
        yield from (missed("wrong_formula", last, name, claim.place, claim.text) for claim in claims)


def _unheard(court: Court, name: str, stated: Value | None, engine: str) -> Comparison:
    place = stated.place if stated else place_of(court.problem.case, name)
    about = court.about("expected", name, place) | {"engine": engine, "reference": "case"}
    return Comparison(status="failed", message=f"{engine} says nothing about {name}", **about)


def aligned(stated: np.ndarray, actual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both in one dtype. What a person writes has none of its own: it takes the tensor's, unless that would lose
    an imaginary part or a fraction."""
    if stated.dtype == actual.dtype:
        return stated, actual
    if actual.dtype.kind == "c" or (actual.dtype.kind in "fV" and stated.dtype.kind != "c"):
        with np.errstate(all="ignore"):
            return stated.astype(actual.dtype), actual
    if stated.dtype.kind in "biu" and actual.dtype.kind in "biu":
        return stated.astype(np.int64), actual.astype(np.int64)
    wide = _COMPLEX128 if "c" in (stated.dtype.kind, actual.dtype.kind) else _FLOAT64
    return stated.astype(wide), actual.astype(wide)


# Formulas ------------------------------------------------------------------------------------------


def formula(court: Court, name: str, claim: Claim, what: str = "formula") -> Comparison:
    """One derivation against the reference's gradient. One that cannot be evaluated has failed, and says why."""
    about = court.about(what, name, claim.place) | {
        "engine": "case", "reference": court.reference, "formula": claim.text,
    }  # fmt: skip
    want = court.ground.gradients.get(name)
    if want is None:
        return Comparison(status="failed", message=f"{court.reference} says nothing about {name}", **about)
    try:
        got = court.ground.array_of(claim.expr)
    except GradcheckError as error:
        return Comparison(
            status="failed", shape=want.shape, dtype=want.dtype.name, elements=want.size, want_array=want,
            mismatched=want.size, message=f"{error.kind}: {error}", **about,
        )  # fmt: skip
    got, want = aligned(got, want)
    return court.compare(got, want, about)


# Checks --------------------------------------------------------------------------------------------


class CheckHost:
    """Ops on plain arrays, except that `==` means equal within the tolerance. `sides` keeps what was compared."""

    def __init__(self, equal: Callable[[np.ndarray, np.ndarray, int], np.ndarray], host: Host = NUMPY) -> None:
        self._host, self._equal = host, equal
        self.sides: list[tuple[np.ndarray, np.ndarray]] = []

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The op's result, or for `==` the elements that agree."""
        if op.name != "eq" or len(args) != 2:
            return self._host.call(op, args, kwargs)
        exact = self._host.call(op, args, kwargs)  # shapes that do not broadcast raise here
        left, right = _pair(*args)
        left, right = np.broadcast_arrays(left, right)
        self.sides.append((left, right))
        return exact | self._equal(left, right, len(self.sides) - 1)

    def dtype(self, name: str) -> Any:
        """The dtype of this torch name."""
        return self._host.dtype(name)


def _pair(left: Any, right: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both sides in one dtype; a Python number takes the tensor's."""
    if isinstance(left, np.ndarray) and not isinstance(right, np.ndarray):
        return aligned(np.asarray(right), left)[::-1]
    if not isinstance(left, np.ndarray):
        return aligned(np.asarray(left), np.asarray(right))
    if left.dtype.kind in "fV" and right.dtype.kind in "fV" and right.dtype.itemsize < left.dtype.itemsize:
        return left.astype(right.dtype), right  # no closer than the coarser of the two
    return aligned(left, right)


def check(court: Court, claim: Claim, slacks: Callable[[int], np.ndarray | None] | None = None) -> Comparison:
    """One identity: true everywhere, `==` within the tolerance."""
    about = court.about("check", "", claim.place) | {
        "engine": "case", "reference": court.reference, "formula": claim.text,
    }  # fmt: skip
    compared: list[Comparison] = []

    def equal(left: np.ndarray, right: np.ndarray, index: int) -> np.ndarray:
        limits = of_claim(court.problem.case.tolerance, "", right.dtype, court.override)
        slack = slacks(index) if slacks else None
        compared.append(compare(left, right, limits, slack=slack, **about))
        mask = compared[-1].mask
        return np.ones(right.shape, bool) if mask is None else ~mask

    try:
        value = court.ground.value_of(claim.expr, CheckHost(equal))
        holds = bool(np.all(np.asarray(value, dtype=bool)))
    except (GradcheckError, ValueError, TypeError) as error:
        kind = error.kind if isinstance(error, GradcheckError) else "error"
        return Comparison(status="failed", message=f"{kind}: {error}", **about)
    failed = next((c for c in compared if c.status == "failed"), None)
    if not holds and failed is not None:
        return failed
    if not holds:
        return Comparison(status="failed", message="is not true", got_array=np.asarray(value), **about)
    notes = tuple(dict.fromkeys(note for c in compared for note in c.notes))
    if np.size(value) == 0:
        notes += ("nothing was compared: no elements",)
    return Comparison(status="passed", elements=int(np.size(value)), notes=notes, **about)
