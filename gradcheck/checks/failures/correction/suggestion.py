"""`did you mean  A.T @ G ?`: the nearest right formulas to a wrong one, each verified like any formula; and small
numbers that refute it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.claims.formulas import check_formula
from gradcheck.checks.claims.stated import Claims
from gradcheck.checks.context import Context
from gradcheck.checks.derivation import explain
from gradcheck.checks.failures.correction.expression_pool import ExpressionPool
from gradcheck.checks.failures.correction.position import operands_of
from gradcheck.checks.failures.correction.search import Candidate, Search
from gradcheck.checks.failures.correction.tidy import Tidier, simplifier_at
from gradcheck.checks.failures.wrong_steps import claim_of, is_step, needs_reason
from gradcheck.checks.points import GENERIC
from gradcheck.checks.result import ClaimKind, Comparison, Diagnosis
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, Claim
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import free_names
from gradcheck.language.symbolic.simplify.rules import Simplifier
from gradcheck.language.trials import speaks_of_root
from gradcheck.oracles.exact.prove import prove
from gradcheck.oracles.numeric.counterexample import WORK, Counterexample, counterexample
from gradcheck.oracles.numeric.work import Budget

#: The budgets of the searches (see `Search`) for one formula, and for all of a case.
EACH, ALL = 60_000, 180_000
#: How many formulas that fit are tidied, and how many of these are verified, the likeliest first; one that holds is
#: shown.
MOST_TIDIED, MOST_VERIFIED = 24, 12
#: At how many other points; and at how many sizes are told apart.
POINTS, SCOPES = 3, 4
#: How much less likely it is that a gradient was meant to be made of gradients alone.
_NO_DERIVATION = 1.0
#: A derived formula longer than this is no help in a line of a report.
MAX_DERIVED = 160
#: The gradients of a graph of more parts are not derived.
MAX_GRAPH = 400
#: The work that is spent on all counterexamples of a case.
ALL_WORK = 2 * WORK


def suggest(context: Context) -> None:
    """Tell of each formula, and each step of a derivation, that is wrong what may have been meant: a diagnosis
    `did_you_mean`, or, where nothing near it is found to be right, `derived`."""
    if context.points.own.is_complete:
        suggester = Suggester(context)
        for place, c, claim in _wrong_formulas(context):
            step = c.cause.origin["name"] if c.cause is not None and is_step(c) else ""
            _tell(context, place, suggester.suggestion(c.tensor, claim, step))


def _wrong_formulas(context: Context) -> Iterator[tuple[int, Comparison, Claim]]:
    """Each formula that failed and is to be explained, once, with the first comparison that shows it, and the place of
    that; steps of a derivation too."""
    seen: set[tuple[str, str]] = set()
    for place, c in enumerate(context.found):
        if c.what is ClaimKind.FORMULA and c.status == "failed" and (c.tensor, c.formula) not in seen:
            claim = claim_of(context.case, c)
            if claim is not None and needs_reason(c):
                seen.add((c.tensor, c.formula))
                yield place, c, claim


def _telling(held: Sequence[Claims], name: str) -> Claims:
    """Those at whose numbers formulas are tried first: under another incoming gradient, where one is among them; not
    the case's own, which may be too simple to tell much; where the gradient is finite, if it is anywhere."""
    order = [*(claims for claims in held if _is_incoming(claims)), *held[1:], held[0]]
    finite = (c for c in order if np.all(np.isfinite(wide(c.scope.gradients.get(name, np.array(np.nan))))))
    return next(finite, order[0])


def _is_incoming(claims: Claims) -> bool:
    """Whether they are under another incoming gradient than the file writes out."""
    return claims.point.trial is not None and claims.point.trial.kind == "incoming"


def _ways(tidier: Tidier, found: Sequence[Candidate], wrong: Expr) -> list[str]:
    """The texts of formulas that fit, tidied, the likeliest and shortest first; then those that are left as they are.
    One of other tensors' gradients alone, where the wrong one had values in it, is no derivation, and comes late."""
    ranked: dict[str, tuple[int, float, int]] = {}
    for candidate in found:
        for rank, expr in enumerate(tidier.tidied(candidate.part)):
            text = to_text(expr)
            derives = bool(free_names(expr)) or not free_names(wrong)
            key = (rank, candidate.cost + (0.0 if derives else _NO_DERIVATION), len(text))
            ranked[text] = min(key, ranked.get(text, key))
    return sorted(ranked, key=ranked.__getitem__)


def _tell(context: Context, place: int, found: Diagnosis | None) -> None:
    if found is not None:
        c = context.found[place]
        context.found[place] = replace(c, diagnoses=(*c.diagnoses, found))


