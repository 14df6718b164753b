"""Find the formula that wrong code computes, one mistake from the right.

The mistakes are those that suggestions undo (`edits`). There the search leads from a wrong formula to right numbers;
here it leads from the entry, or a derived gradient, to the code's wrong numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import real_of
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.context import Context
from gradcheck.checks.derivation import explain
from gradcheck.checks.failures.correction.edit_position import operands_of
from gradcheck.checks.failures.correction.expression_pool import ExpressionPool
from gradcheck.checks.failures.correction.formula_mistakes import with_one_mistake
from gradcheck.checks.failures.correction.formula_search import FormulaSearch
from gradcheck.checks.failures.diagnosis.catalogue import Evidence, matches
from gradcheck.checks.failures.explanation_points import SEED
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, Diagnosis
from gradcheck.checks.scope import Scope
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import differing_parts, substitute

#: The search budgets (see `FormulaSearch`) for a tensor, and for all of the code.
_TENSOR_BUDGET, _CODE_BUDGET = 8_000, 24_000
#: Two-byte numbers compute slowly and have so few digits that more formulas match.
_HALF_PRECISION_BUDGET = 2_500
#: How many formulas that match at one point are tried at the others.
_MOST_ASKED = 24
#: Fewer numbers would match too many formulas.
_FEWEST = 6

#: Points with the evidence of a tensor there.
EvidenceAtPoints = Sequence[tuple[Point, Evidence]]


@dataclass
class ComputedFormulas:
    """The formulas near those of one piece of code, and the budget left."""

    context: Context
    code_constants: tuple[float, ...] = ()  # the numbers in its source
    budget: int = _CODE_BUDGET

    def diagnose(self, c: Comparison, seen: EvidenceAtPoints) -> tuple[Diagnosis, ...]:
        """Return the formula that a value or gradient was computed as, if found."""
        if c.what is ClaimKind.GRADIENT:
            return self.diagnose_gradient(c.tensor, seen)
        claim = self.context.case.graph.get(c.tensor)
        return self._first(c.tensor, () if claim is None else (claim.expr,), seen)

    def diagnose_gradient(self, tensor: str, seen: EvidenceAtPoints) -> tuple[Diagnosis, ...]:
        """Return the formula that a gradient was computed as, if found."""
        return self._first(tensor, self._derived.get(tensor, ()), seen)

    @cached_property
    def _derived(self) -> dict[str, list[Expr]]:
        """Each gradient by way of the entry's, then by inputs alone."""
        case, found = self.context.case, dict[str, list[Expr]]()
        if real_of(dtypes.BY_NAME[case.dtype]).itemsize == 2:  # the same derivation, verified faster
            case = replace(case, dtype="float64")
        for expand in (False, True):
            for tensor, formula in explain(case, SEED, expand=expand).without_steps().items():
                found.setdefault(tensor, []).append(formula)
        entries = {name: claim.expr for name, claim in case.graph.items()}
        for tensor, formulas in found.items():  # a mistake in the entry's value may lie in its operands
            found[tensor] = list(dict.fromkeys([*formulas, *(substitute(one, entries) for one in formulas)]))
        return found

    def _first(self, name: str, formulas: Sequence[Expr], seen: EvidenceAtPoints) -> tuple[Diagnosis, ...]:
        if len(seen) < 2 or sum(evidence.want.size for _, evidence in seen) < _FEWEST:
            return ()
        scopes = [point.scope(point.last_step) for point, _ in seen]
        for right in formulas:
            with using_default_dtype(seen[0][0].problem.dtype), np.errstate(all="ignore"):
                found = self._search_near(name, right, list(zip(scopes, (e for _, e in seen), strict=True)))
            if found is not None:
                points = fact("computed_at_points", points=len(seen))
                return (Diagnosis("other_formula", found, "confirmed", points),)
        return ()

    def _search_near(self, name: str, right: Expr, seen: Sequence[tuple[Scope, Evidence]]) -> Fact | None:
        """Return the likeliest formula near the right one that matches."""
        first, evidence = seen[0]
        seen = [(scope, one) for scope, one in seen if _evaluates_to(right, scope, one, one.want)]
        if evidence.got is None or len(seen) < 2 or seen[0][0] is not first:
            return None
        scopes = [scope for scope, _ in seen]
        pool = ExpressionPool(scopes[0], scopes[0].gradients)
        root = pool.add(right)
        operands = operands_of(pool, self.context.case, name, (right,), scopes)
        broken = evidence.got.shape != evidence.want.shape
        each = _HALF_PRECISION_BUDGET if real_of(evidence.want.dtype).itemsize == 2 else _TENSOR_BUDGET
        search = FormulaSearch(pool, replace(operands, is_broken=broken), root, evidence.got, min(each, self.budget))
        found = self._first_at_all_points(search, seen)
        self.budget -= search.spent
        return None if found is None else _formula_fact(right, found)

    def _first_at_all_points(self, search: FormulaSearch, seen: Sequence[tuple[Scope, Evidence]]) -> Expr | None:
        edited = (c.part for found in search.fits_by_edit_count() for c in found[:_MOST_ASKED])
        fitting = chain(self._fitting_mistakes(search), edited)
        for part in fitting:
            expr = search.pool.exprs[part]
            if all(_evaluates_to(expr, scope, evidence, evidence.got_or_zeros) for scope, evidence in seen):
                return expr
        return None

    def _fitting_mistakes(self, search: FormulaSearch) -> Iterator[int]:
        tried: set[int] = set()
        for part in with_one_mistake(search.pool, search.operands, search.root, self.code_constants):
            if search.spent > search.budget:
                return
            if part not in tried and search.fits(part):
                yield part
            tried.add(part)


def _evaluates_to(formula: Expr, scope: Scope, evidence: Evidence, wanted: np.ndarray) -> bool:
    try:
        found = scope.array_of(formula)
    except (GradcheckError, KeyError, TypeError, ValueError):
        return False
    return matches(found, replace(evidence, got=wanted))


def _formula_fact(right: Expr, wrong: Expr) -> Fact:
    """Return the smallest wrong part, its correction and the formula."""
    whole = to_text(wrong)
    smallest = differing_parts(right, wrong)
    if len(smallest) == 1:
        ((right, wrong),) = smallest
    return fact("other_formula", wrong=to_text(wrong), right=to_text(right), formula=whole)
