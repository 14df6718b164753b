"""What promotion comes to is remembered: nothing else comes out than by the general way, errors included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import TABLE, Op, dtypes, ops
from gradcheck.autograd import op as general
from gradcheck.autograd.compiled.promotion_cache import Settled, constant, kinds_of, of_two, settled
from gradcheck.autograd.modes import quiet
from gradcheck.errors import DtypeMismatch, ShapeMismatch, TensorError
from tests.autograd import table

DTYPES = ["float64", "float32", "float16", "complex128", "int64"]
CALLED = sorted(name for name, op in TABLE.items() if not op.composite and not table.is_random(op))
DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)


def answer(call: Any) -> Any:
    """What a call comes to, or how it fails."""
    try:
        made = call.op(*call.args, **call.kwargs)
    except TensorError as error:
        return type(error), str(error)
    return made if isinstance(made, tuple) else (made,)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_whole_table_comes_out_the_same(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with quiet():
        calls = [table.in_dtype(call, dtypes.BY_NAME[dtype]) for name in CALLED for call in table.calls(TABLE[name])]
    short = [answer(call) for call in calls]
    monkeypatch.setattr(general, "settled", lambda op, kinds: None)
    for name in CALLED:
        TABLE[name]._forms.clear()
    try:
        for call, found in zip(calls, short, strict=True):
            wanted = answer(call)
            assert len(found) == len(wanted), call.owner
            for one, other in zip(found, wanted, strict=True):
                if isinstance(one, np.ndarray):
                    np.testing.assert_array_equal(one, other, strict=True, err_msg=call.owner)
                else:
                    assert one == other, call.owner
    finally:
        for name in CALLED:
            TABLE[name]._forms.clear()


def form(op: Op, *args: Any) -> Settled | None:
    bound = op.bind(args, {})
    return settled(op, kinds_of(bound, op.sequence))


def test_arrays_of_one_dtype_stay_and_numbers_take_it() -> None:
    x = np.ones(3)
    assert form(ops.mul, x, x) == (DOUBLE, ())
    assert form(ops.mul, x, 2) == (DOUBLE, (1,))
    assert form(ops.where, x > 0, 1.5, x.astype(SINGLE)) == (SINGLE, (1,))
    assert form(ops.cat, [x, x.astype(SINGLE)]) == (None, ())


@pytest.mark.parametrize(
    ("op", "args"),
    [
        (ops.mul, (np.ones(3), np.ones(3, SINGLE))),
        (ops.mul, (np.ones(3), 1j)),
        (ops.mul, (np.ones(3, np.int64), 1.5)),
        (ops.mul, (np.ones(3, np.float16), 2)),
        (ops.mul, (np.ones(3), np.float64(2))),
        (ops.mul, (2, 3)),
        (ops.sin, (np.ones(3, np.int64),)),
        (ops.matmul, (np.ones((3, 3)), np.ones((3, 3), SINGLE))),
        (ops.relu, (np.ones(3, np.complex128),)),
    ],
)
def test_all_else_goes_the_general_way(op: Op, args: Any) -> None:
    assert form(op, *args) is None


def test_errors_are_those_of_the_general_way() -> None:
    with pytest.raises(ShapeMismatch, match=r"mul: shapes \[2\] and \[3\] do not broadcast"):
        ops.mul(np.ones(2), np.ones(3))
    with pytest.raises(DtypeMismatch, match="relu does not take complex128"):
        ops.relu(np.ones(2, np.complex128))


def test_zeros_keep_their_signs() -> None:
    assert [np.signbit(constant(zero, DOUBLE)).item() for zero in (0, 0.0, -0.0, 0.0)] == [False, False, True, False]
    assert constant(2.5, SINGLE) is constant(2.5, SINGLE)


@pytest.mark.parametrize("name", ["float64", "float32", "complex128", "float16", "int64"])
def test_two_operands_of_one_dtype_need_no_settling(name: str) -> None:
    """The same, or nothing, where the dtype has more to say."""
    a, b = np.array([1.5, -2.0, 0.0]).astype(name), np.array([[3.0], [-0.0]]).astype(name)
    is_wide = name in ("float64", "float32", "complex128")
    for pair in ((a, b), (a, 0.1), (0.1, b), (a, -0.0)):
        found = of_two(np.multiply, *pair)
        assert (found is not None) == is_wide
        if found is not None:
            wanted = np.multiply(*(np.asarray(one, name) for one in pair))
            assert found.dtype == wanted.dtype
            assert found.tobytes() == wanted.tobytes()
    assert of_two(np.multiply, a, True) is None
    assert of_two(np.multiply, a, 2) is None
    assert of_two(np.multiply, a, b.astype(np.bool_)) is None


def test_a_sum_of_numbers_without_dimensions_is_an_array() -> None:
    assert type(of_two(np.add, np.ones(()), np.ones(()))) is np.ndarray


@pytest.mark.parametrize("op", [TABLE[name] for name in CALLED if TABLE[name].ufunc is not None])
@pytest.mark.parametrize("shape", [(), (2, 3)])
def test_a_real_and_a_complex_array_are_as_promotion_has_them(op: Op, shape: tuple[int, ...]) -> None:
    real, numbers = np.array([[0.5, -1.0, 3.0], [2.0, 0.0, 7.5]]), np.full(shape, 2 - 0.5j)
    for args in ((real, numbers), (numbers, real)):
        with quiet():
            found = of_two(op.ufunc, *args)
            wanted = op._promoted(list(op.bind(args, {})))
        assert found is not None
        np.testing.assert_array_equal(found, wanted, strict=True)
