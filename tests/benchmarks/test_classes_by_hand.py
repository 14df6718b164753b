"""What a class is asked by hand: right, wrong in every way, of another gradient, in one way of its own, or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from benchmarks.classes import HERE
from benchmarks.classes_by_hand import CLEARING_PROBES, PROBES, as_steps, verdicts
from tests.engines.dialects import answering, diseases, figures, sound, training

CASES = {one["name"]: as_steps(one) for one in yaml.safe_load_all((HERE / "classes.yaml").read_text())}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is imported from the folder may have a class's words."""
    monkeypatch.chdir(tmp_path)


class Overwriting(diseases.Overwrites, sound.Tensor): ...


class Ignoring(sound.Tensor):
    """Its sum begins with ones, whatever arrives."""

    def sum(self) -> Any:
        return self.new(self.data.sum(), (self,), lambda g: (np.ones(self.data.shape),))


class Beginning(sound.Tensor):
    """An incoming gradient is added to what the root has, and what it has then is passed on."""

    def backward(self, gradient: Any = None) -> None:
        if gradient is not None and self.grad is not None:
            gradient = gradient + self.grad
        self.spread(np.ones(self.data.shape) if gradient is None else gradient)


@pytest.mark.parametrize(
    ("kind", "name", "verdict"),
    [
        (sound.Tensor, "mul diamond", "right"),
        (sound.Tensor, "zeroing", "right"),
        (sound.Tensor, "tanh", "cannot say"),
        (Overwriting, "mul diamond", "wrong"),
        (Ignoring, "sum", "wrong of another gradient"),
        (Beginning, "two passes", "wrong in one way of its own"),
        (answering.Array, "mul diamond", "right"),
        (answering.Overwriting, "mul diamond", "wrong"),
        (training.Tensor, "add vectors", "cannot say"),
    ],
)
def test_arrays(kind: type, name: str, verdict: str) -> None:
    few = {one: CASES[one] for one in (*PROBES[:2], *CLEARING_PROBES, name)}
    assert verdicts(kind, few, [name], False)[name][0] == verdict


@pytest.mark.parametrize(("kind", "verdict"), [(figures.Value, "right"), (figures.Paired, "right")])
def test_numbers(kind: type, verdict: str) -> None:
    assert verdicts(kind, CASES, ["mul diamond"], True)["mul diamond"][0] == verdict


def test_a_function_may_make_the_tensors() -> None:
    def made(data: Any) -> Any:
        return sound.Tensor(data)

    assert verdicts(made, CASES, ["add diamond"], False)["add diamond"][0] == "right"
