"""Find which oracles can check an op, by differentiating its samples.

An oracle serves a composite op if it serves each op that the samples record.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import gradcheck.oracles.exact.prove  # noqa: F401 (it fills the table of actions)
from gradcheck.autograd import dtypes
from gradcheck.autograd.backward import grad
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.autograd.node import walk
from gradcheck.autograd.op import Op
from gradcheck.autograd.tensor import Tensor
from gradcheck.errors import GradcheckError
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse
from gradcheck.language.random_streams import RANDOM_OPS, RandomHost, random_direction, stream
from gradcheck.oracles.exact.dual_numbers import EXACT_RULES

#: The dtypes that are tried, by their torch names.
DTYPES = ("float64", "float32", "float16", "bfloat16", "complex128", "complex64")
#: Errors of an op's arguments, and of its forward in an unsupported dtype.
_RAISED_ERRORS = (GradcheckError, ValueError, TypeError, ArithmeticError, LookupError, NotImplementedError)


@dataclass(frozen=True, slots=True)
class OpOracles:
    """The oracles of an op, and the dtypes in which it has gradients."""

    parts: tuple[Op, ...] = ()  # ops with their own rules that its samples use
    dtypes: tuple[str, ...] = ()
    second_order: bool = False

    @property
    def has_exact(self) -> bool:
        """True if the exact oracle supports each part."""
        return bool(self.parts) and all(part.name in EXACT_RULES for part in self.parts)

    @property
    def uses_complex_step(self) -> bool:
        """True if each part is analytic; others use differences."""
        return bool(self.parts) and all(part.analytic for part in self.parts)

    @property
    def names(self) -> tuple[str, ...]:
        """The oracles' names, as in `complex step`."""
        if not self.parts:
            return ()
        numeric = "complex step" if self.uses_complex_step else "differences"
        twice = ("forward", "order 2") if self.second_order else ()
        return (*(("exact",) if self.has_exact else ()), numeric, *twice)


def op_oracles(op: Op) -> OpOracles:
    """Return the oracles of an op in double precision, and its dtypes."""
    if op.name in RANDOM_OPS:
        return OpOracles()
    if any(op.rules) and not calls_of(op):  # part of other ops, without a sample of its own
        return OpOracles((op,), second_order=True)
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy about dtypes that an op may reject
        tensors = walk(list(_differentiable_results(op, "float64", _has_gradient)))
        parts = dict.fromkeys(tensor.creation_op for tensor in tensors if tensor.creation_op is not None)
        return OpOracles(
            tuple(parts),
            tuple(
                dtype
                for dtype in DTYPES
                if parts and any(True for _ in _differentiable_results(op, dtype, _has_gradient))
            ),
            bool(parts) and any(True for _ in _differentiable_results(op, "float64", _has_second_gradient)),
        )


def calls_of(op: Op) -> tuple[str, ...]:
    """Return an op's samples; for elementwise ops, a call in its domain too."""
    if not (op.elementwise and op.domain):
        return op.samples
    count = sum(p.required for p in op.parameters)
    bounds = [op.domain[min(i, len(op.domain) - 1)] for i in range(count)]
    return (f"{op.name}({', '.join(f'uniform({low}, {high}, [2, 3])' for low, high in bounds)})", *op.samples)


class _LeafDrawing(RandomHost):
    """A host on which creators return leaves that require a gradient."""

    def __init__(self, name: str, dtype: np.dtype) -> None:
        super().__init__(stream(0, name), dtype)
        self.leaves: list[Tensor] = []

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if op.name == "complex" and self.drawn_dtype.kind == "c":  # of two parts, which are complex numbers here
            return args[0]
        made = super().call(op, args, kwargs)
        if isinstance(made, np.ndarray) and made.dtype == self.drawn_dtype and not _has_tensor(args):
            made = Tensor(made, requires_grad=True)
            self.leaves.append(made)
        return made


def _has_tensor(args: tuple[Any, ...]) -> bool:
    return any(isinstance(arg, Tensor) or (isinstance(arg, (list, tuple)) and _has_tensor(tuple(arg))) for arg in args)


def _differentiable_results(op: Op, dtype: str, is_right: Callable[[Tensor, list[Tensor]], bool]) -> Iterator[Tensor]:
    chosen = dtypes.BY_NAME[dtype]
    for text in calls_of(op):
        host = _LeafDrawing(text, chosen)
        try:
            with using_default_dtype(dtypes.real_of(chosen)):
                made = evaluate(parse(text), {}, host)
                for root in made if isinstance(made, (tuple, list)) else (made,):
                    if isinstance(root, Tensor) and root.requires_grad and is_right(root, host.leaves):
                        yield root
        except _RAISED_ERRORS:
            continue


def _has_gradient(root: Tensor, leaves: list[Tensor]) -> bool:
    found = grad([root], leaves, [Tensor(random_direction(root.data, stream(0, "cotangent")))], retain_graph=True)
    return any(g is not None for g in found)


def _has_second_gradient(root: Tensor, leaves: list[Tensor]) -> bool:
    seed = Tensor(random_direction(root.data, stream(0, "cotangent")), requires_grad=True)
    first = [g for g in grad([root], leaves, [seed], create_graph=True, retain_graph=True) if g is not None]
    if not all(isinstance(g, Tensor) for g in first):  # the rule is not written in ops
        return False
    alive = [g for g in first if g.requires_grad]
    grad(alive, [*leaves, seed], [Tensor(random_direction(g.data, stream(0, "again"))) for g in alive])
    return True
