"""Every form of index against torch, and the adjoint of indexing."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck import Tensor, ops
from gradcheck.autograd import TABLE
from gradcheck.autograd import grad as gradients
from gradcheck.autograd.ops.common.subscript import is_basic, result_size
from gradcheck.errors import ArgumentError, DtypeMismatch, IndexOutOfRange, ShapeMismatch
from tests.autograd.ops.both import agree, normal, raised

SHAPE = (3, 4, 3)
ENTRIES: tuple[Any, ...] = (
    1,
    -2,
    slice(None),
    slice(-3, None, 2),
    slice(2, 2),
    None,
    Ellipsis,
    True,
    [0, 2, 0],
    np.array([[1], [-1]]),
    np.array(2),
    np.array([True, False, True]),
)
#: Of three entries a Latin square and a shift of it: any two entries meet at any two places.
TRIPLES = [
    (one, other, ENTRIES[(i + j + shift) % len(ENTRIES)])
    for i, one in enumerate(ENTRIES)
    for j, other in enumerate(ENTRIES)
    for shift in (0, 5)
]
FORMS = [(), *itertools.chain.from_iterable(itertools.product(ENTRIES, repeat=n) for n in (1, 2)), *TRIPLES]


def for_torch(entry: Any) -> Any:
    return torch.from_numpy(entry) if isinstance(entry, np.ndarray) else entry


@pytest.mark.parametrize("count", range(4))
def test_mixtures_of_up_to_three(count: int) -> None:
    """Compare values, sizes, first and second gradients; or both reject it."""
    forms = [form for form in FORMS if len(form) == count and sum(entry is Ellipsis for entry in form) <= 1]
    taken = 0
    for form in forms:
        leaf, theirs = Tensor(normal(*SHAPE), requires_grad=True), torch.from_numpy(normal(*SHAPE)).requires_grad_()
        try:
            want = theirs[tuple(map(for_torch, form))]
        except IndexError:
            with pytest.raises(IndexOutOfRange):
                leaf[form]
            continue
        taken += 1
        got = leaf[form]
        np.testing.assert_array_equal(got.data, want.detach().numpy(), strict=True, err_msg=str(form))
        assert result_size(SHAPE, form) == (normal(*SHAPE).size if is_basic(form) else got.data.size)
        seed = normal(*got.shape, seed=1)
        cotangent = Tensor(seed, requires_grad=True)
        (found,) = gradients(got, leaf, cotangent, create_graph=True)
        want.backward(torch.from_numpy(seed))
        np.testing.assert_allclose(found.data, theirs.grad.numpy(), rtol=1e-14, err_msg=str(form))
        (again,) = gradients(found, cotangent, normal(*SHAPE, seed=2))
        np.testing.assert_array_equal(
            again.data, normal(*SHAPE, seed=2)[()] if not form else ops.getitem(normal(*SHAPE, seed=2), form)
        )
    assert taken > len(forms) // 4


def test_lists_of_the_case_language_are_index_tensors() -> None:
    for index in ("[0, 1, 1]", "([0, 1], [1, 1])", "[]", "([0, 1], [[2], [0]])", "[True, False]", "(..., [0, 2])"):
        agree(f"x[{index.strip('()')}]", x=normal(2, 3))


def test_repeated_indices_add_up() -> None:
    index = np.array([1, 1, 1, 0])
    agree("x[i]", x=normal(3), i=index)
    agree("x[:, i]", x=normal(2, 3, 4), i=index)
    agree("x[i, :, i]", x=normal(2, 3, 4), i=index)
    agree("x[:, :, i][i]", x=normal(2, 3, 4), i=index)
    agree("x[i, i - 1]", x=normal(2, 3, 4), i=index)
    agree("x[m, i]", x=normal(4, 4, 2), i=index, m=np.array([True] * 4))
    agree("x[i]", x=normal(0, 0, 3), i=index[:0])


def test_a_mask_of_several_dimensions_between_slices() -> None:
    mask = np.array([[True, False, True], [False, False, True]])
    agree("x[:, m]", x=normal(4, 2, 3), m=mask)
    agree("x[m]", x=normal(2, 3, 4), m=mask)
    agree("x[:, m, None, 1:]", x=normal(4, 2, 3, 3), m=mask)
    agree("x[m]", x=normal(2, 3), m=mask.astype(np.uint8))


def test_tensors_anywhere_in_an_index() -> None:
    x = Tensor(normal(3, 4), requires_grad=True)
    rows, columns = Tensor([2, 0]), Tensor([1, 1])
    np.testing.assert_array_equal(x[rows, columns].data, x.data[[2, 0], [1, 1]])
    np.testing.assert_array_equal(x[:, columns].data, x.data[:, [1, 1]])
    x[rows, columns].backward(np.array([1.0, 10.0]))
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.data, [[0, 10, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0]])


@pytest.mark.parametrize(
    ("index", "error"),
    [
        (5, IndexOutOfRange),
        ((0, 0, 0), IndexOutOfRange),
        ((Ellipsis, Ellipsis), IndexOutOfRange),
        (1.5, IndexOutOfRange),
        (np.array([0.5]), IndexOutOfRange),
        ([0, 5], IndexOutOfRange),
        (([0, 1], [0, 1, 2]), IndexOutOfRange),
        (np.array([True, False, True]), IndexOutOfRange),
        (slice(None, None, -1), ArgumentError),
        (slice(None, None, 0), ArgumentError),
    ],
)
def test_what_is_no_index(index: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Tensor(normal(2, 3))[index]


def test_the_adjoint_is_the_transpose_of_indexing() -> None:
    """`<index(x), g> == <x, adjoint(g)>`; the adjoint's gradient is indexing."""
    for index in (1, slice(0, 2), (Ellipsis, None, 0), [2, 2, 0], ([0, 1], slice(None), [1, 1])):
        x = normal(3, 4, 2)
        got = ops.getitem(x, index)
        g = Tensor(normal(*got.shape), requires_grad=True)
        spread = ops.index_adjoint(g, index, x.shape)
        np.testing.assert_allclose(np.vdot(got, g.data), np.vdot(x, spread.data), rtol=1e-13)
        spread.backward(x)
        assert g.grad is not None
        np.testing.assert_array_equal(g.grad.data, got)


