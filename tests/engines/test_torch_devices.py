"""Where torch, and code of torch's, computes."""

from __future__ import annotations

import pytest
import torch

from gradcheck.checks.scheduling.run import run
from gradcheck.engines.torch_devices import device_of
from gradcheck.errors import UsageError
from gradcheck.testing import check_function
from tests.engines.implementation import functions
from tests.engines.implementation.build import AFFINE, TANH, with_code

CUDA = pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU"))
#: That of the CPU by another name goes the way of all devices.
DEVICES = ["cpu:0", CUDA]


@pytest.mark.parametrize("device", DEVICES)
def test_torch_and_code_compute_there(device: str) -> None:
    cases = [with_code(TANH, functions.Tanh.apply), with_code(TANH, functions.WrongSign.apply)]
    cases.append(with_code(AFFINE, (functions.affine_forward, functions.affine_backward)))
    found = run(cases, allow_code=True, device=device).cases
    assert [one.status for one in found] == ["passed", "failed", "passed"]
    assert all(f"--device {device}" in one.reproduce.replace("'", "") for one in found if one.reproduce)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("spec", ["tanh(x)", None])
def test_what_code_is_given_lies_there(device: str, spec: str | None) -> None:
    seen = set()

    def tanh(x: torch.Tensor) -> torch.Tensor:
        seen.add(x.device.type)
        return torch.tanh(x)

    check_function(tanh, x=(3, 2), spec=spec, choices={"device": device})
    assert seen == {device.partition(":")[0]}


@pytest.mark.parametrize("device", ["nowhere", "meta"])
def test_there_are_others_that_compute_nothing(device: str) -> None:
    with pytest.raises(UsageError, match="torch cannot compute on"):
        device_of(device)
