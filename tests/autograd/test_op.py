"""Op: registering entries, and running on plain arrays at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import TABLE, ops
from gradcheck.autograd.op import ALIASES, elementwise, lookup, op
from gradcheck.errors import DomainError, DtypeMismatch, ShapeMismatch


def test_plain_arrays_are_computed_at_once() -> None:
    result = ops.mul(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    assert isinstance(result, np.ndarray)
    assert result.tolist() == [3, 8]


def test_a_name_is_registered_once() -> None:
    before = dict(TABLE)
    with pytest.raises(ValueError, match="'mul' is already"):

        @op((), name="mul")
        def again(input: Any) -> Any:
            """A second entry of the same name."""
            return input

    assert before == TABLE


def test_an_alias_names_the_same_op() -> None:
    for alias, name in ALIASES.items():
        assert lookup(alias) is TABLE[name]
    assert lookup("no_such_op") is None


def test_numpys_errors_become_typed_ones() -> None:
    with pytest.raises(ShapeMismatch, match="add"):
        ops.add(np.ones(2), np.ones(3))


def test_an_op_shows_itself_by_its_signature() -> None:
    assert repr(TABLE["add"]) == "<op add(input, other, *, alpha=1)>"


def test_a_number_that_its_dtype_cannot_hold() -> None:
    with pytest.raises(DtypeMismatch, match="out of bounds"):
        ops.add(np.array([1], np.uint8), 300)


def test_a_singular_matrix_is_outside_of_the_domain() -> None:
    with pytest.raises(DomainError, match="the matrix is singular"):
        ops.inverse(np.zeros((2, 2)))


def test_samples_are_parted_and_named() -> None:
    @elementwise(None, name="of.this_test", samples="{}(1); x.{}( );\n  other")
    def entry(input: Any) -> Any:
        """Anything."""
        return input

    TABLE.pop("of.this_test")
    assert entry.samples == ("of.this_test(1)", "x.of.this_test( )", "other")
    assert (entry.elementwise, entry.doc, entry.torch) == (True, "Anything.", "of.this_test")


def test_keyword_only_arguments_reach_the_forward() -> None:
    @op(None, name="of.this_test")
    def entry(input: Any, power: int = 1, *, scale: float, shift: float = 0.5) -> Any:
        """A function with every kind of parameter."""
        return input**power * scale + shift

    TABLE.pop("of.this_test")
    assert entry.signature == "of.this_test(input, power=1, *, scale, shift=0.5)"
    assert entry(np.array([2.0]), 3, scale=2.0).tolist() == [16.5]


def test_half_precision_is_computed_in_single_and_rounded_once() -> None:
    """2048 + 0.5 - 2048 would be 0 in half precision, step by step."""
    halves = [np.full(1, value, np.float16) for value in (2048.0, 0.5, -2048.0)]
    found = ops.einsum("i,j,k->", *halves)
    assert found.dtype == np.float16
    assert ops.sum(np.concatenate(halves)) == 0.5
