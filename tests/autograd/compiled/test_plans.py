"""What a plan gives is what the general way gives, bit for bit, for the whole table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import TABLE, Tensor, dtypes, grad, no_grad, ops, pullback
from gradcheck.autograd.backward import backward
from gradcheck.autograd.compiled import plans
from gradcheck.autograd.compiled.buffer_release import LARGE
from gradcheck.autograd.compiled.plans import WORTH_IT
from gradcheck.autograd.compiled.specialized.pieces import selection
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.autograd.op import SHORT
from gradcheck.engines.base import Application
from gradcheck.engines.recording import arrays, rebuild
from gradcheck.errors import ArgumentError, DomainError, IndexOutOfRange, TensorError
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
        op.pairs.clear()


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


def differing(calls: Iterator[Application], monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], int]:
    """Which calls come out otherwise by a plan, and how many had one."""
    monkeypatch.setattr(plans, "WORTH_IT", 1)
    found, planned = [], 0
    with using_default_dtype(table.DOUBLE):
        for call in calls:
            outcome(call)  # which prepares
            outcome(drawn_again(call, 1))  # and writes down its gradients
            other = drawn_again(call, 2)
            short = outcome(other)
            planned += bool(call.op.plans)
            _forget()
            with monkeypatch.context() as patch:
                for kind in (Tensor, list, tuple):
                    patch.delitem(SHORT, kind)
                if not same(short, outcome(other)):
                    found.append(call.owner)
    return found, planned


def test_the_whole_table_comes_out_the_same_to_the_last_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    found, planned = differing((call for name in NAMES for call in table.calls(TABLE[name])), monkeypatch)
    assert not found, "\n".join(found)
    assert planned > 800


def test_so_does_single_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    single = dtypes.BY_NAME["float32"]
    calls = (table.in_dtype(call, single) for name in NAMES for call in islice(table.calls(TABLE[name]), 3, 4))
    found, planned = differing(calls, monkeypatch)
    assert not found, "\n".join(found)
    assert planned > 50


def leaf(*shape: int, dtype: str = "float64") -> Tensor:
    drawn = np.random.default_rng(shape).standard_normal(shape).astype(dtype)
    return Tensor(drawn, requires_grad=True)


def often(call: Callable[[], Any]) -> Any:
    """What a call gives once it has a plan, if it can have one."""
    return [call() for _ in range(WORTH_IT + 1)][-1]


def test_a_plan_is_prepared_after_many_calls_of_one_kind() -> None:
    x = leaf(2, 3)
    assert [ops.exp(x).plan is not None for _ in range(WORTH_IT + 1)] == [False] * WORTH_IT + [True]
    assert ops.exp(leaf(3)).plan is None


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x[x > 0],
        lambda x: x[:, Tensor(np.array([0, 2]))],
        lambda x: x + 1j,
        lambda x: ops.exp(Tensor(np.ones(2, np.float16), requires_grad=True)),
        lambda x: ops.clamp(x, np.float64(0.5)),
    ],
)
def test_what_a_plan_cannot_know_goes_the_general_way(call: Callable[[Tensor], Any]) -> None:
    x = leaf(2, 3)
    assert often(lambda: call(x)).plan is None


def test_numbers_are_told_apart_by_their_types_and_signs() -> None:
    x = Tensor(np.array([1.0, -1.0]), requires_grad=True)
    for zero, sign in ((0.0, False), (-0.0, True)):
        made = often(partial(ops.where, x > 0, zero, x))
        assert np.signbit(made.data[0]) == sign
    assert often(lambda: ops.sum(leaf(2, 3), 1)).shape == (2,)
    with pytest.raises(ArgumentError):
        ops.sum(leaf(2, 3), True)


def test_what_a_plan_was_made_of_reads_as_ever() -> None:
    x, y, z = leaf(2, 3), leaf(2, 3), leaf(2, 3)
    one, three = often(lambda: x.transpose(0, 1)), often(lambda: ops.cat([x, y, z], 1))
    assert one.plan is not None
    assert three.plan is not None
    assert (one.arguments, one.creators) == ((x, 0, 1), (x,))
    assert (three.arguments, three.creators) == (([x, y, z], 1), (x, y, z))


def test_errors_are_those_of_the_general_way() -> None:
    x, places = leaf(2, 3), Tensor(np.array([[0, 2]]))
    often(lambda: ops.gather(x, 1, places))
    with pytest.raises(IndexOutOfRange, match="gather: index 3 of a dimension of size 3"):
        ops.gather(x, 1, Tensor(np.array([[0, 3]])))
    with pytest.raises(IndexOutOfRange, match="gather: index -1"):
        ops.gather(x, 1, Tensor(np.array([[0, -1]])))


def test_errors_of_rules_too() -> None:
    """The rule of `logdet` asks for an inverse, which a singular matrix has not."""
    x, singular = Tensor(np.eye(2), requires_grad=True), Tensor(np.ones((2, 2)), requires_grad=True)
    with pytest.raises(DomainError) as general:
        grad(ops.logdet(singular), singular, np.ones(()))
    made = often(lambda: ops.logdet(x))
    grad(made, x, np.ones(()))
    assert made.plan is not None
    assert made.plan.pull is not pullback.pull_arrays
    with pytest.raises(DomainError) as planned:
        grad(ops.logdet(singular), singular, np.ones(()))
    assert str(planned.value) == str(general.value)


def test_no_graph_is_recorded_where_none_is_wanted() -> None:
    x, constant = leaf(2, 3), Tensor(np.ones((2, 3)))
    often(lambda: ops.exp(x))
    assert not ops.exp(constant).requires_grad
    with no_grad():
        assert ops.exp(x).creation_op is None


def test_a_tensor_with_another_array_has_another_form() -> None:
    x = leaf(2, 3)
    often(lambda: ops.mean(x, 0))
    x.data = np.ones((5, 2))
    assert ops.mean(x, 0).tolist() == [1, 1]
    assert (x * x).shape == (5, 2)


def test_arrays_of_another_byte_order_or_class_have_no_plan() -> None:
    often(lambda: ops.exp(leaf(2)))
    for array in (np.ones(2, ">f8"), np.ones(2).view(np.recarray)):
        x = leaf(2)
        x.data = array
        assert ops.exp(x).plan is None
        assert (x * x).plan is None


def test_whether_a_gradient_is_required_is_asked_when_it_flows() -> None:
    for call in (lambda x, y: x * y, lambda x, y: ops.cat([x, y]), lambda x, y: ops.where(x.detach() > 9, x, y)):
        x, y = leaf(2), Tensor(np.ones(2))
        made = often(partial(call, x, y))
        assert made.plan is not None
        assert made.creators[-2:] == (x, y)
        y.requires_grad_()
        x.requires_grad_(False)
        made.backward(np.ones(made.shape))
        assert x.grad is None
        assert y.grad is not None


def test_what_is_written_over_was_nobody_elses() -> None:
    """The incoming gradient, what a retained tensor holds, and the values are as they were."""
    x, seed = leaf(2, 3), np.full((2, 3), 2.0)
    for _ in range(3 * WORTH_IT):
        y = x.tanh().sigmoid()
        y.retain_grad()
        z = y + y * y + y
        z.backward(seed)
    assert y.grad is not None
    np.testing.assert_allclose(y.grad.data, 4 + 4 * y.data, rtol=1e-15)
    np.testing.assert_array_equal(y.data, 1 / (1 + np.exp(-np.tanh(x.data))))
    assert (seed == 2).all()


def test_sums_are_written_over_where_nobody_else_holds_them() -> None:
    """What `z` retains is also the first contribution to `y`."""
    x = leaf(2, 3)
    y = x * 1.0
    z = y * 1.0 + y
    z.retain_grad()
    (z * 3.0).backward(np.ones((2, 3)))
    assert z.grad is not None
    assert z.grad.tolist() == [[3] * 3] * 2
    assert x.grad is not None
    assert x.grad.tolist() == [[6] * 3] * 2


def test_a_sum_that_one_other_holds_is_not_written_over() -> None:
    """When `y` has its second contribution, the retained gradient of `z` alone holds the first beside the sweep."""
    x = leaf(2, 3)
    y = x * 1.0
    z = (y * 2.0) * (y * 3.0) + y
    z.retain_grad()
    (z * 3.0).backward(np.ones((2, 3)))
    assert z.grad is not None
    assert z.grad.tolist() == [[3] * 3] * 2


_LARGE_ONES: list[Callable[[Tensor, Tensor], Any]] = [
    lambda x, w: ops.relu(x) * w,
    lambda x, w: ops.clamp(x * w, -0.5, 0.5),
    lambda x, w: ops.where(w > 0, 0.0, x) - ops.where(w > 1, x, -0.0),
    lambda x, w: ops.sigmoid(x) * x / w,
    lambda x, w: ops.exp(x * 0.5) + x * x,
    lambda x, w: ops.mul(ops.reshape(x, (2, -1)).T, 3.0).T.reshape(x.shape) * w,
]


@pytest.mark.parametrize(("call", "dtype"), [*((call, "float64") for call in _LARGE_ONES), (_LARGE_ONES[0], "float32")])
def test_large_arrays_come_out_the_same(call: Any, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradients that only the sweep holds are written over, and halves of `where` are chosen by their bits."""
    monkeypatch.setattr(plans, "WORTH_IT", 1)
    stream = np.random.default_rng(3)
    x, w, seed = (stream.standard_normal(LARGE).astype(dtype) for _ in range(3))
    x[:6] = w[6:12] = seed[12:18] = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0]

    def gradients() -> list[np.ndarray]:
        one, other = Tensor(x, requires_grad=True), Tensor(w)
        made = call(one, other)
        made.backward(seed)
        assert one.grad is not None
        return [made.data, one.grad.data]

    found = [gradients() for _ in range(3)][-1]
    for kind in (Tensor, list, tuple):
        monkeypatch.delitem(SHORT, kind)
    assert same(found, gradients())


