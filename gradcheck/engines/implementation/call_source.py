"""One call of user code and its gradients, as a short Python program.

It needs no more than the code's library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch

from gradcheck.autograd import dtypes
from gradcheck.engines.implementation.call_arguments import Operand, parts_of
from gradcheck.engines.implementation.code_engine import CodeEngine
from gradcheck.engines.implementation.code_loading import load_code
from gradcheck.engines.implementation.numpy_pair import NumpyPair
from gradcheck.engines.implementation.python_references import array_literal, import_lines, with_python_references
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS
from gradcheck.errors import GradcheckError, Unsupported
from gradcheck.language.case import Implementation as Named
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Name
from gradcheck.language.problem import Problem

#: The variables for incoming gradients, for the result, and for JAX's and HIPS autograd's pull-back.
_INCOMING, _FOUND, _PULL = "incoming_", "found_", "pull_"
#: Prints all digits, where the first ones are right.
_ALL_DIGITS = {"torch": "torch.set_printoptions(precision=17)", "numpy": "np.set_printoptions(precision=17)"}
#: The kinds of code that torch differentiates.
_TORCH_KINDS = ("torch", "function", "module")


@dataclass(frozen=True, slots=True)
class ExpectedNumbers:
    """The right numbers of a tensor that a call gets wrong.

    `what` is `gradient`, `value` or `second`, a gradient of the gradients times `probes`, which are by name."""

    what: Literal["gradient", "value", "second"]
    tensor: str
    want: np.ndarray
    is_close: bool = False  # whether the first digits are right
    probes: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CodeCall:
    """A call to write: its reference, engine, problem and graph values.

    `wanted` has the numbers that it should show; None if it raises."""

    named: Named
    engine: CodeEngine
    problem: Problem
    values: Mapping[str, np.ndarray]
    wanted: ExpectedNumbers | None = None


@dataclass(slots=True)
class _CallWriter:
    """The lines so far, with the tensors' names as variables."""

    call: CodeCall
    roots: int
    parameters: Mapping[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    tensors: list[str] = field(default_factory=list)  # those that get a gradient, in the arguments' order


def call_source(call: CodeCall) -> str:
    """Return imports, arguments, the call, its gradients, as Python.

    Code without a reference is included as source. Raises Unsupported if it cannot be."""
    known, sources = with_python_references(call.named)
    seeds = [seed for part in call.problem.seeds[:1] for seed in part.values() if seed is not None]
    writer = _CallWriter(replace(call, named=known), len(seeds))
    kind = call.engine.code.kind
    if call.wanted and call.wanted.what == "second" and kind not in _TORCH_KINDS:
        raise Unsupported("a second order of another library than torch")
    arguments = [_argument(writer, claim) for claim in call.engine.binding.positional]
    arguments += [f"{key}={_argument(writer, claim)}" for key, claim in call.engine.binding.keywords.items()]
    writer.parameters = {own: _leaf(writer, name) for own, name in call.engine.binding.parameters.items()}
    if seeds and not (call.wanted and call.wanted.what == "value"):
        incoming = [_array(_in_convention(seed, kind), kind) for seed in seeds]
        writer.lines.append(f"{_INCOMING} = {incoming[0] if len(incoming) == 1 else '[' + ', '.join(incoming) + ']'}")
    body = {"numpy": _numpy, "jax": _jax, "hips": _hips}.get(kind, _torch)(writer, arguments)
    imports = _imports(known, kind, sources)
    if call.wanted and call.wanted.is_close:
        imports.append(_ALL_DIGITS["torch" if kind in _TORCH_KINDS else "numpy"])
    own = [one for one in dict.fromkeys(sources) if one not in imports]
    text = "\n".join([*imports, *own, *writer.lines, *body]) + "\n"
    return text if "np." in text else text.replace("import numpy as np\n", "", 1)


def _imports(known: Named, kind: str, sources: list[str]) -> list[str]:
    libraries: dict[str, list[str]] = {"numpy": [], "jax": ["import jax"], "hips": ["import autograd"]}
    found = ["import numpy as np", *libraries.get(kind, ["import torch"])]
    found += ['jax.config.update("jax_enable_x64", True)'] if kind == "jax" else []
    for reference in (known.call, *filter(None, [known.backward])):
        where, _, name = reference.rpartition(":")
        if where or not sources:
            found += import_lines(where, name)
    return list(dict.fromkeys(found))


def _argument(writer: _CallWriter, claim: Any) -> str:
    call = writer.call
    if claim.text in call.engine.binding.objects:
        return _object(writer, call.engine.binding.objects[claim.text])
    if isinstance(claim.expr, Name) and claim.expr.name in call.values and claim.expr.name not in call.problem.sizes:
        return _leaf(writer, claim.expr.name)
    value = evaluate(claim.expr, {**call.problem.sizes, **call.values})
    if isinstance(value, np.ndarray):
        return _array(value, call.engine.code.kind)
    return repr(value)


def _object(writer: _CallWriter, value: Any) -> str:
    """Return an argument as Python. Raises Unsupported."""
    if isinstance(value, Operand):
        if value.is_parameter:
            raise Unsupported("a Parameter is not written")
        return _leaf(writer, value.name)
    if value is None or (isinstance(value, (bool, int, str, float)) and repr(value) not in ("nan", "inf", "-inf")):
        return repr(value)
    if type(value) in (tuple, list, dict):
        written = [_object(writer, part) for _, part in parts_of(value)]
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key!r}: {text}" for key, text in zip(value, written, strict=True)) + "}"
        inner = ", ".join(written) + "," * (type(value) is tuple and len(written) == 1)
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    if type(value) is torch.Tensor and value.layout is torch.strided:
        return f"torch.tensor({value.tolist()!r}, dtype={value.dtype})"
    if isinstance(value, torch.dtype):
        return repr(value)
    raise Unsupported(f"an argument of type {type(value).__name__} is not written")


