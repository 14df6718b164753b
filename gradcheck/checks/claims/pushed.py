"""How everything at one point moves where the inputs move along random directions: by engines, by the reference, by the
numeric oracle; and the comparison of every tensor's tangent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.claims.outcomes import place_of
from gradcheck.checks.claims.tangents import Judge
from gradcheck.checks.closeness.conditioning import raise_array, raise_precision, sensitivity
from gradcheck.checks.closeness.rounding import judged
from gradcheck.checks.closeness.tolerance import Tolerance, between_engines
from gradcheck.checks.points import Point
from gradcheck.checks.result import ClaimKind, Comparison, Subject
from gradcheck.engines.base import Engine
from gradcheck.engines.core import Core
from gradcheck.engines.define_by_run import DefineByRun, last_pass
from gradcheck.engines.forward_mode import Pushforward, at_step, push_forward
from gradcheck.engines.perturbation import Perturbation
from gradcheck.errors import GradcheckError
from gradcheck.facts import fact
from gradcheck.language.case import StatedTolerance
from gradcheck.language.problem import Problem
from gradcheck.language.random import stream
from gradcheck.oracles.numeric.tangents import Tangent, tangents_of_graph

Arrays = Mapping[str, np.ndarray | None]

_FLOAT64 = np.dtype(np.float64)


@dataclass
class Forward:
    """One point's tangents at its last backward pass, along random directions of each input's shape and dtype: by
    engines, by the reference, by the numeric oracle."""

    point: Point
    run: StatedTolerance | None
    oracle_is_asked: bool

    def __post_init__(self) -> None:
        problem = self.point.problem
        last = last_pass(problem)
        self.is_pass, self.step = last is not None, last or 0
        self.problem = at_step(problem, self.step)
        self.directions = _directions(self.problem)
        self._pushed: dict[str, Pushforward] = {}

    @property
    def reference(self) -> Engine:
        """The engine that others are compared with."""
        return self.point.engines.reference

    def pushed(self, engine: Engine) -> Pushforward | None:
        """An engine's tangents; None for one that has no forward mode at all."""
        if not isinstance(engine, DefineByRun):
            return None
        if engine.name not in self._pushed:
            self._pushed[engine.name] = push_forward(engine, self.problem, self.directions)
        return self._pushed[engine.name]

    @cached_property
    def oracle(self) -> Mapping[str, Tangent]:
        """The numeric oracle's tangents; none where it is not to be asked, or the forward cannot be evaluated."""
        if not self.oracle_is_asked:
            return {}
        raised = raise_precision(self.problem)
        directions = {name: raise_array(direction) for name, direction in self.directions.items()}
        try:
            with using_default_dtype(dtypes.real_of(raised.dtype)), np.errstate(all="ignore"):
                return tangents_of_graph(raised, directions)
        except (GradcheckError, ValueError, TypeError, LookupError):  # a graph that only engines can evaluate
            return {}

    # Every tensor --------------------------------------------------------------------------------

    def check(self, engine: Engine) -> Iterator[Comparison]:
        """A comparison for each tensor of the graph; one that tells where the engine has none."""
        mine = self.pushed(engine)
        if mine is None or mine.error is not None:
            yield self._without(engine, mine)
            return
        theirs = self.pushed(self.reference)
        known = theirs.tangents if theirs is not None and theirs.error is None else None
        for name, tangent in mine.tangents.items():
            subject = self.subject(ClaimKind.JVP, name, engine)
            judge = self._judge(tangent if known is None or known.get(name) is None else known[name], name)
            oracle = self.oracle.get(name)
            if known is not None:
                yield judge.compare(tangent, known.get(name), oracle, subject)
            elif oracle is not None:
                yield judge.compare_with_oracle(tangent, oracle, subject)

    def _without(self, engine: Engine, pushed: Pushforward | None) -> Comparison:
        subject = self.subject(ClaimKind.JVP, "", engine)
        error = None if pushed is None else pushed.error
        if error is None or error.kind == "unsupported":
            lacking = fact("no_forward_mode", engine=engine.name, why=str(error) if error else "")
            return Comparison(subject, "unsupported", mismatch=lacking, lacks="forward mode")
        raised = fact("engine_raised", engine=engine.name, error=error.kind, text=str(error))
        return subject.failed(raised)

    def subject(self, what: ClaimKind, name: str, engine: Engine) -> Subject:
        """A claim about one tensor, of an engine against the reference."""
        place = place_of(self.problem.case, name)
        return Subject(what, name, self.step, engine.name, self.reference.name, place, "", self.point.trial)

    def tolerance(self, dtype: np.dtype) -> Tolerance:
        """What engines are held to."""
        return between_engines(dtype, self.problem.case.engine_tolerance, self.run)

    # Rounding ------------------------------------------------------------------------------------

    def _judge(self, array: np.ndarray | None, name: str) -> Judge:
        conditioning = self.point.conditioning

        def again(failed: Comparison) -> Comparison:
            moved, truth = self._sensitivities
            return judged(failed, conditioning.rounding, moved.get(name), truth.get(name), conditioning.why_not)

        tolerance = self.tolerance(_FLOAT64 if array is None else array.dtype)
        return Judge(tolerance, conditioning.rounding.is_of_low_precision, lambda: self.slack(name), again)

    def slack(self, name: str) -> np.ndarray | None:
        """What rounding explains of a tangent; None where that is unknown."""
        return self.point.conditioning.rounding.allow(self._sensitivities[0].get(name))

    @cached_property
    def _sensitivities(self) -> tuple[Arrays, Arrays]:
        """How sensitive to roundings each tangent is, by the core's rules; and the tangents in double precision, by the
        reference."""
        raised = raise_precision(self.problem)
        directions = {name: raise_array(direction) for name, direction in self.directions.items()}
        still = Perturbation(0.0, np.random.default_rng(0))

        def pushed(engine: DefineByRun, perturbation: Perturbation) -> Arrays:
            moved = push_forward(engine, raised, directions, perturbation)
            if moved.error is not None:
                raise moved.error
            return moved.tangents

        try:
            names = list(pushed(Core(), still))
            moved = sensitivity(lambda p: [pushed(Core(), p).get(name) for name in names], self.problem.seed)
            truth = pushed(self.reference, still) if isinstance(self.reference, DefineByRun) else {}
        except GradcheckError:
            return {}, {}
        return dict(zip(names, moved, strict=True)), truth


def _directions(problem: Problem) -> dict[str, np.ndarray]:
    generator = stream(problem.seed, "directions of inputs")
    found = {}
    for name, array in problem.inputs.items():
        if dtypes.is_differentiable(array.dtype):
            drawn = generator.standard_normal(array.shape)
            if array.dtype.kind == "c":
                drawn = drawn + 1j * generator.standard_normal(array.shape)
            found[name] = np.asarray(drawn).astype(array.dtype)
    return found
