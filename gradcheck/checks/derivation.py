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
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.claims.formulas import court_of, hear_formula
from gradcheck.checks.claims.stated import Court
from gradcheck.checks.closeness.conditioning import Noise
from gradcheck.checks.ground import Ground
from gradcheck.engines.base import Evaluation
from gradcheck.engines.core import Core
from gradcheck.errors import GradcheckError, Unsupported
from gradcheck.language.case import Case, Claim, Step
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.sharing import Derivation, Pool, share, sizes
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from gradcheck.language.symbolic.derive import MAX_NODES, derive
from gradcheck.language.symbolic.simplify.facts import Facts, Point
from gradcheck.language.symbolic.simplify.simplifier import Simplifier
from gradcheck.language.trials import is_general
from gradcheck.oracles.exact.prove import prove

#: How many other points formulas are derived and verified at, and how often one is drawn again that does not fit.
TRIALS, ATTEMPTS = 3, 12
#: A case of more numbers is simplified and proved at the sizes of its trials, if they can vary.
LARGE = 100_000
#: Of the text of a formula; a case file takes only shorter ones.
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
    """What a case computes, and its gradients. `why_not` says why there are none; `proved_at` the sizes that proofs are
    about, where they are not the case's own."""

    case: Case
    problem: Problem
    values: Mapping[str, np.ndarray]
    let: Mapping[str, Expr]
    formulas: tuple[DerivedFormula, ...]
    step: int | None = None
    why_not: str = ""
    proved_at: Mapping[str, int] = field(default_factory=dict)


def explain(case: Case, seed: int | None = None, *, expand: bool = False) -> Explanation:
    """The formulas of the last backward pass that a case completes; with `expand` without `grad(…)` of intermediates.

    Raises InvalidCase where the case's own numbers cannot be drawn.
    """
    with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[case.dtype])), np.errstate(all="ignore"):
        problem = draw(case, seed)
        evaluation = Core().evaluate(problem)
        if not evaluation.states:
            return Explanation(case, problem, {}, {}, (), why_not=f"the forward pass raises: {evaluation.error}")
        step = _last_pass(case, evaluation)
        values = evaluation.states[-1 if step is None else step].values
        if step is None:
            return Explanation(case, problem, values, {}, (), why_not="no backward pass is completed")
        try:
            explaining = _Explaining(case, seed, step, expand)
            let, formulas = explaining.explained()
        except GradcheckError as error:
            return Explanation(case, problem, values, {}, (), step, str(error))
        proved_at = {} if explaining.proving is explaining.problem else explaining.proving.sizes
        return Explanation(case, problem, values, let, formulas, step, proved_at=proved_at)


def _last_pass(case: Case, evaluation: Evaluation) -> int | None:
    passes = [
        index
        for index, (step, state) in enumerate(zip(case.steps, evaluation.states, strict=False))
        if step.action == "backward" and state.error is None
    ]
    return passes[-1] if passes else None


@dataclass(frozen=True, slots=True, eq=False)
class _Scene:
    """One point: the whole problem, and the one pass alone, each evaluated by the core."""

    whole: tuple[Problem, Evaluation]
    alone: tuple[Problem, Evaluation]


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


