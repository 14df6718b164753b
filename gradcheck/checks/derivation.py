"""A case's gradients as formulas that a person can read: derived, simplified, written, read back and verified.

Nothing is handed out that was not parsed again from its own text and found equal to the core's gradient, at the case's
own numbers and, where values or sizes can vary, at others; what the exact oracle can prove it proves. A formula whose
simplified form does not hold is given as it was derived.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.claims.formulas import check_formula
from gradcheck.checks.claims.stated import Claims
from gradcheck.checks.options import Engines
from gradcheck.checks.points import Point, draw_until
from gradcheck.engines.base import Evaluation
from gradcheck.engines.core import Core
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, Claim, Step
from gradcheck.language.expr.nodes import Expr, Gradient
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.sharing import Derivation, Pool, share, sizes
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from gradcheck.language.symbolic.derive import MAX_NODES, derive
from gradcheck.language.symbolic.simplify.facts import Facts, Sample
from gradcheck.language.symbolic.simplify.rules import Simplifier
from gradcheck.language.trials import inner_roots, is_general
from gradcheck.oracles.exact.prove import prove

#: How many other points formulas are derived and verified at.
TRIALS = 3
#: A case of more numbers is simplified and proved at the sizes of its trials, if they can vary.
LARGE = 100_000
#: Of the text of a formula as it is read back; a case file takes only shorter ones.
MAX_LENGTH = 1_000_000


@dataclass(frozen=True, slots=True)
class DerivedFormula:
    """The gradient of one tensor. It holds at so many `points`, the case's own first; at that one `alone` where it has
    numbers of the case in it, or a form that depends on a size. `proved` is the exact oracle's bound on accepting it
    wrongly, None without a proof; `lasting` whether it also holds for what has accumulated when the case has ended.
    """

    tensor: str
    expr: Expr
    shape: tuple[int, ...]
    points: int
    alone: bool = False
    proved: float | None = None
    lasting: bool = True


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a case computes, and its gradients after the pass `step`. `why_not` says why there are none; `proved_at` the
    sizes that proofs are about, where they are not the case's own; `incoming` are the roots whose gradient is what
    comes in and no formula."""

    case: Case
    problem: Problem
    values: Mapping[str, np.ndarray]
    let: Mapping[str, Expr] = field(default_factory=dict)
    formulas: tuple[DerivedFormula, ...] = ()
    step: int | None = None
    why_not: Fact | None = None
    proved_at: Mapping[str, int] = field(default_factory=dict)
    incoming: tuple[str, ...] = ()


class _NotDerived(Exception):
    """Why a gradient has no formula, as a Fact."""

    def __init__(self, why: Fact) -> None:
        super().__init__(why)
        self.why = why