def test_the_size_of_a_result_is_known_before_it_is_made() -> None:
    huge = np.broadcast_to(np.zeros(()), (1, 10**9))
    assert TABLE["getitem"].elements(huge, np.zeros(10**6, dtype=np.int64)) == 10**15  # type: ignore[misc]


def test_narrow_and_select() -> None:
    x = normal(3, 5)
    agree("narrow(x, 1, -2, 2)", x=x)
    agree("x.narrow(-1, 5, 0)", x=x)
    agree("x.select(1, -5) * x.select(1, 0)", x=x)
    for start, length in ((1, 5), (6, 0), (-6, 1), (0, -1)):
        with pytest.raises(IndexOutOfRange):
            ops.narrow(x, 1, start, length)


def test_masked_select() -> None:
    x, mask = normal(2, 3), np.array([True, False, True])
    agree("x.masked_select(m)", x=x, m=mask)
    agree("v.masked_select(m)", v=normal(3), m=np.array([[True], [False]]))
    with pytest.raises(DtypeMismatch):
        ops.masked_select(x, x)
    with pytest.raises(ShapeMismatch):
        ops.masked_select(x, np.array([True, False]))


def test_index_put() -> None:
    x, rows = normal(3, 4), np.array([0, 2])
    agree("index_put(x, (i,), v)", x=x, i=rows, v=normal(2, 4))
    agree("index_put(x, [i, i], v)", x=x, i=rows, v=normal(1))
    agree("x.index_put((i,), v, accumulate=True)", x=x, i=np.array([2, 2, 0]), v=normal(4))
    agree("x.index_put((m,), v)", x=x, m=x > 0, v=np.array(3.0))
    with pytest.raises(DtypeMismatch):
        ops.index_put(x, (rows,), np.float32([1]))
    with pytest.raises(IndexOutOfRange):
        ops.index_put(x, (rows + 5,), np.ones(4))
    with pytest.raises(ShapeMismatch):
        ops.index_put(x, (rows,), np.ones(3))


def test_take() -> None:
    index = np.array([[0, 2, 1], [2, 2, 2]])
    agree("take(x, i - 2)", x=normal(3, 4), i=index)
    assert raised("take(x, i + 12)", x=normal(3, 4), i=index) == ("index_out_of_range", "index_out_of_range")