class Suggester:
    """Suggests formulas for one case."""

    def __init__(self, context: Context) -> None:
        self.context, self.case = context, context.case
        self.budget = ALL

    def suggestion(self, name: str, claim: Claim, step: str = "") -> Diagnosis | None:
        """What may have been meant instead of one wrong formula, or of a `step` of a derivation; None where neither a
        formula near it is right nor the derived one short."""
        held = self._held(claim.expr)
        scope = _telling(held, name).scope
        want = scope.gradients.get(name)
        if want is None or not np.any(np.isfinite(want)):
            return None
        pool = ExpressionPool(scope, scope.gradients)
        root = pool.add(claim.expr)
        derived = self.derived.get(name, ())
        operands = operands_of(pool, self._speaking(step), name, derived, [claims.scope for claims in held[:SCOPES]])
        search = Search(pool, operands, root, want, min(EACH, self.budget))
        known = (claim.expr, *derived, *(c.expr for c in (*self.case.graph.values(), *self.case.let.values())))
        tidier = Tidier(pool, search.fits, known, self._simplifier)
        all_verified = True
        text = None
        for found in search.fitting():
            likeliest = _ways(tidier, found[:MOST_TIDIED], claim.expr)
            text = next((text for text in likeliest[:MOST_VERIFIED] if self._is_right(name, text, held)), None)
            all_verified = all_verified and max(len(found) - MOST_TIDIED, len(likeliest) - MOST_VERIFIED) <= 0
            if text is not None:
                break
        self.budget -= search.spent
        if text is not None:
            return Diagnosis("did_you_mean", fact("did_you_mean", formula=text), formula=text)
        return self._derived(name, search.is_complete and all_verified)

    def _speaking(self, step: str) -> Case:
        """The case with the steps alone that a formula for this one may speak of: those before it."""
        before = list(self.case.let)
        before = before[: before.index(step)] if step else before
        return replace(self.case, let={name: self.case.let[name] for name in before})

    def _derived(self, name: str, searched: bool) -> Diagnosis | None:
        """What the rules of differentiation give, where that is short; `searched` if nothing near is left to try."""
        texts = sorted((to_text(expr) for expr in self.derived.get(name, ())), key=len)
        texts = [text for text in texts if len(text) <= MAX_DERIVED and self._holds(name, text)]
        if not texts:
            return None
        message = fact("none_found_near" if searched else "not_searched_further", formula=texts[0])
        return Diagnosis("derived", message, formula=texts[0])

    def _holds(self, name: str, text: str) -> bool:
        """Whether a derived formula is right elsewhere too: an exponent that is a size may have been taken as it is."""
        claim = Claim(text, parse(text))
        held = (claims for claims in self.claims if not _is_incoming(claims))
        return all(check_formula(claims, name, claim).status != "failed" for claims in held)

    def _held(self, wrong: Expr) -> list[Claims]:
        """Where a formula in place of a wrong one must hold: under other incoming gradients, if it spoke of them."""
        speaks = speaks_of_root(self.case, wrong)
        return [claims for claims in self.claims if speaks or not _is_incoming(claims)]

    def _is_right(self, name: str, text: str, held: Sequence[Claims]) -> bool:
        """Whether a formula, read from its text, holds here and elsewhere, and is not refuted by the exact oracle."""
        claim = Claim(text, parse(text))
        if self.case.is_circular(name, claim.expr):
            return False
        if len(held) < len(self.claims) and speaks_of_root(self.case, claim.expr):
            held = self.claims
        if any(check_formula(claims, name, claim).status != "passed" for claims in held):
            return False
        problem = self.context.points.own.problem
        try:
            (proof,) = prove(problem, [(name, claim)], problem.seed)
        except (GradcheckError, MemoryError):
            return len(held) > 1
        return proof.status == "proved" if len(held) == 1 else proof.status != "refuted"

    @cached_property
    def _simplifier(self) -> Simplifier:
        return simplifier_at([claims.point for claims in self.claims], self.case)

    @cached_property
    def derived(self) -> dict[str, list[Expr]]:
        """Each tensor's gradient as formulas: by way of its children's gradients, and by inputs alone."""
        found: dict[str, list[Expr]] = {}
        if sum(1 for claim in self.case.graph.values() for _ in claim.expr.walk()) > MAX_GRAPH:
            return found
        for expand in (False, True):
            explanation = explain(self.case, self.context.options.seed, expand=expand)
            for one in explanation.formulas:
                if one.lasting and explanation.let.keys().isdisjoint(free_names(one.expr)):
                    found.setdefault(one.tensor, []).append(one.expr)
        return found

    @cached_property
    def claims(self) -> list[Claims]:
        """The claims at the case's own numbers; at some without structure; at its trials, else at numbers nearby; and
        wherever else it was looked at, under other incoming gradients last."""
        points = self.context.points
        generic = points.unseen(GENERIC)
        drawn = points.trials[:POINTS] or [points.nearby(points.own, number + 1) for number in range(POINTS)]
        elsewhere = ([generic] if generic else []) + drawn + points.others
        usable = (point for point in elsewhere if point.is_complete and not point.want.states[-1].error)
        found = [Claims(point, point.last, self.context.options.tolerance) for point in (points.own, *usable)]
        return sorted(found, key=_is_incoming)


# Counterexamples ---------------------------------------------------------------------------------------


def refute(context: Context) -> None:
    """Give each wrong formula, unless its shape says it all, a diagnosis `counterexample`: the smallest sizes and
    integers, to be checked with a pencil."""
    budget = Budget(ALL_WORK)
    for place, c, claim in _wrong_formulas(context):
        if _has_wrong_shape(c) or budget.is_spent:
            continue
        shown = counterexample(context.case, c.tensor, claim, Budget(WORK, within=budget))
        if shown is not None:
            _tell(context, place, Diagnosis("counterexample", as_fact(shown, c.tensor)))


def _has_wrong_shape(c: Comparison) -> bool:
    why = c.mismatch
    if why is None:
        return False
    return why.kind == "shapes_differ" or (why.kind == "claim_raised" and why["error"] == "shape_mismatch")


def as_fact(shown: Counterexample, tensor: str) -> Fact:
    """A counterexample to a formula for the gradient of a tensor, as plain numbers: arrays as nested tuples by name."""
    return fact(
        "counterexample",
        tensor=tensor,
        given=_plain({**shown.inputs, **shown.constants}),
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
