"""The cases of `classes.yaml` in a class's own words, without gradcheck: what comes of them beside torch.

Each expression of a case is Python, so torch evaluates it as it stands, and so does the class, in as many ways as
people write: with and without the flag for gradients, `sum(0)` or `sum(axis=0)`, methods or functions, an incoming
gradient as an argument, assigned, or as a product with the root. A way is the class's own where it is right on a simple
case with an incoming gradient other than ones (`PROBES`). `verdicts` says what comes of a case: `right`; `wrong`, or
`raises`, in every way; `wrong of another gradient`, where it may be right under ones, but in no way of its own under
other numbers; `wrong in one way of its own`; `cannot say`, where no case is right in any way: then this script may not
know how to ask. Where it is right, a verdict of gradcheck's that the class is wrong is
gradcheck's own mistake.
"""

from __future__ import annotations

import inspect
import operator
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np
import torch

#: How an incoming gradient is given: as an array, or a tensor, that is an argument, or is assigned; by a product with
#: the root and its sum; by that product alone; not at all where it is ones.
SEEDS = ("array", "tensor", "assigned array", "assigned tensor", "product and sum", "product", "ones")
#: Passes over the same graph again, where the first was right: what hangs on the order of a set may be right by chance.
TIMES = 4
#: Cases by which it is seen which ways are a class's own; and, of those with a step that clears, which way of that is.
PROBES = ("add vectors", "mul", "sub", "neg", "pow", "matmul square", "exp", "tanh", "relu")
CLEARING_PROBES = ("zeroing",)
#: By which the incoming gradients of a case are multiplied, element after element, to be others.
WEIGHTS = (0.7, -1.3, 2.1, 0.3, -0.6, 1.7)
ATTRIBUTES = (
    "cached_data",
    "data",
    "_data",
    "arr",
    "array",
    "value",
    "_value",
    "values",
    "val",
    "cached",
    "primal",
    "v",
    "x",
)
GIVING = ("numpy", "to_numpy", "tolist")
GRADIENTS = ("grad", "_grad", "gradient", "grads", "_gradient", "g", "dv")
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


# One way of asking ----------------------------------------------------------------------------------


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
            held = [getattr(value, name) for name in ATTRIBUTES if hasattr(value, name)]
            inner = next((one for one in held if type(one) is not type(value)), None)  # `data` may be a tensor again
            if inner is None:
                inner = next((getattr(value, name) for name in GIVING if hasattr(value, name)), None)
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
        found = next((one for _, one in _held(tensor, GRADIENTS)), None)
        if found is None:
            found = self.returned.get(id(tensor))
        return self.plain(found() if callable(found) and not isinstance(found, self.type) else found)

    # What is said -----------------------------------------------------------------------------------

    def operator(self, name: str, *operands: Any) -> Any:
        """By the operator, else by a method or a function of one of its names."""
        given = [one.value if isinstance(one, Spoken) else one for one in operands]
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
            self._pass(total)
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
            name = next((name for name, _ in _held(root, GRADIENTS)), "grad")
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
                name = next((name for name, _ in _held(one, GRADIENTS)), "grad")
                before = initial.get(id(one), getattr(one, name, None))
                setattr(one, name, before.copy() if isinstance(before, np.ndarray) else before)


