"""Parameters that a layer by hand keeps, and their gradients.

Courses write `self.W` and `self.dW`, `self.params["W"]` and `self.grads["W"]`, lists of both, or objects with a value
and a gradient, such as `self.W.grad` or `self.W["grad"]`. They are arrays or tensors. Sublayers are searched, too.
"""

from __future__ import annotations

import ast
import dis
import inspect
import re
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import Any

import numpy as np
import torch

from gradcheck.engines.implementation.mentioned_code import owner_of
from gradcheck.engines.implementation.pair_tensors import as_array
from gradcheck.engines.torch import tensor_of

#: What stands before or after a tensor's name in the name of its gradient, without `_` and in lower case.
_BEFORE = ("d", "grad", "dl", "dld", "dloss", "dlossd", "delta", "gradient", "grads")
_AFTER = ("grad", "gradient", "bar", "grads")
#: Containers of gradients, and of values and gradients of one parameter.
_CONTAINERS = ("grads", "gradients", "dparams", "grad", "dparameters", "paramgrads", "deltas")
_VALUES, _GRADIENTS = ("value", "data", "val", "w"), ("grad", "gradient", "g", "d", "dw")
#: Other words for a parameter in the name of its gradient.
_WORDS = (frozenset(("weight", "weights", "w")), frozenset(("bias", "biases", "b")))
#: Where modules of torch keep parameters and modules.
_OF_MODULES = ("_parameters", "_modules")
#: Where a layer stores the gradient of its only input.
_INPUT_GRADIENTS = ("dinputs", "dinput", "input_grad", "grad_input", "gradInput", "dX", "dx")
#: How deep sublayers are searched.
_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in an object: names of attributes, and keys, each in a tuple."""

    path: tuple[Any, ...]

    def of(self, owner: Any) -> Any:
        """Return the value there, or None."""
        for step in self.path:
            try:
                owner = owner[step[0]] if isinstance(step, tuple) else getattr(owner, step)
            except (AttributeError, KeyError, IndexError, TypeError):
                return None
        return owner

    def put(self, owner: Any, value: np.ndarray) -> None:
        """Store an array there, into a known one that fits, or any tensor."""
        known = self.of(owner)
        if isinstance(known, torch.Tensor):
            known.data = tensor_of(value).to(known.device)
            return
        if (
            isinstance(known, np.ndarray)
            and known.flags.writeable
            and (known.shape, known.dtype) == (value.shape, value.dtype)
        ):
            known[...] = value  # so that others who have the array see it
            return
        *others, last = self.path
        holder = Slot(tuple(others)).of(owner)
        if isinstance(last, tuple):
            holder[last[0]] = value
        else:
            setattr(holder, last, value)


@dataclass(frozen=True, slots=True)
class LayerParameter:
    """A parameter, its place, and the places where its gradient may be."""

    name: str
    value: Slot
    gradients: tuple[Slot, ...]

    def array(self, owner: Any) -> np.ndarray:
        """Return the value."""
        return np.asarray(as_array(self.value.of(owner)))

    def put(self, owner: Any, value: np.ndarray) -> None:
        """Store a value; gradients that had its dtype get the new one."""
        known = self.array(owner).dtype
        self.value.put(owner, value)
        for slot, array in self._stored(owner):
            slot.put(owner, array.astype(value.dtype if array.dtype == known else array.dtype))

    def _stored(self, owner: Any) -> list[tuple[Slot, np.ndarray]]:
        found = ((slot, as_array(slot.of(owner))) for slot in self.gradients)
        return [(slot, one) for slot, one in found if isinstance(one, np.ndarray) and one.dtype.kind in "fcV"]

    def gradient(self, owner: Any) -> Any:
        """Return the gradient that a backward has stored, or None."""
        shape = self.array(owner).shape
        found = [one for one in (as_array(slot.of(owner)) for slot in self.gradients) if one is not None]
        return next((one for one in found if np.shape(one) == shape), found[0] if found else None)

    def clear(self, owner: Any) -> None:
        """Set stored gradients to zeros, which some backwards add to."""
        for slot, known in self._stored(owner):
            slot.put(owner, np.zeros(self.array(owner).shape, known.dtype))


@dataclass(slots=True)
class LayerParameters:
    """The parameters of a layer; `unchecked` are those without a gradient."""

    found: dict[str, LayerParameter] = field(default_factory=dict)
    unchecked: dict[str, Slot] = field(default_factory=dict)
    are_tensors: bool = False  # whether some of them are torch's
    _known: dict[int, tuple[Any, str]] = field(default_factory=dict)  # by array, itself and its name

    def cast_others(self, owner: Any, bound: Sequence[str]) -> None:
        """Give tensors that are not bound torch's default dtype, as in modules."""
        others = (one.value for name, one in self.found.items() if name not in bound)
        for known in (slot.of(owner) for slot in (*self.unchecked.values(), *others)):
            if isinstance(known, torch.Tensor) and known.is_floating_point():
                known.data = known.data.to(torch.get_default_dtype())

    def add(self, array: Any, value: Slot, gradients: tuple[Slot, ...], path: tuple[Any, ...]) -> None:
        """Add a parameter; an array that is there already has further gradients.

        `path` leads to it, or to the object that has both."""
        self.are_tensors |= isinstance(array, torch.Tensor)
        _, name = self._known.get(id(array), (None, ""))
        if not name:
            name = next(one for one in _labels(path) if one not in self.found and one not in self.unchecked)
            self._known[id(array)] = (array, name)
        known = self.found.get(name)
        if gradients:
            self.unchecked.pop(name, None)
            self.found[name] = LayerParameter(
                name, known.value if known else value, (*(known.gradients if known else ()), *gradients)
            )
        elif known is None:
            self.unchecked[name] = value

    def add_returned(self, returned: Sequence[str], inputs: int) -> None:
        """Add unchecked parameters whose gradients the backward returns.

        They stand behind those of the inputs, or have names."""
        is_all = len(returned) == inputs + len(self.found) + len(self.unchecked)
        for name, slot in list(self.unchecked.items()):
            if is_all or gradient_names(name, set(returned)) or name in returned:
                del self.unchecked[name]
                self.found[name] = LayerParameter(name, slot, ())


