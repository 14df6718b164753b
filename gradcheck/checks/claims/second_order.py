"""Second order: gradients of `<gradient, v>` for random v, engine against reference, and against differences.

That product's gradient is the Hessian times v, which is also how the first gradients change along v: two evaluations
of first gradients a step, whatever the number of inputs, and no second-order rule takes part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.checks.claims.engines import place_of
from gradcheck.checks.closeness.compare import compare, wide
from gradcheck.checks.closeness.conditioning import Noise, raise_precision, sensitivity
from gradcheck.checks.closeness.rounding import with_noise
from gradcheck.checks.closeness.tolerance import base, limits
from gradcheck.checks.failures.subgradients import Room, Witness, sentence
from gradcheck.checks.result import Comparison
from gradcheck.engines.base import Engine
from gradcheck.engines.define_by_run import Tape
from gradcheck.engines.perturbation import Disturbance
from gradcheck.engines.second_order import Gradients, Second, last_pass, second_order
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Tolerance
from gradcheck.language.expr.mentions import ops_in
from gradcheck.language.problem import Problem
from gradcheck.oracles.numeric.differences import array_derivative

#: An error bar wider than this, relative to the largest element, confirms nothing.
_BLURRED = 1e-5
#: The step to either side of a kink, relative to the first one, and what such differences are good for.
_SIDE, _KINK = 2.0**-24, 1e-5


def check_second_order(
    problem: Problem, engines: Sequence[Engine], reference: Engine, override: Tolerance | None, noise: Noise
) -> list[Comparison]:
    """For each engine and input a comparison with the reference. Nothing where the case has no backward pass, or the
    reference or an engine no second order: that is not the case's claim."""
    step = last_pass(problem)
    if step is None or not isinstance(reference, Tape):
        return []
    probes = _probes(problem, step)
    want = second_order(reference, problem, step, probes)
    if want.error is not None:
        return []
    trusted: dict[str, Witness] | None = None
    found: list[Comparison] = []
    for engine in engines:
        if not isinstance(engine, Tape):
            continue
        got = second_order(engine, problem, step, probes)
        if got.error is not None and got.error.kind == "unsupported":
            continue
        if trusted is None:
            trusted = _differences(reference, problem, step, probes)
        judge = _Judge(problem, step, probes, engine, reference, override, noise, trusted)
        found += judge.compare(got, want)
    return found


def _probes(problem: Problem, step: int) -> dict[str, np.ndarray]:
    """Random numbers of each input's shape and dtype, at the time of this step."""
    generator = np.random.default_rng([abs(problem.seed), 0x70726F6265])
    arrays = _leaves(problem, step)
    found = {}
    for name, array in arrays.items():
        if dtypes.is_differentiable(array.dtype):
            drawn = generator.standard_normal(array.shape)
            if array.dtype.kind == "c":
                drawn = drawn + 1j * generator.standard_normal(array.shape)
            found[name] = np.asarray(drawn).astype(array.dtype)
    return found


def _leaves(problem: Problem, step: int) -> dict[str, np.ndarray]:
    arrays = dict(problem.inputs)
    for changed in problem.forwards[:step]:
        arrays |= {name: array for name, array in changed.items() if name in arrays}
    return arrays


# The oracle ----------------------------------------------------------------------------------------


def _differences(tape: Tape, problem: Problem, step: int, probes: Mapping[str, np.ndarray]) -> dict[str, Witness]:
    """How first gradients, in double precision, change along the probes; nothing where that cannot be computed, or
    where something is detached: first gradients change with it, their gradients know nothing of it."""
    if any("detach" in ops_in(claim.expr) for claim in problem.case.graph.values()):
        return {}
    try:
        way = _Way(tape, problem, step, probes)
        flat, bar = array_derivative(way.at, way.first, 2.0**-50)
    except GradcheckError:
        return {}
    bars = way.parts(bar)
    return {name: Witness("differences", value, bars[name].real, independent=True)
            for name, value in way.parts(flat).items()}  # fmt: skip


