"""Functions, by name, that may run a backward pass of a Tensor class."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import wraps
from types import ModuleType
from typing import Any

from gradcheck.autograd.op import lookup
from gradcheck.engines.tensor_class import dialects
from gradcheck.engines.tensor_class.members import vars_of
from gradcheck.engines.tensor_class.pass_runners import ForeignTape, PassRunner, pass_by_attribute
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS, signature_parameters
from gradcheck.errors import Unsupported

#: The words of a name: `calcGradients`, `run_backward_pass`.
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def words_of(name: str) -> list[str]:
    """Return the words of a name in small letters and the singular."""
    words = [word.lower() for word in _WORDS.findall(name)]
    return [word[:-1] if word.endswith("s") and not word.endswith("ss") else word for word in words]


def may_be_a_pass(name: str) -> bool:
    """Return whether a name suggests a pass: `calc_grad`, not `zero_grad`."""
    words = words_of(name)
    own = [word for word in words if word in dialects.PASS_WORDS]
    others = [word for word in words if word not in dialects.PASS_WORDS]
    return bool(own) and not any(word in dialects.NO_PASS_WORDS or lookup(word) is not None for word in others)


def passes_of(kind: type, made: Any, gradient_name: str, homes: Sequence[ModuleType]) -> Iterator[PassRunner]:
    """Yield pass runners for the class of `made`, the likeliest first."""
    functions = list(_functions(homes))
    methods = [_dispatched(getattr(kind, name), name) for name in _methods(kind)]
    counted = [(function, *_arity(function)) for function in (*functions, *methods)]
    runners = [PassRunner(function) for function, least, most in counted if least <= 2 and most >= 1]
    for mode in ("listed", "each"):
        runners += [PassRunner(function, mode) for function, least, most in counted if least <= 3 and most >= 2]
    yield from runners
    yield from _tape_passes(homes, kind)
    yield from _trainer_passes(homes, made)
    own = inspect.getattr_static(kind, gradient_name or "_", None)
    computed = callable(own) or isinstance(own, property)
    if computed or any(callable(getattr(kind, name, None)) for name in dialects.GRADIENT_METHODS):
        names = (name for name in _empty_attributes(made) if not (computed and name == gradient_name))
        yield from map(pass_by_attribute, names)
    for runner in runners:  # as a function of the leaf and the root
        if runner.leaf_mode == "each":
            yield PassRunner(_with_swapped_arguments(runner.function), "each")
    yield from (PassRunner(_of_leaf(method), "each") for method in methods if _arity(method) == (2, 2))
    for name in _unknown_gradient_methods(kind):
        yield PassRunner(_dispatched(getattr(kind, name), name))
        for attribute in _empty_attributes(made):
            yield PassRunner(_gradient_asked(attribute, name, getattr(made, attribute)), "each")


def _dispatched(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a method as a function; a root of another class has its own."""

    @wraps(method)
    def run(root: Any, *given: Any, **named: Any) -> Any:
        return getattr(root, name)(*given, **named)

    return run


def _with_swapped_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    def swapped(root: Any, leaf: Any) -> Any:
        return function(leaf, root)

    return swapped


