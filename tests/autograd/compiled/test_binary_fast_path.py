"""Compiled operators give the general results, bit for bit."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import Tensor, no_grad, ops
from gradcheck.autograd.compiled.binary_fast_path import BINARY
from gradcheck.autograd.modes import silently
from gradcheck.autograd.pullback import pull_arrays
from gradcheck.autograd.sweep import sweep
from gradcheck.errors import ShapeMismatch
from tests.autograd.compiled.kit import GeneralTensor, functions_of, leaf

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
