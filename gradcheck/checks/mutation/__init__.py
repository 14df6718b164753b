"""Power: how many planted faults a case would catch, and how small an error in each tensor.

A check that always passes is worth nothing, so faults are planted in the rules that a case uses and mistakes in its
formulas, one at a time, and the case is judged as ever. A fault that changes nothing, here or at random points, is none
and is not counted: a zero gradient's sign, a transpose of what is symmetric.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.mutation.engine import Faulty, Witness
from gradcheck.checks.mutation.faults import OVERWRITTEN, Fault, rule_faults, sweep_faults
from gradcheck.checks.mutation.formulas import MistakenFormulas, Trial
from gradcheck.checks.mutation.scenes import CRASHES, Scene, Stage
from gradcheck.checks.mutation.smallest import smallest_errors
from gradcheck.checks.options import Settings
from gradcheck.checks.result import CaseResult
from gradcheck.language.case import Case
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw


@dataclass(frozen=True, slots=True)
class Planted:
    """One fault that changes something: what and where, and the evidence that caught it, empty where none did."""

    kind: str
    where: str
    caught_by: str = ""


@dataclass(frozen=True, slots=True)
class Power:
    """What was planted in one case, and for each tensor the smallest relative error that is seen; `equivalent` faults
    changed nothing and are not among those planted."""

    planted: tuple[Planted, ...]
    equivalent: int = 0
    smallest: Mapping[str, float] = field(default_factory=dict)

    @property
    def caught(self) -> int:
        return sum(bool(fault.caught_by) for fault in self.planted)

    @property
    def survivors(self) -> tuple[Planted, ...]:
        return tuple(fault for fault in self.planted if not fault.caught_by)

    @property
    def is_vacuous(self) -> bool:
        """Whether nothing that could be planted would be noticed."""
        return self.caught == 0

    def to_json(self) -> dict[str, Any]:
        """As it stands in the JSON report."""
        return {
            "planted": len(self.planted),
            "caught": self.caught,
            "equivalent": self.equivalent,
            "vacuous": self.is_vacuous,
            "smallest": dict(self.smallest),
            "survivors": [{"kind": fault.kind, "where": fault.where} for fault in self.survivors],
        }


def with_power(case: Case, found: CaseResult, settings: Settings) -> CaseResult:
    """The result of a case that passed, with its power; of any other, as it is."""
    if found.status != "passed":
        return found
    power = measure(draw(settings.apply(case), settings.seed), settings)
    return found if power is None else replace(found, power=power.to_json())


def measure(problem: Problem, settings: Settings) -> Power | None:
    """The power of a case that passes; None for one that leaves no gradients, such as one that is about an error."""
    with using_default_dtype(dtypes.real_of(problem.dtype)), np.errstate(all="ignore"):
        stage = Stage(problem, settings)
        witness = Witness()
        evaluation = witness.evaluate(problem)
        if not stage.own.has_gradients or not evaluation.states:
            return None
        tried = [*_tried(stage, witness), *MistakenFormulas(stage).tried()]
        smallest = smallest_errors(stage.own, settings)
    planted = [Planted(kind, where, evidence) for kind, where, evidence in tried if evidence is not None]
    return Power(tuple(planted), len(tried) - len(planted), smallest)


def _tried(stage: Stage, witness: Witness) -> Iterator[Trial]:
    """Every fault of the rules and of the sweep."""
    for fault in _faults(stage.problem, witness):
        evidence = _caught(stage, fault)
        yield fault.kind, fault.where, evidence if evidence or _changes_something(stage, fault) else None


def _faults(problem: Problem, witness: Witness) -> Iterator[Fault]:
    yield from rule_faults(list(witness.applied))
    yield from sweep_faults(list(witness.reused))
    if sum(step.action == "backward" for step in problem.case.steps) > 1:
        yield OVERWRITTEN


def _caught(stage: Stage, fault: Fault) -> str:
    """Which evidence shows the fault: a gradient, an op's rule alone, or a trial at other numbers."""
    engine = Faulty(fault)
    if stage.own.differs(engine):
        return "gradient"
    if fault.op is not None and stage.node_differs(engine, fault.op):
        return "node"
    return "trial" if any(scene.differs(engine) for scene in stage.trials) else ""


def _changes_something(stage: Stage, fault: Fault) -> bool:
    """Whether the faulty core's gradients are others than the right one's, here or at random points."""
    engine = Faulty(fault)
    return any(not same_gradients(scene, engine) for scene in (stage.own, *stage.random()))


def same_gradients(scene: Scene, engine: Faulty) -> bool:
    """Whether both raise the same, or leave the same, up to the last digits."""
    try:
        got = engine.evaluate(scene.problem)
    except CRASHES:
        return False
    right = scene.right
    if len(got.states) != len(right.states):
        return False
    for mine, theirs in zip(got.states, right.states, strict=True):
        if bool(mine.error) != bool(theirs.error):
            return False
        for name, want in theirs.gradients.items():
            if not _same(mine.gradients.get(name), want):
                return False
    return True


def _same(got: np.ndarray | None, want: np.ndarray | None) -> bool:
    if got is None or want is None:
        return got is want
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    first, second = got.astype(wide), want.astype(wide)
    magnitude = np.abs(second)
    scale = float(np.max(magnitude, where=np.isfinite(magnitude), initial=0.0))
    same = (got == want) | (np.isnan(first) & np.isnan(second)) | (np.abs(first - second) <= 1e-14 * scale)
    return bool(same.all())