def _of_leaf(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a pass by a leaf's method, which fills a list with its roots."""

    @wraps(method)
    def run(root: Any, leaf: Any) -> Any:
        roots: list[Any] = []
        gradient = method(leaf, roots)
        if any(other is not root for other in roots):
            raise Unsupported("a gradient of several roots at once", lacks="a second graph of the same leaves")
        return gradient

    return run


def _gradient_asked(attribute: str, name: str, initial: float | None) -> Callable[..., Any]:
    """Return a pass that sets the root's gradient and asks leaves for theirs.

    A leaf keeps its answer, so a second pass over the same graph is none."""

    def run(root: Any, leaf: Any, gradient: Any = 1.0) -> Any:
        known = getattr(leaf, attribute)
        if leaf is not root and (type(known) is not type(initial) or known != initial):
            raise Unsupported("a leaf keeps the gradient of its first pass", lacks="gradients that add up")
        setattr(root, attribute, gradient)
        return getattr(leaf, name)()

    return run


def _unknown_gradient_methods(kind: type) -> list[str]:
    """Return methods without arguments that are named a bit like gradients."""
    names = dict.fromkeys(name for above in kind.__mro__[:-1] for name in vars(above) if not name.startswith("__"))
    named = [name for name in names if any(part in name.lower() for part in dialects.GRADIENT_PARTS)]
    own = [name for name in named if set(words_of(name)).isdisjoint(dialects.NO_PASS_WORDS)]
    return [name for name in own if callable(getattr(kind, name)) and _arity(getattr(kind, name)) == (1, 1)]


def _arity(function: Callable[..., Any]) -> tuple[int, int]:
    """Return the least and the greatest number of positional arguments."""
    parameters = signature_parameters(function) or []
    placed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    several = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if any(p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in parameters):
        return 0, 0
    return sum(p.default is p.empty for p in placed), 9 if several else len(placed)


def _functions(homes: Sequence[ModuleType]) -> Iterator[Callable[..., Any]]:
    """Yield functions of these modules, those in the tables first."""
    seen: set[int] = set()
    for home in homes:
        known = [name for name in dialects.PASSES if name in vars(home)]
        for name in dict.fromkeys((*known, *(name for name in list(vars(home)) if may_be_a_pass(name)))):
            function = getattr(home, name, None)
            if inspect.isfunction(function) and id(function) not in seen:
                seen.add(id(function))
                yield function


def _methods(kind: type) -> list[str]:
    names = [name for above in kind.__mro__[:-1] for name in vars(above)]
    known = [name for name in (*dialects.BACKWARDS, *dialects.PASSES) if name in names]
    return [name for name in dict.fromkeys((*known, *filter(may_be_a_pass, names))) if callable(getattr(kind, name))]


def _tape_passes(homes: Sequence[ModuleType], tensors: type) -> Iterator[PassRunner]:
    kinds = dict.fromkeys(
        value
        for home in homes
        for name, value in list(vars(home).items())
        if isinstance(value, type) and not set(words_of(name)).isdisjoint(dialects.TAPES) and value is not tensors
    )
    for kind in kinds:
        if _arity(kind)[0] == 0:
            tape = ForeignTape(kind)
            for name in _methods(kind):
                yield from tape.passes(name)


def _trainer_passes(homes: Sequence[ModuleType], made: Any) -> Iterator[PassRunner]:
    """Yield passes of objects that are made of parameters, as optimizers are.

    They take a list, or a dictionary by name. A parameter may be of another class, which is made of a tensor."""
    kinds = dict.fromkeys(value for home in homes for value in list(vars(home).values()) if isinstance(value, type))
    trainers = [kind for kind in kinds if not set(words_of(kind.__name__)).isdisjoint(dialects.TRAINERS)]
    parameters = [made]
    for kind in kinds if trainers else ():
        if issubclass(kind, type(made)) and kind is not type(made):
            with suppress(*USER_EXCEPTIONS):  # it takes other arguments
                parameters.append(kind(made))
    for trainer in trainers:
        names = [name for name in dialects.BACKWARDS if callable(getattr(trainer, name, None))]
        for given in ([one] if listed else {"parameter": one} for one in parameters for listed in (True, False)):
            with suppress(*USER_EXCEPTIONS):  # it takes other arguments
                mine = trainer(given)
                yield from (PassRunner(getattr(mine, name)) for name in names)
                break


def _empty_attributes(made: Any) -> list[str]:
    """Return attributes that are None or 0, those named like gradients first.

    These may also be 1: then each tensor is a root until it is used."""
    values = {name: getattr(made, name, "") for name in vars_of(made)}
    values = {name: value for name, value in values.items() if value is None or type(value) in (int, float)}
    found = [name for name, value in values.items() if not value]
    named = [
        name
        for name in values
        if not set(words_of(name)).isdisjoint(dialects.PASS_WORDS) and values[name] in (None, 0, 1)
    ]
    return list(dict.fromkeys((*named, *found)))
