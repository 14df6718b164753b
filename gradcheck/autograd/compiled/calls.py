"""Calls of ops on tensors, by functions compiled for frequent arguments.

A loop that applies an op to arrays of the same shapes pays mostly for dispatch: binding arguments, finding a handler,
promoting dtypes, calling the ops of a rule. A compiled function has all that fixed. It computes what `Op.general` and
`pull_arrays` compute, to the last bit for arrays that lie row by row (the layout of others may change the order of
sums). Unknown arguments and errors go to the general path.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from types import EllipsisType, NoneType
from typing import Any

import numpy as np

from gradcheck.autograd.compiled.compiled_node import DTYPES, ArrayForm, CompiledNode, form_of
from gradcheck.autograd.compiled.generated_code import applied, composed, linked, nodes_in, places_of
from gradcheck.autograd.compiled.plans import Plans
from gradcheck.autograd.compiled.tracing import constant
from gradcheck.autograd.modes import default_dtype, quiet
from gradcheck.autograd.op import Op

#: By the names of ops, Python's operators. They are compiled at their first call: the forward is one ufunc.
BINARY = {"add": "__add__", "sub": "__sub__", "mul": "__mul__", "div": "__truediv__"}
#: Their rules are compiled after so many pulls, when such operands are likely to recur.
_PULLS = 16
#: After so many calls of one kind, compiling is worth its time.
WORTH_IT = 16
#: An op with more kinds of calls is in no loop; its counts and functions are dropped.
MOST_KINDS = 1000
#: Only elementwise ops are compiled for larger arrays: others may hold masks and indices of that size.
MOST_ELEMENTS = 1 << 14
#: An op on more tensors takes longer to compile than a compiled function can save.
MOST_TENSORS = 32
_FLOAT64 = np.dtype(np.float64)
_PLAIN = frozenset((int, bool, str, NoneType, EllipsisType))

#: A function of an op's tensors that gives the op's result.
Apply = Callable[..., Any]


class FastCalls:
    """Calls of ops on tensors of exactly one class.

    A cache that lives as long as the process: `functions` has compiled functions by the op and the kinds of its
    arguments. They depend on these alone, so the cache changes no result, unless a test changes the table (`forget`).
    """

    def __init__(self, kind: type[CompiledNode]) -> None:
        self.kind = kind
        self.functions: defaultdict[Op, dict[Any, Apply]] = defaultdict(dict)
        self._counts: defaultdict[Op, dict[Any, int]] = defaultdict(dict)

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return `op(*args, **kwargs)`, by a compiled function if possible."""
        first = args[0] if args and not kwargs else None
        tensors: Any = args
        if type(first) is self.kind and len(args) == 1:
            key: Any = first.form or first.find_form()
        elif type(first) is self.kind and len(args) == 2 and type(args[1]) in _PLAIN:
            key, tensors = (first.form or first.find_form(), type(args[1]), args[1]), args[:1]
        else:
            parts: list[Any] = [*kwargs]
            tensors = []
            known, count = self._describe(args, parts, tensors), len(tensors)
            if kwargs:
                known = known and self._describe(kwargs.values(), parts, tensors) and len(tensors) == count
            if not known:
                return op.general(args, kwargs)
            key = tuple(parts)
        function = self.functions[op].get(key)
        if function is None:
            function = self._learn(op, args, kwargs, key)
        if function is not None and default_dtype() is _FLOAT64:
            try:
                return function(*tensors)
            except Exception:  # the general path raises it in words
                pass
        return op.general(args, kwargs)

    def _describe(self, args: Iterable[Any], parts: list[Any], tensors: list[Any]) -> bool:
        """Add the kinds and tensors of arguments; return whether all are known."""
        for arg in args:
            given = type(arg)
            if given is self.kind:
                parts.append(arg.form or arg.find_form())
                tensors.append(arg)
            elif given in _PLAIN:
                parts += (given, arg)
            elif given is float and arg == arg:
                parts += (given, arg or str(arg))  # 0.0 equals -0.0
            elif given is tuple or given is list:
                parts += (given, len(arg))
                if not self._describe(arg, parts, tensors):
                    return False
            elif given is slice and _PLAIN.issuperset(map(type, (arg.start, arg.stop, arg.step))):
                parts += (given, arg.start, arg.stop, arg.step)
            elif isinstance(arg, np.dtype):
                parts += (np.dtype, arg.char)
            else:
                return False
        return True

    def _learn(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], kinds: tuple[Any, ...]) -> Apply | None:
        """Compile a binary operator at once, another call after many like it."""
        functions, counts = self.functions[op], self._counts[op]
        if len(counts) > MOST_KINDS:
            counts.clear()
            functions.clear()
        counts[kinds] = counts.get(kinds, 0) + 1
        function = binary(self.kind, op, args) if op.name in BINARY and counts[kinds] == 1 and not kwargs else None
        if function is None and counts[kinds] == WORTH_IT:
            function = self.compiled(op, op.bind(args, kwargs))
        if function is not None:
            functions[kinds] = function
        return function

    def compiled(self, op: Op, bound: tuple[Any, ...]) -> Apply | None:
        """Return a function of the op's tensors, in order; None if there is none."""
        if any(parameter.name == "generator" for parameter in op.parameters):
            return None
        places, leaves = places_of(op, bound), nodes_in(bound)
        if len(leaves) > MOST_TENSORS or (
            len(places) < len(leaves) and not op.composite
        ):  # in an index, it is no creator
            return None
        arrays = [leaf.data for leaf in leaves]
        if not leaves or any(type(array) is not np.ndarray or array.dtype not in DTYPES for array in arrays):
            return None
        if not op.elementwise and sum(array.size for array in arrays) > MOST_ELEMENTS:
            return None
        try:
            with quiet():
                if op.composite:
                    return composed(self.kind, op, bound, self.compiled)
                return applied(self.kind, op, bound, Plans(op, bound))
        except Exception:  # the general path raises it in words
            return None


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
