"""Python's operators and torch's methods, for tensors and formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradcheck.autograd.methods import Methods, Offered
from gradcheck.autograd.op import TABLE, lookup, whole_table


def _binary(name: str) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        return TABLE[name](self, other)

    return operator


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        return TABLE[name](other, self)

    return operator


def _unary(name: str) -> Callable[[Any], Any]:
    def operator(self: Any) -> Any:
        return TABLE[name](self)

    return operator


class Operators(Methods):
    """Operators and methods that look ops up by name when first used."""

    __slots__ = ()
    #: NumPy must leave `array * tensor` to the tensor.
    __array_ufunc__ = None

    __add__, __radd__ = _binary("add"), _reflected("add")
    __sub__, __rsub__ = _binary("sub"), _reflected("sub")
    __mul__, __rmul__ = _binary("mul"), _reflected("mul")
    __truediv__, __rtruediv__ = _binary("div"), _reflected("div")
    __floordiv__, __rfloordiv__ = _binary("floor_divide"), _reflected("floor_divide")
    __mod__, __rmod__ = _binary("remainder"), _reflected("remainder")
    __pow__, __rpow__ = _binary("pow"), _reflected("pow")
    __matmul__, __rmatmul__ = _binary("matmul"), _reflected("matmul")
    __and__, __rand__ = _binary("bitwise_and"), _reflected("bitwise_and")
    __or__, __ror__ = _binary("bitwise_or"), _reflected("bitwise_or")
    __xor__, __rxor__ = _binary("bitwise_xor"), _reflected("bitwise_xor")
    __lt__, __le__ = _binary("lt"), _binary("le")
    __gt__, __ge__ = _binary("gt"), _binary("ge")
    __neg__, __invert__, __abs__ = _unary("neg"), _unary("bitwise_not"), _unary("abs")
    __getitem__ = _binary("getitem")

    def __eq__(self, other: object) -> Any:
        return TABLE["eq"](self, other)

    def __ne__(self, other: object) -> Any:
        return TABLE["ne"](self, other)

    __hash__ = object.__hash__

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __dir__(self) -> list[str]:
        methods = [name for name, entry in whole_table().items() if entry.method and "." not in name]
        return sorted({*object.__dir__(self), *methods})


#: Ops that are written without a call: `x.T`.
PROPERTIES = frozenset({"T", "mT", "H", "mH", "real", "imag"})


def _method(name: str, entry: Any) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return entry(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"{entry.signature}\n\n{entry.doc}"
    return method


def _find_attribute(name: str, kind: type) -> Any:
    """Return the attribute, and set it. Raises AttributeError."""
    entry = lookup(name)
    if entry is None or not entry.method:
        raise AttributeError(f"{kind.__name__} has no attribute {name!r}")
    found = property(entry) if name in PROPERTIES else _method(name, entry)
    setattr(Methods, name, found)
    return found


Offered.find = staticmethod(_find_attribute)
