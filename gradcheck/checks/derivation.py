"""Derive a case's gradients as formulas that a person can read.

Each formula is derived, simplified, written, parsed again and then compared with the core's gradient: at the case's
own numbers and, where values or sizes can vary, at others. The exact oracle proves it where it can. If the simplified
form does not hold, the form as derived is returned.

A claim that equals such a formula is right, but no independent evidence for the core's rules. Two formulas are equal if
they simplify to the same expression.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.derivation_check import DerivationCheck, GradientForm
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import CaseResult, Comparison
from gradcheck.checks.single_backward import BackwardPoints, pass_alone, sample_at
from gradcheck.engines.base import Evaluation
from gradcheck.engines.core import Core
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.expr.common_subexpressions import (
    Derivation,
    InternPool,
    extract_steps,
    tree_sizes,
    without_steps,
)
from gradcheck.language.expr.nodes import Expr, Gradient
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import inline_steps
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from gradcheck.language.symbolic.simplify.bracket_removal import drop_brackets
from gradcheck.language.symbolic.simplify.part_properties import PartProperties, Sample
from gradcheck.language.symbolic.simplify.simplifier import Simplifier
from gradcheck.language.symbolic.symbolic_gradients import MAX_NODES, definitions, derive_gradients
from gradcheck.printable_result import PrintableResult

#: In graphs of at most this many entries, gradients are also derived in closed form.
MAX_EXPANDED_ENTRIES = 32
#: The longest formula text that is parsed again; a case file allows less.
MAX_LENGTH = 1_000_000
#: The most nodes of a formula with its steps written out.
_MOST_WRITTEN = 20_000


@dataclass(frozen=True, slots=True)
class DerivedFormula:
    """The formula of one tensor's gradient, and where it holds."""

    tensor: str
    expr: Expr
    shape: tuple[int, ...]
    points: int  # how many it holds at
    is_case_specific: bool = False  # whether it holds at the case's own numbers only
    proof_bound: float | None = None  # the chance of a false proof; None without a proof
    holds_accumulated: bool = True  # whether it holds for the gradient at the end of the case
    nonzero: tuple[Expr, ...] = ()  # expressions that must not be 0


@dataclass(frozen=True, slots=True)
class Explanation(PrintableResult):
    """The values of a case and its gradient formulas after pass `step`."""

    case: Case
    problem: Problem
    values: Mapping[str, np.ndarray]
    let: Mapping[str, Expr] = field(default_factory=dict)
    formulas: tuple[DerivedFormula, ...] = ()
    step: int | None = None
    why_not: Fact | None = None  # the reason if there are none
    proved_at: Mapping[str, int] = field(default_factory=dict)  # sizes of proofs, if not the case's own
    incoming: tuple[str, ...] = ()  # roots whose gradient is the incoming one

    def without_steps(self, most: int = _MOST_WRITTEN) -> dict[str, Expr]:
        """Return the formulas that hold in the end, with steps written out."""
        lasting = {one.tensor: one.expr for one in self.formulas if one.holds_accumulated}
        return without_steps(Derivation(dict(self.let), lasting), most)


class _NotDerived(Exception):
    """Raised if a gradient has no formula, with the reason as a Fact."""

    def __init__(self, why: Fact) -> None:
        super().__init__(why)
        self.why = why


def explain(case: Case, seed: int | None = None, *, expand: bool | None = None) -> Explanation:
    """Derive the formulas of the last backward pass that a case completes.

    With `expand`, formulas have no `grad(…)` of intermediates; None expands only those that get shorter.

    Raises InvalidCase if the case's own numbers cannot be drawn.
    """
    with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[case.dtype])), quiet():
        own = Point(draw(case, seed), Engines((), Core()))
        problem, states = own.problem, own.want.states
        if not states:
            return Explanation(case, problem, {}, why_not=fact("forward_raises", error=str(own.want.error)))
        step = _last_pass(case, own.want)
        values = states[-1 if step is None else step].values
        if step is None:
            return Explanation(case, problem, values, why_not=fact("no_pass_completed"))
        try:
            explainer = _Explainer(own, step, expand)
            let, formulas = explainer.derive_all()
        except _NotDerived as error:
            return Explanation(case, problem, values, step=step, why_not=error.why)
        except GradcheckError as error:
            return Explanation(case, problem, values, step=step, why_not=fact("said", text=str(error)))
        found = Explanation(case, problem, values, let, formulas, step, proved_at=explainer.passes.proved_at)
        return replace(found, incoming=tuple(explainer.incoming))


def _last_pass(case: Case, evaluation: Evaluation) -> int | None:
    passes = [
        index
        for index, (step, state) in enumerate(zip(case.steps, evaluation.states, strict=False))
        if step.action == "backward" and state.error is None
    ]
    return passes[-1] if passes else None


