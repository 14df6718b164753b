"""A problem as a short Python program of its Tensor class and NumPy."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gradcheck.autograd.node import array_attributes
from gradcheck.autograd.op import Op
from gradcheck.engines.recording import convert
from gradcheck.engines.tensor_class.call_forms import CallForm
from gradcheck.engines.tensor_class.engine import TensorClassEngine
from gradcheck.engines.tensor_class.wrapped_tensor import WrappedTensor
from gradcheck.engines.user_modules import import_folder, import_name
from gradcheck.errors import Unsupported
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.printer import INFIX, PREFIX
from gradcheck.language.problem import Problem


def problem_source(engine: TensorClassEngine, problem: Problem, wanted: tuple[str, np.ndarray] | None = None) -> str:
    """Return imports, tensors, the graph and passes as Python.

    The name of a tensor and the gradient `wanted` of it add a line that prints the actual one. Raises Unsupported if
    more is needed than constructors, calls and passes, and any error of the graph."""
    writer = _ProblemWriter(engine)
    with engine.output.capturing():
        body = writer.lines_of(problem)
    name = engine.api.gradient_name
    if wanted is not None and name:
        body.append(f"print({wanted[0]}.{name})  # it should be {_literal(wanted[1])}")
    imports = [f"from {module} import {', '.join(names)}" for module, names in writer.imports.items()]
    return "\n".join([*writer.where, "import numpy as np", *imports, *body]) + "\n"


@array_attributes("tensor")
@dataclass(frozen=True)
class WrittenTensor:
    """A tensor of the engine, with its expression."""

    tensor: WrappedTensor
    text: str
    needs_no_brackets: bool = True


class _ProblemWriter:
    """The host that evaluates and writes a problem's expressions."""

    def __init__(self, engine: TensorClassEngine) -> None:
        self.engine, self.api = engine, engine.api
        self.module, _, self.constructor = engine.name.rpartition(".")
        self.where: list[str] = []  # a comment with the folder in which it runs, unless that is this one
        if engine.api.module is not None:
            self.module, folder = import_name(engine.api.module), import_folder(engine.api.module)
            if folder not in (None, Path.cwd()):
                self.where = [f"# in the folder {os.path.relpath(folder)}"]
            leaves = self.api.constructor
            if isinstance(leaves, type) and getattr(engine.api.module, self.constructor, leaves) is not leaves:
                self.module, self.constructor = import_name(sys.modules[leaves.__module__]), leaves.__name__
        if not "".join(self.where).isprintable():
            raise Unsupported("a comment has one line")
        if not all(part.isidentifier() for part in (*self.module.split("."), self.constructor)):
            raise Unsupported("only a class in a module is written")
        self.imports: dict[str, list[str]] = {self.module: [self.constructor]}

    def lines_of(self, problem: Problem) -> list[str]:
        """Return a line for each tensor, graph entry and root of a pass."""
        case = problem.case
        if self.api.pass_runner is not None:
            raise Unsupported("a backward pass that is no method")
        if any(step.action != "backward" for step in case.steps):
            raise Unsupported("only backward passes are written")
        names: dict[str, Any] = dict(problem.sizes)
        lines = []
        for leaves, requires_grad in ((problem.inputs, True), (problem.constants, False)):
            for name, array in leaves.items():
                names[name] = WrittenTensor(self.engine.leaf(array, requires_grad), name)
                lines.append(f"{name} = {self._tensor(array, requires_grad)}")
        for name, claim in case.graph.items():
            value = evaluate(claim.expr, names, self)
            if not isinstance(value, WrittenTensor):
                raise Unsupported("only tensors are written")
            lines.append(f"{name} = {value.text}")
            names[name] = WrittenTensor(value.tensor, name)
        for step, seeds in zip(case.steps, problem.seeds, strict=True):
            lines += [f"{root}.{self.api.backward_name}({self._seed(seeds[root])})" for root in step.roots]
        return lines

    def _tensor(self, array: np.ndarray, requires_grad: bool) -> str:
        is_wrapped = hasattr(self.api.constructor, "__wrapped__")  # it takes a name, or an array of another library
        if self.api.data_name or is_wrapped or (self.api.is_scalar and array.ndim):
            raise Unsupported("a class of single numbers, or of more than numbers")
        data = _literal(array) if self.api.is_scalar else _array(array)
        flag = f", {self.api.grad_flag}={self.api.grad_flag_value}" if self.api.grad_flag and requires_grad else ""
        return f"{self.constructor}({data}{flag})"

    def _seed(self, seed: np.ndarray | None) -> str:
        taken = self.engine.capabilities.seed
        if seed is None or (taken == "none" and seed.size == 1 and np.all(seed == 1)):
            return ""
        if taken == "none":
            raise Unsupported("a backward pass that takes no gradient")
        return self._tensor(seed, False) if taken == "tensor" else _array(seed)

    # A host ---------------------------------------------------------------------------------------

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> WrittenTensor:
        """Apply the op on the engine, and write it."""
        bound = op.bind(args, kwargs)
        if any(
            isinstance(item, WrittenTensor) for value in bound if isinstance(value, (list, tuple)) for item in value
        ):
            raise Unsupported("lists of tensors")
        tensors = tuple(convert(value, WrittenTensor, lambda written: written.tensor) for value in bound)
        form = self.engine.calls.lookup.form(op, tensors)
        result = self.engine.apply(op, tensors)
        if form.kind == "operator":
            return WrittenTensor(result, *_operator(op, bound))
        if form.kind == "object":
            raise Unsupported("an op that is an object")
        return WrittenTensor(result, self._call(form, *form.given(bound, np.shape(result.array))))

    def dtype(self, name: str) -> Any:
        """Raise Unsupported: dtypes are not written."""
        raise Unsupported(f"the dtype {name}")

    def _call(self, form: CallForm, given: Sequence[Any], keywords: dict[str, Any]) -> str:
        texts = [*map(_text, given[1:]), *(f"{word}={_text(value)}" for word, value in keywords.items())]
        if form.kind == "function":
            self._import(form.name)
            return f"{form.name}({', '.join([_text(given[0]), *texts])})"
        method = f"{_operand(given[0])}.{form.name}"
        is_property = not callable(getattr(self.api.tensor_type, form.name, None))
        return method if is_property else f"{method}({', '.join(texts)})"

    def _import(self, function: str) -> None:
        """Import a function from its module.

        A function of the engine's own module is imported from the module that the user named."""
        home = sys.modules.get(self.api.constructor.__module__)
        owner = self.engine.library.home(function)
        if isinstance(owner, type):
            raise Unsupported("a function of the class")
        names = self.imports.setdefault(self.module if owner is home else import_name(owner), [])
        if function not in names:
            names.append(function)


def _operator(op: Op, bound: Sequence[Any]) -> tuple[str, bool]:
    if op.name in INFIX:
        return f"{_operand(bound[0])} {INFIX[op.name][0]} {_operand(bound[1])}", False
    if op.name in PREFIX:
        return f"{PREFIX[op.name]}{_operand(bound[0])}", False
    if op.name == "getitem":
        raise Unsupported("indices")
    return f"{op.name}({_text(bound[0])})", True


def _operand(value: Any) -> str:
    text = _text(value)
    return f"({text})" if isinstance(value, WrittenTensor) and not value.needs_no_brackets else text


def _text(value: Any) -> str:
    if isinstance(value, WrittenTensor):
        return value.text
    if value is None or isinstance(value, (bool, int, float, str, tuple)):
        return repr(value)
    raise Unsupported(f"a {type(value).__name__} as an argument")


def _array(array: np.ndarray) -> str:
    dtype = "" if array.dtype == np.float64 else f", dtype=np.{array.dtype.name}"
    return f"np.array({_literal(array)}{dtype})"


def _literal(array: np.ndarray) -> str:
    return repr(array.tolist())
