"""Signatures: what a person writes, in the order that the op takes it."""

from __future__ import annotations

from typing import Any

import pytest

from gradcheck.autograd.signature import Parameter, Signature
from gradcheck.errors import ArgumentError

ADD = Signature(name="add", parameters=(Parameter("input"), Parameter("other"), Parameter("alpha", 1, True)))
SUM = Signature(name="sum", parameters=(Parameter("input"), Parameter("dim", None), Parameter("keepdim", False)))
RESHAPE = Signature(name="reshape", parameters=(Parameter("input"), Parameter("shape")), variadic="shape")


@pytest.mark.parametrize(
    ("signature", "args", "kwargs", "bound"),
    [
        (ADD, ("x", "y"), {}, ("x", "y", 1)),
        (ADD, ("x",), {"alpha": 2, "other": "y"}, ("x", "y", 2)),
        (SUM, ("x",), {}, ("x", None, False)),
        (SUM, ("x", 1, True), {}, ("x", 1, True)),
        (SUM, ("x",), {"axis": 1, "keepdims": True}, ("x", 1, True)),
        (RESHAPE, ("x", 2, 3), {}, ("x", (2, 3))),
        (RESHAPE, ("x", [2, 3]), {}, ("x", (2, 3))),
        (RESHAPE, ("x",), {"shape": [2, 3]}, ("x", (2, 3))),
    ],
)
def test_arguments_are_put_in_order(
    signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any], bound: tuple[Any, ...]
) -> None:
    assert signature.bind(args, kwargs) == bound


def test_a_form_of_call_is_bound_alike_again() -> None:
    assert [SUM.bind((x,), {"keepdim": kept}) for x, kept in (("x", True), ("y", False))] == [
        ("x", None, True),
        ("y", None, False),
    ]


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((1.0,), {}, "add lacks its argument 'other'"),
        ((1.0, 2.0, 3.0), {}, "add takes at most 2 arguments, 3 were given"),
        ((1.0, 2.0), {"beta": 1}, "add has no argument 'beta'"),
        ((1.0, 2.0), {"axis": 1}, "add has no argument 'axis'"),
        ((1.0, 2.0), {"other": 1}, "add is given its argument 'other' twice"),
    ],
)
def test_wrong_arguments_are_explained(args: tuple[Any, ...], kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message) as caught:
        ADD.bind(args, kwargs)
    assert caught.value.hint == "its signature is add(input, other, *, alpha=1)"


def test_it_is_written_as_a_person_does() -> None:
    assert SUM.signature == "sum(input, dim=None, keepdim=False)"
    assert RESHAPE.signature == "reshape(input, *shape)"
