"""Release of large unreadable values, without a change of results."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import TABLE, Tensor, grad, ops
from gradcheck.autograd.compiled import buffer_release
from gradcheck.autograd.compiled.buffer_release import LARGE, ReleasedArray, ReleasedRead, reads_of_call, released
from gradcheck.autograd.compiled.calls import WORTH_IT
from gradcheck.autograd.modes import no_grad, quiet
from gradcheck.autograd.pullback import cotangent_of
from tests.autograd import table

SIZE = LARGE


def leaf(seed: int = 0, requires_grad: bool = True) -> Tensor:
    return Tensor(np.random.default_rng(seed).uniform(0.5, 1.5, SIZE), requires_grad=requires_grad)


def is_released(tensor: Tensor) -> bool:
    return type(tensor.array) is ReleasedArray


def graph(step: Callable[[Any, Any, Any], Any], times: int = 4) -> tuple[Tensor, Tensor, Tensor]:
    x, w = leaf(), leaf(1, requires_grad=False)
    h = x
    for _ in range(times):
        h = step(h, w, x)
    return h, x, w


def made_of(tensor: Tensor) -> list[Tensor]:
    """Return all nodes but leaves, along the first creators."""
    found = []
    while tensor.creation_op is not None:
        found.append(tensor)
        tensor = tensor.creators[0]
    return found


STEPS: dict[str, tuple[Callable[[Any, Any, Any], Any], list[bool]]] = {
    # by step, from its last op to its first: whether that value may be released
    "h * w + x": (lambda h, w, x: h * w + x, [True, True]),
    "tanh(h * w + x)": (lambda h, w, x: (h * w + x).tanh(), [False, True, True]),
    "sigmoid(h) * x - w": (lambda h, w, x: h.sigmoid() * x - w, [True, True, False]),
    "relu(h - w).exp()": (lambda h, w, x: (h - w).relu().exp(), [False, True, False]),
    "h * h": (lambda h, w, x: h * h, [False]),
    "h + h.tanh()": (lambda h, w, x: h + h.tanh() * 2, [True]),
    "where": (lambda h, w, x: ops.where(w > 1, h + 1, x), [True]),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("again", [False, True], ids=["generally", "compiled"])
def test_values_that_nobody_can_read_are_released(name: str, again: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffer_release, "_MIN_EXAMINED", 16)
    step, may_go = STEPS[name]
    if again:
        graph(step, WORTH_IT + 1)
    h, *_ = graph(step)
    found = made_of(h)
    gone = [is_released(tensor) for tensor in found[2 * len(may_go) :]]  # the last steps may still be looked at
    assert not is_released(h)
    if name != "where":  # whose first creator is no float
        assert gone == (may_go * 4)[: len(gone)]


@pytest.mark.parametrize("name", STEPS)
def test_values_and_gradients_are_as_if_all_were_kept(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def results() -> list[np.ndarray]:
        h, x, _ = graph(STEPS[name][0])
        h.backward(np.ones(SIZE), retain_graph=True)
        (first,) = grad(h, x, np.ones(SIZE), create_graph=True)
        second = grad(first, x, np.ones(SIZE)) if first.requires_grad else ()
        return [tensor.data for tensor in (h, x.grad, first, *second, *made_of(h))]

    found = results()
    with monkeypatch.context() as changed:
        changed.setattr(buffer_release, "_references_from_outside", lambda found, held: [-1 for _ in found])
        kept = results()
    assert all(np.array_equal(one, other) for one, other in zip(found, kept, strict=True))


def test_a_value_with_a_name_stays() -> None:
    x = leaf()
    named = [x * 2.0]
    views = (named[0] + 1.0).data
    for _ in range(6):
        named.append(named[-1] * 2.0 + 1.0)
    assert not any(map(is_released, named))
    assert views.base is None
    assert np.array_equal(views, x.data * 2.0 + 1.0)


def test_ops_on_a_released_value_compute_it_again() -> None:
    h, x, w = graph(STEPS["h * w + x"][0])
    first = made_of(h)[-1]
    assert is_released(first)
    assert np.array_equal((first + 1.0).data, x.data * w.data + 1.0)
    assert not is_released(first)
    second = made_of(h)[-2]
    assert is_released(second)
    assert np.array_equal(np.asarray(second), x.data * w.data + x.data)


def test_a_gradient_that_is_wanted_late_finds_what_it_reads() -> None:
    h, x, w = graph(STEPS["h * w + x"][0], times=3)
    w.requires_grad_()
    h.backward(np.ones(SIZE))
    y, v = Tensor(x.data, requires_grad=True), Tensor(w.data, requires_grad=True)
    ((((y * v + y) * v + y) * v) + y).backward(np.ones(SIZE))
    assert np.array_equal(w.grad.data, v.grad.data)
    assert np.array_equal(x.grad.data, y.grad.data)


def test_data_that_was_set_stays() -> None:
    """It would not come out again."""
    h, x, w = graph(STEPS["h * w + x"][0], times=1)
    made_of(h)[-1].data = np.full(SIZE, 7.0)
    for _ in range(4):
        h = h * w + x
    assert np.array_equal(made_of(h)[-1].data, np.full(SIZE, 7.0))


def test_a_long_chain_is_computed_again_without_recursion() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    h = x
    for _ in range(3000):
        h = h + 1.0
    for tensor in made_of(h):
        tensor.array = tensor.find_form().released()
    assert h.tolist() == [3001.0, 3002.0]


def test_memory_does_not_grow_with_values_that_are_not_read() -> None:
    graph(STEPS["h * w + x"][0], times=2)
    tracemalloc.start()
    try:
        h, *_ = graph(STEPS["h * w + x"][0], times=20)
        h.backward(np.ones(SIZE))
        peak = tracemalloc.get_traced_memory()[1] / (8 * SIZE)
    finally:
        tracemalloc.stop()
    assert peak < 12, peak  # where 44 arrays would be held


def test_rules_need_no_value_that_they_are_not_said_to_read() -> None:
    """Shares of elementwise ops do not change if unread values are released."""
    wrong = []
    for name in sorted(TABLE):
        op = TABLE[name]
        if not op.elementwise or not any(op.rules) or table.is_random(op):
            continue
        for call in table.calls(op):
            bound = op.bind(call.args, call.kwargs)
            values = list(bound)
            floats = [i for i, v in enumerate(values) if isinstance(v, np.ndarray) and v.dtype.kind == "f"]
            arguments = [Tensor(v) if isinstance(v, np.ndarray) else v for v in bound]
            places = [i for i, v in enumerate(arguments) if isinstance(v, Tensor)]
            own, read = reads_of_call(op, arguments, (True,) * len(places))
            with no_grad(), quiet():
                result = op.compute(values)
                given = [
                    released(v.shape, v.dtype) if i in places and places.index(i) not in read else v
                    for i, v in enumerate(values)
                ]
                output = result if own else released(result.shape, result.dtype)
                for i in floats:
                    if i < len(op.rules) and op.rules[i] is not None:
                        try:
                            got = cotangent_of(op, i, np.ones_like(result), output, given)
                            want = cotangent_of(op, i, np.ones_like(result), result, values)
                            if not np.array_equal(got, want, equal_nan=True):
                                wrong.append(call.owner)
                        except Exception as error:
                            wrong.append(f"{call.owner}: {error!r}")
    assert not wrong, wrong


# Released values --------------------------------------------------------------------------------------


def test_a_released_value_takes_no_memory() -> None:
    value = released((1000, 1000, 1000), np.dtype(np.float32))
    assert (value.shape, value.dtype, value.strides) == ((1000, 1000, 1000), np.float32, (0, 0, 0))


@pytest.mark.parametrize("read", [lambda x: x + 1, lambda x: 1 - x, np.exp, np.sum, lambda x: np.where(x, 1, 2)])
def test_computing_with_it_is_an_error(read: Callable[[Any], Any]) -> None:
    with pytest.raises(ReleasedRead):
        read(released((2,), np.dtype(np.float64)))
