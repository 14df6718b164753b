"""A forward and its backward on arrays or tensors, as courses write them.

The forward returns `(out, cache)`, the backward gradients in the arguments' order.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice, takewhile
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import BFLOAT16, is_differentiable
from gradcheck.engines.implementation.binding import parameters_of
from gradcheck.engines.implementation.call_arguments import Operand, operands_in, parts_of, put_together
from gradcheck.engines.implementation.foreign_function import PullbackFunction, insert_at
from gradcheck.engines.implementation.layer_parameters import (
    LayerParameter,
    LayerParameters,
    gradient_names,
    input_gradient,
    layer_parameters,
    returned_names,
)
from gradcheck.engines.implementation.mentioned_code import method_of, shared_owner
from gradcheck.engines.implementation.pair_tensors import PairCalls, as_array, copy_of
from gradcheck.engines.tensor_class.user_code_guard import CodeError
from gradcheck.errors import Unsupported

#: Prefix and suffix of a tensor's name in the name of its gradient.
_GRADIENT_AFFIXES = (("", ""), ("d", ""), ("grad_", ""), ("d_", ""), ("", "_grad"))
#: The name of an incoming gradient, and other words that begin so.
_INCOMING = re.compile(r"(d|g|grad|up|delta)\w*|\w+_(grad|bar)")
_WORDS = re.compile(r"data|dt|dims?|depth|degree|dilation|dist|dropout|dtype|diff|groups?|gamma|g(ain)?_?")
#: Attributes in which a layer stores its result in place of returning it.
_RESULTS = ("output", "outputs", "out", "result", "y", "A", "a", "Z", "z")


class NumpyPair:
    """A forward, with `backward(incoming, cache)` or `(incoming, *inputs)`.

    owner       the object of which both are or call methods, such as a layer; each call has a copy of it
    parameters  those that the owner keeps; `bound` are the names of those that stand behind the other arguments
    structures  nested arguments, with an `Operand` for each array in them, if there are some"""

    def __init__(self, forward: Callable[..., Any], backward: Callable[..., Any], several: int | None = None) -> None:
        """`several` is the number of tensors of the entry; None if unknown."""
        self.forward, self.backward, self._several = forward, backward, several
        self.bound: tuple[str, ...] = ()
        self.structures: Sequence[Any] = ()
        self.owner = shared_owner(forward, backward)
        self.parameters = LayerParameters() if self.owner is None else layer_parameters(self.owner)
        self.calls = PairCalls(forward, backward, self.parameters.are_tensors)
        if self.parameters.unchecked:
            self.parameters.add_returned(returned_names(backward), len(_names(forward) or ()))

    @property
    def keeps_state(self) -> bool:
        """True if both are methods of one object, such as a layer."""
        return self.owner is not None

    def changed(self, **attributes: Any) -> NumpyPair:
        """Return the pair with other attributes, such as `bound`."""
        made = copy.copy(self)
        vars(made).update(attributes)
        return made

    def parameter_arrays(self) -> dict[str, np.ndarray]:
        """Return the values of the owner's parameters."""
        return {name: one.array(self.owner) for name, one in self.parameters.found.items()}

    def __call__(self, arguments: list[Any], needs: list[bool]) -> tuple[list[np.ndarray], bool, PullbackFunction]:
        count = len(arguments) - len(self.bound)
        own = [self.parameters.found[name] for name in self.bound]
        pair = self._copied()
        values = arguments[count:]
        for parameter, value in zip(own, values, strict=True):
            parameter.put(pair.owner, value)
        pair.parameters.cast_others(pair.owner, self.bound)
        inputs = self._nested(arguments[:count])
        returned = pair.calls.call(pair.forward, inputs)
        found = pair._stored(_RESULTS) if returned is None else returned
        results, caches = pair.split_results(found)
        arrays = [_array(one) for one in results]
        several = len(arrays) > 1 if self._several is None else self._several > 1

        def pull(incoming: list[np.ndarray]) -> Sequence[np.ndarray | None]:
            for parameter in own:
                parameter.clear(pair.owner)
            given = pair._backward_arguments(list(incoming), caches, inputs, results)
            returned = pair.calls.call(pair.backward, given)
            for parameter, value in zip(own, values, strict=True):
                np.copyto(value, parameter.array(pair.owner))  # a change in place is one of the argument
            return pair._gradients(returned, inputs, self._nested_needs(needs[:count]), own)

        return arrays, several, pull

    def _nested(self, leaves: list[Any]) -> list[Any]:
        """Return the arguments that hold these values."""
        if not self.structures:
            return leaves
        names = [name for one in self.structures for name in operands_in(one)]
        values = dict(zip(names, leaves, strict=True))
        return [put_together(one, values) for one in self.structures]

    def _nested_needs(self, needs: list[bool]) -> list[bool]:
        """Return which arguments hold an operand that needs a gradient."""
        if not self.structures:
            return needs
        listed = iter(needs)
        return [any(list(islice(listed, len(operands_in(one))))) for one in self.structures]

    def _copied(self) -> NumpyPair:
        """Return the pair of a copied owner; no call sees another's state."""
        if self.owner is None:
            return self
        owner = copy_of(self.owner)
        forward, backward = (method_of(owner, one, self.owner) for one in (self.forward, self.backward))
        return self.changed(owner=owner, forward=forward, backward=backward)

    def _stored(self, names: Sequence[str]) -> Any:
        own = getattr(self.owner, "__dict__", {})
        return as_array(next((own[name] for name in names if name in own), None))

    def _gradients(
        self, returned: Any, inputs: list[Any], needs: list[bool], own: Sequence[LayerParameter]
    ) -> list[np.ndarray | None]:
        """Return the gradients of inputs and parameters, returned or stored."""
        names = _names(self.forward)
        further: dict[str, Any] = {}
        if returned is None and self.owner is not None:
            known = set(vars(self.owner))
            written = [gradient_names(name, known) for name in (names or [])[: len(inputs)]]
            listed = (
                [self._stored(one) for one in written]
                if any(written)
                else [input_gradient(self.owner, self.backward, np.shape(inputs[0]))]
            )
            returned = tuple(listed)
        elif self.owner is not None and _has_gathered(returned, len(inputs)):
            *own_gradients, gathered = returned
            further = self._of_parameters(gathered)
            returned = tuple(own_gradients)
        elif isinstance(returned, tuple) and len(returned) == len(inputs) + len(self.parameters.found):
            further = dict(zip(self.parameters.found, returned[len(inputs) :], strict=True))
            returned = returned[: len(inputs)]
        elif isinstance(returned, Mapping) and names is not None and not self.structures:
            listed = [*names[: len(inputs)], *(one.name for one in own)]
            found = _by_name(returned, listed, needs)
            returned = tuple(found[: len(inputs)])
            further = dict(zip(listed[len(inputs) :], found[len(inputs) :], strict=True))
        if self.structures and isinstance(returned, Mapping):
            gradients = flat_gradients(dict(zip(names or (), self.structures, strict=False)), returned)
        else:
            gradients = gradients_in_order(returned, inputs, needs, names)
            gradients = flat_gradients(self.structures, gradients) if self.structures else gradients
        stored = {one.name: one.gradient(self.owner) for one in own}
        return [*gradients, *(further.get(name) if one is None else one for name, one in stored.items())]

    def _of_parameters(self, gathered: Any) -> dict[str, Any]:
        """Return by name the gradients that came in one list or mapping."""
        names = list(self.parameters.found)
        if isinstance(gathered, Mapping):
            return dict(zip(names, _by_name(gathered, names), strict=True))
        return dict(zip(names, gathered, strict=True)) if len(gathered) == len(names) else {}

    def backward_arguments_text(self, given: list[Any], arguments: list[str], names: tuple[str, str]) -> list[str]:
        """Return the backward's arguments as text.

        `names` are the variables of the incoming gradient and of the forward's result. Raises Unsupported for a
        layer with parameters, whose values are not written."""
        if self.bound:
            raise Unsupported("the state of a layer is not written")
        if self.calls.takes_tensors:
            raise Unsupported("a pair on torch's tensors is not written")
        incoming, name = names
        found = self.forward(*given)
        results, caches = self.split_results(found)
        is_nested = isinstance(found, tuple) and isinstance(found[0], (tuple, list))
        result = f"{name}[0]" if isinstance(found, tuple) else name
        first = 1 if is_nested else len(results)
        cached = [f"{name}[{n}]" for n in range(first, first + len(caches))]
        seeds = [f"{incoming}[{n}]" for n in range(len(results))] if len(results) > 1 else [incoming]
        return [
            one if isinstance(one, str) else f"tuple({incoming})"
            for one in self._backward_arguments(seeds, cached, arguments, [result])
        ]

    def split_results(self, found: Any) -> tuple[list[Any], list[Any]]:
        """Return the results, and what follows them for the backward."""
        if not isinstance(found, tuple):
            return (list(found), []) if isinstance(found, list) and self._several not in (None, 1) else ([found], [])
        inner = found[0] if found else None
        if (
            isinstance(inner, (tuple, list))
            and self._several in (None, len(inner))
            and all(map(_is_float_array, inner))
        ):
            return list(inner), list(found[1:])
        count = self._several or self._count_of_results(found)
        return list(found[:count]), list(found[count:])

    def _count_of_results(self, found: tuple[Any, ...]) -> int:
        """Return how many results the backward has incoming gradients of."""
        wanted = _names(self.backward)
        leading = len(list(takewhile(_is_float_array, found)))
        if not wanted:
            return 1
        gradients = 1 + len(list(takewhile(self._names_incoming, wanted[1:])))
        if self.owner is None and gradients == len(wanted) == len(found) == 2:  # (loss, dx), of which dx is the cache
            gradients = 1
        if 1 < len(wanted) < len(found):  # all incoming gradients are one tuple
            return max(1, min(leading, len(found) - len(wanted) + 1))
        return max(1, min(leading, gradients))

    def _names_incoming(self, name: str) -> bool:
        own = _names(self.forward) or []
        return bool(_INCOMING.fullmatch(name)) and not _WORDS.fullmatch(name) and name not in own

    def _backward_arguments(
        self, incoming: list[Any], caches: list[Any], arguments: list[Any], results: list[Any]
    ) -> list[Any]:
        """Return the backward's arguments: the cache, else the inputs."""
        names, own = _names(self.backward), _names(self.forward)
        apart = len(incoming) == 1 or self._takes_apart(len(incoming), len(caches))
        given = incoming if apart else [tuple(incoming)]
        count = len(given)
        by_name = dict(zip(own or (), arguments, strict=False))
        cached, further = ([], []) if names is None else (names[count:][: len(caches)], names[count + len(caches) :])
        has_both = by_name.keys().isdisjoint(cached) and by_name.keys() >= set(further)
        takes_inputs = names is not None and len(names) == count + len(arguments) and bool(further) and not has_both
        if caches and not takes_inputs:
            given = [*given, *(caches if names is None or cached else ())]
            return [*given, *(by_name[name] for name in further if name in by_name)]
        if names is None:
            return [*given, *([] if self.owner is not None else arguments)]
        wanted = names[count:]
        if all(name in by_name for name in wanted):
            return [*given, *(by_name[name] for name in wanted)]
        if len(wanted) == len(arguments) + 1:
            return [*given, *arguments, results[0]]
        return [*given, *arguments[: len(wanted)]]

    def _takes_apart(self, count: int, caches: int) -> bool:
        """Return whether each of several incoming gradients is an argument."""
        names = _names(self.backward)
        if names is None or len(names) < count:
            return False
        is_exact = len(names) == count + caches and set(names[1:count]).isdisjoint(_names(self.forward) or ())
        return is_exact or all(map(self._names_incoming, names[1:count]))