class _Way:
    """First gradients, in double precision, on the way that the inputs take along the probes."""

    def __init__(self, tape: Tape, problem: Problem, step: int, probes: Mapping[str, np.ndarray]) -> None:
        self.tape, self.problem, self.step = tape, raise_precision(problem), step
        self.leaves = {n: wide(array) for n, array in _leaves(self.problem, step).items() if n in probes}
        self.probes = {name: wide(probe) for name, probe in probes.items()}
        self.shapes = {name: leaf.shape for name, leaf in self.leaves.items()}
        self.first = _step(self.leaves, self.probes)

    def at(self, t: float) -> np.ndarray:
        """All of them, flat, where the inputs have gone so far."""
        return _flat(_first(self.tape, self.problem, self.step, _moved(self.leaves, self.probes, t)), self.shapes)

    def parts(self, flat: np.ndarray) -> dict[str, np.ndarray]:
        """Each input's own."""
        found, start = {}, 0
        for name, shape in self.shapes.items():
            stop = start + int(np.prod(shape))
            found[name] = flat[start:stop] if self.leaves[name].dtype.kind == "c" else flat[start:stop].real
            start = stop
        return found

    def sides(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """How they change to the left and to the right: the two sides of a kink in them, to about seven digits."""
        t = self.first * _SIDE
        rest = self.at(0.0)
        return self.parts((self.at(-t) - rest) / -t), self.parts((self.at(t) - rest) / t)


def _moved(leaves: Mapping[str, np.ndarray], ways: Mapping[str, np.ndarray], t: float) -> dict[str, np.ndarray]:
    return {name: np.asarray(leaf + t * ways[name]) for name, leaf in leaves.items()}


def _first(tape: Tape, problem: Problem, step: int, leaves: Mapping[str, np.ndarray]) -> Gradients:
    """The first gradients where the inputs are these."""
    steps = problem.case.steps
    alone = replace(problem.case, steps=(steps[step],))
    moved = replace(
        problem, case=alone, inputs={**problem.inputs, **leaves}, seeds=(problem.seeds[step],), forwards=({},)
    )
    evaluation = tape.evaluate(moved, Disturbance(0.0, np.random.default_rng(0)))  # raises precision alone
    error = evaluation.error or (evaluation.states[-1].error if evaluation.states else None)
    if error is not None:
        raise error
    return evaluation.states[-1].gradients


def _flat(gradients: Gradients, shapes: Mapping[str, tuple[int, ...]]) -> np.ndarray:
    parts = []
    for name, shape in shapes.items():
        gradient = gradients.get(name)
        parts.append(np.zeros(int(np.prod(shape))) if gradient is None else wide(gradient).ravel())
    return np.concatenate(parts) if parts else np.zeros(0)


def _step(leaves: Mapping[str, np.ndarray], ways: Mapping[str, np.ndarray]) -> float:
    """A first step that moves every input by no more than an eighth of its usual size."""
    ratios = []
    for name, leaf in leaves.items():
        reach = float(np.max(np.abs(ways[name]), initial=0.0))
        size = float(np.median(np.abs(leaf))) if leaf.size else 0.0
        if reach:
            ratios.append((size if np.isfinite(size) and size > 0 else 1.0) / reach)
    return float(2.0 ** np.floor(np.log2(min(ratios, default=1.0) / 8.0)))


# Comparison ----------------------------------------------------------------------------------------


class _Judge:
    """Compares one engine's second order with the reference's."""

    def __init__(
        self, problem: Problem, step: int, probes: Mapping[str, np.ndarray], engine: Engine, reference: Tape,
        override: Tolerance | None, noise: Noise, trusted: Mapping[str, Witness],
    ) -> None:  # fmt: skip
        self.problem, self.step, self.probes, self.trusted = problem, step, probes, trusted
        self.engine, self.reference, self.override, self.noise = engine, reference, override, noise
        self._moved: dict[str, np.ndarray | None] | None = None

    def compare(self, got: Second, want: Second) -> Iterator[Comparison]:
        """A comparison for each input."""
        if got.error is not None:
            name = next(iter(self.probes), "")
            text = f"{self.engine.name} raised {got.error.kind}: {got.error}"
            yield Comparison(status="failed", message=text, **self._about(name))
            return
        for name in self.probes:
            mine, theirs = got.second.get(name), want.second.get(name)
            judge = theirs if theirs is not None else mine
            allowed = limits(judge.dtype, self.problem.case.engine_tolerance, self.override) if judge is not None else (
                base(np.dtype(np.float64)))  # fmt: skip
            found = compare(mine, theirs, allowed, **self._about(name))
            if found.status == "failed" and found.mask is not None:
                found = with_noise(found, self.noise, self._sensitivity(name))
            yield self._judged(found, name, mine, theirs)

    def _judged(self, found: Comparison, name: str, mine: np.ndarray | None, theirs: np.ndarray | None) -> Comparison:
        """With what differences of first gradients say."""
        oracle = self.trusted.get(name)
        if oracle is None or not oracle.answer.size:
            return found
        flat = [np.zeros(oracle.answer.shape) if one is None else wide(one).ravel() for one in (mine, theirs)]
        got, want = Witness(self.engine.name, flat[0]), Witness(self.reference.name, flat[1])
        if got.answer.shape != want.answer.shape:
            return found
        judge = theirs if theirs is not None else mine
        allowed = base(judge.dtype if judge is not None else np.dtype(np.float64))
        scale = float(np.max(np.abs(want.answer), initial=0.0))
        room = Room(np.full(got.answer.shape, allowed.atol * scale), allowed.rtol)
        if found.status == "failed" and self.noise.rounding.is_of_low_precision and oracle.agrees(got, room):
            note = f"differences in double precision side with {got.name}: {want.name} is rounded"
            return replace(found, status="passed", mismatched=0, notes=(*found.notes, note))
        if found.status == "failed":
            convention = self._convention(found, name, got, want)
            if convention:
                return replace(found, status="not_differentiable", verdict=convention)
            verdict = sentence(got, want, [oracle], room)
            return replace(found, verdict=verdict) if verdict else found
        bar = float(np.max(oracle.error, initial=0.0))
        if not bar <= _BLURRED * scale:
            return replace(found, notes=(*found.notes, f"differences cannot confirm it: their error bar is {bar:.1g}")
                           if scale else found.notes)  # fmt: skip
        slack = self.noise.rounding.allow(self._sensitivity(name)) if not oracle.agrees(got, room) else None
        if slack is not None and slack.size == room.absolute.size:
            room = Room(room.absolute + slack.ravel(), room.relative)
        if oracle.agrees(got, room):
            return replace(found, certificate={"method": "differences", "error": bar})
        text = f"{self.engine.name} and {self.reference.name} agree, but not with differences of first gradients"
        return replace(found, status="failed", message=text)

    def _convention(self, found: Comparison, name: str, got: Witness, want: Witness) -> str:
        """What to say where first gradients have a kink, and both engines stay between its sides; else nothing."""
        if np.iscomplexobj(got.answer) or np.iscomplexobj(want.answer) or found.mask is None:
            return ""
        try:
            left, right = (side[name] for side in _Way(self.reference, self.problem, self.step, self.probes).sides())
        except GradcheckError:
            return ""
        low, high, wrong = np.minimum(left, right), np.maximum(left, right), found.mask.ravel()
        room = _KINK * float(np.max(np.maximum(np.abs(low), np.abs(high)), initial=0.0))
        inside = [(low - room <= one.answer) & (one.answer <= high + room) for one in (got, want)]
        if not np.all((inside[0] & inside[1] & (high - low > 100 * room))[wrong]):
            return ""
        return "a difference of convention, not a failure: first gradients have a kink there"

    def _sensitivity(self, name: str) -> np.ndarray | None:
        """To roundings, by the reference on disturbed operations."""
        if self._moved is None:
            raised = raise_precision(self.problem)

            def run(disturbance: Disturbance) -> list[np.ndarray | None]:
                moved = second_order(self.reference, raised, self.step, self.probes, disturbance)
                if moved.error is not None:
                    raise moved.error
                return [moved.second.get(one) for one in self.probes]

            try:
                self._moved = dict(zip(self.probes, sensitivity(run, self.problem.seed), strict=True))
            except GradcheckError:
                self._moved = {}
        return self._moved.get(name)

    def _about(self, name: str) -> dict[str, Any]:
        return {
            "what": "gradient2", "tensor": name, "step": self.step, "engine": self.engine.name,
            "reference": self.reference.name, "place": place_of(self.problem.case, name),
        }  # fmt: skip
