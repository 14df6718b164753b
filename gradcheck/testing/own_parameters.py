"""The parameters of modules and layers, as further inputs of a check."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.engines.implementation.binding import parameters_of, written_names
from gradcheck.engines.implementation.call_arguments import leaves_of
from gradcheck.engines.implementation.code_kinds import Code
from gradcheck.language.case import Implementation
from gradcheck.language.random_streams import stream

#: How far the numbers of a parameter are moved that are all equal.
_MOVE = 0.25


def with_own_parameters(
    implementation: Implementation, given: Mapping[str, Any], spec: str | None
) -> tuple[Implementation, dict[str, np.ndarray]]:
    """Return the implementation, instantiated, and its own parameters."""
    from gradcheck.engines.implementation.code_kinds import code_of
    from gradcheck.engines.implementation.code_loading import load_code
    from gradcheck.engines.implementation.module_parameters import is_module

    modules = [one for value in given.values() for one in leaves_of(value) if is_module(one)]
    if modules and inspect.isroutine(implementation.loaded):
        implementation = replace(implementation, loaded=_mentioning(implementation.loaded, modules))
    code = code_of(*load_code(implementation), implementation.name)
    if isinstance(implementation.loaded, type) and code.instance is not None:
        implementation = replace(implementation, loaded=code.instance)
    return implementation, own_parameters(code, given, spec)


def _mentioning(function: Callable[..., Any], modules: list[Any]) -> Callable[..., Any]:
    """Return a function that mentions modules, whose parameters are checked."""

    @wraps(function)
    def called(*arguments: Any, **keywords: Any) -> Any:
        return function(*arguments, **keywords) if modules else None

    return called


def own_parameters(code: Code, given: Mapping[str, Any], spec: str | None) -> dict[str, np.ndarray]:
    """Return the values of the code's own parameters that are not given.

    With a specification, only of those that it mentions. Their precision is at least that of the given arrays; with
    shapes alone it is double precision."""
    mentioned = None if spec is None else set(re.findall(r"\w+", spec))
    arguments = {one.name for one in parameters_of(code.signature) or ()}
    given_dtypes = [dtype for value in given.values() if (dtype := _dtype_of(value)) is not None]
    found: dict[str, np.ndarray] = {}
    for name, array in code.parameter_values().items():
        written = [one for one in written_names(name, code.parameters) if one.isidentifier() and one not in arguments]
        if not written or any(one in given for one in written):
            continue
        chosen = written[-1] if mentioned is None else next((one for one in written if one in mentioned), None)
        if chosen is not None and chosen not in found:
            found[chosen] = _moved(chosen, array).astype(_wider(array.dtype, given_dtypes))
    return found


def _moved(name: str, array: np.ndarray) -> np.ndarray:
    """Return the array; one of equal numbers, as of a new layer, is moved.

    Where all are 1, or 0, a factor that is missing makes no difference."""
    if array.size < 2 or np.any(array != array.flat[0]):
        return array.copy()
    return array + _MOVE * stream(0, "moved", name).uniform(-1, 1, array.shape)


def _dtype_of(value: Any) -> np.dtype | None:
    """Return the dtype of an array or tensor of floating-point numbers."""
    name = str(getattr(value, "dtype", "")).removeprefix("torch.")
    dtype = dtypes.BY_NAME.get(name)
    return dtype if dtype is not None and dtypes.is_differentiable(dtype) else None


def _wider(own: np.dtype, given: list[np.dtype]) -> np.dtype:
    """Return the parameter's dtype, or a more precise one of the given arrays."""
    listed = [dtypes.real_of(one) for one in given] or [np.dtype(np.float64)]
    widest = max(listed, key=lambda one: one.itemsize)
    if widest.itemsize <= dtypes.real_of(own).itemsize:
        return own
    return dtypes.complex_of(widest) if own.kind == "c" else widest
