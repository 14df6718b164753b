"""A small case as a few lines of Python that need a Tensor class and NumPy alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.autograd.op import Op
from gradcheck.checks.result import Comparison
from gradcheck.engines.tensor_class.engine import Duck
from gradcheck.engines.tensor_class.wrapper import Held
from gradcheck.errors import GradcheckError, Unsupported
from gradcheck.language.case import Case
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.printer import INFIX, PREFIX
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw

#: NumPy's words for torch's.
_NUMPY_WORDS = {"axis": "dim", "keepdims": "keepdim"}
#: A call by a form's label: `.sum(…, keepdim=…)` is a method, `softmax(…)` a function.
_CALL = re.compile(r"(?P<dot>\.?)(?P<name>\w+)\((?P<inside>.*)\)")


def snippet(case: Case, engine: Duck, lead: Comparison | None) -> str:
    """The case in the class's own words; empty where it takes more than constructors, calls and one backward pass."""
    try:
        with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[case.dtype])), np.errstate(all="ignore"):
            return _Writer(draw(case), engine).lines(lead)
    except (GradcheckError, KeyError):
        return ""


class Written:
    """A tensor of the engine, and how it is written; `tight` where it needs no brackets."""

    __slots__ = ("held", "text", "tight")

    def __init__(self, held: Held, text: str, tight: bool = True) -> None:
        self.held, self.text, self.tight = held, text, tight

    @property
    def dtype(self) -> np.dtype:
        return self.held.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.held.shape

    @property
    def ndim(self) -> int:
        return self.held.ndim

    @property
    def operand(self) -> str:
        return self.text if self.tight else f"({self.text})"