def returned_names(backward: Callable[..., Any]) -> list[str]:
    """Return the keys or variables that a backward returns; "" for others."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(backward)))
    except (OSError, TypeError, SyntaxError):
        return []
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Return) and isinstance(node.value, (ast.Tuple, ast.Dict)):
            found = _written_names(node.value)
    return found


def _written_names(value: ast.expr) -> list[str]:
    """Return the names in an expression, also those in a list at its end."""
    if isinstance(value, ast.Dict):
        return [one.value for one in value.keys if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    listed = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
    is_last = listed and isinstance(listed[-1], (ast.Tuple, ast.List, ast.Dict))
    own, gathered = (listed[:-1], _written_names(listed[-1])) if is_last else (listed, [])
    return [*(one.id if isinstance(one, ast.Name) else "" for one in own), *gathered]


def layer_parameters(owner: Any) -> LayerParameters:
    """Return the parameters that an object and its sublayers keep."""
    found = LayerParameters()
    _search(owner, (), found, {})
    return found


def arrays_of_object(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of floating arrays in a callable object, or a method's."""
    owner = owner_of(function)
    own = vars(owner) if type(owner).__module__ != "builtins" and hasattr(owner, "__dict__") else {}
    return tuple(
        ".".join([name, *(str(step[0]) for step in key)])
        for name, value in own.items()
        if name != "__wrapped__"
        for key, one in _items(value)
        if not isinstance(one, type)
        and hasattr(one, "shape")  # an annotation is a class
        and np.issubdtype(getattr(one, "dtype", None), np.inexact)
    )


def gradient_names(name: str, known: set[str]) -> list[str]:
    """Return those of the known names that a gradient of `name` may have."""
    plain = _plain(name)
    words = {plain}.union(*(several for several in _WORDS if plain in several))
    wanted = {*(before + word for word in words for before in _BEFORE), *(word + a for word in words for a in _AFTER)}
    matching = sorted(one for one in known if _plain(one) in wanted)
    return sorted(matching, key=lambda one: (plain not in _plain(one), name not in one))  # the same capitals first


def _search(owner: Any, path: tuple[Any, ...], found: LayerParameters, seen: dict[int, Any]) -> None:
    if id(owner) in seen or len(path) > 2 * _DEPTH or not hasattr(owner, "__dict__"):
        return
    seen[id(owner)] = owner
    own = vars(owner)
    names = {*own, *(name for code in _codes(owner, None) for name in code.co_names)}
    stored = set(stored_names(owner, "forward"))
    written = _written_to_others(owner)
    gradients = {gradient for name in own for gradient in gradient_names(name, set(own))}
    containers = [name for name in names if _plain(name) in _CONTAINERS]
    for name, value in own.items():
        if name in stored or name in gradients or name in containers or name == "_buffers":
            continue
        for key, one in _items(value):
            if key and key[-1][0] in stored:
                continue
            step = (*path, name, *key)
            own_names = _value_and_gradients(one)
            if _is_parameter(one):
                beside = _gradient_slots(key[-1][0] if key else name, names, containers)
                slots = [Slot((*path, *slot)) for slot in beside]
                if isinstance(one, torch.Tensor):
                    slots += [Slot((*step, n)) for n in _GRADIENTS if n in written or getattr(one, n, None) is not None]
                found.add(one, Slot(step), tuple(slots), step)
            elif _is_layer(one) or isinstance(one, torch.nn.Module):
                _search(one, step, found, seen)
            elif own_names is not None:
                value_slot, *slots = (Slot((*step, own_name)) for own_name in own_names)
                found.add(Slot(tuple(own_names[:1])).of(one), value_slot, tuple(slots), step)


