"""Finding out how a Tensor class is made and read, before anything is computed with it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import numpy as np

from gradcheck.engines.tensor_class import dialects
from gradcheck.engines.tensor_class.api import Api
from gradcheck.engines.tensor_class.guard import ANYTHING, said
from gradcheck.engines.tensor_class.members import candidates
from gradcheck.errors import Unsupported, UsageError

#: What a class that is looked at is made of.
_SAMPLE = np.array([[0.5, 0.25, 2.0], [1.0, 3.0, 0.75]])
#: A class that has one of these is made for tensors, and not for single numbers.
_ARRAY_LIKE = ("sum", "__matmul__", "dot", "mm", "matmul", "mean", "reshape", "__getitem__", "T", "transpose", "shape")
_PRODUCTS = ("__matmul__", "dot", "mm", "matmul")


def api_of(constructor: Callable[..., Any], name: str, module: ModuleType | None = None) -> Api:
    """How a class, or a function that makes tensors, is used. Raises UsageError where it is no Tensor class. A `module`
    that was named may have its class from another."""
    api = Api(constructor, name, module=module)
    api.flags = _flags(constructor)
    made = _first(api)
    api.tensor_type = type(made)
    if isinstance(constructor, type) and isinstance(made, constructor):
        api.tensor_type = constructor  # what ops return may be of another of its subclasses
    backwards = (name for name in dialects.BACKWARDS if callable(getattr(api.tensor_type, name, None)))
    api.backward_name = next(backwards, "")
    if not api.backward_name:
        api.running = _passing(api, made)
    if not api.backward_name and api.running is None:
        hint = "name a Tensor class, or an object with evaluate() and pull_back()"
        raise UsageError(f"{name} has no backward(), so it is no engine", hint=hint)
    above = (kind for kind in reversed(api.tensor_type.__mro__) if hasattr(kind, api.backward_name))
    api.base_type = next(above, api.tensor_type) if api.backward_name else api.tensor_type
    api.gradient_name = next((n for n in dialects.GRADIENTS if _has(made, n)), "")
    api.scalar = api.scalar or not _holds_arrays(api)
    return api


def _passing(api: Api, made: Any) -> Callable[..., Any] | None:
    """The function of its module that runs a pass, of a class without such a method: the first that takes a tensor
    alone, and gives back a dictionary, or nothing."""
    for function in api.passes():
        try:
            gradients = function(made)
        except ANYTHING:
            continue
        if gradients is None or isinstance(gradients, Mapping):
            return function
    return None


def _flags(constructor: Callable[..., Any]) -> tuple[tuple[str, bool], ...]:
    """The constructor's parameters that may be for gradients, and their values where one is wanted, in the order of the
    dialects; none of them at last."""
    try:
        parameters = list(inspect.signature(constructor).parameters.values())[1:]
    except (TypeError, ValueError):
        return (("", True),)
    words = (*dialects.FLAGS, *dialects.OPPOSITE_FLAGS)
    plain = {parameter.name: parameter.name.lower().replace("_", "") for parameter in parameters}
    known = sorted((name for name in plain if plain[name] in words), key=lambda name: words.index(plain[name]))
    others = [p.name for p in parameters if "grad" in p.name.lower() and isinstance(p.default, bool)]
    found = [(name, plain[name] not in dialects.OPPOSITE_FLAGS) for name in dict.fromkeys((*known, *others))]
    return (*found, ("", True))


def _first(api: Api) -> Any:
    """A tensor of a few numbers, or, where the class takes one number only, of one; it is then `scalar`. The first flag
    with which it can be made and read is kept."""
    problem: BaseException | None = None
    ways = ((False, False, _SAMPLE), (False, True, _SAMPLE), (True, False, np.array(0.5)))
    for scalar, lists, array in ways:
        for flag, if_wanted in api.flags:
            api.scalar, api.lists, api.flag, api.flag_if_wanted = scalar, lists, flag, if_wanted
            try:
                made = api.make(array, True)
                if api.scalar or api.read(made).shape == array.shape:
                    return made
            except ANYTHING as error:
                problem = problem or error
    message = f"{api.name} cannot be made from an array: {said(problem) if problem else ''}"
    raise UsageError(message, hint="its first argument must be the data") from problem


def _holds_arrays(api: Api) -> bool:
    """Whether the class is made for tensors: a container that keeps whatever it is given is not enough."""
    tensor = api.make(_SAMPLE, True)
    try:
        if api.read(tensor).shape != _SAMPLE.shape:
            return False
    except Unsupported:
        return False
    return any(_does(api, name) for name in _ARRAY_LIKE) or hasattr(tensor, "shape") or _converts(api)


def _does(api: Api, name: str) -> bool:
    """Whether there is such a thing, and it is no empty method: one that is called and gives nothing."""
    if not hasattr(api.tensor_type, name):
        return False
    given = api.make(_SAMPLE @ _SAMPLE.T, True)
    method = getattr(given, name, None)
    others = (given,) if name in _PRODUCTS else ()
    try:
        return not callable(method) or name in ("transpose", "reshape", "__getitem__") or method(*others) is not None
    except ANYTHING:
        return True


def _converts(api: Api) -> bool:
    """Whether it makes arrays of lists, begins with gradients that are arrays or none, or refuses numbers."""
    home = sys.modules.get(getattr(api.tensor_type, "__module__", ""))
    try:
        made = api.constructor(_SAMPLE.tolist())
        values = next(candidates(made, dialects.VALUES, ()), None)
        if isinstance(values, np.ndarray) or isinstance(api.gradient(made), np.ndarray):
            return True
        begins_with_none = api.gradient_name != "" and api.gradient(api.constructor(0.5)) is None
    except Exception:  # it takes arrays alone
        return True
    return begins_with_none and any(value is np for value in vars(home).values() if home is not None)


def _has(tensor: Any, name: str) -> bool:
    """Whether there is such an attribute, even one that cannot be read yet."""
    try:
        return hasattr(tensor, name)
    except ANYTHING:
        return True


def modules_of(api: Api) -> list[ModuleType]:
    """Where functions on its tensors may be: the package, the class's own module, submodules by usual names, which are
    imported where they can be."""
    homes = dict.fromkeys(getattr(thing, "__module__", "") or "" for thing in (api.constructor, api.tensor_type))
    homes |= {api.module.__name__: None} if api.module is not None else {}
    names: dict[str, None] = {}
    for home in homes:
        for base in dict.fromkeys((home.partition(".")[0], home, home.rpartition(".")[0])):
            if base and base != "builtins":
                names |= dict.fromkeys((base, *(f"{base}.{sub}" for sub in dialects.SUBMODULES)))
    found = [module for name in names if (module := _module(name)) is not None]
    return found + [module for home in homes for module in _neighbours(sys.modules.get(home))]


def _neighbours(home: ModuleType | None) -> Iterator[ModuleType]:
    """Files by usual names beside that of a module that is in no package, imported where they can be."""
    file = getattr(home, "__file__", None)
    if home is None or file is None or "." in home.__name__ or (Path(file).parent / "__init__.py").is_file():
        return
    for name in dialects.NEIGHBOURS:
        path = Path(file).with_name(f"{name}.py")
        if path.is_file() and str(path) != file:
            sys.path.insert(0, str(path.parent))
            try:
                module = import_module(name)
            except ANYTHING:  # what cannot be imported is not there
                continue
            finally:
                sys.path.remove(str(path.parent))
            if getattr(module, "__file__", None) == str(path):
                yield module


def _module(name: str) -> ModuleType | None:
    """The module of this name; None where it is none that its package has."""
    if name in sys.modules:
        return sys.modules[name]
    parent, _, short = name.rpartition(".")
    folders = getattr(sys.modules.get(parent), "__path__", None)
    if folders is None or not any(one.name == short for one in iter_modules(folders)):
        return None
    try:
        return import_module(name)
    except ANYTHING:  # what cannot be imported is not there
        return None