def _leaf(writer: _CallWriter, name: str) -> str:
    call, kind = writer.call, writer.call.engine.code.kind
    array = call.values[name]
    is_leaf = name not in call.problem.constants and array.dtype.kind in "fcV"
    own = call.engine.binding.operand_dtypes.get(name)
    written = _array(array.astype(dtypes.BY_NAME[own]) if own and array.dtype.kind in "fV" else array, kind)
    if is_leaf and kind not in ("numpy", "jax", "hips"):
        written = f"{written}.requires_grad_()"
    if is_leaf and name not in writer.tensors:
        writer.tensors.append(name)
    line = f"{name} = {written}"
    if line not in writer.lines:
        writer.lines.append(line)
    return name


def _array(array: np.ndarray, kind: str) -> str:
    made = array_literal(array, torch=kind in _TORCH_KINDS)
    return f"jax.numpy.asarray({made})" if kind == "jax" else made


def _torch(writer: _CallWriter, arguments: list[str]) -> list[str]:
    code, name = writer.call.engine.code, writer.call.named.call.rpartition(":")[2]
    if writer.call.engine.observations.has_nested_results:
        raise Unsupported("nested results are not written")
    called = f"{name}({', '.join(arguments)})"
    if code.kind == "function" and not name.endswith("apply"):
        called = f"{name}.apply({', '.join(arguments)})"
    if code.kind == "module" and writer.parameters:
        name = f"{name}()" if isinstance(load_code(writer.call.named)[0], type) else name
        given = ", ".join(f"{own!r}: {tensor}" for own, tensor in writer.parameters.items())
        called = f"torch.func.functional_call({name}, {{{given}}}, ({''.join(a + ', ' for a in arguments)}))"
    wanted, found = writer.call.wanted, f"{_FOUND} = {called}"
    if autocast := writer.call.engine.binding.autocast:
        found = f'with torch.autocast("cpu", dtype=torch.{autocast}):\n    {found}'
    if wanted is not None and wanted.what == "value":
        return [found, _printed(_FOUND, wanted)]
    if wanted is not None and wanted.what == "second":
        return [found, *_torch_second_order(writer, wanted)]
    printed = [_printed(f"{wanted.tensor}.grad", wanted)] if wanted is not None else []
    swept = [f"torch.autograd.backward({_FOUND}, {_INCOMING})"] if writer.roots else []
    return [found, *swept, *printed]


