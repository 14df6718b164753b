"""A tensor of three uses tells an overwritten one from a dropped one."""

from __future__ import annotations

import numpy as np

from gradcheck.checks.failures.three_uses import tell_apart
from gradcheck.checks.result import Diagnosis
from gradcheck.engines.core import Core
from gradcheck.facts import fact

BOTH = tuple(Diagnosis(kind, fact("said", text=kind), "possible") for kind in ("overwritten", "use_dropped"))


class Overwrites(Core):
    """Keeps of every leaf's contributions the last alone."""

    name = "overwrites"

    def evaluate(self, problem: object, *args: object, **kwargs: object) -> object:  # type: ignore[override]
        found = super().evaluate(problem, *args, **kwargs)  # type: ignore[arg-type]
        (state,) = found.states
        gradient = np.asarray(state.values["c"] * state.gradients["r"])  # the use in r comes last
        gradients = {**state.gradients, "x": gradient}
        return type(found)(self.name, (type(state)(state.values, gradients),))


def test_an_engine_that_is_right_refutes_neither() -> None:
    assert tell_apart(BOTH, Core(), Core()) == BOTH


def test_one_kind_alone_is_not_asked_about() -> None:
    assert tell_apart(BOTH[:1], Overwrites(), Core()) == BOTH[:1]


def test_overwriting_is_told_apart() -> None:
    (found,) = tell_apart(BOTH, Overwrites(), Core())
    assert (found.kind, found.confidence) == ("overwritten", "confirmed")
    assert found.evidence is not None
    assert found.evidence.kind == "three_uses_show"
