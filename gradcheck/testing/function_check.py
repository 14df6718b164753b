"""`check_function`: an assertion on a function with its own backward."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.checks.closeness.tolerance import epsilon
from gradcheck.checks.implementations.python_reproduction import python_reproduction, standalone_reproduction
from gradcheck.checks.implementations.self_consistency import check_self_consistency as check
from gradcheck.checks.options import Options, engines_of
from gradcheck.checks.pipeline import verdict
from gradcheck.checks.result import CaseResult, RunResult, Subject
from gradcheck.checks.scheduling.run import environment, run
from gradcheck.engines.implementation.binding import bind
from gradcheck.engines.implementation.code_engine import CodeEngine as Engine
from gradcheck.engines.implementation.code_kinds import code_of, differentiable_forward
from gradcheck.engines.implementation.code_loading import load_code, name_of
from gradcheck.engines.implementation.operand_dtypes import judged_dtype
from gradcheck.engines.torch_devices import device_of
from gradcheck.errors import GradcheckError, InvalidCase, Place, UsageError, exception_text
from gradcheck.facts import fact
from gradcheck.interrupts import marked_interrupts
from gradcheck.language.case import Case, Generalize, Implementation, Value
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.loader import load_text
from gradcheck.language.sampling import draw
from gradcheck.language.trial_draws import with_trials
from gradcheck.testing.case_checks import failure_of, with_snippet
from gradcheck.testing.function_choices import FunctionChoices, read_choices
from gradcheck.testing.python_arguments import (
    constant_arguments,
    is_shape,
    size_name,
    split_arguments,
    with_named_sizes,
    with_note,
    with_own_parameters,
)

if TYPE_CHECKING:
    import pytest

__tracebackhide__ = True  # pytest shows the caller's line above the report, and none of this file
#: The name of the function's result in the report.
RESULT = "y"
_PACKAGE_FOLDER = str(Path(__file__).parents[1]) + os.sep
#: What may stand between its caller and a function here: a decorator runs in `contextlib`.
_OWN_FILES = (_PACKAGE_FOLDER, contextlib.__file__)
#: The usual dtypes of kernels, and sizes on both sides of a block.
DTYPES, SIZES = ("float64", "float32", "bfloat16"), (1, 2, 7, 33)


def check_function(
    function: Callable[..., Any],
    backward: Callable[..., Any] | None = None,
    *unnamed: Any,
    spec: str | None = None,
    inputs: Mapping[str, Any] | Any = None,
    choices: Mapping[str, Any] | None = None,
    **named: Any,
) -> RunResult:
    """Assert that a function computes `spec`, and has its gradients.

        check_function(BiasGelu.apply, x=(5, 3), w=(3, 4), b=(4,), spec="gelu(x @ w + b)")

    `function` is anything that `implementations` in a case may name: a function of torch's tensors, `Function.apply`, a
    module, a function of JAX or HIPS autograd; or one on NumPy arrays, with its `backward`. Inputs are given by the
    names that `spec` uses, in the order of the arguments, as keywords or in `inputs`: shapes, of which equal sizes are
    one size that varies; arrays, torch's tensors, or creators as text (`"uniform(0.1, 2, [5])"`). Integers and booleans
    get no gradient, nor do tensors that require none where others do.

    `choices` are `dtypes` (a list), `tolerance` (a relative one), `order` (1: no second order), `seed`, `sizes` (those
    that may be drawn: a list, or one for each given size), `dims` (sizes by name, for creators), `autocast` (the dtype
    of `torch.autocast` around each call), and fields of `Options`. Without `spec` the function is compared with its
    own forward: differentiated by torch if it consists of ops that torch differentiates, and by differences with error
    bars.

    Raises AssertionError with the report, and UsageError or InvalidCase for an invalid call.
    """
    by_name = inputs if isinstance(inputs, Mapping) else {} if inputs is None else {"inputs": inputs}
    given = {**by_name, **named}
    if unnamed or not (backward is None or callable(backward)):
        raise UsageError("check_function takes its inputs by name", hint="such as check_function(f, x=x, w=w)")
    if not given:
        raise UsageError("check_function needs inputs", hint="such as x=(5, 3)")
    try:
        found = result_of_call(PythonCall(function, backward, given, spec), choices)
    except GradcheckError as error:
        raise error.with_traceback(None)  # noqa: B904
    if found.exit_code:
        raise failure_of(found)
    return found


@dataclass(frozen=True, slots=True)
class PythonCall:
    """A function with its arguments, as torch's gradcheck takes them or not."""

    function: Callable[..., Any]
    backward: Callable[..., Any] | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    spec: str | None = None
    as_torch: bool = False


