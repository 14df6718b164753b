"""The same values in another dtype, copied, or cut off from the graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import ALIASES, BY_NAME, named
from gradcheck.autograd.op import composite, linear, op
from gradcheck.autograd.ops.common.arguments import converted


@op(
    lambda g, y, x, dtype: g,
    rounds=True,
    holomorphic=False,
    torch="Tensor.to",
    samples="""
        randn(2, 3).to(torch.float32); randn(2, 3).to(torch.complex128); to(randn(3) * 5, torch.int64);
        randn(3).to(torch.bool); tensor([1, 0]).to(torch.float16)
    """,
)
def to(input: Any, dtype: Any) -> Any:
    """The values in this dtype, or in that of another tensor; floats lose their fraction in integers."""
    return converted(input, named(getattr(dtype, "dtype", dtype), input.dtype))


def _cast(name: str, dtype: str) -> None:
    target = BY_NAME[dtype]

    def convert(input: Any) -> Any:
        return to(input, target)

    convert.__doc__ = f"The values as {dtype}."
    composite(name=name, torch=f"Tensor.{name}", samples="randn(2, 3).{}(); tensor([1, 0]).{}()")(convert)


for _name, _dtype in {**ALIASES, "bool": "bool", "bfloat16": "bfloat16"}.items():
    _cast(_name, _dtype)


@composite(name="type", torch="Tensor.type", samples="randn(2, 3).type(torch.float32)")
def type_(input: Any, dtype: Any) -> Any:
    """`to`."""
    return to(input, dtype)


@composite(torch="Tensor.type_as", samples="randn(2, 3).type_as(tensor([1, 2]))")
def type_as(input: Any, other: Any) -> Any:
    """The values in the dtype of `other`."""
    return to(input, other.dtype)


@op(samples="detach(randn(2, 3)); randn(3) * randn(3).detach()")
def detach(input: Any) -> Any:
    """The same values, through which no gradient flows."""
    return input


@linear(lambda g, y, x: g, rounds=True, samples="clone(randn(2, 3))")
def clone(input: Any) -> Any:
    """A copy."""
    return input.copy()


@linear(lambda g, y, x: g, rounds=True, torch="Tensor.contiguous", samples="randn(2, 3).contiguous()")
def contiguous(input: Any) -> Any:
    """The same tensor; memory layout never matters here."""
    return np.asarray(input, order="C")