def explain(case: Case, seed: int | None = None, *, expand: bool = False) -> Explanation:
    """The formulas of the last backward pass that a case completes; with `expand` without `grad(…)` of intermediates.

    Raises InvalidCase where the case's own numbers cannot be drawn.
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
            let, formulas = explainer.explained()
        except _NotDerived as error:
            return Explanation(case, problem, values, step=step, why_not=error.why)
        except GradcheckError as error:
            return Explanation(case, problem, values, step=step, why_not=fact("said", text=str(error)))
        found = Explanation(case, problem, values, let, formulas, step, proved_at=explainer.proved_at)
        return replace(found, incoming=tuple(explainer.incoming))


def _last_pass(case: Case, evaluation: Evaluation) -> int | None:
    passes = [
        index
        for index, (step, state) in enumerate(zip(case.steps, evaluation.states, strict=False))
        if step.action == "backward" and state.error is None
    ]
    return passes[-1] if passes else None


def pass_alone(problem: Problem, step: int) -> Problem:
    """The same graph with one backward pass alone, at the inputs that it had then."""
    inputs = dict(problem.inputs)
    constants = dict(problem.constants)
    for changed in problem.forwards[:step]:
        inputs |= {name: array for name, array in changed.items() if name in inputs}
        constants |= {name: array for name, array in changed.items() if name in constants}
    only = Step("backward", roots=problem.case.steps[step].roots)
    case = replace(
        problem.case, steps=(only,), values={}, expected={}, formulas={}, wrong_formulas={}, let={}, checks=()
    )
    return replace(problem, case=case, inputs=inputs, constants=constants, seeds=(problem.seeds[step],), forwards=({},))


@dataclass(frozen=True, slots=True, eq=False)
class _Numbers:
    """The whole case at one point, and the one pass alone, at the inputs that it had then."""

    whole: Point
    alone: Point

    @classmethod
    def of(cls, whole: Point, step: int) -> _Numbers | Fact:
        """Both, or why the pass cannot be run."""
        if len(whole.want.states) > step:
            alone = Point(pass_alone(whole.problem, step), whole.engines)
            if not alone.want.error and alone.want.states and not alone.want.states[-1].error:
                return cls(whole, alone)
        return fact("pass_not_run")

    @property
    def size(self) -> int:
        """How many numbers the values of the graph are."""
        return sum(array.size for array in self.alone.want.states[-1].values.values())


class _Explainer:
    """The formulas of one pass of a case, looked for at its own numbers and at trials."""

    def __init__(self, own: Point, step: int, expand: bool) -> None:
        self.case, self.step, self.expand = own.problem.case, step, expand
        first = _Numbers.of(own, step)
        if isinstance(first, Fact):
            raise _NotDerived(first)
        self.numbers = [first, *self._trials(own)]
        self.problem = first.alone.problem
        self.incoming: list[str] = []
        self.small = [numbers for numbers in self.numbers if numbers.size <= LARGE]
        at_own_sizes = first in self.small or not self.small
        self.proving = first.alone.problem if at_own_sizes else max(self.small, key=lambda n: n.size).alone.problem

    @property
    def proved_at(self) -> Mapping[str, int]:
        """The sizes at which formulas are proved, where they are not the case's own."""
        return {} if self.proving is self.problem else self.proving.sizes

    def _trials(self, own: Point) -> Iterator[_Numbers]:
        if is_general(self.case):
            for trial in range(TRIALS):
                found = draw_until(
                    self.case,
                    own.problem.seed,
                    trial,
                    lambda problem: _Numbers.of(Point(problem, own.engines), self.step),
                )
                if not isinstance(found, Fact):
                    yield found

    def explained(self) -> tuple[dict[str, Expr], tuple[DerivedFormula, ...]]:
        """Steps and formulas, all of which hold; what does not hold when simplified comes as it was derived.

        Raises _NotDerived, or Unsupported, where a gradient cannot be written down.
        """
        raw = derive(self.problem, expand=self.expand, most=None)
        self.incoming = [name for name, expr in raw.items() if expr == Gradient(name)]
        raw = {name: expr for name, expr in raw.items() if name not in self.incoming}
        single = len(self.case.steps) == 1
        samples = [names_at(numbers.alone) for numbers in self.small or self.numbers]
        chosen = simplifier(self.problem, samples, single).simplify(raw)
        bound: set[str] = set()  # what holds at the case's own numbers alone
        while True:
            let, formulas = self._written(chosen)
            holds = self._holds(let, formulas, [numbers.alone for numbers in self.numbers])
            wrong = [name for name, found in holds.items() if not (all(found) or (name in bound and found[0]))]
            if not wrong:
                return let, tuple(self._finished(let, formulas, bound))
            for name in wrong:
                if chosen[name] is not raw[name]:
                    chosen[name] = raw[name]
                elif holds[name][0]:
                    bound.add(name)
                else:
                    raise _NotDerived(fact("derived_does_not_hold", tensor=name))

    def _written(self, formulas: Mapping[str, Expr]) -> Derivation:
        """With steps, and as it is read back from its text."""
        shared = share(formulas, taken_names(self.case, self.problem))
        longest = max(sizes({**shared.let, **shared.formulas}).values(), default=0)
        if longest > MAX_NODES:
            raise _NotDerived(fact("formula_too_long", parts=longest))

        def read(expr: Expr) -> Expr:
            return parse(to_text(expr), max_length=MAX_LENGTH)

        return Derivation(
            {name: read(expr) for name, expr in shared.let.items()},
            {name: read(expr) for name, expr in shared.formulas.items()},
        )

    def _holds(
        self, let: Mapping[str, Expr], formulas: Mapping[str, Expr], points: Sequence[Point]
    ) -> dict[str, list[bool]]:
        """Of each formula, whether it equals the core's gradient after the last step of each point."""
        claims = _as_claims(formulas)
        found: dict[str, list[bool]] = {name: [] for name in formulas}
        for point in points:
            last = len(point.want.states) - 1
            stated = Claims(point.claiming(replace(point.problem.case, let=_as_claims(let))), last)
            raised = point.want.states[last].error is not None
            for name, claim in claims.items():
                found[name].append(not raised and check_formula(stated, name, claim).status == "passed")
        return found

    def _finished(
        self, let: Mapping[str, Expr], formulas: Mapping[str, Expr], bound: set[str]
    ) -> Iterator[DerivedFormula]:
        gradients = self.numbers[0].alone.want.states[-1].gradients
        bounds = self._proofs(let, formulas, bound)
        single = len(self.case.steps) == 1
        ended = {} if single else self._holds(let, formulas, [numbers.whole for numbers in self.numbers])
        for name, formula in formulas.items():
            gradient = gradients[name]
            assert gradient is not None
            points = 1 if name in bound else len(self.numbers)
            lasting = single or all(ended[name])
            yield DerivedFormula(name, formula, gradient.shape, points, name in bound, bounds.get(name), lasting)

    def _proofs(self, let: Mapping[str, Expr], formulas: Mapping[str, Expr], bound: set[str]) -> dict[str, float]:
        """The bounds of those that the exact oracle proves, of all but the `bound` ones. Raises _NotDerived where it
        refutes one, unless there are incoming gradients that no formula can name: those below another root, which are
        written out. Such a formula is bound, too."""
        if not self.small:
            return {}
        problem = replace(self.proving, case=replace(self.proving.case, let=_as_claims(let)))
        found = {}
        claims = _as_claims({name: formula for name, formula in formulas.items() if name not in bound})
        for name, proof in zip(claims, prove(problem, list(claims.items())), strict=True):
            if proof.status == "refuted" and not inner_roots(problem.case):
                raise _NotDerived(fact("derived_is_refuted", tensor=name))
            if proof.status == "refuted":
                bound.add(name)
            elif proof.status == "proved":
                found[name] = proof.bound
        return found


def _as_claims(exprs: Mapping[str, Expr]) -> dict[str, Claim]:
    return {name: Claim.of(expr) for name, expr in exprs.items()}


def names_at(point: Point) -> Sample:
    """Names and gradients after the last step, as a formula sees them."""
    scope = point.scope(point.last)
    return Sample(scope, scope.gradients, point.problem.dtype)


def taken_names(case: Case, problem: Problem) -> set[str]:
    """The names that a step of a derivation cannot have."""
    return {*problem.sizes, *case.dims, *problem.inputs, *problem.constants, *case.graph, *case.let}


def simplifier(problem: Problem, points: Sequence[Sample], single: bool) -> Simplifier:
    """What simplifies formulas for the gradients of a problem whose one step is a backward pass. Where it is the
    `single` one, and starts from one element, the gradient there is 1; of several passes it is what they add up to."""
    (seeds,) = problem.seeds
    ones = [name for name, seed in seeds.items() if seed is None and single and len(seeds) == 1]
    facts = Facts(points, Pool(), ones, [*problem.inputs, *problem.case.graph])
    return Simplifier(facts)