def stored_names(owner: Any, method: str) -> list[str]:
    """Return the attributes and keys to which a method assigns."""
    pairs = [pair for code in _codes(owner, method) for pair in pairwise(dis.get_instructions(code))]
    keys = [one.argval for one, after in pairs if (one.opname, after.opname) == ("LOAD_CONST", "STORE_SUBSCR")]
    attributes = [after.argval for _, after in pairs if after.opname == "STORE_ATTR"]
    return [*attributes, *(key for key in keys if isinstance(key, str))]


def input_gradient(owner: Any, backward: Callable[..., Any], shape: tuple[int, ...]) -> Any:
    """Return the only array of this shape to which a backward assigns.

    An attribute with a known name comes first."""
    stored = dict.fromkeys(stored_names(owner, getattr(backward, "__name__", "backward")))
    known = [as_array(vars(owner)[name]) for name in (*_INPUT_GRADIENTS, *stored) if name in vars(owner)]
    found = [one for one in known if _is_parameter(one) and one.shape == shape]
    is_known = any(name in vars(owner) for name in _INPUT_GRADIENTS)
    return known[0] if is_known else found[0] if len(found) == 1 else None


def _written_to_others(owner: Any) -> set[str]:
    """Return the attributes that methods set in other objects than `self`."""
    pairs = [pair for code in _codes(owner, None) for pair in pairwise(dis.get_instructions(code))]
    stores = [(before.argval, one.argval) for before, one in pairs if one.opname == "STORE_ATTR"]
    return {name for loaded, name in stores if (loaded[-1] if isinstance(loaded, tuple) else loaded) != "self"}


def _labels(path: tuple[Any, ...]) -> Iterator[str]:
    """Yield names for a parameter, the shortest first."""
    pairs = [pair for pair in pairwise(("", *path)) if pair[1] not in _OF_MODULES]
    path = tuple(step[0] if before in _OF_MODULES else step for before, step in pairs)
    steps = [step[0] if isinstance(step, tuple) else step for step in path]
    named = [re.sub(r"\W", "_", str(step)) for step in steps]
    is_key = isinstance(steps[-1], str) and len(steps) > 1 and isinstance(path[len(steps) - 1], tuple)
    plain = "_".join([*named[:-2], named[-1]] if is_key else named)
    yield plain
    yield "_".join(named)
    yield from (f"{plain}_{number}" for number in count(2))


def _gradient_slots(key: Any, names: set[str], containers: list[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the places of a gradient in the object that has the parameter."""
    if isinstance(key, str):
        yield from ((name,) for name in gradient_names(key, names))
        keys = [key, *(before + key for before in ("d", "grad_", "d_"))]
    else:
        keys = [key]
    for container in containers:
        yield from ((container, (one,)) for one in keys)


def _items(value: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield a value, or those in a dict or list, with their keys."""
    if isinstance(value, (Mapping, list, tuple)) and _value_and_gradients(value) is None:
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        yield from (((((key,),), one)) for key, one in pairs)
    else:
        yield (), value


def _value_and_gradients(one: Any) -> list[Any] | None:
    """Return the steps to a value and its gradients: attributes, or keys."""
    is_mapping = isinstance(one, Mapping)
    own = one if is_mapping else vars(one) if hasattr(one, "__dict__") and not isinstance(one, type) else {}
    value = next((name for name in _VALUES if _is_parameter(own.get(name))), None)
    gradients = [name for name in own if name in (_GRADIENTS[:2] if is_mapping else _GRADIENTS) and name != value]
    return None if value is None or not gradients else [(n,) if is_mapping else n for n in (value, *gradients)]


def _is_parameter(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return (value.is_floating_point() or value.is_complex()) and value.numel() > 0
    return isinstance(value, np.ndarray) and value.dtype.kind in "fc" and value.size > 0


def _is_layer(value: Any) -> bool:
    return callable(getattr(value, "backward", None)) and not isinstance(value, (type, types.ModuleType))


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _codes(owner: Any, start: str | None) -> Iterator[types.CodeType]:
    """Yield the code of an object's methods, or of those `start` calls."""
    kinds = type(owner).__mro__
    stack = [start, "__call__"] if start else [name for kind in kinds for name in vars(kind)]
    seen: set[str] = set()
    while stack:
        name = stack.pop()
        if name in seen:
            continue
        seen.add(name)
        for kind in kinds:
            function = vars(kind).get(name)
            code = getattr(getattr(function, "__func__", function), "__code__", None)
            if isinstance(code, types.CodeType):
                yield code
                stack += code.co_names if start and name not in ("backward", "__init__") else ()
                if "super" not in code.co_names:
                    break
