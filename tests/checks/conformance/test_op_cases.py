"""A case for every call of every op."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.checks.conformance.op_cases import op_cases
from gradcheck.errors import UsageError


def test_every_op_with_a_gradient_has_cases() -> None:
    covered = {tag for case in op_cases() for tag in case.tags}
    expected = {
        op.name
        for op in TABLE.values()
        if op.torch and (op.composite or any(op.rules)) and not any(p.name == "generator" for p in op.parameters)
    }
    without = expected - covered
    assert {name for name in without if TABLE[name].elementwise} == {"imag"}  # of complex numbers alone
    assert {"matmul", "sum", "softmax", "cat", "where", "layer_norm"} <= covered


def test_an_unknown_op_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="did you mean 'matmul'"):
        op_cases(["matmull"])


def test_the_same_op_has_the_same_numbers_whatever_else_is_asked() -> None:
    alone, among = op_cases(["tanh"]), [case for case in op_cases(["exp", "tanh"]) if case.tags == ("tanh",)]
    assert [case.name for case in alone] == [case.name for case in among]
    for one, other in zip(alone, among, strict=True):
        np.testing.assert_array_equal(one.inputs["x0"].array, other.inputs["x0"].array)


def test_elementwise_ops_come_with_shapes_that_broadcast_and_a_random_incoming_gradient() -> None:
    cases = op_cases(["mul"])
    shapes = [tuple(np.shape(value.array) for value in case.inputs.values()) for case in cases]
    assert {((2, 3), (2, 3)), ((2, 1), (3,)), ((), ())} <= set(shapes)
    seeds = [case.steps[0].roots["y"] for case in cases]
    assert all(seed is not None and not np.all(np.asarray(seed.array) == 1) for seed in seeds)


def test_an_alias_names_its_op() -> None:
    assert {case.tags for case in op_cases(["multiply"])} == {("mul",)}
