"""One call of user code and its gradients, as a short Python program.

It needs no more than the code's library.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from gradcheck.autograd import dtypes
from gradcheck.engines.implementation.call_arguments import Operand, parts_of
from gradcheck.engines.implementation.code_engine import CodeEngine
from gradcheck.engines.implementation.code_loading import load_code
from gradcheck.engines.implementation.foreign_function import other_convention
from gradcheck.engines.implementation.numpy_pair import NumpyPair
from gradcheck.engines.implementation.python_references import with_python_references
from gradcheck.errors import Unsupported
from gradcheck.language.case import Implementation as Named
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Name
from gradcheck.language.problem import Problem

#: The variables for incoming gradients, for the result, and for JAX's and HIPS autograd's pull-back.
_INCOMING, _FOUND, _PULL = "incoming_", "found_", "pull_"


@dataclass(frozen=True, slots=True)
class CodeCall:
    """A call to write: its reference, engine, problem and graph values.

    `wanted` is the name of a tensor and the gradient that it should have."""

    named: Named
    engine: CodeEngine
    problem: Problem
    values: Mapping[str, np.ndarray]
    wanted: tuple[str, np.ndarray] | None = None


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
    seeds = [seed for seed in call.problem.seeds[0].values() if seed is not None]
    writer = _CallWriter(replace(call, named=known), len(seeds))
    kind = call.engine.code.kind
    arguments = [_argument(writer, claim) for claim in call.engine.binding.positional]
    arguments += [f"{key}={_argument(writer, claim)}" for key, claim in call.engine.binding.keywords.items()]
    writer.parameters = {own: _leaf(writer, name) for own, name in call.engine.binding.parameters.items()}
    incoming = [_array(_in_convention(seed, kind), kind) for seed in seeds]
    writer.lines.append(f"{_INCOMING} = {incoming[0] if len(incoming) == 1 else '[' + ', '.join(incoming) + ']'}")
    body = {"numpy": _numpy, "jax": _jax, "hips": _hips}.get(kind, _torch)(writer, arguments)
    text = "\n".join([*_imports(known, kind, sources), *sources, *writer.lines, *body]) + "\n"
    return text if "np." in text else text.replace("import numpy as np\n", "", 1)


def _imports(known: Named, kind: str, sources: list[str]) -> list[str]:
    libraries: dict[str, list[str]] = {"numpy": [], "jax": ["import jax"], "hips": ["import autograd"]}
    found = ["import numpy as np", *libraries.get(kind, ["import torch"])]
    found += ['jax.config.update("jax_enable_x64", True)'] if kind == "jax" else []
    for reference in (known.call, *filter(None, [known.backward])):
        where, _, name = reference.rpartition(":")
        if not where and sources:
            continue
        folder, module = os.path.split(where.removesuffix(".py")) if where.endswith(".py") else ("", where)
        if not all(part.isidentifier() for part in module.split(".")) or module in sys.stdlib_module_names or not name:
            raise Unsupported("only what can be imported is written")
        if folder and not any(repr(os.path.abspath(folder)) in line for line in found):
            found += ["import sys", f"sys.path.insert(0, {os.path.abspath(folder)!r})"]
        found.append(f"from {module} import {name.partition('.')[0]}")
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
    dtype = array.dtype.name
    numbers = repr(array.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
    if kind in ("numpy", "jax", "hips"):
        made = f"np.array({numbers}, dtype={dtype!r})"
        return f"jax.numpy.asarray({made})" if kind == "jax" else made
    return f"torch.tensor({numbers}, dtype=torch.{dtype})"


def _torch(writer: _CallWriter, arguments: list[str]) -> list[str]:
    code, name = writer.call.engine.code, writer.call.named.call.rpartition(":")[2]
    if writer.call.engine.observations.has_nested_results:
        raise Unsupported("nested results are not written")
    called = f"{name}({', '.join(arguments)})"
    if code.kind == "function" and not name.endswith("apply"):
        called = f"{name}.apply({', '.join(arguments)})"
    if code.kind == "module":
        name = f"{name}()" if isinstance(load_code(writer.call.named)[0], type) else name
        given = ", ".join(f"{own!r}: {tensor}" for own, tensor in writer.parameters.items())
        called = f"torch.func.functional_call({name}, {{{given}}}, ({''.join(a + ', ' for a in arguments)}))"
    printed = [f"print({tensor}.grad){_expected_comment(writer, tensor)}" for tensor in _printed_tensors(writer)]
    called = f"{_FOUND} = {called}"
    if autocast := writer.call.engine.binding.autocast:
        called = f'with torch.autocast("cpu", dtype=torch.{autocast}):\n    {called}'
    return [called, f"torch.autograd.backward({_FOUND}, {_INCOMING})", *printed]


def _printed_tensors(writer: _CallWriter) -> list[str]:
    wanted = writer.call.wanted
    return [wanted[0]] if wanted is not None and wanted[0] in writer.tensors else writer.tensors


def _expected_comment(writer: _CallWriter, tensor: str) -> str:
    wanted = writer.call.wanted
    return f"  # it should be {wanted[1].tolist()!r}" if wanted is not None and wanted[0] == tensor else ""


def _numpy(writer: _CallWriter, arguments: list[str]) -> list[str]:
    call = writer.call
    pair = call.engine.code.foreign
    assert isinstance(pair, NumpyPair)
    forward, backward = (one.rpartition(":")[2] for one in (call.named.call, call.named.backward))
    names = {**call.problem.sizes, **call.values}
    values = [evaluate(claim.expr, names) for claim in call.engine.binding.positional]
    given = [value.copy() if isinstance(value, np.ndarray) else value for value in values]
    backward_arguments = pair.backward_arguments_text(given, arguments, (_INCOMING, _FOUND))
    called = f"{_FOUND} = {forward}({', '.join(arguments)})"
    return [called, f"print({backward}({', '.join(backward_arguments)})){_expected_comment_of_all(writer)}"]


def _expected_comment_of_all(writer: _CallWriter) -> str:
    wanted = writer.call.wanted
    if wanted is None:
        return ""
    return f"  # that of {wanted[0]} should be {_in_convention(wanted[1], writer.call.engine.code.kind).tolist()!r}"


def _in_convention(gradient: np.ndarray, kind: str) -> np.ndarray:
    """Return a gradient as the code's library would have it."""
    return other_convention(gradient) if kind in ("jax", "hips") else gradient


def _jax(writer: _CallWriter, arguments: list[str]) -> list[str]:
    name, moving = writer.call.named.call.rpartition(":")[2], ", ".join(writer.tensors)
    lines = [f"{_FOUND}, {_PULL} = jax.vjp(lambda {moving}: {name}({', '.join(arguments)}), {moving})"]
    given = f"type({_FOUND})({_INCOMING})" if writer.roots > 1 else _INCOMING
    return [*lines, f"print({_PULL}({given})){_expected_comment_of_all(writer)}"]


def _hips(writer: _CallWriter, arguments: list[str]) -> list[str]:
    name, moving = writer.call.named.call.rpartition(":")[2], ", ".join(writer.tensors)
    given = f"def called_({moving}):\n    return {name}({', '.join(arguments)})\n"
    made = f"{_PULL}, {_FOUND} = autograd.make_vjp(lambda tensors: called_(*tensors))(({moving},))"
    return [given, made, f"print({_PULL}({_INCOMING})){_expected_comment_of_all(writer)}"]