@marked_interrupts()
def result_of_call(call: PythonCall, choices: Mapping[str, Any] | None) -> RunResult:
    """Return the result of checking a call. Raises UsageError or InvalidCase."""
    own = read_choices(choices)
    split = split_arguments(call.given, call.spec, call.as_torch)
    code = _implementation(call.function, call.backward, "", own)
    parameters: dict[str, np.ndarray] = {}
    if not call.as_torch:
        code, parameters = with_own_parameters(code, call.given, split.spec)
    place = _caller_place(code.name)
    fixed = (*parameters.values(), *(split.operands.values() if split.spec is None else ()))
    own = own.with_fixed_sizes(fixed)
    given = {**split.operands, **parameters}
    code = replace(code, entry=_result(given), given=split.arguments)
    spec = next(iter(given)) if split.spec is None else split.spec
    case = _case(given, spec, own, place)
    constants = constant_arguments(code, case, given)
    case = _case(given, spec, own, place, constants) if constants else case
    code = replace(code, operand_dtypes={} if code.dtypes else _operand_dtypes(case))
    if split.spec is None:
        found = _check_without_spec(code, case, own.options.get("device", "cpu"))
    else:
        is_reordered = [*case.inputs, *case.constants] != list(given)  # constants come last in a case
        code = replace(code, given=split.arguments if split.arguments.objects or is_reordered else None)
        case = with_trials(replace(case, implementations=(code,)))
        found = run(case, **{"allow_code": True, **own.options})
        found = replace(found, cases=tuple(_with_python_snippet(case, _judged(one, code)) for one in found.cases))
    return replace(found, cases=tuple(with_note(replace(one, reproduce=""), constants) for one in found.cases))


def _judged(found: CaseResult, code: Implementation) -> CaseResult:
    """Return the result, failed if no number of the code was compared."""
    own = [c for c in found.comparisons if c.engine == code.name and c.elements and not c.has_note("graph_is_nan")]
    gradients = [c for c in own if c.what == ClaimKind.GRADIENT and found.case and c.tensor in found.case.inputs]
    compared = gradients + [c for c in own if c.what == ClaimKind.VALUE] if gradients else []
    undefined = [sum(n["count"] for n in c.notes if n.kind in ("nans_agree", "infinities_agree")) for c in compared]
    if found.status != "passed" or any(c.elements > n for c, n in zip(compared, undefined, strict=True)):
        return found
    failed = Subject(ClaimKind.CODE, code.entry, 0, code.name).failed(fact("nothing_compared", engine=code.name))
    return replace(found, status="failed", comparisons=(*found.comparisons, failed))


def _with_python_snippet(case: Case, found: CaseResult) -> CaseResult:
    if found.status != "failed" or found.smallest is not None:
        return found
    options = Options(allow_code=True)
    return with_snippet(found, python_reproduction(case, found, options, engines_of(options)))


def _implementation(function: Any, backward: Any, entry: str, own: FunctionChoices) -> Implementation:
    named = function[0] if isinstance(function, tuple) and function else function  # a forward and its backward
    return Implementation(
        entry,
        name_of(named),
        dtypes=own.dtypes,
        tolerance=own.tolerance,
        order=own.order,
        loaded=function if backward is None else (function, backward),
        autocast=own.autocast,
    )


def _case(
    given: Mapping[str, Any], spec: str, own: FunctionChoices, place: Place, constants: tuple[str, ...] = ()
) -> Case:
    arrays: dict[str, np.ndarray] = {}
    some_ask = any(getattr(value, "requires_grad", False) for value in given.values())
    sizes: dict[str, int] = dict(own.dims)
    sections: dict[str, dict[str, str]] = {"inputs": {}, "constants": {}}
    for name, value in given.items():
        if isinstance(value, str):
            is_whole = "randint" in value or "randperm" in value
            sections["constants" if is_whole else "inputs"][name] = with_named_sizes(value, sizes)
        elif is_shape(value):
            words = [size_name(size, sizes) for size in value]
            sections["inputs"][name] = f"randn({', '.join(words)})" if words else "randn(1)[0]"
        else:
            arrays[name] = array = _array(value)
            asks = name not in constants and (getattr(value, "requires_grad", True) or not some_ask)
            section = "inputs" if asks and dtypes.is_differentiable(array.dtype) else "constants"
            sections[section][name] = f"zeros({list(array.shape)})"
    document = {"name": "check_function", "seed": own.seed, "dims": sizes, **sections, "graph": {_result(given): spec}}
    cases, errors = load_text(json.dumps({key: part for key, part in document.items() if part}), "")
    if errors:
        raise InvalidCase(errors[0].message, place=place, hint=errors[0].hint)
    listed = {word: own.sizes_of(size) for word, size in sizes.items() if own.sizes_of(size)}
    case = replace(cases[0], generalize=Generalize(listed=listed)) if listed else cases[0]
    return _with_arrays(_with_place(case, place), arrays)


