"""A case's gradients as formulas that a person can read: derived, simplified, written, read back and verified.

Nothing is handed out that was not parsed again from its own text and found equal to the core's gradient, at the case's
own numbers and, where values or sizes can vary, at others; what the exact oracle can prove it proves. A formula whose
simplified form does not hold is given as it was derived.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache as cached
from typing import NamedTuple

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.claims.formulas import check_formula
from gradcheck.checks.claims.stated import Claims
from gradcheck.checks.options import Engines
from gradcheck.checks.passes import Pass, corners, elsewhere, misses
from gradcheck.checks.points import Point
from gradcheck.engines.base import Evaluation
from gradcheck.engines.core import Core
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, Claim
from gradcheck.language.expr.nodes import Expr, Gradient
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.sharing import Derivation, Pool, share, sizes
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from gradcheck.language.symbolic.derive import MAX_NODES, definitions, derive
from gradcheck.language.symbolic.simplify.facts import Facts, Sample
from gradcheck.language.symbolic.simplify.rules import Simplifier
from gradcheck.language.trials import inner_roots
from gradcheck.oracles.exact.prove import prove
from gradcheck.oracles.exact.tracker import Proof

#: In a graph of no more entries, gradients are also looked for in closed form.
FEW = 32
#: A case of more numbers is simplified and proved at the sizes of its trials, if they can vary.
LARGE = 100_000
#: Of the text of a formula as it is read back; a case file takes only shorter ones.
MAX_LENGTH = 1_000_000


@dataclass(frozen=True, slots=True)
class DerivedFormula:
    """The gradient of one tensor. It holds at so many `points`, the case's own first; at that one `alone` where it has
    numbers of the case in it, or a form that depends on a size. `proved` is the exact oracle's bound on accepting it
    wrongly, None without a proof; `lasting` whether it also holds for what has accumulated when the case has ended. It is
    about points where none of `nonzero` is 0.
    """

    tensor: str
    expr: Expr
    shape: tuple[int, ...]
    points: int
    alone: bool = False
    proved: float | None = None
    lasting: bool = True
    nonzero: tuple[Expr, ...] = ()


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


class _Way(NamedTuple):
    """A way to write a gradient. It holds where none of `nonzero` is 0; `raw` as it was derived."""

    expr: Expr
    nonzero: tuple[Expr, ...] = ()
    raw: bool = False


class _Explainer:
    """The formulas of one pass of a case, looked for at its own numbers and elsewhere."""

    def __init__(self, own: Point, step: int, expand: bool) -> None:
        self.case, self.expand = own.problem.case, expand
        first = Pass.of(own, step)
        if isinstance(first, Fact):
            raise _NotDerived(first)
        self.passes = [first, *elsewhere(first, step)]
        self.corners = list(corners(first, step))
        self.problem = first.alone.problem
        self.incoming: list[str] = []
        self.small = [one for one in self.passes if one.size <= LARGE]
        at_own_sizes = first in self.small or not self.small
        self.proving = first.alone.problem if at_own_sizes else max(self.small, key=lambda n: n.size).alone.problem

    @property
    def proved_at(self) -> Mapping[str, int]:
        """The sizes at which formulas are proved, where they are not the case's own."""
        return {} if self.proving is self.problem else self.proving.sizes

    def explained(self) -> tuple[dict[str, Expr], tuple[DerivedFormula, ...]]:
        """Steps and formulas, all of which hold; what does not hold when simplified comes as it was derived.

        Raises _NotDerived, or Unsupported, where a gradient cannot be written down.
        """
        raw = derive(self.problem, expand=self.expand, most=None)
        self.incoming = [name for name, expr in raw.items() if expr == Gradient(name)]
        ways = self._ways({name: expr for name, expr in raw.items() if name not in self.incoming})
        chosen = {name: next(of) for name, of in ways.items()}
        bound: set[str] = set()  # what holds at the case's own numbers alone
        while True:
            found = _Judged(self, self._written({name: way.expr for name, way in chosen.items()}), chosen, bound)
            wrong = [name for name in chosen if not found.holds(name)]
            if not wrong:
                return found.derivation.let, tuple(found.formulas())
            for name in wrong:
                other = next(ways[name], None)
                if other is not None:
                    chosen[name] = other
                elif found.can_be_bound(name):
                    bound.add(name)
                else:
                    raise _NotDerived(fact(found.why_not(name), tensor=name))

    def _ways(self, raw: Mapping[str, Expr]) -> dict[str, Iterator[_Way]]:
        """Each gradient simplified, in closed form where that is shorter; with all guards; and as it was derived."""
        samples = [one.sample() for one in self.small or self.passes]
        single = len(self.case.steps) == 1
        found = simplifier(self.problem, samples, single)
        simple = found.simplify(raw)
        if not self.expand and len(self.case.graph) <= FEW:
            closed = found.simplify(derive(self.problem, expand=True, most=None))
            simple = {name: min(expr, closed[name], key=found.know.length) for name, expr in simple.items()}
        guarded = cached(lambda: simplifier(self.problem, samples, single, guards=True).simplify(raw))

        def ways(name: str) -> Iterator[_Way]:
            yield _Way(simple[name], tuple(found.know.divided_by(simple[name])), simple[name] is raw[name])
            yield _Way(guarded()[name])
            yield _Way(raw[name], raw=True)

        return {name: ways(name) for name in raw}

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


