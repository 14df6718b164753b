"""Suggestions (`did you mean  A.T @ G ?`), verified; counterexamples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.claims.formulas import check_formula
from gradcheck.checks.claims.stated_claims import StepClaims
from gradcheck.checks.context import Context
from gradcheck.checks.failures.correction.edit_cause import (
    edit_cause,
    is_of_number,
    is_of_unnamed_path,
    says_less_than_an_edit,
)
from gradcheck.checks.failures.correction.edit_position import operands_of
from gradcheck.checks.failures.correction.expression_pool import ExpressionPool
from gradcheck.checks.failures.correction.formula_search import Candidate, FormulaSearch
from gradcheck.checks.failures.correction.text_edit import smallest_edit
from gradcheck.checks.failures.correction.tidy_formula import (
    DerivedFormulas,
    Tidier,
    count_subtracted_sums,
    has_constant_condition,
    simplifier_at,
    with_named_numbers,
)
from gradcheck.checks.failures.disagreement import is_confirmed_by_oracle
from gradcheck.checks.failures.explanation_points import ExplanationPoints
from gradcheck.checks.failures.wrong_steps import case_with_fixed_steps, wrong_formulas
from gradcheck.checks.result import Comparison, Diagnosis
from gradcheck.engines.core import Core
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, Claim
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.terms import is_sum
from gradcheck.language.expr.traverse import free_names
from gradcheck.language.problem import Problem
from gradcheck.language.symbolic.simplify.simplifier import Simplifier
from gradcheck.oracles.exact.prove import prove
from gradcheck.oracles.numeric.counterexample import WORK, Counterexample, counterexample
from gradcheck.oracles.numeric.work_budget import WorkBudget

#: The budgets of the search (see `FormulaSearch`) for one formula, and for a case.
FORMULA_BUDGET, CASE_BUDGET = 56_000, 168_000
#: The most fitting formulas that are tidied, and the most that are verified. The first that holds is shown.
MOST_TIDIED, MOST_VERIFIED = 24, 12
#: The most points at which sizes are told apart.
MAX_SCOPES = 3
#: The further cost of a formula of gradients alone.
_NO_DERIVATION = 1.0
#: The further cost of a formula without a step that its author derived.
_WITHOUT_STEP = 0.5
#: The further cost of each `-(a + b)` that its author did not write.
_SUBTRACTED_SUM = 0.5
#: The longest derived formula that is reported.
MAX_DERIVED = 160
#: The work on all counterexamples of a case.
ALL_WORK = 2 * WORK


def suggest(context: Context, points: ExplanationPoints, derived: DerivedFormulas) -> None:
    """Add to each wrong formula and step `did_you_mean`, or else `derived`."""
    if context.points.own.is_complete:
        suggester = Suggester(context, points, derived)
        for place, c, claim in wrong_formulas(context):
            suggester.case = case_with_fixed_steps(context, c)
            if _is_wrong_at_kinks_alone(context, c):
                text = suggester.derived_text(c.tensor)
                message = fact("fails_at_ties", formula=text)
                _add_diagnosis(context, place, Diagnosis("derived", message, formula=text))
            else:
                found = suggester.suggestion(c.tensor, claim, c.wrong_step)
                _add_diagnosis(context, place, found)
                if found is not None:
                    context.found[place] = suggester.with_cause_of_edit(context.found[place], claim, found.formula)
            if c.trial is not None and not c.wrong_step and _holds_at_written_numbers(context, c):
                _add_diagnosis(context, place, Diagnosis("these_numbers_only", fact("these_numbers_only")))


def _holds_at_written_numbers(context: Context, c: Comparison) -> bool:
    """Return whether a formula holds at the file's own numbers or sizes."""
    if any(value.expr is not None for value in context.case.inputs.values()) and not _has_wrong_shape(c):
        return False
    own = [one for one in _same(context, c) if one.trial is None]
    return bool(own) and all(one.status == "passed" for one in own)


