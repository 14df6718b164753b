"""Who applies the ops of an expression."""

from __future__ import annotations

from typing import Any, Protocol

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import Op


class Host(Protocol):
    """Whoever applies ops: to arrays, or to its own tensors."""

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The op's result; several outputs as a tuple."""
        ...

    def dtype(self, name: str) -> Any:
        """The host's own dtype of that torch name."""
        ...


class NumPy:
    """Ops as they are: NumPy arrays stay arrays, and gradcheck's tensors record themselves."""

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return op(*args, **kwargs)

    def dtype(self, name: str) -> Any:
        return dtypes.BY_NAME[name]


NUMPY = NumPy()


def shape_of(value: Any) -> tuple[int, ...] | None:
    """The shape of a tensor, whosoever it is; None for what is none."""
    if not hasattr(value, "dtype"):  # NumPy's dtypes have a shape as well
        return None
    shape = getattr(value, "shape", None)
    return None if shape is None else tuple(shape)
