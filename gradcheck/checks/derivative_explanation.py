"""Derive a Jacobian or a Hessian as a formula, and check it as a claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.derivatives.derivative_formula import derived_formula
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.pipeline import check_case
from gradcheck.engines.core import Core
from gradcheck.errors import GradcheckError, InvalidCase
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, Claim
from gradcheck.language.expr.nodes import Derivative, Expr
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.suggest import did_you_mean
from gradcheck.language.trial_draws import with_trials
from gradcheck.printable_result import PrintableResult


@dataclass(frozen=True, slots=True)
class ExplainedDerivative(PrintableResult):
    """A derivative as a formula; `proof` is its certificate, if it is proved."""

    case: Case
    term: Derivative
    expr: Expr | None = None
    shape: tuple[int, ...] = ()
    points: int = 0  # at which it holds
    proof: Mapping[str, Any] | None = None
    why_not: Fact | None = None  # why there is none


def explain_derivative(case: Case, term: Derivative, seed: int | None = None) -> ExplainedDerivative:
    """Return the formula, if it is found and holds as a claim.

    Raises InvalidCase for a tensor that the case does not have."""
    known = [*case.inputs, *case.graph]
    for tensor in term.tensors:
        if tensor.partition("[")[0] not in known:
            raise InvalidCase(f"the case has no tensor {tensor}", place=case.place, hint=did_you_mean(tensor, known))
    with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[case.dtype])), quiet():
        try:
            expr = derived_formula(case, term, seed)
            return _checked(case, term, expr, seed)
        except (GradcheckError, InvalidCase) as error:
            return ExplainedDerivative(case, term, why_not=fact("said", text=str(error)))


def _checked(case: Case, term: Derivative, expr: Expr, seed: int | None) -> ExplainedDerivative:
    """Return the formula as read back from its text, if the claim holds."""
    claim = Claim.of(parse(to_text(expr)))
    of, by = term.tensors[0], ", ".join(term.tensors[1:])
    section: dict[str, Any] = {f"{term.kind}s": {of: {by: (claim,)}}}
    stated = replace(with_trials(case.without_claims()), **section, xfail=None, implementations=())
    core = Core()
    found = check_case(stated, Options(engines=("core",), reference="core", seed=seed), Engines((core,), core))
    held = [c for c in found.comparisons if c.what.is_about_derivative and c.formula]
    if not held or any(c.status != "passed" for c in held):
        return ExplainedDerivative(case, term, why_not=fact("derived_formula_is_wrong", formula=claim.text))
    return ExplainedDerivative(case, term, claim.expr, held[0].shape, len(held), held[0].certificate)