def _held(thing: Any, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
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


class Spoken:
    """A value of the class in an expression, beside torch's."""

    def __init__(self, way: Way, value: Any, beside: torch.Tensor) -> None:
        self.way, self.value, self.beside = way, value, beside

    def _said(self, name: str, *operands: Any) -> Spoken:
        torchs = [one.beside if isinstance(one, Spoken) else one for one in operands]
        beside = getattr(operator, name)(*torchs)
        if self.way.is_scalar:
            objects = [one.value if isinstance(one, Spoken) else one for one in operands]
            return Spoken(self.way, np.asarray(getattr(operator, name)(*objects), object), beside)
        return Spoken(self.way, self.way.operator(name, *operands), beside)

    def __getattr__(self, name: str) -> Any:
        if name == "T":
            return self._transposed()

        def called(*args: Any, **settings: Any) -> Spoken:
            beside = getattr(self.beside, name)(*args, **settings)
            want = beside.detach().numpy()
            if self.way.is_scalar:
                return Spoken(self.way, _of_numbers(self.value, name, settings, self.way.divides, *args), beside)
            try:
                value = self.way.word(name, self.value, want, *args, **settings)
            except CannotSay:
                if name != "mean" or args or settings:
                    raise
                total = self.way.word("sum", self.value, want * self.beside.numel())
                value = self.way.operator("mul", total, 1 / self.beside.numel())
            return Spoken(self.way, value, beside)

        return called

    def _transposed(self) -> Spoken:
        tensor, problem = self.value, None
        for name in ("T", "transpose", "t", "permute"):
            found = getattr(tensor, name, None)
            for given in ((), (1, 0), ((1, 0),)):
                try:
                    value = found(*given) if callable(found) else found
                    if self.way.plain(value).shape == self.way.plain(tensor).shape[::-1]:
                        return Spoken(self.way, value, self.beside.T)
                except TypeError:  # it takes others
                    continue
                except Exception as error:
                    problem = problem or error
        raise problem or CannotSay("transpose")

    def __getitem__(self, index: Any) -> Spoken:
        plain = index.beside.long().numpy() if isinstance(index, Spoken) else index
        beside = self.beside[torch.as_tensor(plain) if isinstance(plain, np.ndarray) else plain]
        return Spoken(self.way, self.value[plain], beside)


for _name in ("add", "sub", "mul", "truediv", "matmul", "pow"):
    setattr(Spoken, f"__{_name}__", lambda self, other, n=_name: self._said(n, self, other))
    setattr(Spoken, f"__r{_name}__", lambda self, other, n=_name: self._said(n, other, self))
Spoken.__neg__ = lambda self: self._said("neg", self)  # type: ignore[attr-defined]


def _of_numbers(numbers: np.ndarray, name: str, settings: Any, divides: bool, *args: Any) -> np.ndarray:
    if name == "sum":
        return np.asarray(numbers.sum(settings.get("dim"), keepdims=settings.get("keepdim", False)), object)
    if name == "mean":
        total = numbers.sum()
        return np.asarray(total / numbers.size if divides else total * (1 / numbers.size), object)
    if name == "reshape":
        return numbers.reshape(*args)
    if name == "softmax":
        powers = _of_numbers(numbers, "exp", {}, divides)
        return np.asarray(powers / powers.sum(settings["dim"], keepdims=True), object)
    if name == "max" or not all(hasattr(number, name) for number in numbers.reshape(-1)):
        raise CannotSay(name)
    found = np.empty(numbers.shape, object)
    for index in np.ndindex(numbers.shape):
        found[index] = getattr(numbers[index], name)()
    return found


# A case in every way --------------------------------------------------------------------------------


def ways(kind: Any, is_scalar: bool) -> Iterator[Way]:
    """Flags for gradients, seeds and ways of zeroing."""
    try:
        names = [p.name for p in list(inspect.signature(kind).parameters.values())[1:]]
    except (TypeError, ValueError):
        names = []
    flags = [{name: True} for name in names if "grad" in name or name in ("is_leaf", "trainable")] + [{}]
    for flag, seed, zeroing in product(flags, ("ones",) if is_scalar else SEEDS, ("assigned", "method")):
        for divides in (False, True) if is_scalar else (False,):
            way = Way(kind, flag, seed, zeroing, is_scalar)
            way.divides = divides
            yield way


def verdicts(
    kind: Any, cases: dict[str, dict[str, Any]], names: list[str], is_scalar: bool
) -> dict[str, tuple[str, str]]:
    """What comes of some of the cases, and how: see above."""
    if not names:
        return {}
    own = _right_ones(kind, [cases[one] for one in PROBES], is_scalar)
    clearing = _right_ones(kind, [cases[one] for one in CLEARING_PROBES], is_scalar)
    speaks = bool(own) or any(asked(kind, one, is_scalar)[0] == "right" for one in cases.values())
    found = {}
    for name in names:
        case = cases[name]
        clears = any(step[0] == "zero" for step in case["steps"])
        mine = ([n for n in own if n in clearing] or own) if clears else own
        found[name] = _verdict(kind, case, is_scalar, mine) if speaks else ("cannot say", "nothing is right")
    return found


def _verdict(kind: Any, case: dict[str, Any], is_scalar: bool, own: list[int]) -> tuple[str, str]:
    answer = asked(kind, case, is_scalar)
    if answer[0] != "right":
        return answer
    mine = [way for n, way in enumerate(ways(kind, is_scalar)) if n in own]
    weighted = [_outcome(way, {**case, "weighted": True}) for way in mine]
    wrong = [what for what in weighted if isinstance(what, str)]
    if wrong and None not in weighted:
        return "wrong of another gradient", wrong[0]
    wrong = [what for what in (*(_outcome(way, case) for way in mine), *wrong) if isinstance(what, str)]
    return ("wrong in one way of its own", wrong[0]) if wrong else answer


def _right_ones(kind: Any, probes: list[dict[str, Any]], is_scalar: bool) -> list[int]:
    """Which of the ways are right on any of these cases."""
    return [n for n, way in enumerate(ways(kind, is_scalar)) if any(_outcome(way, probe) is None for probe in probes)]


def _outcome(way: Way, case: dict[str, Any]) -> str | Exception | None:
    """What differs from torch first, None where nothing does; or what is raised."""
    try:
        return _differs(way, case)
    except Exception as error:
        return error


def asked(kind: Any, case: dict[str, Any], is_scalar: bool) -> tuple[str, str]:
    """`right`, `wrong`, `raises` or `cannot say`, and what came out in the first such way."""
    found: dict[str, str] = {}
    for way in ways(kind, is_scalar):
        try:
            wrong = next((one for one in (_differs(way, case) for _ in range(TIMES)) if one is not None), None)
        except CannotSay as error:
            found.setdefault("cannot say", str(error))
        except BaseException as error:
            found.setdefault("raises", f"{type(error).__name__}: {error}"[:120])
        else:
            if wrong is None:
                return "right", f"{way.flags} {way.seed} {way.zeroing}"
            found.setdefault("wrong", wrong)
    verdict = next((one for one in ("wrong", "raises", "cannot say") if one in found), "cannot say")
    return verdict, found.get(verdict, "")


def _differs(way: Way, case: dict[str, Any]) -> str | None:
    """What differs from torch first; None where nothing does."""
    way.begin()
    try:
        return _first_difference(way, case)
    finally:
        way.end()


def _first_difference(way: Way, case: dict[str, Any]) -> str | None:
    names: dict[str, Spoken] = {}
    first: dict[int, Any] = {}
    problem = None
    for name, numbers in case.get("inputs", {}).items():
        names[name] = Spoken(way, way.made(numbers), torch.tensor(numbers, dtype=torch.float64, requires_grad=True))
    for name, numbers in case.get("constants", {}).items():
        names[name] = Spoken(way, way.made(numbers), torch.tensor(numbers, dtype=torch.float64))
    leaves = list(case.get("inputs", {}))
    for step in case["steps"]:
        if step[0] == "forward":
            for name, numbers in step[1].items():
                beside = torch.tensor(numbers, dtype=torch.float64, requires_grad=True)
                names[name] = Spoken(way, way.made(numbers), beside)
        if step[0] in ("build", "forward"):
            problem = _built(case["graph"], names)
            _remember(way, names, first)
        elif step[0] == "zero":
            way.zero([names[name].value for name in (*leaves, *case["graph"]) if name in names], first)
            for one in names.values():
                one.beside.grad = None
        elif step[0] == "backward":
            roots = [(names[root], np.asarray(seed, float)) for root, seed in step[1].items() if root in names]
            if case.get("weighted"):
                shapes = [tuple(root.beside.shape) for root, _ in roots]
                roots = [
                    (root, seed * np.resize(WEIGHTS, shape)) for (root, seed), shape in zip(roots, shapes, strict=True)
                ]
            way.backward([(root.value, seed) for root, seed in roots])
            torch.autograd.backward(
                [root.beside for root, _ in roots], [torch.tensor(seed) for _, seed in roots], retain_graph=True
            )
            once = sum(step[0] == "backward" for step in case["steps"]) == 1
            wrong = _compared(way, case, names, () if once else step[1])
            if wrong is not None:
                return wrong
    if problem is not None:
        raise problem
    return None


def _built(graph: dict[str, str], names: dict[str, Spoken]) -> Exception | None:
    """The entries of a graph, among the names; what the first raises that cannot be had, where another can."""
    problem = None
    for name, text in graph.items():
        try:
            names[name] = eval(text, {}, dict(names))
        except Exception as error:
            problem = error
            continue
        if names[name].beside.requires_grad:
            names[name].beside.retain_grad()
    if problem is not None and not any(name in names for name in graph):
        raise problem
    return problem


def _remember(way: Way, names: dict[str, Spoken], first: dict[int, Any]) -> None:
    for one in names.values():
        for tensor in one.value.reshape(-1) if way.is_scalar else (one.value,):
            if any(hasattr(tensor, name) for name in ASKED):
                continue
            found = next((one for _, one in _held(tensor, GRADIENTS)), None)
            first.setdefault(id(tensor), found.copy() if isinstance(found, np.ndarray) else found)


def _compared(way: Way, case: dict[str, Any], names: dict[str, Spoken], roots: Any) -> str | None:
    """What of values and gradients differs, but for the gradients of these roots, and those that it does not keep."""
    for name, one in names.items():
        if not _alike(value := way.plain(one.value), want := one.beside.detach().numpy(), way.is_single(one.value)):
            return f"{name} is {value.tolist()} and not {want.tolist()}"
    for name, one in names.items():
        if name in roots or one.beside.grad is None:
            continue
        is_leaf, want = name in case.get("inputs", {}), one.beside.grad.numpy()
        try:
            got = way.gradient(one.value)
        except Exception:
            if is_leaf:
                raise
            continue
        if not is_leaf and (np.isnan(got).all() or not np.any(got)):
            continue
        if not _alike(got, want, way.is_single(one.value)):
            return f"gradient of {name} is {got.tolist()} and not {want.tolist()}"
    return None


def _alike(got: np.ndarray, want: np.ndarray, single: bool) -> bool:
    alike = got.shape == want.shape or got.size == want.size == 1
    rtol, atol = (1e-4, 1e-6) if single else (1e-10, 1e-15)
    return alike and np.allclose(got.reshape(want.shape), want, rtol, atol)


def as_steps(document: dict[str, Any]) -> dict[str, Any]:
    """A case of the file with its steps spelled out: build, backward, zero, forward."""
    steps: list[Any] = [("build",)]
    last = list(document["graph"])[-1]
    for step in document.get("steps", [{"backward": document.get("backward", last)}]):
        if "backward" in step:
            given = step["backward"]
            steps.append(("backward", {given: 1.0} if isinstance(given, str) else given))
        steps += [("zero",)] if "zero_grad" in step else []
        steps += [("forward", step["forward"])] if "forward" in step else []
    return {**document, "steps": steps}