def _torch_second_order(writer: _CallWriter, wanted: ExpectedNumbers) -> list[str]:
    """Return lines that differentiate the first gradients."""
    incoming = next((name for name in wanted.probes if name not in writer.call.values), "")
    if writer.roots != 1 or not incoming:
        raise Unsupported("the second order of several results")
    variables = ", ".join([*writer.tensors, _INCOMING])
    probes = ", ".join(_array(wanted.probes[name], "torch") for name in [*writer.tensors, incoming])
    return [
        f"{_INCOMING}.requires_grad_()",
        f"first_ = torch.autograd.grad(({_FOUND} * {_INCOMING}).sum(), [{variables}], create_graph=True)",
        f"probes_ = [{probes}]",
        "sum((gradient * probe).sum() for gradient, probe in zip(first_, probes_)).backward()",
        _printed(f"{_INCOMING if wanted.tensor == incoming else wanted.tensor}.grad", wanted),
    ]


def _printed(what: str, wanted: ExpectedNumbers) -> str:
    return f"print({what})  # it should be {wanted.want.tolist()!r}"


def _expected_comment_of_all(writer: _CallWriter) -> str:
    wanted = writer.call.wanted
    if wanted is None:
        return ""
    right = _in_convention(wanted.want, writer.call.engine.code.kind)
    return f"  # that of {wanted.tensor} should be {right.tolist()!r}"


def _numpy(writer: _CallWriter, arguments: list[str]) -> list[str]:
    call = writer.call
    pair = call.engine.code.foreign
    assert isinstance(pair, NumpyPair)
    forward, backward = (one.rpartition(":")[2] for one in (call.named.call, call.named.backward))
    called = f"{_FOUND} = {forward}({', '.join(arguments)})"
    if call.wanted is not None and call.wanted.what == "value":
        return [called, _printed(_FOUND, call.wanted)]
    if not writer.roots:
        return [called]
    names = {**call.problem.sizes, **call.values}
    values = [evaluate(claim.expr, names) for claim in call.engine.binding.positional]
    given = [value.copy() if isinstance(value, np.ndarray) else value for value in values]
    try:
        backward_arguments = pair.backward_arguments_text(given, arguments, (_INCOMING, _FOUND))
    except GradcheckError:
        raise
    except USER_EXCEPTIONS:  # its forward raises, which the call shows
        return [called]
    return [called, f"print({backward}({', '.join(backward_arguments)})){_expected_comment_of_all(writer)}"]


def _in_convention(gradient: np.ndarray, kind: str) -> np.ndarray:
    """Return a gradient as the code's library would have it."""
    return np.conj(gradient) if kind in ("jax", "hips") and gradient.dtype.kind == "c" else gradient


def _jax(writer: _CallWriter, arguments: list[str]) -> list[str]:
    name, moving, wanted = writer.call.named.call.rpartition(":")[2], ", ".join(writer.tensors), writer.call.wanted
    if not writer.roots or (wanted is not None and wanted.what == "value"):
        shown = [] if wanted is None else [_printed(_FOUND, wanted)]
        return [f"{_FOUND} = {name}({', '.join(arguments)})", *shown]
    lines = [f"{_FOUND}, {_PULL} = jax.vjp(lambda {moving}: {name}({', '.join(arguments)}), {moving})"]
    given = f"type({_FOUND})({_INCOMING})" if writer.roots > 1 else _INCOMING
    return [*lines, f"print({_PULL}({given})){_expected_comment_of_all(writer)}"]


def _hips(writer: _CallWriter, arguments: list[str]) -> list[str]:
    name, moving = writer.call.named.call.rpartition(":")[2], ", ".join(writer.tensors)
    given = f"def called_({moving}):\n    return {name}({', '.join(arguments)})\n"
    made = f"{_PULL}, {_FOUND} = autograd.make_vjp(lambda tensors: called_(*tensors))(({moving},))"
    return [given, made, f"print({_PULL}({_INCOMING})){_expected_comment_of_all(writer)}"]