def _is_wrong_at_kinks_alone(context: Context, c: Comparison) -> bool:
    """Return whether a formula fails only outside of hulls as a whole."""
    verdicts = [one.verdict for one in _same(context, c) if one.status == "failed"]
    return all(verdict is not None and verdict.kind == "outside_together" for verdict in verdicts)


def _same(context: Context, c: Comparison) -> list[Comparison]:
    same = (c.what, c.tensor, c.formula)
    return [one for one in context.found if (one.what, one.tensor, one.formula) == same]


def _claims_to_fit(held: Sequence[StepClaims], name: str, wrong: Claim) -> StepClaims:
    """Return the claims of the first finite point at which the formula fails."""
    finite = [c for c in held if np.all(np.isfinite(wide(c.scope.gradients.get(name, np.array(np.nan)))))]
    failed = {(name, wrong.text)}
    showing = (c for c in finite if check_formula(replace(c, known_failures=failed), name, wrong).status == "failed")
    return next(showing, (finite or held)[0])


def _ranked_texts(tidier: Tidier, found: Sequence[Candidate], wrong: Expr, case: Case) -> list[str]:
    """Return the tidied texts of fitting formulas, likeliest first.

    A formula of other gradients alone comes late, if the wrong one names values; one with the author's steps early.
    """
    own = free_names(wrong).keys() & case.let.keys()
    ranked: dict[str, tuple[int, float, int]] = {}
    for candidate in found:
        derives = bool(free_names(tidier.pool.exprs[candidate.part])) or not free_names(wrong)
        for rank, expr in enumerate(tidier.tidy_forms(candidate.part)):
            text = to_text(with_named_numbers(expr, case))
            cost = candidate.cost + (0.0 if derives else _NO_DERIVATION)
            cost += _SUBTRACTED_SUM * max(0, count_subtracted_sums(expr) - count_subtracted_sums(wrong))
            length = len(text.replace("grad(", ""))  # a gradient is as short as another name
            key = (rank, cost + (0.0 if own.issubset(free_names(expr)) else _WITHOUT_STEP), length)
            ranked[text] = min(key, ranked.get(text, key))
    return sorted(ranked, key=ranked.__getitem__)


def _add_diagnosis(context: Context, place: int, found: Diagnosis | None) -> None:
    if found is not None:
        c = context.found[place]
        context.found[place] = replace(c, diagnoses=(*c.diagnoses, found))


