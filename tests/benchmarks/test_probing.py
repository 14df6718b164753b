"""The exam of what torch refuses: how calls are changed, and that what the core lets through is seen."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.probing import Probe, probe
from gradcheck.autograd.op import TABLE

#: Ops whose tensors torch takes in some dtypes alone, for one reason each.
OPS = ("mean", "gather", "layer_norm", "nll_loss", "trace", "linalg.svdvals", "matmul", "topk")


def test_what_torch_refuses_is_refused() -> None:
    found = probe([TABLE[name] for name in OPS])
    assert found.refused > 3000
    assert not found.accepted


def test_what_is_let_through_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(TABLE["trace"].dtypes, "input")
    found = probe([TABLE["trace"]])
    assert {text.partition("[")[0] for text, _ in found.accepted} == {"trace(bool"}


def test_a_call_is_shown_as_it_was_made() -> None:
    probed = Probe((np.zeros((2, 3)), [0, "sum"]), {"dim": np.array([1, 2])})
    assert str(probed) == "float64[2, 3], list(0, 'sum'), dim=int64[2] [1, 2]"