class _Writer:
    """Writes one problem; also the host on which its expressions are evaluated and written at once."""

    def __init__(self, problem: Problem, engine: Duck) -> None:
        self.problem, self.engine, self.style = problem, engine, engine.style
        self.module, _, self.kind = engine.name.rpartition(".")
        self.functions: dict[str, None] = {}
        if not self.module or any(step.action != "backward" for step in problem.case.steps):
            raise Unsupported("only a class in a module, and backward passes, are written")

    def lines(self, lead: Comparison | None) -> str:
        """Imports, tensors, the graph, the pass, and what is then wrong."""
        case = self.problem.case
        names: dict[str, Any] = dict(self.problem.sizes)
        body = []
        with self.engine.output.capturing():
            for leaves, wanted in ((self.problem.inputs, True), (self.problem.constants, False)):
                for name, array in leaves.items():
                    names[name] = Written(self.engine.leaf(array, wanted), name)
                    body.append(f"{name} = {self._tensor(array, wanted)}")
            for name, claim in case.graph.items():
                value = evaluate(claim.expr, names, self)
                if not isinstance(value, Written):
                    raise Unsupported("only tensors are written")
                body.append(f"{name} = {value.text}")
                names[name] = Written(value.held, name)
        for step, seeds in zip(case.steps, self.problem.seeds, strict=True):
            body += [f"{root}.{self.style._backward}({self._seed(names[root], seeds[root])})" for root in step.roots]
        imported = ", ".join([self.kind, *self.functions])
        return (
            "\n".join(["import numpy as np", f"from {self.module} import {imported}", *body, *self._told(lead)]) + "\n"
        )

    def _told(self, lead: Comparison | None) -> list[str]:
        if lead is None or lead.what != "gradient" or lead.want_array is None or not self.style._gradient:
            return []
        return [f"print({lead.tensor}.{self.style._gradient})  # it should be {_literal(lead.want_array)}"]

    def _tensor(self, array: np.ndarray, requires_grad: bool) -> str:
        if self.style.scalar and array.ndim:
            raise Unsupported("a class of single numbers")
        style = self.style
        flag = f", {style.flag}={requires_grad is not style.flag_is_opposite}" if style.flag and requires_grad else ""
        return f"{self.kind}({_literal(array) if style.scalar else _array(array)}{flag})"

    def _seed(self, root: Written, seed: np.ndarray | None) -> str:
        if seed is None or (self.engine.abilities.seed == "none" and seed.size == 1 and np.all(seed == 1)):
            return ""
        if self.engine.abilities.seed == "none":
            raise Unsupported("a backward pass that takes no gradient")
        return self._tensor(seed, False) if self.engine.abilities.seed == "tensor" else _array(seed)

    # A host ---------------------------------------------------------------------------------------

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The op on the engine, and how it is written there."""
        bound = op.bind(args, kwargs)
        if any(isinstance(item, Written) for value in bound if isinstance(value, (list, tuple)) for item in value):
            raise Unsupported("lists of tensors")
        form = self.engine._speaker.form(op, [_held(value) for value in bound])
        result = self.engine.host.call(
            op, tuple(map(_held, args)), {name: _held(value) for name, value in kwargs.items()}
        )
        text, tight = self._spelled(op, form.label, bound)
        return Written(result, text, tight)

    def dtype(self, name: str) -> Any:
        """Dtypes are not written."""
        raise Unsupported(f"the dtype {name}")

    def _spelled(self, op: Op, label: str, bound: Sequence[Any]) -> tuple[str, bool]:
        if label.startswith("operator "):
            return _operator(op, bound)
        call = _CALL.fullmatch(label)
        if call is None:
            raise Unsupported(f"the form {label}")
        words = [part.partition("=")[0] for part in call["inside"].split(", ") if "=" in part]
        given = _positional(op, bound, words) if "…" in call["inside"].split(", ") else list(bound[:1])
        if call["dot"] and not callable(getattr(self.style.tensor_type, call["name"], None)):
            return f"{_operand(given[0])}.{call['name']}", True
        inside = [_text(value) for value in (given[1:] if call["dot"] else given)]
        inside += [f"{word}={_text(bound[_index(op, word)])}" for word in words]
        if call["dot"]:
            return f"{_operand(given[0])}.{call['name']}({', '.join(inside)})", True
        self.functions[call["name"]] = None
        return f"{call['name']}({', '.join(inside)})", True


def _operator(op: Op, bound: Sequence[Any]) -> tuple[str, bool]:
    if op.name in INFIX:
        return f"{_operand(bound[0])} {INFIX[op.name][0]} {_operand(bound[1])}", False
    if op.name in PREFIX:
        return f"{PREFIX[op.name]}{_operand(bound[0])}", False
    if op.name == "getitem":
        raise Unsupported("indices")
    return f"{op.name}({_text(bound[0])})", True


def _positional(op: Op, bound: Sequence[Any], words: list[str]) -> list[Any]:
    """All arguments up to the last that says something, but for those given by keyword."""
    keyword = {_index(op, word) for word in words}
    last = max(
        (i for i, (p, value) in enumerate(zip(op.parameters, bound, strict=True))
         if i not in keyword and (p.required or value is not p.default)), default=0,
    )  # fmt: skip
    return list(bound[: last + 1])


def _index(op: Op, word: str) -> int:
    names = [parameter.name for parameter in op.parameters]
    return names.index(word if word in names else _NUMPY_WORDS[word])


def _held(value: Any) -> Any:
    return value.held if isinstance(value, Written) else value


def _operand(value: Any) -> str:
    return value.operand if isinstance(value, Written) else _text(value)


def _text(value: Any) -> str:
    if isinstance(value, Written):
        return value.text
    if value is None or isinstance(value, (bool, int, float, str, tuple)):
        return repr(value)
    raise Unsupported(f"a {type(value).__name__} as an argument")


def _array(array: np.ndarray) -> str:
    dtype = "" if array.dtype == np.float64 else f", dtype=np.{array.dtype.name}"
    return f"np.array({_literal(array)}{dtype})"


def _literal(array: np.ndarray) -> str:
    return repr(array.tolist())
