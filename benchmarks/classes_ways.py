"""One way of asking a class for gradients, as `classes_by_hand` does: how a tensor is made and read, how an op is said,
how a pass is given its incoming gradient, how gradients are cleared."""

from __future__ import annotations

import inspect
import operator
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, product
from typing import Any

import numpy as np
import torch

ATTRIBUTES = (
    *("cached_data", "data", "_data", "arr", "array", "value", "_value", "values", "val", "cached", "primal", "matrix"),
    *("v", "x", "item"),
)
#: Methods that give values; the last computes what is not computed before.
GIVING = ("numpy", "to_numpy", "tolist", "eval")
GRADIENTS = ("grad", "_grad", "gradient", "grads", "_gradient", "derivative", "_derivative", "adjoint", "g", "dv")
PASSES = (
    *("backward", "backprop", "backward_pass", "backpropagate", "run_backward", "compute_gradients", "backwards"),
    *("backwardPropagation", "back_propagate", "__back__"),
)
#: Methods of a tape that run one, of the root and a list of leaves.
TAPED = ("gradient", "gradients", "backward")
#: Functions that run a pass of tensors that have no method for it: of the root alone, or of a list of leaves as well.
FUNCTIONS = ("get_gradients", "gradients", "compute_gradients", "calcGradients", "backward", "grad")
#: Where the gradient of the root is put, of tensors that compute their own when they are asked.
ASKED = ("grad_value", "grad_cache")
WORDS = {
    "add": ("add", "plus"),
    "sub": ("sub", "subtract", "minus"),
    "mul": ("mul", "multiply", "times"),
    "truediv": ("div", "divide", "truediv"),
    "matmul": ("mm", "matmul", "dot"),
    "neg": ("neg", "negative", "negate"),
    "pow": ("pow", "power"),
}


class CannotSay(Exception):
    """The class has no such word."""


