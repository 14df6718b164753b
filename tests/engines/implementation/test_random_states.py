"""States of the global random generators."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from gradcheck.engines.implementation.random_states import RandomStates


def _drawn() -> tuple[float, float, float]:
    return random.gauss(0, 1), float(np.random.randn()), float(torch.randn(()))


@pytest.mark.parametrize("holds_a_number", [False, True])
def test_draws_repeat_after_restoring(holds_a_number: bool) -> None:
    np.random.seed(3)
    if holds_a_number:  # NumPy makes normal numbers in pairs
        np.random.randn()
    known = RandomStates()
    first = _drawn()
    assert _drawn() != first
    known.restore()
    assert _drawn() == first


@pytest.mark.parametrize("draw", [random.random, np.random.rand, lambda: torch.rand(())])
def test_a_used_generator_is_noticed(draw: object) -> None:
    np.random.seed(3)
    known = RandomStates()
    assert not known.have_moved()
    assert callable(draw)
    draw()
    assert known.have_moved()
    known.restore()
    assert not known.have_moved()