def _names(function: Callable[..., Any]) -> list[str] | None:
    listed = parameters_of(function)
    return None if listed is None else [one.name for one in listed if one.default is one.empty]


def _array(result: Any) -> np.ndarray:
    array = np.asarray(result)
    if array.dtype.kind not in "biufc" and array.dtype != BFLOAT16:
        raise CodeError(f"forward returned {type(result).__name__}, no array of numbers")
    return array


def _is_float_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic, float)) and is_differentiable(np.asarray(value).dtype)


def gradients_in_order(
    returned: Any, arguments: Sequence[Any], needs: Sequence[bool], names: Sequence[str] | None = None
) -> list[Any]:
    """Return a backward's gradients in the order of the arguments.

    They may be in order, with or without those of arguments that need none, one array, or a mapping by name. Raises
    CodeError for another number."""
    if isinstance(returned, Mapping):
        found = _by_name(returned, list(names or [])[: len(arguments)], needs)
        return found + [None] * (len(arguments) - len(found))
    is_list = isinstance(returned, list) and any(one is None or isinstance(one, np.ndarray) for one in returned)
    listed = list(returned) if isinstance(returned, tuple) or is_list else [returned]
    wanted = [place for place, need in enumerate(needs) if need]
    tensors = [place for place, one in enumerate(arguments) if isinstance(one, np.ndarray)]
    if len(listed) == len(arguments):
        return listed
    for places in (wanted, [place for place in tensors if arguments[place].dtype.kind in "fc"], tensors):
        if len(listed) == len(places):
            return insert_at(listed, places, [None] * len(arguments))
    raise CodeError(f"backward returned {len(listed)} gradients for {len(wanted)} inputs that get one")


