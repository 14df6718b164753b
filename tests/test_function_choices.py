"""The choices of `check_function`."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.checks.scheduling.run import run
from gradcheck.errors import UsageError
from gradcheck.testing import check_function
from gradcheck.testing.function_choices import read_choices
from tests.engines.implementation.build import TANH


class _NearTanh(torch.autograd.Function):
    """As exact as a solver."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return torch.tanh(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * (1 - torch.tanh(x) ** 2) * (1 + 1e-6)


class _DetachedTanh(_NearTanh):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * (1 - torch.tanh(x.detach()) ** 2)


SPECS = pytest.mark.parametrize("spec", [None, "tanh(x)"])


@SPECS
@pytest.mark.parametrize("choices", [{"tolerance": 1e-5}, {"rtol": 1e-5}, {"atol": 1e-4}])
def test_a_tolerance_holds(spec: str | None, choices: dict[str, Any]) -> None:
    check_function(_NearTanh.apply, x=(3, 2), spec=spec, choices=choices)
    for name in choices:
        with pytest.raises(AssertionError, match="gradient of x"):
            check_function(_NearTanh.apply, x=(3, 2), spec=spec, choices={name: 1e-9})


@SPECS
def test_first_order_alone_is_a_choice(spec: str | None) -> None:
    check_function(_DetachedTanh.apply, x=(3, 2), spec=spec, choices={"order": 1})
    with pytest.raises(AssertionError, match="second-order"):
        check_function(_DetachedTanh.apply, x=(3, 2), spec=spec)


@pytest.mark.parametrize(
    ("name", "stated"),
    [
        ("_NearTanh", "tolerance: 1.0e-5"),
        ("_NearTanh", "tolerance: {rtol: 1.0e-5}"),
        ("_NearTanh", "tolerance: {atol: 1.0e-4}"),
        ("_DetachedTanh", "order: 1"),
    ],
)
def test_they_hold_in_a_case_file(name: str, stated: str, tmp_path: Path) -> None:
    file = tmp_path / "case.yaml"
    call = f"{__file__}:{name}.apply"
    file.write_text(f"{TANH}implementations: {{y: {{call: '{call}', {stated}}}}}\n")
    (found,) = run(file, allow_code=True).cases
    assert found.status == "passed"
    file.write_text(f"{TANH}implementations: {{y: '{call}'}}\n")
    (found,) = run(file, allow_code=True).cases
    assert found.status == "failed"


@SPECS
@pytest.mark.parametrize(
    "choices",
    [
        {"nonsense": 1},
        {"tolerence": 1e-3},
        {"order": 3},
        {"tolerance": -1},
        {"tolerance": float("inf")},
        {"atol": float("inf")},
        {"sizes": 0.5},
    ],
)
def test_an_unknown_choice_is_an_error(spec: str | None, choices: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        check_function(torch.tanh, x=(3,), spec=spec, choices=choices)


def test_the_nearest_choice_is_named() -> None:
    with pytest.raises(UsageError) as raised:
        read_choices({"tolerence": 1e-3})
    assert raised.value.hint == "did you mean 'tolerance'?"


def test_sizes_are_a_list_or_one_for_each_size() -> None:
    assert read_choices({"sizes": [16, 32]}).sizes_of(64) == (16, 32)
    assert read_choices({"sizes": {"n64": [16], 8: 4}}).sizes == {64: (16,), 8: (4,)}
    assert read_choices({"sizes": {64: [16]}}).sizes_of(8) == ()


def test_dtypes_are_names_or_objects_of_numpy_or_torch() -> None:
    for said in ("float32", ["float32"], torch.float32, [torch.float32], np.dtype("float32"), [np.float32]):
        assert read_choices({"dtypes": said}).dtypes == ("float32",)
    assert read_choices({"autocast": torch.bfloat16}).autocast == "bfloat16"
    for choice, said in itertools.product(("dtypes", "autocast"), (["int64"], "float33", 5, [None])):
        with pytest.raises(UsageError, match="a dtype is "):
            read_choices({choice: said})


@SPECS
def test_only_such_sizes_are_drawn(spec: str | None) -> None:
    seen = set()

    def tanh(x: Any) -> Any:
        seen.add(x.shape[-1])
        return torch.tanh(x)

    check_function(tanh, x=(3, 32), spec=spec, choices={"sizes": {32: [16, 32, 48]}})
    assert seen == {16, 32, 48}