def test_what_a_mask_chooses_of_many_is_what_numpy_chooses() -> None:
    numbers, stream = np.array([0.0, -0.0, np.nan, 2.0, -np.inf, 5e-324] * 400), np.random.default_rng(0)
    mask = stream.random(numbers.size) < 0.5
    for constant in map(np.asarray, (0.0, -0.0, 2.0, np.nan)):
        for chosen, other in ((constant, numbers), (numbers, constant), (constant, numbers[::-1])):
            select = selection(mask, chosen, other)
            assert select is not None
            assert select(mask, chosen, other).tobytes() == np.where(mask, chosen, other).tobytes()
    assert selection(mask, numbers, numbers) is None


def test_a_large_gradient_that_somebody_holds_is_not_written_over() -> None:
    """The seed, what a tensor retains, what waits for more, and what a view was made of."""
    x, seed = Tensor(np.full(LARGE, 2.0), requires_grad=True), np.full(LARGE, 3.0)
    for _ in range(2 * WORTH_IT):
        x.grad = None
        y = x * 1.5
        z = y * 2.5
        z.retain_grad()
        y.retain_grad()
        made = (z * 0.5 + ops.exp(y * 0.0) * z).reshape(2, -1).T
        made.backward(seed.reshape(2, -1).T)
    assert z.grad is not None
    assert y.grad is not None
    assert x.grad is not None
    assert (seed == 3).all()
    assert set(z.grad.data) == {4.5}
    assert set(y.grad.data) == {4.5 * 2.5}
    assert set(x.grad.data) == {4.5 * 2.5 * 1.5}


