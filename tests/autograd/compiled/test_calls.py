"""Compiled functions give the bits of `Op.general`, for all ops."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import TABLE, Tensor, dtypes, grad, no_grad, ops
from gradcheck.autograd.backward import backward
from gradcheck.autograd.compiled import calls
from gradcheck.autograd.compiled.calls import BINARY, WORTH_IT
from gradcheck.autograd.modes import quiet, silently, using_default_dtype
from gradcheck.autograd.pullback import pull_arrays
from gradcheck.autograd.sweep import sweep
from gradcheck.engines.base import Application
from gradcheck.engines.recording import arrays, rebuild
from gradcheck.errors import ArgumentError, IndexOutOfRange, ShapeMismatch, TensorError
from tests.autograd import table
from tests.autograd.compiled.kit import GeneralTensor, compile_at_once, functions_of, leaf, often, same

NAMES = sorted(name for name, op in TABLE.items() if not table.is_random(op))


def drawn_again(call: Application, seed: int) -> Application:
    """Return the call with other floats of like sign and size."""
    stream = np.random.default_rng(seed)

    def other(array: np.ndarray) -> np.ndarray:
        if array.dtype.kind != "f":
            return array
        return np.asarray(array * stream.choice([0.5, 0.75, 1.0], array.shape), array.dtype)

    args, kwargs = rebuild(call.args, call.kwargs, other, dtypes.BY_NAME.__getitem__)
    return Application(call.op, args, kwargs, call.owner, call.tracked)


def outcome(call: Application, kind: type[Tensor] = Tensor) -> list[Any]:
    """Return values and all leaves' gradients, or the error."""
    tracked = call.tracked or (True,) * len(list(arrays(call.args, call.kwargs)))
    flags = iter(tracked)
    leaves: list[Tensor] = []

    def as_leaf(array: np.ndarray) -> Tensor:
        leaves.append(kind(array, requires_grad=next(flags) and dtypes.is_differentiable(array.dtype)))
        return leaves[-1]

    args, kwargs = rebuild(call.args, call.kwargs, as_leaf, dtypes.BY_NAME.__getitem__)
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
    return [part.data for part in parts] + [None if one.grad is None else one.grad.data for one in leaves]


def differing(applications: Iterator[Application], monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], int]:
    """Return calls with differing results, and how many were compiled."""
    compile_at_once(monkeypatch)
    found, compiled = [], 0
    with using_default_dtype(table.DOUBLE):
        for call in applications:
            functions_of(call.op).clear()
            outcome(call)  # compiles the forward
            outcome(drawn_again(call, 1))  # compiles the rules
            other = drawn_again(call, 2)
            fast = outcome(other)
            compiled += bool(functions_of(call.op))
            if not same(fast, outcome(other, GeneralTensor)):
                found.append(call.owner)
    return found, compiled


def test_the_whole_table_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    found, compiled = differing((call for name in NAMES for call in table.calls(TABLE[name])), monkeypatch)
    assert not found, "\n".join(found)
    assert compiled > 800


def test_single_precision_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    single = dtypes.BY_NAME["float32"]
    applications = (table.in_dtype(call, single) for name in NAMES for call in islice(table.calls(TABLE[name]), 3, 4))
    found, compiled = differing(applications, monkeypatch)
    assert not found, "\n".join(found)
    assert compiled > 50


def test_a_function_is_compiled_after_many_calls_of_one_kind() -> None:
    x = leaf(2, 3)
    assert [ops.exp(x).plan is not None for _ in range(WORTH_IT + 1)] == [False] * (WORTH_IT - 1) + [True] * 2
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
def test_calls_that_cannot_be_compiled_go_the_general_way(call: Callable[[Tensor], Any]) -> None:
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


def test_arguments_and_creators_are_those_of_the_general_way() -> None:
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


@pytest.mark.parametrize("shape", [(2, 6), (1, 1), (3, 1)])
def test_an_index_beyond_its_tensor_stays_an_error(shape: tuple[int, int]) -> None:
    x, places = leaf(*shape), Tensor(np.zeros((shape[0] + 1, shape[1] + 1), np.int64))
    for dim in 2 * WORTH_IT * [0, 1]:
        with pytest.raises(ShapeMismatch):
            ops.gather(x, dim, places)


def test_no_graph_is_recorded_where_none_is_wanted() -> None:
    x, constant = leaf(2, 3), Tensor(np.ones((2, 3)))
    often(lambda: ops.exp(x))
    assert not ops.exp(constant).requires_grad
    with no_grad():
        assert ops.exp(x).creation_op is None