class _Judged:
    """Formulas, each written in some way, and how they do: at every point, at the corners, before the exact oracle."""

    def __init__(
        self, of: _Explainer, derivation: Derivation, ways: Mapping[str, _Way], bound: Collection[str]
    ) -> None:
        self.of, self.derivation, self._ways, self._bound = of, derivation, ways, bound
        self._let, self._claims = _as_claims(derivation.let), _as_claims(derivation.formulas)
        self._statuses = self._at([one.alone for one in of.passes])
        self._proofs = self._proved()

    def _at(self, points: Sequence[Point]) -> dict[str, list[str]]:
        """How each formula compares with the core's gradient after the last step of each point."""
        found: dict[str, list[str]] = {name: [] for name in self._claims}
        for point in points:
            claims = self._claims_at(point)
            raised = point.want.states[claims.step].error is not None
            for name, claim in self._claims.items():
                found[name].append("failed" if raised else check_formula(claims, name, claim).status)
        return found

    def _claims_at(self, point: Point) -> Claims:
        return Claims(point.claiming(replace(point.problem.case, let=self._let)), len(point.want.states) - 1)

    def _proved(self) -> dict[str, Proof]:
        """What the exact oracle says of those that are to hold for any values."""
        of = self.of
        if not of.small:
            return {}
        problem = replace(of.proving, case=replace(of.proving.case, let=self._let))
        claims = [(name, claim) for name, claim in self._claims.items() if name not in self._bound]
        return {name: proof for (name, _), proof in zip(claims, prove(problem, claims), strict=True)}

    def _status(self, name: str) -> str:
        return self._proofs[name].status if name in self._proofs else "unsupported"

    def holds(self, name: str) -> bool:
        """Whether it can be shown: it holds at every point, or is proved where rounding leaves that open; with a
        condition, it is proved."""
        found, way, status = self._statuses[name], self._ways[name], self._status(name)
        if name in self._bound:
            return found[0] == "passed"
        if status == "refuted" or not set(found) <= ({"passed", "undecided"} if status == "proved" else {"passed"}):
            return False
        return (not way.nonzero or status == "proved") and (way.raw or not self._misses(name))

    def _misses(self, name: str) -> bool:
        """Whether it differs from a gradient at a corner, but by being undefined where it says so."""
        for corner in self.of.corners:
            gradient = corner.gradients.get(name)
            try:
                claimed = self._claims_at(corner.alone).scope.array_of(self._claims[name].expr)
            except GradcheckError:
                continue  # the inverse of zeros
            if gradient is not None and misses(claimed, gradient, may_be_undefined=bool(self._ways[name].nonzero)):
                return True
        return False

    def can_be_bound(self, name: str) -> bool:
        """Whether it holds at the case's own numbers alone: since it has some of them in it, or incoming gradients that
        no formula can name, those below another root, which are written out."""
        refuted = self._status(name) == "refuted"
        return self._statuses[name][0] == "passed" and (not refuted or bool(inner_roots(self.of.problem.case)))

    def why_not(self, name: str) -> str:
        """Why it cannot be shown, as a kind of Fact."""
        return "derived_is_refuted" if self._status(name) == "refuted" else "derived_does_not_hold"

    def formulas(self) -> Iterator[DerivedFormula]:
        """What is shown."""
        single = len(self.of.case.steps) == 1
        ended = {} if single else self._at([one.whole for one in self.of.passes])
        for name, formula in self.derivation.formulas.items():
            gradient = self.of.passes[0].gradients[name]
            assert gradient is not None
            proof = self._proofs.get(name)
            yield DerivedFormula(
                name,
                formula,
                gradient.shape,
                1 if name in self._bound else self._statuses[name].count("passed"),
                name in self._bound,
                proof.bound if proof is not None and proof.status == "proved" else None,
                single or set(ended[name]) == {"passed"},
                self._ways[name].nonzero,
            )


def _as_claims(exprs: Mapping[str, Expr]) -> dict[str, Claim]:
    return {name: Claim.of(expr) for name, expr in exprs.items()}


def taken_names(case: Case, problem: Problem) -> set[str]:
    """The names that a step of a derivation cannot have."""
    return {*problem.sizes, *case.dims, *problem.inputs, *problem.constants, *case.graph, *case.let}


def simplifier(problem: Problem, points: Sequence[Sample], single: bool, *, guards: bool = False) -> Simplifier:
    """What simplifies formulas for the gradients of a problem whose one step is a backward pass. Where it is the
    `single` one, and starts from one element, the gradient there is 1; of several passes it is what they add up to. With
    `guards`, nothing holds but for zeros."""
    (seeds,) = problem.seeds
    ones = [name for name, seed in seeds.items() if seed is None and single and len(seeds) == 1]
    facts = Facts(points, Pool(), ones, [*problem.inputs, *problem.case.graph], list(problem.sizes))
    facts.keeps_guards, facts.constants = guards, frozenset(problem.constants)
    found = Simplifier(facts)
    found.define(definitions(problem))
    return found
