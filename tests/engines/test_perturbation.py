"""Results are moved where something was rounded: in the memory that their own rule looks at, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.engines.core import Core
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.perturbation import Perturbation, PerturbingHost, PlainArrays, perturbed
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


def test_no_amplitude_draws_nothing() -> None:
    still = perturbation(0.0)
    PerturbingHost(Core(), still).call(TABLE["exp"], (Core().leaf(np.array([0.5]), True),), {})
    assert still.generator.random() == np.random.default_rng(0).random()


def test_factors_stay_within_the_amplitude() -> None:
    factors = perturbation(1e-3).factors((1000,))
    assert 0.9e-3 < np.abs(factors - 1).max() <= 1e-3
    assert np.array_equal(factors, perturbation(1e-3).factors((1000,)))  # of the same generator
    assert perturbation(0.0).factors((2, 3)).tolist() == np.ones((2, 3)).tolist()


def test_arrays_are_perturbed_as_tensors_are() -> None:
    host = PerturbingHost(PlainArrays(), perturbation(1e-3))
    array = np.array([1.0, 2.0])
    moved = host.call(TABLE["mul"], (array, 3.0), {})
    assert array.tolist() == [1, 2]
    assert 0 < np.abs(moved / [3, 6] - 1).max() < 2e-3
    integers = np.array([1, 2])
    assert host.call(TABLE["clone"], (integers,), {}).tolist() == [1, 2]


def test_dtypes_are_raised_to_double_precision() -> None:
    host = PerturbingHost(Core(), perturbation())
    assert [host.dtype(name).name for name in ("float32", "complex64", "int32")] == ["float64", "complex128", "int32"]


def test_the_engine_itself_stays_as_it_is() -> None:
    engine = Core()
    known = engine.host
    assert perturbed(engine, perturbation()).host is not known
    assert engine.host is known
