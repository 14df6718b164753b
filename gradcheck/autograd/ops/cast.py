"""The same values in another dtype, cut off from the graph, or summed to a smaller shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import named
from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops.kinds import converted
from gradcheck.autograd.ops.shape import expand
from gradcheck.errors import DtypeMismatch, ShapeMismatch


@op(
    lambda g, y, x, dtype: g,
    rounds=True,
    holomorphic=False,
    torch="Tensor.to",
    samples=(
        "randn(2, 3).to(torch.float32)",
        "randn(2, 3).to(torch.complex128)",
        "to(randn(3) * 5, torch.int64)",
        "randn(3).to(torch.bool)",
        "tensor([1, 0]).to(torch.float16)",
    ),
)
def to(input: Any, dtype: Any) -> Any:
    """The values in this dtype, or in that of another tensor; floats lose their fraction in integers."""
    return converted(input, named(getattr(dtype, "dtype", dtype), input.dtype))


def _cast(name: str, dtype: str, also: tuple[str, ...] = ()) -> Any:
    target = dtypes.BY_NAME[dtype]

    def convert(input: Any) -> Any:
        return to(input, target)

    convert.__doc__ = f"The values as {dtype}."
    samples = (f"randn(2, 3).{name}()", f"tensor([1, 0]).{name}()", *also)
    return composite(name=name, torch=f"Tensor.{name}", samples=samples)(convert)


for _name, _dtype in (
    ("float", "float32"), ("double", "float64"), ("half", "float16"), ("bfloat16", "bfloat16"), ("bool", "bool"),
    ("long", "int64"), ("int", "int32"), ("short", "int16"), ("cfloat", "complex64"), ("cdouble", "complex128"),
):  # fmt: skip
    _cast(_name, _dtype)


@composite(name="type", torch="Tensor.type", samples=("randn(2, 3).type(torch.float32)",))
def type_(input: Any, dtype: Any) -> Any:
    """`to`."""
    return to(input, dtype)


@composite(torch="Tensor.type_as", samples=("randn(2, 3).type_as(tensor([1, 2]))",))
def type_as(input: Any, other: Any) -> Any:
    """The values in the dtype of `other`."""
    return to(input, other.dtype)


@op(samples=("detach(randn(2, 3))", "randn(3) * randn(3).detach()"))
def detach(input: Any) -> Any:
    """The same values, through which no gradient flows."""
    return input


@op(lambda g, y, x: g, rounds=True, samples=("clone(randn(2, 3))",), analytic=True)
def clone(input: Any) -> Any:
    """A copy."""
    return input.copy()


@op(lambda g, y, x: g, rounds=True, torch="Tensor.contiguous", samples=("randn(2, 3).contiguous()",), analytic=True)
def contiguous(input: Any) -> Any:
    """The same tensor; memory layout never matters here."""
    return np.asarray(input, order="C")


@op(
    lambda g, y, x, size: expand(g, x.shape),
    variadic="size",
    torch="Tensor.sum_to_size",
    samples=(
        "randn(2, 3).sum_to_size(3)",
        "randn(2, 3).sum_to_size(2, 1)",
        "randn(4, 2, 3).sum_to_size((1, 3))",
        "randn(2, 3).sum_to_size(())",
        "randn(0, 3).sum_to_size(1, 3)",
    ),
    analytic=True,
)
def sum_to_size(input: Any, size: Any) -> Any:
    """Summed over the dimensions along which `size` would be broadcast to the shape of `input`."""
    target = tuple(size)
    lead = input.ndim - len(target)
    if lead < 0 or any(new not in (1, old) for new, old in zip(target, input.shape[lead:], strict=True)):
        raise ShapeMismatch(f"sum_to_size: {list(target)} does not broadcast to {list(input.shape)}")
    axes = [i + lead for i, new in enumerate(target) if new == 1 and input.shape[i + lead] != 1]
    if input.dtype.kind == "b":
        raise DtypeMismatch("sum_to_size does not take booleans")
    return input.sum(axis=(*range(lead), *axes), keepdims=True).reshape(target)
