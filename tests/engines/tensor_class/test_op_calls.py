"""Ops by a library's own names, by what they are made of, by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import ops  # noqa: F401  (fills the table)
from gradcheck.autograd.op import TABLE
from gradcheck.checks.result import CaseResult
from gradcheck.engines.base import Application, Pullback
from gradcheck.engines.resolve import adapt
from gradcheck.engines.tensor_class.engine import TensorClassEngine
from gradcheck.engines.tensor_class.op_calls import DECOMPOSITIONS, broadcast_operands, sum_to_operands
from gradcheck.engines.tensor_class.wrapped_tensor import compute
from gradcheck.errors import Unsupported

X = np.array([1.0, 2.0])
SUM = "    def sum(self):"


@pytest.fixture
def engine(variant: Callable[..., type]) -> TensorClassEngine:
    return adapt(variant(), "mine")


def apply(engine: TensorClassEngine, name: str, *args: Any) -> Any:
    return engine.apply(TABLE[name], TABLE[name].bind(args, {}))


def test_what_the_library_has_it_computes(engine: TensorClassEngine) -> None:
    result = apply(engine, "tanh", engine.leaf(X, True))
    assert engine.is_tensor(result.tensor)
    assert result.requires_grad
    np.testing.assert_array_equal(result.array, np.tanh(X))
    assert not apply(engine, "tanh", engine.leaf(X, False)).requires_grad


def test_what_has_no_gradient_is_numpys(engine: TensorClassEngine) -> None:
    mask = apply(engine, "gt", engine.leaf(X, True), 1.5)
    assert (mask.tensor, mask.array.tolist()) == (None, [False, True])
    assert apply(engine, "exp", engine.constant(X)).tensor is None
    values, indices = apply(engine, "max", engine.constant(X), 0)
    assert (values.array.tolist(), indices.array.tolist()) == (2, 1)


def test_what_it_lacks_is_written_in_what_it_has(engine: TensorClassEngine) -> None:
    x = engine.leaf(X, True)
    assert engine.is_tensor(apply(engine, "square", x).tensor)
    assert apply(engine, "mse_loss", x, engine.leaf(X + 1, False)).array.tolist() == 1


def test_what_can_be_written_in_nothing_is_lacking(engine: TensorClassEngine) -> None:
    with pytest.raises(Unsupported) as caught:
        apply(engine, "sin", engine.leaf(X, True))
    assert caught.value.lacks == "sin"


def test_of_a_composition_it_is_the_part_that_is_lacking(engine: TensorClassEngine) -> None:
    with pytest.raises(Unsupported) as caught:
        apply(engine, "l1_loss", engine.leaf(X, True), engine.leaf(X + 1, False))
    assert caught.value.lacks == "abs"


def test_numbers_become_tensors_where_no_numbers_are_known(variant: Callable[..., type], passes: Any) -> None:
    kind = variant((
        "return value if isinstance(value, Tensor) else type(self)(value)",
        "assert isinstance(value, Tensor)\n        return value",
    ))  # fmt: skip
    assert passes(kind)


def test_what_is_handed_back_has_no_gradient_of_its_own(variant: Callable[..., type]) -> None:
    engine = adapt(variant((SUM, f"    def contiguous(self):\n        return self\n\n{SUM}")), "mine")
    x = engine.leaf(X, True)
    result = apply(engine, "contiguous", x)
    assert result.tensor is x.tensor
    assert (result.unread, x.unread) == (True, False)


def test_what_returns_no_tensor_is_lacking(variant: Callable[..., type]) -> None:
    body = "return 3 if self.data[0] == 1 else Tensor(np.abs(self.data))"  # a tensor while it is tried
    engine = adapt(variant((SUM, f"    def abs(self):\n        {body}\n\n{SUM}")), "mine")
    with pytest.raises(Unsupported, match="its abs returned no tensor but a int"):
        apply(engine, "abs", engine.leaf(X, True))


def test_dtypes_are_not_changed(engine: TensorClassEngine) -> None:
    x = engine.leaf(X, True)
    assert apply(engine, "double", x) is x
    assert apply(engine, "to", x, np.dtype(np.int64)).array.tolist() == [1, 2]
    with pytest.raises(Unsupported) as caught:
        apply(engine, "to", x, np.dtype(np.float32))
    assert caught.value.lacks == "a change of dtype to float32"


def test_what_is_detached_requires_no_gradient(engine: TensorClassEngine) -> None:
    x = engine.leaf(X, True)
    for given in (x, engine.constant(X)):
        result = apply(engine, "detach", given)
        assert not result.requires_grad
        assert (result.tensor is None) == (given.tensor is None)


# Ops in others: each is what the op is, or says that it does not cover its arguments --------------


ROW, COLUMN = np.array([[1.0, 4.0, 9.0]]), np.array([[2.0], [0.5]])
CALLS: dict[str, list[tuple[Any, ...]]] = {
    "add": [(ROW, COLUMN, 3)],
    "sub": [(ROW, COLUMN, 1), (ROW, 2.0, -1)],
    "div": [(ROW, COLUMN, None), (ROW, 4.0, None)],
    "mean": [(ROW, None, False, None), (ROW, 1, False, None), (ROW, 1, True, None)],
    "expand": [(ROW, (2, -1)), (COLUMN, (3, 2, 4))],
    "squeeze": [(ROW, None), (ROW, 0), (ROW, 1), (ROW, (0, -1)), (np.array(2.0), None)],
    "unsqueeze": [(ROW, 0), (ROW, -1), (ROW, 1)],
}
COVERED = [(name, args) for name in DECOMPOSITIONS for args in CALLS.get(name, [(ROW,)])]


@pytest.mark.parametrize(("name", "args"), COVERED)
def test_it_is_the_op(name: str, args: tuple[Any, ...]) -> None:
    found, right = DECOMPOSITIONS[name](*args), compute(TABLE[name], args)
    assert np.shape(found) == np.shape(right)
    np.testing.assert_allclose(found, right, rtol=1e-15)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("add", (ROW, COLUMN, 1)),
        ("div", (ROW, COLUMN, "floor")),
        ("mean", (ROW, None, False, np.dtype(np.float32))),
        ("mean", (ROW[:0], None, False, None)),
    ],
)
def test_what_it_does_not_cover(name: str, args: tuple[Any, ...]) -> None:
    with np.errstate(all="ignore"):
        assert DECOMPOSITIONS[name](*args) is NotImplemented


def test_a_single_number_in_place_of_a_plain_one_is_an_array(
    variant: Callable[..., type], check: Callable[..., CaseResult]
) -> None:
    """Of a class that takes arrays alone: NumPy's own single numbers are none."""
    strict = (
        "        assert type(data) in (np.ndarray, np.float64) and not (makers == () and type(data) is np.float64)\n"
    )
    arrays = ("self.data = np.asarray(data)", "self.data = np.asarray(data)\n" + strict.rstrip())
    refuses = ("return value if isinstance(value, Tensor) else type(self)(value)", "return value")
    found = check(variant(arrays, refuses), "inputs: {x: 3.0}\ngraph: {y: x * x + 2}\n")
    assert found.status == "passed", found.comparisons


