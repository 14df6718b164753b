"""Check derived formulas against the core and the exact oracle."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gradcheck.checks.claims.formulas import check_formula
from gradcheck.checks.claims.stated_claims import StepClaims
from gradcheck.checks.points.point import Point
from gradcheck.checks.single_backward import BackwardPoints, differs_from_gradient
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Claim
from gradcheck.language.expr.common_subexpressions import Derivation
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.trial_draws import inner_roots
from gradcheck.oracles.exact.prove import Proof, prove


class GradientForm(NamedTuple):
    """A form of a gradient, valid where no expression of `nonzero` is 0."""

    expr: Expr
    nonzero: tuple[Expr, ...] = ()
    is_raw: bool = False  # as derived, not simplified


class DerivationCheck:
    """Compares formulas at all points; some hold at one point only."""

    def __init__(
        self,
        passes: BackwardPoints,
        derivation: Derivation,
        forms: Mapping[str, GradientForm],
        case_specific: Collection[str] = (),
    ) -> None:
        self.derivation = derivation
        self._passes, self._forms, self._case_specific = passes, forms, case_specific
        self._let = {name: Claim.of(expr) for name, expr in derivation.let.items()}
        self._claims = {name: Claim.of(expr) for name, expr in derivation.formulas.items()}
        self._statuses = self._compare_at([one.alone for one in passes.all])
        self._proofs = self._prove()

    def _compare_at(self, points: Sequence[Point]) -> dict[str, list[str]]:
        """Return each formula's statuses after the last step of each point."""
        found: dict[str, list[str]] = {name: [] for name in self._claims}
        for point in points:
            claims = self._claims_at(point)
            raised = point.want.states[claims.step].error is not None
            for name, claim in self._claims.items():
                found[name].append("failed" if raised else check_formula(claims, name, claim).status)
        return found

    def _claims_at(self, point: Point) -> StepClaims:
        return StepClaims(point.with_claims(replace(point.problem.case, let=self._let)), len(point.want.states) - 1)

    def _prove(self) -> dict[str, Proof]:
        """Prove the formulas that must hold for any values."""
        if not self._passes.small:
            return {}
        problem = self._passes.proof_problem
        problem = replace(problem, case=replace(problem.case, let=self._let))
        claims = [(name, claim) for name, claim in self._claims.items() if name not in self._case_specific]
        return {name: proof for (name, _), proof in zip(claims, prove(problem, claims), strict=True)}

    def _status(self, name: str) -> str:
        return self._proofs[name].status if name in self._proofs else "unsupported"

    def holds(self, name: str) -> bool:
        """Return whether a formula passes everywhere; rounding needs a proof."""
        found, form, status = set(self._statuses[name]), self._forms[name], self._status(name)
        if name in self._case_specific:
            return self._statuses[name][0] == "passed"
        if status == "refuted" or not found <= ({"passed", "undecided"} if status == "proved" else {"passed"}):
            return False
        return (not form.nonzero or status == "proved") and (form.is_raw or not self._differs_at_corner(name))

    def _differs_at_corner(self, name: str) -> bool:
        """Return whether it differs at a corner where it should be defined."""
        for corner in self._passes.corners:
            gradient = corner.gradients.get(name)
            try:
                claimed = self._claims_at(corner.alone).scope.array_of(self._claims[name].expr)
            except GradcheckError:
                continue  # the inverse of zeros
            if gradient is not None and differs_from_gradient(
                claimed, gradient, may_be_undefined=bool(self._forms[name].nonzero)
            ):
                return True
        return False

    def may_be_case_specific(self, name: str) -> bool:
        """Return whether a formula holds at the case's own numbers only.

        It contains some of these numbers, or an incoming gradient below another root, which no formula can name."""
        refuted = self._status(name) == "refuted"
        return self._statuses[name][0] == "passed" and (
            not refuted or bool(inner_roots(self._passes.proof_problem.case))
        )

    def why_not(self, name: str) -> Fact:
        """Return why a formula is not accepted."""
        if self._status(name) == "refuted":
            return fact("derived_is_refuted", tensor=name)
        return fact("derived_does_not_hold", tensor=name)

    def point_count(self, name: str) -> int:
        """Return at how many points it equals the core's gradient."""
        return self._statuses[name].count("passed")

    def proof_bound(self, name: str) -> float | None:
        """Return the chance of a false proof; None without a proof."""
        return self._proofs[name].bound if self._status(name) == "proved" else None

    def holding_accumulated(self) -> set[str]:
        """Return the formulas that hold for the gradients at the end."""
        ended = self._compare_at([one.whole for one in self._passes.all])
        return {name for name, statuses in ended.items() if set(statuses) == {"passed"}}