class Suggester:
    """Suggestions for one case, whose `case` may have fixed steps."""

    def __init__(self, context: Context, points: ExplanationPoints, derived: DerivedFormulas) -> None:
        self.context, self.case, self.points, self.derived = context, context.case, points, derived
        self.budget = CASE_BUDGET
        self._wrong: Claim | None = None  # the formula to replace
        self._claims: dict[tuple[bool, int], tuple[Case, list[StepClaims]]] = {}  # the case is kept, for its id

    def suggestion(self, name: str, claim: Claim, step: str = "") -> Diagnosis | None:
        """Return a right formula near a wrong one or a `step`, or the derived one."""
        names_incoming = self.points.must_vary_incoming(claim.expr)
        held = self._claims_to_verify(names_incoming)
        if not held:  # no pass of the case ends
            return None
        self._wrong = claim
        scope = _claims_to_fit(held, name, claim).scope
        want = scope.gradients.get(name)
        if want is None or not np.any(np.isfinite(want)):
            return None
        pool = ExpressionPool(scope, scope.gradients)
        root = pool.add(claim.expr)
        derived = self.derived.of(name)
        scopes = [claims.scope for claims in held[:MAX_SCOPES]]
        operands = operands_of(pool, self._case_before_step(step), name, derived, scopes)
        got = pool.array(root)
        operands = replace(operands, is_broken=got is None or got.shape != want.shape)
        search = FormulaSearch(pool, operands, root, want, min(FORMULA_BUDGET, self.budget))
        stated = (c.expr for c in (*self.case.graph.values(), *self.case.let.values()))
        known = (claim.expr, *self.derived.without_shared_steps(name), *stated)
        tidier = Tidier(pool, search.fits, known, self._simplifier)
        all_verified = True
        text = None
        for found in search.fits_by_edit_count():
            if len(found) > MOST_TIDIED:  # at a point where much is 0
                found = [c for c in found if self._holds(name, to_text(pool.exprs[c.part]))] or found
            likeliest = _ranked_texts(tidier, found[:MOST_TIDIED], claim.expr, self.case)
            right = (text for text in likeliest[:MOST_VERIFIED] if self.is_right(name, text, names_incoming))
            text = next((text for text in right if not has_constant_condition(parse(text), claim.expr, held)), None)
            all_verified = all_verified and max(len(found) - MOST_TIDIED, len(likeliest) - MOST_VERIFIED) <= 0
            if text is not None:
                break
        self.budget -= search.spent
        if text is not None:
            text = tidier.without_idle_parts(text, lambda shorter: self.is_right(name, shorter, names_incoming))
            return did_you_mean(claim.text, text, self.certainty(name, text))
        text = self.derived_text(name)
        is_searched = search.is_complete and all_verified
        message = fact("none_found_near" if is_searched else "not_searched_further", formula=text)
        return Diagnosis("derived", message, formula=text) if text else None

    def with_cause_of_edit(self, c: Comparison, claim: Claim, formula: str) -> Comparison:
        """Return it with its correction as a cause, if it has no better one."""
        first = c.diagnoses[0] if c.diagnoses else None
        is_path = first is not None and is_of_unnamed_path(first) and any(map(is_sum, claim.expr.walk()))
        if first is None or not (says_less_than_an_edit(first) or is_path):
            return c
        scopes = [claims.scope for claims in self._claims_to_verify(False)[:MAX_SCOPES]]
        cause = edit_cause(claim.expr, parse(formula), scopes)
        is_said = {cause and cause.message.kind, first.message.kind} == {"term_of_other_sign", "path_sign"}
        if cause is None or is_said or (is_path and not is_of_number(cause)):
            return c
        return replace(c, diagnoses=(cause, *(one for one in c.diagnoses[1:] if not says_less_than_an_edit(one))))

    def _case_before_step(self, step: str) -> Case:
        before = list(self.case.let)
        before = before[: before.index(step)] if step else before
        return replace(self.case, let={name: self.case.let[name] for name in before})

    def derived_text(self, name: str) -> str:
        """Return the shortest derived formula that holds, "" if all are long."""
        texts = sorted((to_text(with_named_numbers(one, self.case)) for one in self.derived.of(name)), key=len)
        return next((text for text in texts if len(text) <= MAX_DERIVED and self._holds(name, text)), "")

    def _holds(self, name: str, text: str) -> bool:
        """Return whether a formula holds elsewhere; it may use a value."""
        claim = Claim(text, parse(text))
        return all(check_formula(claims, name, claim).status != "failed" for claims in self._claims_to_verify(False))

    def _claims_to_verify(self, names_incoming: bool) -> list[StepClaims]:
        """Return the claims that a formula must meet, most informative first."""
        key = (names_incoming, id(self.case))
        if key not in self._claims:
            listed = dict.fromkeys(
                (*self.points.seed_independent(names_incoming), *self.points.points_of_run(names_incoming))
            )
            run = self.context.options.tolerance
            self._claims[key] = self.case, [StepClaims(p.with_claims(self.case), p.last_step, run) for p in listed]
        return self._claims[key][1]

    def is_right(self, name: str, text: str, names_incoming: bool) -> bool:
        """Return whether a formula holds everywhere, and is not refuted exactly."""
        claim = Claim(text, parse(text))
        if name in self.case.gradients_in(claim.expr):
            return False
        names_incoming = names_incoming or self.points.must_vary_incoming(claim.expr)
        held, fixed = self._claims_to_verify(names_incoming), len(self.points.seed_independent(names_incoming))
        for number, claims in enumerate(held):
            found = check_formula(claims, name, claim)
            if found.status == "passed" or is_equally_undefined(self._wrong, claims, found):
                continue
            if number < fixed or not is_confirmed_by_oracle(claims.point, found):
                return False
        problem = replace(self.context.points.own.problem, case=self.case)
        try:
            (proof,) = prove(problem, [(name, claim)], problem.seed)
        except (GradcheckError, MemoryError):
            return len(held) > 1
        return proof.status == "proved" if len(held) == 1 else proof.status != "refuted"

    def certainty(self, name: str, text: str) -> Fact:
        points = [p for p in self.points.seed_independent() if p.trial is None or p.trial.kind != "branch"]
        problems = [replace(point.problem, case=self.case) for point in points]
        try:
            proofs = [prove(one, [(name, Claim(text, parse(text)))], one.seed)[0] for one in problems]
        except (GradcheckError, MemoryError):
            proofs = []
        if not proofs or any(proof.status != "proved" for proof in proofs):
            return fact("suggestion_holds", points=len(points))
        where = tuple(dict.fromkeys(condition for proof in proofs for condition in proof.conditions))
        return fact("suggestion_proved", sizes=len({tuple(one.sizes.items()) for one in problems}), where=where)

    @cached_property
    def _simplifier(self) -> Simplifier:
        return simplifier_at(self.points.seed_independent() or [self.points.run.own], self.case)


