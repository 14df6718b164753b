"""The cases of `classes.yaml` in a class's own words, without gradcheck: what comes of them beside torch.

Each expression of a case is Python, so torch evaluates it as it stands, and so does the class, in as many ways as
people write: with and without the flag for gradients, `sum(0)` or `sum(axis=0)`, methods or functions, an incoming
gradient as an argument, assigned, or as a product with the root. A way is the class's own where it is right on a simple
case with an incoming gradient other than ones (`PROBES`). `verdicts` says what comes of a case: `right`; `wrong`, or
`raises`, in every way; `wrong of another gradient`, where it may be right under ones, but in no way of its own under
other numbers; `wrong in one way of its own`; `cannot say`, where no case is right in any way: then this script may not
know how to ask. Where it is right, a verdict of gradcheck's that the class is wrong is gradcheck's own mistake.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import torch

from benchmarks.classes_ways import ASKED, GRADIENTS, CannotSay, Way, held

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
        given = [one.value if isinstance(one, Spoken) else one for one in operands]
        return Spoken(self.way, self.way.operator(name, *given), beside)

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
    flags = [
        {name: True} for name in names if "grad" in name or name in ("is_leaf", "trainable", "diff", "differentiable")
    ] + [{}]
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
    own = _right_ones(kind, [cases[one] for one in PROBES if one in cases], is_scalar)
    clearing = _right_ones(kind, [cases[one] for one in CLEARING_PROBES if one in cases], is_scalar)
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
            made_up = any(isinstance(inspect.getattr_static(type(tensor), one, None), property) for one in GRADIENTS)
            found = None if made_up else next((one for _, one in held(tensor, GRADIENTS)), None)
            first.setdefault(id(tensor), found.copy() if isinstance(found, np.ndarray) else found)


def _compared(way: Way, case: dict[str, Any], names: dict[str, Spoken], roots: Any) -> str | None:
    """What of values and gradients differs, but for the gradients of these roots, and those that it does not keep."""
    single = any(way.is_single(names[name].value) for name in case.get("inputs", {}) if name in names)
    for name, one in names.items():
        if not _alike(value := way.plain(one.value), want := one.beside.detach().numpy(), single):
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
        if not _alike(got, want, single):
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