ROW, COLUMN = np.array([1.0, 2.0, 3.0]), np.array([[1.0], [2.0]])
_OUTPUT = ((2, 3), np.dtype(float))
MUL = Application(TABLE["mul"], (ROW, COLUMN), {}, "y", outputs=(_OUTPUT,))


def test_operands_are_stretched_and_gradients_summed() -> None:
    large = broadcast_operands(MUL)
    assert [array.shape for array in large.args] == [(2, 3), (2, 3)]
    found = sum_to_operands(Pullback((np.ones((2, 3)), np.ones((2, 3)))), MUL)
    row, column = found.gradients
    assert row is not None
    assert column is not None
    assert (row.tolist(), column.tolist()) == ([2, 2, 2], [[3], [3]])


def test_of_what_is_not_tracked_or_has_no_gradient_nothing_is_summed() -> None:
    found = sum_to_operands(Pullback((np.ones((2, 3)),)), replace(MUL, tracked=(False, True)))
    assert [gradient.shape for gradient in found.gradients if gradient is not None] == [(2, 1)]
    assert sum_to_operands(Pullback((None, None)), MUL).gradients == (None, None)


def test_other_ops_and_shared_arguments_stay_as_they_are() -> None:
    product = Application(TABLE["matmul"], (COLUMN.T, COLUMN), {}, "y", outputs=(((1, 1), np.dtype(float)),))
    assert broadcast_operands(product) is product
    shared = replace(MUL, shared=True)
    assert broadcast_operands(shared) is shared