def is_equally_undefined(wrong: Claim | None, claims: StepClaims, found: Comparison) -> bool:
    """Return whether a formula is off only where neither formula is finite."""
    if wrong is None or found.mask is None or found.got_array is None:
        return False
    try:
        before = wide(claims.scope.array_of(wrong.expr))
    except (GradcheckError, ValueError):
        return False
    got = wide(found.got_array)
    return before.shape == got.shape and not np.any(np.isfinite(got[found.mask]) | np.isfinite(before[found.mask]))


def did_you_mean(wrong: str, right: str, standing: Fact | None) -> Diagnosis:
    """Return a suggestion as the smallest edit of the author's text."""
    edit = smallest_edit(wrong, parse(right))
    formula = " ".join(edit.apply_to(wrong).split()) if "\n" in wrong else edit.apply_to(wrong)
    message = fact("did_you_mean", formula=formula)
    return Diagnosis("did_you_mean", message, evidence=standing, formula=formula, edit=edit)


def refute(context: Context) -> None:
    """Add a counterexample of small integers to wrong formulas of right shape."""
    budget = WorkBudget(ALL_WORK)
    for place, c, claim in wrong_formulas(context):
        if _has_wrong_shape(c) or budget.is_spent or _is_wrong_at_kinks_alone(context, c):
            continue
        within = WorkBudget(WORK, within=budget)
        case = case_with_fixed_steps(context, c)
        shown = counterexample(case, c.tensor, claim, within, of_shape=False, quick=core_gradients)
        if shown is not None:
            _add_diagnosis(context, place, Diagnosis("counterexample", counterexample_fact(shown, c.tensor)))


def core_gradients(problem: Problem) -> Mapping[str, np.ndarray | None]:
    states = Core().evaluate(problem).states
    return states[-1].gradients if len(states) == len(problem.case.steps) else {}


def _has_wrong_shape(c: Comparison) -> bool:
    why = c.mismatch
    if why is None:
        return False
    return why.kind == "shapes_differ" or (why.kind == "claim_raised" and why["error"] == "shape_mismatch")


def counterexample_fact(shown: Counterexample, tensor: str) -> Fact:
    """Return a counterexample as plain numbers, arrays as nested tuples."""
    return fact(
        "counterexample" if shown.is_hand_checkable else "small_example",
        tensor=tensor,
        given=(*_plain({**shown.inputs, **shown.constants}), *shown.sizes_in_no_shape.items()),
        incoming=_plain(shown.seeds),
        sizes=tuple(shown.sizes.items()),
        index=shown.index,
        claimed=shown.claimed,
        true=shown.true,
    )


def _plain(arrays: Mapping[str, np.ndarray]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, _nested(array.tolist())) for name, array in arrays.items())


def _nested(value: Any) -> Any:
    return tuple(map(_nested, value)) if isinstance(value, list) else value
