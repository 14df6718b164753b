"""Op: binding arguments, registering entries, and running on plain arrays at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import TABLE, ops
from gradcheck.autograd.op import ALIASES, lookup, op
from gradcheck.errors import ArgumentError, ShapeMismatch


def test_plain_arrays_are_computed_at_once() -> None:
    result = ops.mul(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    assert isinstance(result, np.ndarray)
    assert result.tolist() == [3, 8]


def test_numpys_words_for_arguments_are_taken() -> None:
    x = np.arange(6.0).reshape(2, 3)
    assert ops.sum(x, axis=1, keepdims=True).tolist() == ops.sum(x, dim=1, keepdim=True).tolist() == [[3], [12]]


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((1.0,), {}, "lacks its argument 'other'"),
        ((1.0, 2.0, 3.0), {}, "takes at most 2 arguments, 3 were given"),
        ((1.0, 2.0), {"beta": 1}, "has no argument 'beta'"),
        ((1.0, 2.0), {"other": 1}, "'other' twice"),
    ],
)
def test_wrong_arguments_are_explained(args: tuple[Any, ...], kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        ops.add(*args, **kwargs)


def test_sizes_may_be_written_out_or_listed() -> None:
    x = np.arange(6.0)
    for call in (lambda: ops.reshape(x, 2, 3), lambda: ops.reshape(x, (2, 3)), lambda: ops.reshape(x, [2, 3])):
        assert call().shape == (2, 3)


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
