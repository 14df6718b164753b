"""Arrays that depend on a moved tensor.

Ops apply to perturbed arrays as to tensors, also inside composed ops. Everything else stays a plain array; so does a
detached array, which keeps its value at the original point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import Op
from gradcheck.autograd.operators import Operators
from gradcheck.errors import Unsupported
from gradcheck.oracles.numeric.high_precision import apply_op
from gradcheck.oracles.numeric.work_budget import Work

#: The bytes of a real or an imaginary part of most numbers.
_BYTES = 8
_COMPLEX = np.dtype(np.complex128)
_FLOAT64 = np.dtype(np.float64)
#: NumPy combines these as torch does.
_DOUBLE = frozenset({_FLOAT64, _COMPLEX})


@dataclass(slots=True)
class ForwardPass:
    """One evaluation of the forward, with a tensor moved or (`at_rest`) not."""

    # in a complex step every number stands for a real one, and ops must be analytic

    complex_step: bool = False
    high_precision: bool = False
    at_rest: bool = False
    #: The detached values, in order: the pass at rest fills the list, other passes read it.
    detached: list[np.ndarray] = field(default_factory=list)
    #: The fewest bytes of any real or imaginary part.
    narrowest: int = 64
    #: The work of the pass at rest.
    work: Work = field(default_factory=Work)
    _detached_so_far: int = 0

    def detach(self, array: np.ndarray) -> np.ndarray:
        """Return the value through which no change flows."""
        if self.complex_step:
            return np.ascontiguousarray(array.real)
        if self.at_rest:
            self.detached.append(array)
            return array
        self._detached_so_far += 1
        return self.detached[self._detached_so_far - 1]

    def count(self, op: Op, args: tuple[Any, ...], made: Any) -> None:
        """Add an op to the work of the pass at rest."""
        if self.at_rest:
            self.work.add(op, list(_sizes(args)), sum(_sizes(made if isinstance(made, tuple) else (made,))))


class Perturbed(Operators):
    """A moved array; in a complex step, with the derivative as second part."""

    __slots__ = ("data", "forward")

    def __init__(self, data: np.ndarray, forward: ForwardPass) -> None:
        self.data, self.forward = data, forward

    @property
    def dtype(self) -> np.dtype:
        """The dtype that others see; long double is float64 to them."""
        dtype = self.data.dtype
        if (self.forward.complex_step and dtype.kind == "c") or dtype.kind == "O":
            return _FLOAT64
        if dtype.itemsize > (16 if dtype.kind == "c" else 8):
            return _COMPLEX if dtype.kind == "c" else _FLOAT64
        return dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def ndim(self) -> int:
        return self.data.ndim

    def __len__(self) -> int:
        return len(self.data)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return a mask or an index: any other would lose the derivative."""
        if self.data.dtype.kind not in "biu":
            raise Unsupported("a plain array is needed where one moves")
        return np.array(self.data, dtype=dtype, copy=copy)

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Any:
        first = args[0] if args else None
        if type(first) is Perturbed:
            forward = first.forward
        else:
            listed = args[op.sequence] if op.sequence is not None else ()
            forward = next(arg.forward for arg in (*args, *listed) if type(arg) is Perturbed)
        if op.name == "detach":
            return forward.detach(args[0].data)
        if op.name == "to" and _is_floating(args[1]):
            return _drop_imaginary_part(args[0])
        if _is_random(op):
            raise Unsupported(f"{op.name} draws numbers")
        if forward.complex_step and not op.analytic:
            raise Unsupported(f"{op.name} is not analytic")
        plain = _plain(op, args, forward.complex_step)
        made = apply_op(op, plain) if forward.high_precision else op.compute(plain)
        if forward.at_rest:
            forward.count(op, args, made)
        if isinstance(made, tuple):
            return tuple([_perturbed(op, part, forward) for part in made])
        return _perturbed(op, made, forward)


def apply_to_pair(op: Op, a: Any, b: Any) -> Perturbed | None:
    """Apply an op of two in a complex step; None unless both are complex."""
    forward: ForwardPass = a.forward
    if forward.at_rest or not forward.complex_step or not op.analytic or op.ufunc is None:
        return None
    other = b.data if type(b) is Perturbed else b
    if a.data.dtype not in _DOUBLE or (type(other) is not float and getattr(other, "dtype", None) not in _DOUBLE):
        return None
    made = np.asanyarray(op.ufunc(a.data, other))
    return _perturbed(op, made, forward) if made.dtype is _COMPLEX else None


#: Arguments that an elementwise op takes unchanged.
_REAL = frozenset({Perturbed, float, int, bool, type(None)})


@cache
def _is_random(op: Op) -> bool:
    return any(parameter.name == "generator" for parameter in op.parameters)


def _drop_imaginary_part(value: Perturbed) -> Perturbed:
    """Return the value for a real dtype: complex numbers lose a part."""
    is_complex = value.data.dtype.kind == "c" and not value.forward.complex_step
    return Perturbed(value.data.real, value.forward) if is_complex else value


def _perturbed(op: Op, made: np.ndarray, forward: ForwardPass) -> Perturbed:
    if forward.complex_step and made.dtype.kind == "f":
        raise Unsupported(f"{op.name} loses the imaginary part")
    if made.dtype is not _COMPLEX and made.dtype.kind in "fc":
        forward.narrowest = min(forward.narrowest, made.dtype.itemsize // (2 if made.dtype.kind == "c" else 1))
    elif made.dtype is _COMPLEX and forward.narrowest > _BYTES:
        forward.narrowest = _BYTES
    return Perturbed(made, forward)


def _sizes(values: Any) -> Iterator[int]:
    """Yield the size of each floating array, those in lists too."""
    for value in values:
        array = value.data if type(value) is Perturbed else value
        if isinstance(array, np.ndarray) and array.dtype.kind in "fc":
            yield array.size
        elif isinstance(array, (list, tuple)):
            yield from _sizes(array)


def _is_floating(dtype: Any) -> bool:
    """Return whether this is a real floating dtype, or a tensor of one."""
    found = getattr(dtype, "dtype", dtype)
    named = dtypes.BY_NAME.get(found, found) if isinstance(found, str) else found
    return isinstance(named, np.dtype) and named.kind in "fV"


def _is_complex(value: Any) -> bool:
    return isinstance(value, complex) or (isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind == "c")


def _plain(op: Op, args: tuple[Any, ...], complex_step: bool) -> list[Any]:
    """Return the arguments as plain arrays, complex if the op needs one dtype."""
    if op.elementwise and all(type(value) in _REAL for value in args):
        return [value.data if type(value) is Perturbed else value for value in args]
    alike = complex_step and (op.uniform or not op.elementwise)

    def plain(value: Any) -> Any:
        if complex_step and isinstance(value, np.dtype) and value.kind == "f":
            return _COMPLEX  # the dtype of a sum, as in `sum(x, dtype=torch.float64)`
        array = value.data if type(value) is Perturbed else value
        if complex_step and array is value and _is_complex(value):
            raise Unsupported("complex numbers of the graph's own leave no room for a complex step")
        return array.astype(_COMPLEX) if alike and isinstance(array, np.ndarray) and array.dtype.kind == "f" else array

    found = [plain(value) for value in args]
    if op.symmetric:
        found[0] = (found[0] + np.swapaxes(found[0].conj(), -1, -2)) / 2
    if op.sequence is not None:
        found[op.sequence] = [plain(value) for value in args[op.sequence]]
    return found
