"""Global state and functions that user code changes are restored."""

from __future__ import annotations

import os
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.checks.scheduling.run import run
from gradcheck.engines.implementation.global_state import Patches, RandomStates, capture_stdout, restore_global_state
from gradcheck.engines.tensor_class.user_code_guard import Output
from tests.engines.implementation.build import TANH, with_code


def test_state_is_restored(tmp_path: Path) -> None:
    before = (os.getcwd(), np.geterr(), np.get_printoptions(), torch.get_default_dtype(), torch.empty(0).device)
    with restore_global_state(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(tmp_path)
        np.seterr(all="raise")
        np.set_printoptions(precision=2)
        torch.set_default_dtype(torch.float16)
        torch.set_default_device("meta")
        torch.set_grad_enabled(False)
        torch.autograd.set_detect_anomaly(True)
        torch.use_deterministic_algorithms(True)
    after = (os.getcwd(), np.geterr(), np.get_printoptions(), torch.get_default_dtype(), torch.empty(0).device)
    assert after == before
    assert torch.is_grad_enabled()
    assert not torch.is_anomaly_enabled()
    assert not torch.are_deterministic_algorithms_enabled()


def test_state_is_restored_after_an_exception(tmp_path: Path) -> None:
    before = os.getcwd()
    try:
        with restore_global_state():
            os.chdir(tmp_path)
            raise SystemExit
    except SystemExit:
        assert os.getcwd() == before


def test_os_exit_raises_system_exit() -> None:
    known = os._exit
    with pytest.raises(SystemExit), restore_global_state():
        os._exit(0)
    assert os._exit is known


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_ends_with_the_block() -> None:
    with restore_global_state():
        child = os.fork()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_replaced_and_deleted_functions_are_restored() -> None:
    known = np.sinc, torch.Tensor.norm, torch.Tensor.sinc
    patches = Patches()
    assert patches.undo() == ()
    np.sinc = lambda x: x  # type: ignore[assignment,misc]
    del torch.Tensor.norm
    torch.Tensor.sinc = torch.Tensor.cos  # type: ignore[method-assign]
    assert set(patches.undo()) == {"numpy.sinc", "torch.Tensor.norm", "torch.Tensor.sinc"}
    assert (np.sinc, torch.Tensor.norm, torch.Tensor.sinc) == known


def test_the_specification_uses_torchs_own_functions() -> None:
    def replaces(x: torch.Tensor) -> torch.Tensor:
        torch.erfinv = torch.sinh  # type: ignore[assignment]
        return torch.sinh(x)

    known: Any = torch.erfinv
    case = with_code(TANH.replace("tanh(x)", "erfinv(0.1 * tanh(x))"), replaces)
    (found,) = run(case, allow_code=True).cases
    assert found.status == "failed"
    assert torch.erfinv is known


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


def test_what_is_written_to_the_descriptor_is_kept_with_the_rest(capfd: Any) -> None:
    output = Output()
    for word in ("first", "second"):
        with capture_stdout(output):
            print("python")
            os.write(1, f"{word} kernel\n".encode())
        assert output.take() == f"python\n{word} kernel\n"
    print("ours")
    assert capfd.readouterr().out == "ours\n"


def test_each_within_another(capfd: Any) -> None:
    outer, inner = Output(), Output()
    with capture_stdout(outer):
        os.write(1, b"a")
        with capture_stdout(inner):
            os.write(1, b"b")
        os.write(1, b"c")
    assert (outer.take(), inner.take(), capfd.readouterr().out) == ("ac", "b", "")