class _Explainer:
    def __init__(self, own: Point, step: int, expand: bool | None) -> None:
        self.case, self.expand = own.problem.case, expand
        passes = BackwardPoints.of(own, step)
        if isinstance(passes, Fact):
            raise _NotDerived(passes)
        self.passes = passes
        self.problem = passes.own.alone.problem
        self.incoming: list[str] = []

    def derive_all(self) -> tuple[dict[str, Expr], tuple[DerivedFormula, ...]]:
        """Return steps and formulas that hold. Raises _NotDerived, Unsupported."""
        raw = derive_gradients(self.problem, expand=bool(self.expand), most=None)
        self.incoming = [name for name, expr in raw.items() if expr == Gradient(name)]
        forms = self._forms({name: expr for name, expr in raw.items() if name not in self.incoming})
        chosen = {name: next(of) for name, of in forms.items()}
        bound: set[str] = set()  # formulas that hold at the case's own numbers only
        while True:
            found = DerivationCheck(self.passes, self._write_and_parse(chosen), chosen, bound)
            wrong = [name for name in chosen if not found.holds(name)]
            if not wrong:
                return found.derivation.let, tuple(self._derived_formulas(found, chosen, bound))
            for name in wrong:
                other = next(forms[name], None)
                if other is not None:
                    chosen[name] = other
                elif found.may_be_case_specific(name):
                    bound.add(name)
                else:
                    raise _NotDerived(found.why_not(name))

    def _forms(self, raw: Mapping[str, Expr]) -> dict[str, Iterator[GradientForm]]:
        """Yield each gradient's forms, from the shortest to the raw one."""
        samples = [sample_at(one.alone) for one in self.passes.small or self.passes.all]
        single = len(self.case.steps) == 1
        found = simplifier(self.problem, samples, single)
        simple = found.simplify(raw)
        if self.expand is None and len(self.case.graph) <= MAX_EXPANDED_ENTRIES:
            closed = found.simplify(derive_gradients(self.problem, expand=True, most=None))
            simple = {name: min(expr, closed[name], key=found.properties.op_count) for name, expr in simple.items()}
        spoken = drop_brackets(simple, found.properties)
        guarded = cache(lambda: simplifier(self.problem, samples, single, guards=True).simplify(raw))

        def forms(name: str) -> Iterator[GradientForm]:
            nonzero = tuple(found.properties.assumed_divisors(simple[name]))
            yield GradientForm(spoken[name], nonzero)
            yield GradientForm(simple[name], nonzero)
            yield GradientForm(guarded()[name])
            yield GradientForm(raw[name], is_raw=True)

        return {name: forms(name) for name in raw}

    def _write_and_parse(self, forms: Mapping[str, GradientForm]) -> Derivation:
        """Return formulas with shared steps, parsed again from their text."""
        shared = extract_steps({name: form.expr for name, form in forms.items()}, taken_names(self.case, self.problem))
        longest = max(tree_sizes({**shared.let, **shared.formulas}).values(), default=0)
        if longest > MAX_NODES:
            raise _NotDerived(fact("formula_too_long", parts=longest))

        def read(expr: Expr) -> Expr:
            return parse(to_text(expr), max_length=MAX_LENGTH)

        return Derivation(
            {name: read(expr) for name, expr in shared.let.items()},
            {name: read(expr) for name, expr in shared.formulas.items()},
        )

    def _derived_formulas(
        self, found: DerivationCheck, forms: Mapping[str, GradientForm], bound: Collection[str]
    ) -> Iterator[DerivedFormula]:
        lasting = found.holding_accumulated() if len(self.case.steps) > 1 else None
        for name, formula in found.derivation.formulas.items():
            gradient = self.passes.own.gradients[name]
            assert gradient is not None
            yield DerivedFormula(
                name,
                formula,
                gradient.shape,
                1 if name in bound else found.point_count(name),
                name in bound,
                found.proof_bound(name),
                lasting is None or name in lasting,
                forms[name].nonzero,
            )


def taken_names(case: Case, problem: Problem) -> set[str]:
    """Return the names that a step of a derivation cannot have."""
    return {*problem.sizes, *case.dims, *problem.inputs, *problem.constants, *case.graph, *case.let}


def simplifier(problem: Problem, points: Sequence[Sample], single: bool, *, guards: bool = False) -> Simplifier:
    """Return a simplifier for the gradients of a one-pass problem.

    If the case is that `single` pass and starts from one element, its incoming gradient is 1. With `guards`,
    expressions that guard against 0 stay."""
    (seeds,) = problem.seeds
    ones = [name for name, seed in seeds.items() if seed is None and single and len(seeds) == 1]
    facts = PartProperties(points, InternPool(), ones, [*problem.inputs, *problem.case.graph], list(problem.sizes))
    facts.keeps_guards, facts.constants = guards, frozenset(problem.constants)
    found = Simplifier(facts)
    found.define(definitions(problem))
    return found


def note_derived(result: CaseResult, case: Case, options: Options, engines: Engines) -> CaseResult:
    """Note each formula that equals the derived one, in one-pass cases."""
    if result.status != "passed" or not case.formulas or [step.action for step in case.steps] != ["backward"]:
        return result
    chosen = options.apply(case)
    with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[chosen.dtype])), quiet():
        same = derived_claims(draw(chosen, options.seed))

    def noted(c: Comparison) -> Comparison:
        is_derived = c.what is ClaimKind.FORMULA and c.trial is None and (c.tensor, c.formula) in same
        return c.with_notes(fact("equals_derived")) if is_derived else c

    return replace(result, comparisons=tuple(map(noted, result.comparisons)))


def derived_claims(problem: Problem) -> set[tuple[str, str]]:
    """Return tensor and text of each formula that equals a derived one."""
    case = problem.case
    point = Point(pass_alone(problem, 0), Engines((), Core()))
    claims = [(name, claim) for name, listed in case.formulas.items() for claim in listed]
    try:
        known = {
            f"{expand} {name}": formula
            for expand in (False, True)
            for name, formula in derive_gradients(point.problem, expand=expand, most=None).items()
        }
        let = {name: claim.expr for name, claim in case.let.items()}
        stated = {f"claim {index}": inline_steps(claim.expr, let) for index, (_, claim) in enumerate(claims)}
        simple = simplifier(point.problem, [sample_at(point)], True).simplify({**known, **stated})
    except GradcheckError:  # what cannot be derived equals nothing
        return set()
    return {
        (name, claim.text)
        for index, (name, claim) in enumerate(claims)
        if any(simple[f"claim {index}"] == simple.get(f"{expand} {name}") for expand in (False, True))
    }
