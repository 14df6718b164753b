"""A traced backward pass: its events, and no change of results."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.tensor import Tensor
from gradcheck.autograd.trace import MAX_KEPT, Kept, PassedOn, Received, summarize, trace


def received(found: list[Received | PassedOn] | tuple[Received | PassedOn, ...]) -> list[Received]:
    return [event for event in found if isinstance(event, Received)]


def test_a_tensor_used_twice_by_one_child_waits_for_the_second_gradient() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x + x
    y.retain_grad()
    z = y + y
    found = trace([z], [np.ones(2)])
    assert found.error is None
    assert found.order == [z, y, x]
    assert [(e.tensor, e.sender, e.received, e.expected, e.ready) for e in received(found.events)] == [
        (z, None, 1, 1, True),
        (y, z, 1, 2, False),
        (y, z, 2, 2, True),
        (x, y, 1, 2, False),
        (x, y, 2, 2, True),
    ]
    np.testing.assert_array_equal(received(found.events)[-1].total.array, [4.0, 4.0])
    assert [(e.tensor, e.op.name) for e in found.events if isinstance(e, PassedOn)] == [(z, "add"), (y, "add")]
    assert [kept.tensor for kept in found.kept] == [y, x]


def test_watching_changes_nothing() -> None:
    generator = np.random.default_rng(0)
    values = generator.standard_normal((3, 4)), generator.standard_normal((4, 5)), generator.standard_normal(5)
    gradients = []
    for watched in (False, True):
        a, b, c = (Tensor(value, requires_grad=True) for value in values)
        root = (((a @ b) * c + c) / 2.0).tanh()
        loss = ops.sum(root * root)
        if watched:
            trace([loss], [None])
        else:
            loss.backward()
        gradients.append([t.grad.data.tobytes() for t in (a, b, c) if t.grad is not None])
    assert gradients[0] == gradients[1]
    assert len(gradients[0]) == 3


def test_what_is_passed_on_is_the_total_of_what_was_received() -> None:
    x = Tensor(np.linspace(0.1, 1, 4), requires_grad=True)
    h = x
    for _ in range(20):
        h = h * 0.5 + x * h
    totals: dict[Tensor, np.ndarray | None] = {}
    for event in trace([h], [np.arange(4.0)]).events:
        if isinstance(event, Received):
            totals[event.tensor] = event.total.array
        else:
            np.testing.assert_array_equal(event.gradient.array, totals[event.tensor])


def test_an_incoming_gradient_counts_for_a_root_below_another() -> None:
    x = Tensor([1.0], requires_grad=True)
    y = x * 3.0
    z = y * 2.0
    events = received(trace([y, z], [np.ones(1), np.ones(1)]).events)
    assert [(e.received, e.expected) for e in events if e.tensor is y] == [(1, 2), (2, 2)]


def test_gradients_that_were_there_before_are_added_to() -> None:
    x = Tensor([2.0], requires_grad=True)
    y = x * 3.0
    first, second = (trace([y], [None], retain_graph=True).kept[0] for _ in range(2))
    assert isinstance(first, Kept)
    assert first.before is None
    assert second.before is not None
    assert [float(g.array[0]) for g in (second.before, second.gradient, second.now) if g.array is not None] == [3, 3, 6]


def test_a_second_pass_through_a_freed_graph_is_told_as_the_error_it_is() -> None:
    x = Tensor([2.0], requires_grad=True)
    h = x * x
    y = h * 3.0
    assert trace([y], [None]).error is None
    again = trace([y], [None])
    assert again.error is not None
    assert again.error.kind == "backward_twice"
    assert again.freed is y
    assert again.events == again.kept == ()


def test_other_errors_are_told_too() -> None:
    y = Tensor([1.0, 2.0], requires_grad=True) * 2.0
    found = trace([y], [None])
    assert found.error is not None
    assert (found.error.kind, found.freed) == ("non_scalar_backward", None)


def test_large_arrays_are_not_kept() -> None:
    large = summarize(np.arange(MAX_KEPT + 1.0))
    assert large.array is None
    assert (large.low, large.high, large.shape) == (0.0, MAX_KEPT, (MAX_KEPT + 1,))
    odd = summarize(np.array([np.nan, np.inf, 3.0]))
    assert (odd.low, odd.high, odd.norm) == (3.0, 3.0, 3.0)


def test_a_glimpse_is_of_its_moment() -> None:
    array = np.ones(3)
    seen = summarize(array)
    array += 1
    np.testing.assert_array_equal(seen.array, np.ones(3))


def test_a_long_chain() -> None:
    x = Tensor([1.0], requires_grad=True)
    h = x
    for _ in range(20_000):
        h = h * 1.0
    assert len(trace([h], [None]).order) == 20_001