class Way:
    """A class, as it is asked."""

    def __init__(self, kind: Any, flags: dict[str, bool], seed: str, zeroing: str, is_scalar: bool) -> None:
        self.kind, self.flags, self.seed, self.zeroing, self.is_scalar = kind, flags, seed, zeroing, is_scalar
        self.divides = False  # whether the mean of an array of numbers is a quotient
        home = sys.modules[kind.__module__]
        here = os.getcwd()
        others = [m for m in list(sys.modules.values()) if str(getattr(m, "__file__", "")).startswith(here)]
        self.type = kind if isinstance(kind, type) else type(kind([1.0]))  # `kind` may be a function that makes tensors
        answers = any(hasattr(self.type, name) for name in ("__array_ufunc__", "__array_function__"))
        self.homes = [home, *others, self.type, *([np] if answers else [])]
        self.tape: Any = None
        self.returned: dict[int, Any] = {}  # what passes have given back
        self.leaves: list[Any] = []

    def made(self, number: Any) -> Any:
        """A tensor, or an array of the class's numbers."""
        array = np.asarray(number, float)
        if self.is_scalar:
            found = np.empty(array.shape, object)
            for index in np.ndindex(array.shape):
                found[index] = self._one(float(array[index]))
            return found
        found, problem = [], None
        for given in (array.copy(), array.tolist()):
            try:
                found.append(self._one(given))
                if self.plain(found[-1]).shape == array.shape:
                    break
            except Exception as error:
                problem = problem or error
        if not found:
            raise problem or CannotSay("a tensor")
        return found[-1] if self.plain(found[-1]).shape == array.shape else found[0]

    def _one(self, given: Any) -> Any:
        tensor = self.kind(given, **self.flags)
        if not self.flags and getattr(tensor, "requires_grad", None) is False:
            tensor.requires_grad = True
        self.leaves.append(tensor)
        return tensor

    def plain(self, value: Any) -> np.ndarray:
        """The numbers in a tensor, a gradient, or an array of the class's numbers."""
        if isinstance(value, np.ndarray) and value.dtype == object:
            return np.array([self.plain(one) for one in value.reshape(-1)], float).reshape(value.shape)
        for _ in range(5):
            if value is None:
                return np.array(np.nan)
            if isinstance(value, torch.Tensor):
                return value.detach().double().numpy()
            if isinstance(value, (np.ndarray, np.generic, int, float, list, tuple, memoryview)):
                return np.asarray(value, float)
            with suppress(Exception):  # some have a method that says it
                given = next(getattr(value, name) for name in GIVING if callable(getattr(value, name, None)))()
                if isinstance(given, (np.ndarray, np.generic)):
                    return np.asarray(given, float)
            values = [one for _, one in held(value, ATTRIBUTES)]
            numbers = (
                one for one in values if isinstance(one, (np.ndarray, np.generic, int, float, list, torch.Tensor))
            )
            others = (one for one in values if type(one) is not type(value))  # `data` may be a tensor again
            inner = next(chain(numbers, others), None)
            if inner is None:
                inner = next((one for _, one in held(value, GIVING)), None)
            value = inner() if callable(inner) else inner
        raise CannotSay("its values")

    def is_single(self, tensor: Any) -> bool:
        """Whether its numbers are not of double precision."""
        held = (getattr(tensor, name) for name in ATTRIBUTES if hasattr(tensor, name))
        return any(str(getattr(one, "dtype", "")).endswith("float32") for one in held)

    def gradient(self, tensor: Any) -> np.ndarray:
        """Not a number where there is none."""
        if self.is_scalar:
            return np.array([self._gradient(one) for one in tensor.reshape(-1)], float).reshape(tensor.shape)
        return self._gradient(tensor)

    def _gradient(self, tensor: Any) -> np.ndarray:
        found = next((one for _, one in held(tensor, GRADIENTS)), None)
        if found is None:
            found = self.returned.get(id(tensor))
        return self.plain(found() if callable(found) and not isinstance(found, self.type) else found)

    # What is said -----------------------------------------------------------------------------------

    def operator(self, name: str, *operands: Any) -> Any:
        """By the operator, else by a method or a function of one of its names."""
        given = list(operands)
        try:
            return getattr(operator, name)(*given)
        except TypeError as error:
            problem = error
        given = [one if isinstance(one, self.type) else self.made(one) for one in given]
        with suppress(TypeError):
            return getattr(operator, name)(*given)
        for word in WORDS[name]:
            for say in (getattr(given[0], word, None), *(getattr(home, word, None) for home in self.homes)):
                if callable(say):
                    arguments = given[1:] if getattr(say, "__self__", None) is given[0] else given
                    return say(*arguments)
        for say in self._objects(WORDS[name], given):
            with suppress(Exception):
                return say()
        raise problem

    def _objects(self, words: tuple[str, ...], given: list[Any]) -> Iterator[Callable[[], Any]]:
        """Classes that are called as an op: what they make of tensors."""
        for home, word in product(self.homes, words):
            for name, kind in list(vars(home).items()):
                if isinstance(kind, type) and name.lower().removeprefix("tensor").removesuffix("op") == word:
                    yield lambda k=kind: k.apply(*given)
                    yield lambda k=kind: k()(*given)
                    yield lambda k=kind: k()(given)

    def word(self, name: str, tensor: Any, want: np.ndarray, *args: Any, **settings: Any) -> Any:
        """A method or a function, with its arguments as people give them: the first that gives the right numbers, else
        the first that gives any. Raises CannotSay."""
        found, problem = None, None
        for say in self._sayings(name, tensor, args, settings):
            try:
                made = say()
                if self.plain(made).shape == want.shape and np.allclose(self.plain(made), want, 1e-3):
                    return made
                found = made if found is None else found
            except Exception as error:
                problem = problem or error
        if found is None:
            raise problem or CannotSay(name)
        return found

    def _sayings(self, name: str, tensor: Any, args: Any, settings: Any) -> Iterator[Callable[[], Any]]:
        numpy = {{"dim": "axis", "keepdim": "keepdims"}.get(word, word): value for word, value in settings.items()}
        ways = [(args, settings), (args, numpy), ((*args, *settings.values()), {}), ((args,), {})]
        ways += [((*args, *list(settings.values())[:1]), dict(list(numpy.items())[1:]))]
        for given, named in ways:
            method = getattr(tensor, name, None)
            if callable(method):
                yield lambda m=method, g=given, n=named: m(*g, **n)
            for home in self.homes:
                function = getattr(home, name, None)
                if callable(function):
                    yield lambda f=function, g=given, n=named: f(tensor, *g, **n)
                    apply = getattr(function, "apply", None)
                    if callable(apply):
                        yield lambda f=apply, g=given, n=named: f(tensor, *g, **n)
        yield from self._objects((name,), [tensor])

    # Passes -----------------------------------------------------------------------------------------

    def backward(self, roots: list[tuple[Any, np.ndarray]]) -> None:
        """From all of them, one after another, or from their sum. Raises CannotSay."""
        if self.is_scalar or "product" in self.seed:
            total = None
            for root, seed in roots:
                term = self._weighted(root, seed)
                total = term if total is None else total + term
            try:
                self._pass(total)
            except TypeError:  # it has to be told what to begin with
                self._pass(total, 1.0)
            return
        for root, seed in roots:
            self._seeded(root, seed)

    def _weighted(self, root: Any, seed: np.ndarray) -> Any:
        if self.is_scalar:
            total = None
            for one, weight in zip(root.reshape(-1), np.broadcast_to(seed, root.shape).reshape(-1), strict=True):
                term = one if weight == 1 else self._times(one, float(weight))
                total = term if total is None else total + term
            return total
        if not np.all(seed == 1):
            root = root * self.made(seed)
        summed = self.seed == "product and sum" and self.plain(root).ndim > 0
        return root.sum() if summed else root

    def _times(self, one: Any, weight: float) -> Any:
        try:
            return one * weight
        except (TypeError, AttributeError):
            return one * self.kind(weight)

    def _seeded(self, root: Any, seed: np.ndarray) -> None:
        shaped = seed.reshape(self.plain(root).shape)
        if seed.size == 1 and seed.reshape(-1)[0] == 1 and not self.seed.startswith("assigned"):
            try:
                return self._pass(root)
            except TypeError:
                pass
        if self.seed == "ones":
            if not np.all(seed == 1):
                raise CannotSay("an incoming gradient")
            return self._pass(root)
        given = self._without_flags(shaped) if self.seed.endswith("tensor") else shaped.copy()
        if self.seed.startswith("assigned"):
            name = next((name for name, _ in held(root, GRADIENTS)), "grad")
            setattr(root, name, given)
            return self._pass(root)
        return self._pass(root, given)

    def _without_flags(self, array: np.ndarray) -> Any:
        try:
            made = self.kind(array.copy())
            if self.plain(made).shape == array.shape:
                return made
        except Exception:
            pass
        return self.kind(array.tolist())

    def begin(self) -> None:
        """Record on a tape, where the class has one and no pass of its own."""
        self.end()
        if any(hasattr(self.type, name) for name in PASSES):
            return
        kinds = [one for home in self.homes for one in list(vars(home).values()) if isinstance(one, type)]
        tapes = (one for one in kinds if hasattr(one, "__enter__") and any(hasattr(one, name) for name in TAPED))
        kind = next(tapes, None)
        if kind is not None:
            self.tape = kind()
            self.tape.__enter__()

    def end(self) -> None:
        """Record no more."""
        if self.tape is not None:
            self.tape.__exit__(None, None, None)
        self.tape = None

    def _pass(self, root: Any, *given: Any) -> None:
        if self.tape is not None:
            run = next(getattr(self.tape, name) for name in TAPED if hasattr(self.tape, name))
            return self._give(zip(self.leaves, run(root, list(self.leaves), *given), strict=True))
        method = next((getattr(root, name) for name in PASSES if callable(getattr(root, name, None))), None)
        functions = (getattr(home, name, None) for home in self.homes for name in FUNCTIONS)
        function = next((one for one in functions if callable(one)), None)
        if method is None and function is None:
            name = next((name for name in ASKED if hasattr(root, name)), "")
            if not name or given:
                raise CannotSay("backward()")
            return setattr(root, name, 1.0)
        if method is None and len(inspect.signature(function).parameters) > 1:
            found = {leaf: _of_one(function, root, leaf, given) for leaf in self.leaves}
        else:
            found = method(*given) if method is not None else function(root, *given)
        return self._give(found.items() if isinstance(found, Mapping) else ())

    def _give(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        for tensor, gradient in pairs:
            if gradient is not None:
                given, key = self.plain(gradient), id(tensor)
                self.returned[key] = self.returned[key] + given if key in self.returned else given

    def zero(self, tensors: list[Any], initial: dict[int, Any]) -> None:
        """By the tensors' own method, or by what they began with."""
        self.returned.clear()
        for tensor in tensors:
            for one in tensor.reshape(-1) if self.is_scalar else (tensor,):
                method = next((getattr(one, n) for n in ("zero_grad", "null_grad", "cleargrad") if hasattr(one, n)), 0)
                if self.zeroing == "method" and callable(method):
                    method()
                    continue
                name = next((name for name, _ in held(one, GRADIENTS)), "grad")
                before = initial.get(id(one), getattr(one, name, None))
                setattr(one, name, before.copy() if isinstance(before, np.ndarray) else before)


def held(thing: Any, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """What can be read of these attributes."""
    for name in names:
        with suppress(Exception):
            yield name, getattr(thing, name)


def _of_one(function: Callable[..., Any], root: Any, leaf: Any, given: tuple[Any, ...]) -> Any:
    """The gradient of a leaf by a function of the root and a list; nothing where the root has not to do with it."""
    try:
        return function(root, [leaf], *given)[0]
    except (KeyError, ValueError):
        return None