def test_no_warning_comes_out_of_a_compiled_function() -> None:
    x = Tensor(np.array([-1.0, 0.0]), requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(often(lambda: ops.log(x)).data[0])


def test_a_rule_that_is_exchanged_is_used(with_rules: Any) -> None:
    x = leaf(2)
    often(lambda: ops.exp(x))
    with_rules("exp", lambda g, y, x: g * 7)
    (found,) = grad(ops.exp(x), x, np.ones(2))
    assert found is not None
    assert found.tolist() == [7, 7]


def test_ops_on_very_many_tensors_are_not_compiled() -> None:
    """To compile one for a thousand took ten seconds."""
    few, many = [leaf(2)] * 3, [leaf(2)] * (calls.MOST_TENSORS + 1)
    often(lambda: ops.stack(few))
    often(lambda: ops.stack(many))
    assert len(functions_of(ops.stack)) == 1


def test_an_op_that_is_called_in_very_many_ways_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MOST_KINDS", 5)
    x = leaf(2)
    for number in range(50):
        assert (x * float(number)).data.tolist() == (x.data * number).tolist()
    assert len(functions_of(ops.mul)) <= 7


OPERATORS = {name: getattr(operator, method.strip("_")) for name, method in BINARY.items()}


def others(kind: type[Tensor]) -> list[Any]:
    shapes: list[tuple[int, ...]] = [(2, 3), (3,), (2, 1), (0, 1, 1)]
    tensors = [leaf(*shape, kind=kind) for shape in shapes]
    return [*tensors, leaf(2, 3, requires_grad=False, kind=kind), 2.5, 3, 0.0, -0.0, 0, True, 1j, 10**400]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex128", "int64"])
@pytest.mark.parametrize("name", OPERATORS)
def test_values_and_gradients_are_those_of_the_general_way(name: str, dtype: str) -> None:
    """Called often enough that its rules are compiled too."""
    apply, gradients = OPERATORS[name], dtype != "int64"

    def results(kind: type[Tensor], number: int) -> list[Any]:
        x, other = leaf(2, 3, dtype=dtype, requires_grad=gradients, kind=kind), others(kind)[number]
        with np.errstate(all="ignore"):
            try:
                made = apply(x, other)
            except Exception as error:
                return [type(error), str(error)]
            if not made.requires_grad:
                return [made.data]
            seed = np.random.default_rng(1).standard_normal(made.shape).astype(made.dtype)
            made.backward(seed)
        return [
            made.data,
            *(node.grad.data for node in (x, other) if isinstance(node, Tensor) and node.grad is not None),
        ]

    for number in range(len(others(Tensor))):
        for _ in range(18):
            found = results(Tensor, number)
        wanted = results(GeneralTensor, number)
        assert len(found) == len(wanted)
        for mine, want in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(mine, want, strict=True)


def test_operands_of_one_float_dtype_alone_are_compiled_at_once() -> None:
    x = leaf(2, 3)
    assert (x * 2.5).plan is not None
    assert (x + leaf(3)).plan is not None
    for general in (x * leaf(2, 3, dtype="float32"), x * True, x * np.ones(3), 2.5 * x, x**2):
        assert general.plan is None


def test_the_general_way_says_what_does_not_fit() -> None:
    for _ in range(3):
        with pytest.raises(ShapeMismatch, match=r"mul: shapes \[2, 3\] and \[2\] do not broadcast"):
            leaf(2, 3) * leaf(2)


def test_nothing_is_recorded_where_no_gradient_flows() -> None:
    x = leaf(2, requires_grad=False)
    assert (x * 2.0).creation_op is None
    with no_grad():
        assert (leaf(2) * 2.0).creation_op is None


def test_results_are_the_same_while_warnings_are_silenced_already() -> None:
    x = leaf(2, 3)
    found = silently(lambda: (x * 2.5 / x).data)
    np.testing.assert_array_equal(found, (x * 2.5 / x).data, strict=True)


def test_operands_are_told_apart_from_those_of_the_call_before() -> None:
    """By shapes, dtypes, numbers and their types and signs."""
    x, y, z = leaf(2, 3), leaf(3), leaf(2, 3, dtype="float32")
    with np.errstate(all="ignore"):
        for one, other in [(x, 2.0), (x, 2), (y, 2.0), (x, 0.0), (x, -0.0), (z, -0.0), (x, y), (x, x), (y, x), (z, z)]:
            for _ in range(2):
                found, wanted = one / other, ops.div.general((one, other), {})
                assert found.dtype == wanted.dtype
                assert found.data.tobytes() == wanted.data.tobytes()
                for mine, want in zip(found.arguments, wanted.arguments, strict=False):
                    assert mine is want or (type(mine), str(mine)) == (type(want), str(want))


def test_a_result_of_no_dimensions_is_an_array() -> None:
    x = Tensor(2.0, requires_grad=True)
    assert type((x * x).data) is np.ndarray


def test_a_gradient_of_another_dtype_goes_the_general_way() -> None:
    x = leaf(2)
    y = x * 2.0
    found = sweep([y], [np.ones(2, np.float32)], pull_arrays)
    assert (found[x].dtype, found[x].tolist()) == (np.float64, [2, 2])


def test_other_leaves_of_the_same_form_have_the_same_plan() -> None:
    def plans() -> list[Any]:
        result = Tensor([1.5, 2.5], requires_grad=True) * Tensor([3.0, 4.0], requires_grad=True)
        return [result.plan, (Tensor([1.5, 2.5], requires_grad=True) * 0.25).plan]

    assert all(one is another for one, another in zip(plans(), plans(), strict=True))


def test_a_call_of_the_op_and_its_operator_share_functions() -> None:
    x, y = leaf(2), leaf(2)
    assert (x * y).plan is ops.mul(x, y).plan
    assert len(functions_of(ops.mul)) == 1
