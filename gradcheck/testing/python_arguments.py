"""Operands, constants and parameters among the arguments of a Python call."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.result import CaseResult
from gradcheck.engines.implementation.binding import bind, parameters_of, written_names
from gradcheck.engines.implementation.call_arguments import leaves_of, operand_of, take_apart
from gradcheck.engines.implementation.code_engine import CodeEngine
from gradcheck.engines.implementation.code_kinds import Code, code_of
from gradcheck.engines.implementation.code_loading import load_code
from gradcheck.engines.implementation.module_parameters import is_module
from gradcheck.errors import InvalidCase, UsageError
from gradcheck.facts import fact
from gradcheck.language.case import CallArguments, Case, Implementation, Step, Value
from gradcheck.language.expr.nodes import Call, Expr, Literal, Name, Sequence
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import free_names, rewrite, substitute
from gradcheck.language.implied_cotangents import cotangents_of
from gradcheck.language.random_streams import stream
from gradcheck.language.sampling import draw

#: A call of a creator, also in a text with a slip, which is nothing to hand on.
_CREATOR = re.compile(r"(rand|uniform|normal|zeros|ones|arange|linspace|full|eye|empty)\w*\(")
#: The first argument of a creator that is a size, or a list of sizes.
_FIRST_SIZE = {"randn": 0, "rand": 0, "zeros": 0, "ones": 0, "normal": 2, "uniform": 2, "randint": 2}
#: Parameters whose tuple of integers is a setting, and no shape of an input.
_SETTING = re.compile(r"(.*_)?(shape|size|strides?|padding|dilation|dims?|axis|axes)")
#: How far the numbers of a parameter are moved that are all equal.
_MOVE = 0.25


@dataclass(frozen=True, slots=True)
class SplitArguments:
    """The operands of a call by name, all its arguments, the specification.

    The specification has literals in place of names of numbers, None, text and lists of integers."""

    operands: Mapping[str, Any]
    arguments: CallArguments
    spec: str | None


def split_arguments(given: Mapping[str, Any], spec: str | None, as_torch: bool = False) -> SplitArguments:
    """Return which arguments are operands. Raises UsageError if none is.

    They are shapes, creators, arrays and tensors, also tensors within tuples, lists and dicts. `as_torch` takes tensors
    alone: those that require a gradient, those that the specification names, and all if none requires one."""
    named = _names_in(spec)
    some_ask = any(_asks(leaf) for value in given.values() for leaf in leaves_of(value))
    operands: dict[str, Any] = {}
    objects: dict[str, Any] = {}
    taken = set(given)
    for name, value in given.items():
        if named and name not in named and is_tensor(value) and not _asks(value):
            objects[name] = value  # such as bounds, which the specification writes as numbers
            continue
        is_setting = isinstance(value, tuple) and _SETTING.fullmatch(name)
        if not is_setting and _is_operand(value, name in named, as_torch, some_ask):
            operands[name] = value
            place = operand_of(name, value)
            objects |= {name: place} if place.is_parameter else {}
            continue
        objects[name], found = take_apart(name, value, lambda one: _is_nested_operand(one, some_ask), taken)
        operands |= found
    if not operands and not as_torch:  # a scalar of NumPy beside arrays is a setting, and alone it is the operand
        operands = {name: objects.pop(name) for name in given if isinstance(given[name], np.inexact)}
    if not operands:
        hint = "give a tensor or an array" + (", a shape or a creator, such as x=(5, 3)" if not as_torch else "")
        raise UsageError("no argument has a gradient to check", hint=hint)
    return SplitArguments(operands, CallArguments(tuple(given), objects, as_torch), _with_literals(spec, objects))


def _is_operand(value: Any, is_named: bool, as_torch: bool, some_ask: bool) -> bool:
    if is_tensor(value):
        return _is_dense(value) and (_asks(value) or is_named or not (as_torch and some_ask))
    return not as_torch and (is_shape(value) or _is_creator(value) or (is_named and _is_list_with_floats(value)))


def _is_nested_operand(value: Any, some_ask: bool) -> bool:
    return is_tensor(value) and _is_dense(value) and (_asks(value) or not some_ask)


def is_shape(value: Any) -> bool:
    """Return whether it is a tuple of sizes."""
    return isinstance(value, tuple) and all(type(size) is int and size >= 0 for size in value)


def with_named_sizes(text: str, sizes: dict[str, int]) -> str:
    """Return a creator with names in place of the sizes that it writes."""

    def named(size: Expr) -> Expr:
        if isinstance(size, Sequence):
            return size.rebuild([named(one) for one in size.items])
        number = size.value if isinstance(size, Literal) else None
        return Name(size_name(number, sizes)) if type(number) is int and number > 1 else size

    def with_names(node: Expr) -> Expr:
        if not isinstance(node, Call) or node.op not in _FIRST_SIZE:
            return node
        first = _FIRST_SIZE[node.op]
        keywords = tuple((name, named(value) if name == "size" else value) for name, value in node.kwargs)
        return replace(node, args=(*node.args[:first], *map(named, node.args[first:])), kwargs=keywords)

    try:
        return to_text(rewrite(parse(text), with_names))
    except InvalidCase:  # told where the case is loaded
        return text


def size_name(size: int, sizes: dict[str, int]) -> str:
    """Return the name of a size; sizes of 0 and 1 stay numbers."""
    if size < 2:
        return str(size)
    word = f"n{size}"
    sizes[word] = size
    return word


def is_tensor(value: Any) -> bool:
    """Return whether it is a tensor or an array of numbers, no scalar."""
    if hasattr(value, "requires_grad") and hasattr(value, "detach"):
        return True
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return hasattr(value, "__array__") and not isinstance(value, np.generic) and kind in tuple("biufcV")


def _asks(value: Any) -> bool:
    return is_tensor(value) and bool(getattr(value, "requires_grad", False))


def _is_dense(value: Any) -> bool:
    """Return whether it is dense. Raises UsageError for a sparse operand."""
    layout = str(getattr(value, "layout", "torch.strided"))
    if layout != "torch.strided" and _asks(value):
        message = f"a tensor of layout {layout} requires a gradient, and gradients are checked of dense tensors"
        raise UsageError(message, hint="give it dense, and make it sparse in the function: lambda x: f(x.to_sparse())")
    return layout == "torch.strided"


def _is_creator(value: Any) -> bool:
    """Return whether a text calls a creator, or is a list or a sum."""
    if not isinstance(value, str):
        return False
    try:
        written = parse(value)
        is_number = not free_names(written) and any(isinstance(node, (Call, Sequence)) for node in written.walk())
    except InvalidCase:
        is_number = False
    return is_number or _CREATOR.search(value) is not None


def _is_list_with_floats(value: Any) -> bool:
    leaves = list(leaves_of(value)) if isinstance(value, (list, tuple)) else []
    return any(isinstance(one, float) for one in leaves) and all(isinstance(one, (int, float)) for one in leaves)


def _names_in(spec: str | None) -> set[str]:
    try:
        return set() if spec is None else set(free_names(parse(spec)))
    except InvalidCase:  # told where the case is loaded
        return set()


def _with_literals(spec: str | None, objects: Mapping[str, Any]) -> str | None:
    written = {name: _literal(objects[name]) for name in objects.keys() & _names_in(spec)}
    known = {name: literal for name, literal in written.items() if literal is not None}
    return to_text(substitute(parse(spec), known)) if spec is not None and known else spec


def _literal(value: Any) -> Expr | None:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return Literal(value)
    items = [_literal(one) for one in value] if isinstance(value, (tuple, list)) else [None]
    known = tuple(one for one in items if one is not None)
    return Sequence(known, isinstance(value, tuple)) if len(known) == len(items) else None


def with_own_parameters(
    implementation: Implementation, given: Mapping[str, Any], spec: str | None
) -> tuple[Implementation, dict[str, np.ndarray]]:
    """Return the implementation, instantiated, and its own parameters."""
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


def constant_arguments(implementation: Implementation, case: Case, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return tensors that require no gradient, and get none of the code.

    Shapes beside them do not say whether a gradient is due. An array of NumPy says nothing either, and is checked."""
    names = [name for name in case.inputs if getattr(given.get(name), "requires_grad", True) is False]
    if not names or len(names) == len(case.inputs):
        return ()
    code = code_of(*load_code(implementation), implementation.name)
    binding = bind(case, implementation, code.signature, code.parameters)
    engine = CodeEngine(implementation.name, implementation.entry, code, binding)
    asked = replace(case, dtype=implementation.dtypes[0] if implementation.dtypes else case.dtype)
    with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[asked.dtype])), engine.session(dtypes.BY_NAME[asked.dtype]):
        values = engine.values_alone(draw(replace(asked, steps=()), case.seed))
        roots = cotangents_of(implementation.entry, values, case.place)
        step = Step("backward", roots={name: Value(array=np.ones_like(values[name])) for name in roots})
        found = engine.evaluate(draw(replace(asked, steps=(step,)), case.seed))
    if not step.roots or found.error is not None or found.states[-1].error is not None:
        return ()  # the check itself reports it
    gradients = found.states[-1].gradients
    return tuple(name for name in names if gradients.get(name) is None)


def with_note(found: CaseResult, constants: tuple[str, ...]) -> CaseResult:
    """Return the result with a note on its first comparison."""
    notes = (fact("results_constant", names=constants),) if constants else ()
    first = tuple(one.with_notes(*notes) for one in found.comparisons[:1])
    return replace(found, comparisons=(*first, *found.comparisons[1:]))
