"""What a plan gives is what the general way gives, bit for bit, for the whole table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import TABLE, Tensor, dtypes
from gradcheck.autograd import plans as under_test
from gradcheck.autograd.backward import backward
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.autograd.op import SHORT
from gradcheck.engines.base import Application
from gradcheck.engines.recording import arrays, rebuild
from gradcheck.errors import TensorError
from tests.autograd import table

NAMES = sorted(name for name, op in TABLE.items() if not table.is_random(op))


@pytest.fixture(autouse=True)
def _without_plans() -> Iterator[None]:
    _forget()
    yield
    _forget()


def _forget() -> None:
    for op in TABLE.values():
        op.plans.clear()
        op.calls.clear()


def drawn_again(call: Application, seed: int) -> Application:
    """The same call with other numbers, of the same sign and about the same size, and integers as they were."""
    stream = np.random.default_rng(seed)

    def other(array: np.ndarray) -> np.ndarray:
        if array.dtype.kind != "f":
            return array
        return np.asarray(array * stream.choice([0.5, 0.75, 1.0], array.shape), array.dtype)

    args, kwargs = rebuild(call.args, call.kwargs, other, dtypes.BY_NAME.__getitem__)
    return Application(call.op, args, kwargs, call.owner, call.tracked)


def outcome(call: Application) -> list[Any]:
    """Values, and the gradients of every leaf, or how the call fails."""
    tracked = call.tracked or (True,) * len(list(arrays(call.args, call.kwargs)))
    flags = iter(tracked)
    leaves: list[Tensor] = []

    def leaf(array: np.ndarray) -> Tensor:
        leaves.append(Tensor(array, requires_grad=next(flags) and dtypes.is_differentiable(array.dtype)))
        return leaves[-1]

    args, kwargs = rebuild(call.args, call.kwargs, leaf, dtypes.BY_NAME.__getitem__)
    try:
        with quiet():
            made = call.op(*args, **kwargs)
            parts = [part for part in (made if isinstance(made, tuple) else (made,)) if isinstance(part, Tensor)]
            roots = [part for part in parts if part.requires_grad]
            seeds = [table.drawn_like(root.data, np.random.default_rng(5)) for root in roots]
            if roots:
                backward(roots, seeds)
    except TensorError as error:
        return [type(error), str(error)]
    return [part.data for part in parts] + [None if leaf.grad is None else leaf.grad.data for leaf in leaves]


def same(found: list[Any], wanted: list[Any]) -> bool:
    return len(found) == len(wanted) and all(map(_same, found, wanted))


def _same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if not isinstance(one, np.ndarray):
        return bool(one == other)
    return (one.dtype, one.shape) == (other.dtype, other.shape) and one.tobytes() == other.tobytes()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_whole_table_comes_out_the_same_to_the_last_bit(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "WORTH_IT", 1)
    differing, planned = [], 0
    with using_default_dtype(table.DOUBLE):
        for name in NAMES:
            for call in table.calls(TABLE[name]):
                asked = table.in_dtype(call, dtypes.BY_NAME[dtype])
                outcome(asked)  # which prepares
                outcome(drawn_again(asked, 1))  # and writes down its gradients
                other = drawn_again(asked, 2)
                found = outcome(other)
                planned += bool(TABLE[name].plans)
                _forget()
                with monkeypatch.context() as patch:
                    for kind in (Tensor, list, tuple):
                        patch.delitem(SHORT, kind)
                    if not same(found, outcome(other)):
                        differing.append(call.owner)
    assert not differing, "\n".join(differing)
    assert planned > 800
