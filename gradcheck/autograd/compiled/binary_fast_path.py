"""The fast path of `+ - * /` on two operands of one dtype.

These are compiled at their first call, since there is nothing to trace: the forward is one ufunc.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.autograd.compiled.compiled_node import ArrayForm, CompiledNode, form_of
from gradcheck.autograd.compiled.generated_code import linked
from gradcheck.autograd.compiled.plans import Plans
from gradcheck.autograd.compiled.tracing import constant
from gradcheck.autograd.op import Op

#: By the names of ops, Python's operator methods.
BINARY = {"add": "__add__", "sub": "__sub__", "mul": "__mul__", "div": "__truediv__"}
#: The rules are compiled after so many pulls, when such operands are likely to recur.
_PULLS = 16


def binary(kind: type[CompiledNode], op: Op, args: tuple[Any, ...]) -> Callable[..., Any] | None:
    """Return a function for a binary op on a tensor and such an operand."""
    if len(args) != 2 or type(args[0]) is not kind:
        return None
    a, b = args
    left: ArrayForm = a.form or a.find_form()
    if left.dtype is None or left.dtype.kind != "f":
        return None
    try:
        if type(b) is kind:
            right: ArrayForm = b.form or b.find_form()
            if right.dtype is not left.dtype:
                return None
            shape, operands = np.broadcast_shapes(left.shape, right.shape), []
        elif type(b) is int or type(b) is float:
            shape, operands = left.shape, [constant(b, left.dtype)]
        else:
            return None
    except (ValueError, OverflowError):
        return None
    bound, form = op.bind(args, {}), form_of(np.broadcast_to(np.empty((), left.dtype), shape))
    return linked(kind, op, (bound, Plans(op, bound, _PULLS)), op.ufunc, form, operands)  # type: ignore[arg-type]


def operator(kind: type[CompiledNode], op: Op, functions: dict[Any, Callable[..., Any]]) -> Callable[[Any, Any], Any]:
    """Return Python's operator for a binary op, by compiled functions."""
    latest: Any = (None, None, None)  # a loop mostly repeats the same call

    def operate(a: Any, b: Any) -> Any:
        nonlocal latest
        other = type(b)
        if type(a) is not kind or not (other is kind or other is float or other is int):
            return op(a, b)
        left, right = a.form, b.form if other is kind else b
        one, two, function = latest
        if one is not left or two is not right or function is None:
            function = functions.get((left, right) if other is kind else (left, other, b or str(b)))  # 0.0 equals -0.0
            if function is None:
                return op(a, b)
            latest = left, right, function
        try:
            return function(a, b) if other is kind else function(a)
        except Exception:  # the general path raises it in words
            return op.general((a, b), {})

    return operate
