"""Which ops were applied, and what is among an op's arguments."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.autograd.tensor import Tensor
from gradcheck.engines.core import CoreHost
from gradcheck.engines.recording import Recorder, arrays, convert, map_nested, rebuild

A, B, C = np.array([1.0]), np.array([2.0]), np.array([3.0])


def test_arrays_stand_in_order_also_in_lists() -> None:
    found = list(arrays((A, [B, (C, 4)], "text"), {"weight": A}))
    assert [id(array) for array in found] == [id(A), id(B), id(C), id(A)]


def test_the_same_call_on_other_tensors() -> None:
    args, kwargs = rebuild((A, [B, 2], "mean"), {"dtype": np.dtype(np.float32)}, lambda a: f"<{a[0]:g}>", str.upper)
    assert args == ("<1>", ["<2>", 2], "mean")
    assert kwargs == {"dtype": "FLOAT32"}


def test_convert_keeps_lists_and_tuples_as_they_are() -> None:
    assert convert([1, (2, "a")], int, lambda n: n + 1) == [2, (3, "a")]
    assert map_nested([1, "a"], lambda value: value * 2) == [2, "aa"]


def recorded(*calls: tuple[str, tuple, dict]) -> Recorder:
    recorder = Recorder(CoreHost())
    for owner, (name, args, kwargs) in enumerate(calls):
        recorder.owner = f"y{owner}"
        recorder.call(TABLE[name], args, kwargs)
    return recorder


def test_calls_through_which_gradients_flow_are_recorded_once() -> None:
    x, c = Tensor([1.0, 2.0], requires_grad=True), Tensor([1.0, 2.0])
    twice = ("mul", (x, c), {})
    found = recorded(twice, ("exp", (c,), {}), twice, ("mul", (x, 2.0), {})).applications()
    assert [(one.op.name, one.owner, one.tracked) for one in found] == [
        ("mul", "y0", (True, False)),
        ("mul", "y3", (True,)),
    ]
    assert found[0].outputs == (((2,), np.dtype(np.float64)),)
    assert found[0].recorded is not None


def test_arguments_by_keyword_cannot_be_pulled_back_through_the_record() -> None:
    x, y = (Tensor([1.0], requires_grad=True) for _ in range(2))
    (found,) = recorded(("add", (x,), {"other": y})).applications()
    assert found.recorded is None
    assert found.tracked == (True, True)
    assert list(found.kwargs) == ["other"]


def test_outputs_without_gradients_are_marked() -> None:
    x = Tensor([[1.0, 2.0]], requires_grad=True)
    (found,) = recorded(("max", (x, 1), {})).applications()
    assert found.outputs == (((1,), np.dtype(np.float64)), None)


def test_what_comes_after_it_is_closed_is_passed_on_alone() -> None:
    recorder = recorded()
    recorder.closed = True
    x = Tensor([1.0], requires_grad=True)
    assert recorder.call(TABLE["neg"], (x,), {}).data.tolist() == [-1]
    assert recorder.applications() == []
    assert recorder.dtype("bool") == np.bool_
