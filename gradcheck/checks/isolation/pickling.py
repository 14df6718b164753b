"""Send cases and results between processes.

Objects that both processes have are not copied: ops, engines and the cases. Records of a computation stay behind.
Small frozen dataclasses travel as tuples, which takes a third of pickle's time.
"""

from __future__ import annotations

import io
import pickle
import threading
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any

from gradcheck.autograd.op import Op, lookup
from gradcheck.autograd.tensor import Tensor
from gradcheck.language.expr.node_list import from_node_list, to_node_list
from gradcheck.language.expr.nodes import Expr


class Packer:
    """Packs objects, without `shared` ones and those of types in `left`."""

    def __init__(self, shared: Sequence[Any] = (), left: tuple[type, ...] = ()) -> None:
        self._shared, self._omitted_types = shared, (Tensor, *left)
        self._places = {id(one): place for place, one in enumerate(shared)}

    def pack(self, thing: Any, *, canonical: bool = False) -> bytes:
        """Return the bytes of an object. Raises as pickle does.

        With `canonical`, equal objects, which must not be cyclic, have equal bytes."""
        try:
            return self._dumped(thing, canonical, flat=False)
        except RecursionError:  # an expression too deep for pickle; flattening all takes twice as long
            return self._dumped(thing, canonical, flat=True)

    def _dumped(self, thing: Any, fast: bool, flat: bool) -> bytes:
        buffer = io.BytesIO()
        pickler = _Pickler(buffer, self._places, self._omitted_types, flat)
        pickler.fast = fast
        pickler.dump(thing)
        return buffer.getvalue()

    def unpack(self, data: bytes) -> Any:
        """Return the object, with this process's shared objects."""
        known = getattr(_unpacking, "shared", ())
        #: The shared objects of the packer that this thread unpacks for; pickle passes none to the functions below.
        _unpacking.shared = self._shared
        try:
            return pickle.loads(data)
        finally:
            _unpacking.shared = known


#: What is shared with those who sent what this thread is unpacking.
_unpacking = threading.local()


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, places: dict[int, int], left: tuple[type, ...], flat: bool) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._places, self._omitted_types, self._flat = places, left, flat

    def reducer_override(self, obj: Any) -> Any:
        """Return the call that recreates an object."""
        place = self._places.get(id(obj))
        if place is not None:
            return _restore_shared, (place,)
        kind: Any = type(obj)
        if kind is Op:
            return _restore_op, (obj.name,)
        if kind in self._omitted_types:
            return type(None), ()
        if self._flat and isinstance(obj, Expr):
            return from_node_list, (to_node_list(obj, shares=not self.fast),)
        values = _parts(kind)
        return NotImplemented if values is None else (_restore_dataclass, (kind, values(obj)))


def _restore_shared(place: int) -> Any:
    return _unpacking.shared[place]


def _restore_op(name: str) -> Op:
    found = lookup(name)
    assert found is not None, name
    return found


@cache
def _parts(kind: Any) -> Callable[[Any], tuple[Any, ...]] | None:
    """Return a getter of all fields; None for other than slotted dataclasses."""
    names = _names(kind)
    return attrgetter(*names) if len(names) > 1 else None


@cache
def _names(kind: Any) -> tuple[str, ...]:
    if not hasattr(kind, "__dataclass_fields__") or "__slots__" not in vars(kind):
        return ()
    return tuple(field.name for field in fields(kind))


def _restore_dataclass(kind: type, values: tuple[Any, ...]) -> Any:
    made: Any = object.__new__(kind)
    for fill, value in zip(_slots(kind), values, strict=True):
        fill(made, value)
    return made


@cache
def _slots(kind: type) -> tuple[Callable[[Any, Any], None], ...]:
    """Return the setters of slots, twice as fast as `object.__setattr__`."""
    return tuple(getattr(kind, name).__set__ for name in _names(kind))
