"""Of two uses, one that is overwritten and one that is dropped look alike. Of three they do not: so three are tried."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.failures.diagnosis.catalogue import confirmed
from gradcheck.checks.failures.evidence import evidence_of_accumulation
from gradcheck.checks.failures.localize import Fault
from gradcheck.checks.options import Engines
from gradcheck.checks.points import Points
from gradcheck.checks.result import Diagnosis
from gradcheck.engines.base import Engine
from gradcheck.errors import GradcheckError, Place
from gradcheck.facts import fact
from gradcheck.language.case import Case, Claim, Step, Value
from gradcheck.language.expr.parser import parse
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw

#: The kinds that two uses cannot tell apart.
ALIKE = frozenset({"overwritten", "use_dropped"})

_INPUTS = {"x": [1.5, -2.0, 0.5], "a": [0.3, 1.1, -0.7], "b": [-1.2, 0.4, 0.9], "c": [0.6, -0.8, 1.7]}
_GRAPH = {"p": "x * a", "q": "x * b", "r": "x * c", "s": "p + q", "f": "s + r"}
_INCOMING = [1.0, -0.6, 0.2]


def tell_apart(diagnoses: tuple[Diagnosis, ...], engine: Engine, reference: Engine) -> tuple[Diagnosis, ...]:
    """The diagnoses without those that a tensor of three uses refutes; as they are where it says nothing."""
    if len({diagnosis.kind for diagnosis in diagnoses} & ALIKE) < len(ALIKE):
        return diagnoses
    kinds = _kinds(engine, reference)
    kept = [diagnosis for diagnosis in diagnoses if diagnosis.kind in kinds]
    if len(kept) != 1:
        return diagnoses
    evidence = fact("three_uses_show", evidence=kept[0].evidence)
    return (replace(kept[0], evidence=evidence, confidence="confirmed"),)


def _kinds(engine: Engine, reference: Engine) -> set[str]:
    """The mistakes that are certain, of the tensor with three uses."""
    problem = _problem()
    points = Points(problem, Engines((engine,), reference))
    fault = Fault("x", 0, None, np.zeros(3), 0.0)
    try:
        with using_default_dtype(dtypes.real_of(problem.dtype)):
            found, _ = confirmed(evidence_of_accumulation(fault, engine, points, points.own))
    except GradcheckError:  # the engine cannot multiply and add
        return set()
    return {diagnosis.kind for diagnosis in found if diagnosis.confidence == "confirmed"}


@lru_cache(maxsize=1)
def _problem() -> Problem:
    return draw(
        Case(
            id="three uses",
            name="three uses",
            place=Place(),
            inputs={name: Value(array=np.array(numbers)) for name, numbers in _INPUTS.items()},
            graph={name: Claim(text, parse(text)) for name, text in _GRAPH.items()},
            steps=(Step("backward", roots={"f": Value(array=np.array(_INCOMING))}),),
        )
    )