def _with_arrays(case: Case, arrays: Mapping[str, np.ndarray]) -> Case:
    found = {array.dtype for array in arrays.values() if dtypes.is_differentiable(array.dtype)}
    least = max({dtypes.real_of(dtype) for dtype in found}, key=epsilon, default=np.dtype(np.float64))
    dtype = dtypes.complex_of(least) if any(dtype.kind == "c" for dtype in found) else least
    real = dtypes.real_of(dtype).name

    def filled(values: Mapping[str, Value]) -> dict[str, Value]:
        stays_real = {n for n, a in arrays.items() if dtype.kind == "c" and a.dtype.kind in "fV"}
        return {
            n: Value(array=arrays[n], place=v.place, dtype=real if n in stays_real else v.dtype) if n in arrays else v
            for n, v in values.items()
        }

    return replace(case, inputs=filled(case.inputs), constants=filled(case.constants), dtype=dtype.name)


def _operand_dtypes(case: Case) -> dict[str, str]:
    values = {**case.inputs, **case.constants}
    own = {name: value.array.dtype for name, value in values.items() if value.array is not None}
    floating = {name: dtype.name for name, dtype in own.items() if dtypes.is_differentiable(dtype)}
    return floating if len(set(floating.values())) > 1 else {}


def _result(given: Mapping[str, Any]) -> str:
    """Return a name for the result that no input has."""
    return next(name for name in (RESULT, "out", "result", "result_") if name not in given)


def _array(value: Any) -> np.ndarray:
    """Return an array of an array, a torch tensor, nested lists or a number."""
    if hasattr(value, "detach"):
        from gradcheck.engines.implementation.pair_tensors import as_array

        try:
            value = as_array(value)
        except (RuntimeError, TypeError) as error:  # of a subclass
            message = f"a {type(value).__name__} does not give its numbers: {exception_text(error)}"
            raise UsageError(message, hint="give a torch.Tensor, and wrap it in the function") from error
    array = np.array(value)
    if array.dtype.kind not in "biufcV":
        raise UsageError(f"{value!r:.40} is no input", hint="give a shape, an array, a tensor or a creator")
    return array


def _caller_place(name: str) -> Place:
    """Return file and line of gradcheck's caller; without a file, `name`."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN_FILES):
        frame = frame.f_back
    file = frame.f_code.co_filename
    if not os.path.isfile(file):
        return Place(name)
    shown = os.path.relpath(file) if file.startswith(os.getcwd() + os.sep) else file
    return Place(shown, frame.f_lineno, 1)


def _with_place(case: Case, place: Place) -> Case:
    """Return the case with everything at one place, and nothing verbatim."""
    inputs, constants = (
        {name: replace(value, place=place, text="") for name, value in section.items()}
        for section in (case.inputs, case.constants)
    )
    graph = {name: replace(claim, place=place, is_verbatim=False) for name, claim in case.graph.items()}
    steps = tuple(replace(step, place=place) for step in case.steps)
    return replace(case, place=place, inputs=inputs, constants=constants, graph=graph, steps=steps)


def _check_without_spec(implementation: Implementation, case: Case, on: str = "cpu") -> RunResult:
    device = None if on == "cpu" else device_of(on)
    code = code_of(*load_code(implementation), implementation.name)
    if implementation.given is not None and implementation.given.as_torch:
        code = replace(code, module=None, parameters=())  # of which torch's gradcheck checks none
    binding = bind(case, implementation, code.signature, code.parameters)
    forward = differentiable_forward(code)
    case = replace(case, engine_tolerance=implementation.tolerance)
    options = Options(order=implementation.order or 2)
    results = []
    for asked in implementation.dtypes or (case.dtype,):
        engine = Engine(implementation.name, implementation.entry, code, binding, device)
        dtype = judged_dtype(engine, draw(replace(case, dtype=asked), case.seed))
        own = engine.binding
        witness = None if forward is None else Engine("its own forward", implementation.entry, forward, own, device)
        context = check(replace(case, dtype=dtype), engine, witness, options)
        context.options = replace(options, engines=(engine,))
        held = replace(case, dtype=dtype)
        found = replace(verdict(context, held, 0.0), case=held)
        if found.status == "failed":
            found = with_snippet(found, standalone_reproduction(context, implementation, engine, found))
        results.append(found)
    return RunResult(tuple(results), 0.0, environment(), selected=len(results))


def over(*names: str, dtypes: Iterable[Any] = DTYPES, **sizes: Iterable[int]) -> pytest.MarkDecorator:
    """Parametrize a test by `dtype` and one parameter for each size.

        @over("n", d=[1, 64])
        def test_gelu(check_function, dtype, n, d):
            check_function(Gelu.apply, x=(n, d), spec="gelu(x)")

    The `names` take the values of `SIZES`; dtypes are names, or torch's. The fixture `check_function` uses the test's
    dtype.
    """
    import pytest

    all_sizes: Mapping[str, Iterable[int]] = {**dict.fromkeys(names, SIZES), **sizes}
    listed = [str(one).removeprefix("torch.") for one in dtypes]
    return pytest.mark.parametrize(("dtype", *all_sizes), list(product(listed, *all_sizes.values())))
