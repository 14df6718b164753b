"""Results are moved where something was rounded: in the memory that their own rule looks at, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.engines.core import Core
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.perturbation import Perturbation, PerturbingHost, perturbed
from gradcheck.engines.torch import Torch

ENGINES = [Core(), Torch()]
each_engine = pytest.mark.parametrize("engine", ENGINES, ids=["core", "torch"])


def perturbation(amplitude: float = 1e-6) -> Perturbation:
    return Perturbation(amplitude, np.random.default_rng(0))


@each_engine
@pytest.mark.parametrize("op", ["T", "clone", "exp"])
def test_arguments_stay_as_they_are(engine: DefineByRun, op: str) -> None:
    values = np.arange(6.0).reshape(2, 3)
    leaf = engine.leaf(values, True)
    host = PerturbingHost(engine, perturbation())
    result = host.call(TABLE[op], (leaf,), {})
    assert np.array_equal(engine.array(leaf), values)
    assert not np.array_equal(engine.array(result), TABLE[op](values))
    assert np.allclose(engine.array(result), TABLE[op](values), rtol=3e-6)


@each_engine
def test_parts_of_one_argument_stay_as_they_are(engine: DefineByRun) -> None:
    values = np.arange(6.0)
    leaf = engine.leaf(values, True)
    parts = PerturbingHost(engine, perturbation()).call(TABLE["split"], (leaf, 2), {})
    assert len(parts) == 3
    assert np.array_equal(engine.array(leaf), values)


@each_engine
def test_a_rule_sees_its_own_result_moved(engine: DefineByRun) -> None:
    """tanh of 20 is 1 in double precision: its gradient is as unsure as 1 - 1 is."""
    leaf = engine.leaf(np.array([20.0]), True)
    host = PerturbingHost(engine, perturbation())
    with engine.session(np.dtype(np.float64)):
        engine.backward([host.call(TABLE["tanh"], (leaf,), {})], [np.ones(1)], False)
    assert 1e-9 < abs(float(engine.array(leaf.grad)[0])) < 1e-5


@each_engine
def test_no_amplitude_moves_nothing(engine: DefineByRun) -> None:
    leaf = engine.leaf(np.array([0.5]), True)
    result = perturbed(engine, perturbation(0.0)).host.call(TABLE["exp"], (leaf,), {})
    assert np.array_equal(engine.array(result), engine.array(engine.host.call(TABLE["exp"], (leaf,), {})))