class _Explaining:
    """One case on its way."""

    def __init__(self, case: Case, seed: int | None, step: int, expand: bool) -> None:
        self.case, self.step, self.expand = case, step, expand
        own = self._scene(draw(case, seed))
        if own is None:
            raise Unsupported("the backward pass alone cannot be run")
        self.scenes = [own, *self._others(seed)]
        self.problem = own.alone[0]
        self.small = [scene for scene in self.scenes if _numbers(scene) <= LARGE]
        self.proving = (own if own in self.small or not self.small else max(self.small, key=_numbers)).alone[0]

    def _others(self, seed: int | None) -> list[_Scene]:
        found = []
        for trial in range(TRIALS) if is_general(self.case) else ():
            for attempt in range(ATTEMPTS):
                try:
                    scene = self._scene(draw(self.case, seed, trial, attempt=attempt))
                except GradcheckError:  # sizes that do not go together: others will
                    continue
                if scene is not None:
                    found.append(scene)
                    break
        return found

    def _scene(self, problem: Problem) -> _Scene | None:
        whole = Core().evaluate(problem)
        if len(whole.states) <= self.step:
            return None
        alone = pass_alone(problem, self.step)
        evaluation = Core().evaluate(alone)
        if evaluation.error or not evaluation.states or evaluation.states[-1].error:
            return None
        return _Scene((problem, whole), (alone, evaluation))

    def explained(self) -> tuple[dict[str, Expr], tuple[DerivedFormula, ...]]:
        """Steps and formulas, all of which hold. Raises Unsupported where a gradient cannot be written down."""
        raw = derive(self.problem, expand=self.expand, most=None)
        single = len(self.case.steps) == 1
        chosen = simplifier(self.problem, self._points(), single).simplify(raw)
        bound: set[str] = set()  # what holds at the case's own numbers alone
        while True:
            let, formulas = self._written(chosen)
            holds = {name: self._holds(let, name, formula) for name, formula in formulas.items()}
            wrong = [name for name, found in holds.items() if not (all(found) or (name in bound and found[0]))]
            if not wrong:
                return let, tuple(self._finished(let, formulas, bound))
            for name in wrong:
                if chosen[name] is not raw[name]:
                    chosen[name] = raw[name]
                elif holds[name][0]:
                    bound.add(name)
                else:
                    raise Unsupported(f"the derived gradient of {name} does not hold when it is read back")

    def _points(self) -> list[Point]:
        found = []
        for scene in self.small or self.scenes:
            problem, evaluation = scene.alone
            ground = Ground(problem, evaluation.states[-1])
            found.append(Point(ground, ground.gradients, problem.dtype))
        return found

    def _written(self, formulas: Mapping[str, Expr]) -> Derivation:
        """With steps, and as it is read back from its text."""
        shared = share(formulas, taken_names(self.case, self.problem))
        longest = max(sizes({**shared.let, **shared.formulas}).values(), default=0)
        if longest > MAX_NODES:
            raise Unsupported(f"a formula has {longest:,} parts", hint="give parts of the graph names of their own")

        def read(expr: Expr) -> Expr:
            return parse(to_text(expr), max_length=MAX_LENGTH)

        return Derivation(
            {name: read(expr) for name, expr in shared.let.items()},
            {name: read(expr) for name, expr in shared.formulas.items()},
        )

    def _holds(self, let: Mapping[str, Expr], name: str, formula: Expr, *, ended: bool = False) -> list[bool]:
        """Whether a formula equals the core's gradient at each point, of the pass alone or when all has ended."""
        heard = [scene.whole if ended else scene.alone for scene in self.scenes]
        return [_heard(problem, evaluation, let, name, formula) for problem, evaluation in heard]

    def _finished(
        self, let: Mapping[str, Expr], formulas: Mapping[str, Expr], bound: set[str]
    ) -> Iterator[DerivedFormula]:
        state = self.scenes[0].alone[1].states[-1]
        bounds = self._proofs(let, {name: formula for name, formula in formulas.items() if name not in bound})
        single = len(self.case.steps) == 1
        for name, formula in formulas.items():
            gradient = state.gradients[name]
            assert gradient is not None
            lasting = single or all(self._holds(let, name, formula, ended=True))
            points = 1 if name in bound else len(self.scenes)
            yield DerivedFormula(name, formula, gradient.shape, points, name in bound, bounds.get(name), lasting)

    def _proofs(self, let: Mapping[str, Expr], formulas: Mapping[str, Expr]) -> dict[str, float]:
        """The bounds of those that the exact oracle proves. Raises Unsupported where it refutes one."""
        if not self.small:
            return {}
        problem = replace(self.proving, case=replace(self.proving.case, let=_claims(let)))
        proofs = prove(problem, [(name, Claim.of(formula)) for name, formula in formulas.items()])
        found = {}
        for name, proof in zip(formulas, proofs, strict=True):
            if proof.status == "refuted":
                raise Unsupported(f"the exact oracle refutes the derived gradient of {name}")
            if proof.status == "proved":
                found[name] = proof.bound
        return found


def _numbers(scene: _Scene) -> int:
    """How many numbers the values of a scene are."""
    return sum(array.size for array in scene.alone[1].states[-1].values.values())


def taken_names(case: Case, problem: Problem) -> set[str]:
    """The names that a step of a derivation cannot have."""
    return {*problem.sizes, *case.dims, *problem.inputs, *problem.constants, *case.graph, *case.let}


def simplifier(problem: Problem, points: Sequence[Point], single: bool) -> Simplifier:
    """What simplifies formulas for the gradients of a problem whose one step is a backward pass. Where it is the
    `single` one, and starts from one element, the gradient there is 1; of several passes it is what they add up to."""
    (seeds,) = problem.seeds
    ones = [name for name, seed in seeds.items() if seed is None and single and len(seeds) == 1]
    return Simplifier(Facts(points, Pool(), ones, [*problem.inputs, *problem.case.graph]))


def _claims(exprs: Mapping[str, Expr]) -> dict[str, Claim]:
    return {name: Claim.of(expr) for name, expr in exprs.items()}


def _heard(problem: Problem, evaluation: Evaluation, let: Mapping[str, Expr], name: str, formula: Expr) -> bool:
    """One formula against the core's gradient after the last step."""
    told = replace(problem, case=replace(problem.case, let=_claims(let)))
    last = len(evaluation.states) - 1
    if evaluation.states[last].error is not None:
        return False
    court: Court = court_of(told, evaluation, last, None)
    noise = Noise(Core(), told, evaluation)
    return hear_formula(court, name, Claim.of(formula), noise).status == "passed"