def _has_gathered(returned: Any, inputs: int) -> bool:
    """Return whether a list or mapping follows the inputs' gradients."""
    is_longer = isinstance(returned, tuple) and len(returned) == inputs + 1
    return is_longer and isinstance(returned[-1], (list, tuple, Mapping))


def flat_gradients(structure: Any, gradient: Any) -> list[Any]:
    """Return the gradients of the operands in a nested argument."""
    if isinstance(structure, Operand):
        return [gradient]
    found = []
    for key, part in parts_of(structure):
        inner = gradient[key] if isinstance(gradient, (tuple, list)) else None
        if isinstance(gradient, Mapping):
            keys = [key, *(f"{before}{key}{after}" for before, after in _GRADIENT_AFFIXES)]
            inner = next((gradient[one] for one in keys if one in gradient), gradient if parts_of(part) else None)
        found += flat_gradients(part, inner) if operands_in(part) else []
    return found


def _by_name(returned: Mapping[Any, Any], names: Sequence[str], needs: Sequence[bool] = ()) -> list[Any]:
    """Return the gradients of these names, None for those without a key.

    Raises CodeError if no key is known, or one that needs a gradient has none beside unknown keys."""
    places = [_key_of(name, returned, names) for name in names]
    unknown = [str(key) for key in returned if key not in places]
    needed = [name for name, key, need in zip(names, places, needs, strict=False) if key is None and need]
    if unknown and (needed or places.count(None) == len(places)):
        missing = needed or list(names)
        raise CodeError(
            f"backward returned the keys {', '.join(map(str, returned))}, none of them for {', '.join(missing)}; "
            f"expected {', '.join(f'd{name}' for name in missing)}, or the argument's name"
        )
    return [None if key is None else returned[key] for key in places]


def _key_of(name: str, returned: Mapping[Any, Any], names: Sequence[str]) -> Any:
    """Return the key of an argument's gradient, perhaps in other capitals."""
    keys = [f"{before}{name}{after}" for before, after in _GRADIENT_AFFIXES]
    exact = next((key for key in keys if key in returned), None)
    if exact is not None or [one.lower() for one in names].count(name.lower()) > 1:
        return exact
    lowered = [key.lower() for key in keys]
    return next((key for key in returned if isinstance(key, str) and key.lower() in lowered), None)