def test_sums_of_few_are_added_up_in_the_same_order() -> None:
    """One after the other, or in pairs from eight on: of numbers of very different sizes every order shows."""
    for length in range(1, 12):
        for shape, dim in (((3, length), 1), ((length, 3), 0), ((2, length, 2), 1), ((length,), 0)):
            stream = np.random.default_rng(length)
            numbers = stream.standard_normal(shape) * 10.0 ** stream.integers(-20, 20, shape)
            numbers[stream.random(shape) < 0.2] = -0.0
            for op, wanted in ((ops.sum, np.add.reduce(numbers, dim)), (ops.softmax, None), (ops.logsumexp, None)):
                x = Tensor(numbers, requires_grad=True)
                if wanted is None:
                    with no_grad():
                        wanted = op.general((x.detach(), dim), {}).data
                made = often(partial(op, x, dim))
                assert made.plan is not None
                assert made.data.tobytes() == np.asarray(wanted).tobytes(), (op, shape)


def test_no_warning_comes_out_of_a_plan() -> None:
    x = Tensor(np.array([-1.0, 0.0]), requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(often(lambda: ops.log(x)).data[0])


def test_a_second_derivative_goes_through_a_plan() -> None:
    x = Tensor(np.array([2.0, 3.0]), requires_grad=True)
    y = often(lambda: ops.exp(x * 1.0))
    (first,) = grad(y, x, np.ones(2), create_graph=True)
    assert first is not None
    (second,) = grad(first, x, np.ones(2))
    assert second is not None
    np.testing.assert_allclose(second.data, np.exp(x.data), rtol=1e-15)


def test_a_rule_that_is_exchanged_is_used(with_rules: Any) -> None:
    x = leaf(2)
    often(lambda: ops.exp(x))
    with_rules("exp", lambda g, y, x: g * 7)
    (found,) = grad(ops.exp(x), x, np.ones(2))
    assert found is not None
    assert found.tolist() == [7, 7]


def test_what_is_made_of_very_many_tensors_has_no_plan() -> None:
    """To prepare one for a thousand took ten seconds."""
    few, many = [leaf(2)] * 3, [leaf(2)] * (plans.MOST_TENSORS + 1)
    before = len(ops.stack.plans)
    often(lambda: ops.stack(few))
    often(lambda: ops.stack(many))
    assert len(ops.stack.plans) == before + 1
