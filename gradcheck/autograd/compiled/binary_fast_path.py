"""The short way for pairs: two operands of one plain dtype, as in `h * 0.5 + x`, which long graphs are made of.

The definition is the general way: `Op.__call__` forward, `pull_arrays` backward. What is here gives the same results
with less asking, from the first call on, and leaves to the general way whatever it does not know, errors included. All
other ops go by `plans` once they are called often.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd.compiled import plans
from gradcheck.autograd.compiled.buffer_release import LARGE, let_go
from gradcheck.autograd.compiled.constants import constant
from gradcheck.autograd.compiled.plans import Plan
from gradcheck.autograd.compiled.released_value import Gone
from gradcheck.autograd.compiled.straight_line_code import spreading
from gradcheck.autograd.modes import is_recording, silently
from gradcheck.autograd.node import Form, Node, form_of
from gradcheck.autograd.op import TABLE, Op
from gradcheck.autograd.pullback import fit, pull_arrays

#: The dtypes whose arithmetic needs no thought.
_PLAIN = (np.dtype(np.float64), np.dtype(np.float32))
#: So many pairs are known, for each op.
_MOST = 3000
_ARRAY, _new = np.ndarray, object.__new__


class PairPlan(Plan):
    """The plan of pairs: what the rules give at once, before it is known whether this is asked often."""

    __slots__ = ("_numbers", "op")

    def __init__(self, op: Op, number: Any, array: np.ndarray | None, wanted: int | None) -> None:
        """Of two tensors; or of a tensor and a number, which is this array, too."""
        places: list[tuple[int, int | None]] = [(0, None), (1, None)]
        super().__init__((None, number), places if array is None else places[:1], wanted)
        self.op, self._numbers = op, () if array is None else (array,)

    def general(self, node: Node, gradient: np.ndarray) -> Any:
        try:
            return self._shares(node, gradient)
        except Gone:
            return super().general(node, gradient)

    def _shares(self, node: Node, gradient: np.ndarray) -> Any:
        tensors = self.tensors(node)
        operands = (*[tensor.array for tensor in tensors], *self._numbers)
        if self.wanted is not None:
            return self.share(node, gradient, self.wanted, operands)
        found = enumerate(tensors)
        return [(tensor, self.share(node, gradient, i, operands)) for i, tensor in found if tensor.requires_grad]

    def share(self, node: Node, gradient: np.ndarray, place: int, operands: tuple[np.ndarray, ...]) -> np.ndarray:
        """What the tensor at a place receives."""
        share: np.ndarray = self.op.rules[place](gradient, node.array, *operands)  # type: ignore[misc]
        operand = operands[place]
        return share if share.shape == operand.shape else fit(self.op, share, operand)

    def worth_it(self) -> int:
        return plans.WORTH_IT


class _Pair:
    """What an op comes to for two forms, or a form and a number.

    one, other  these
    form        of the result
    constant    the number as an array; None for two tensors
    arrays      what gives both arrays where there is more to do: those of the result's shape, where that is quicker, or
                of a large result, before which others are let go; or None
    """

    __slots__ = ("arrays", "both", "constant", "form", "left", "one", "other", "right")

    def __init__(self, op: Op, operands: tuple[Form, Any], form: Form, array: np.ndarray | None = None) -> None:
        self.one, self.other = operands
        self.form, self.constant = form, array
        self.arrays: Callable[[Node, Any, np.ndarray], Any] | None = None
        if prod(form.shape) >= LARGE:
            self.arrays = _after_letting_go
        number = None if array is None else self.other
        self.left, self.right, self.both = (PairPlan(op, number, array, wanted) for wanted in (0, 1, None))


#: What no operands are.
_NO_PAIR = _Pair(TABLE["add"], (Form(), Form()), Form())


def _pair(op: Op, a: Node, b: Any) -> _Pair | None:
    """What is known of these operands; None where the general way has more to do, or a mistake to tell."""
    left = a.formed()
    if left.dtype is None or left.dtype not in _PLAIN:
        return None
    try:
        if type(b) is int or type(b) is float:
            return _Pair(op, (left, b), left, constant(b, left.dtype))
        right = b.formed()
        if right.dtype is not left.dtype:
            return None
        shape = np.broadcast_shapes(left.shape, right.shape)
    except (ValueError, OverflowError):
        return None
    pair = _Pair(op, (left, right), form_of(np.broadcast_to(np.empty((), left.dtype), shape)))
    places = [spreading(form.shape, shape) for form in (left, right)]
    if not (places[0] is None and places[1] is None):
        pair.arrays = partial(_spread, places[0], places[1])
    return pair


def _spread(place: Any, other: Any, a: Node, b: Any, right: np.ndarray) -> Any:
    left = a.array
    return left if place is None else left.ravel()[place], right if other is None else right.ravel()[other]


def _after_letting_go(a: Node, b: Any, right: np.ndarray) -> Any:
    let_go((a, b), a.array.size)
    return a.array, right


def _operator(name: str) -> Callable[[Any, Any], Any]:
    """An operator that takes the short way for pairs."""
    op = TABLE[name]
    ufunc: Any = op.ufunc
    known = op.pairs

    def learned(a: Any, b: Any) -> _Pair | None:
        if a.form is None or (type(b) is type(a) and b.form is None):  # leaves, of which nobody has asked yet
            form = a.formed()
            pair = known.get((form, b.formed()) if type(b) is type(a) else (form, type(b), b or str(b)))
            if pair is not None:
                return pair  # type: ignore[no-any-return]
        pair = _pair(op, a, b)
        if pair is not None:
            if len(known) > _MOST:
                known.clear()
            known[(a.form, b.form) if pair.constant is None else (a.form, type(b), b or str(b))] = pair
        return pair

    latest = latest_of_number = _NO_PAIR  # a loop mostly asks for the same once more

    def operator(a: Any, b: Any) -> Any:
        nonlocal latest, latest_of_number
        kind, other = type(a), type(b)
        if other is kind:
            pair: Any = latest
            if pair.one is not a.form or pair.other is not b.form:
                pair = known.get((a.form, b.form)) or learned(a, b)
                if pair is None:
                    return op(a, b)
                latest = pair
            right, wants = b.array, b.requires_grad
        elif other is float or other is int:
            pair = latest_of_number
            if pair.other is not b or pair.one is not a.form:
                pair = known.get((a.form, other, b or str(b))) or learned(a, b)  # 0.0 equals -0.0
                if pair is None:
                    return op(a, b)
                latest_of_number = pair
            right, wants, b = pair.constant, False, None
        else:
            return op(a, b)
        try:
            if pair.arrays is None:
                data = silently(ufunc, a.array, right)
            else:
                data = silently(ufunc, *pair.arrays(a, b, right))
        except (Gone, RuntimeError):
            return op.general((a, right if b is None else b), {})
        if type(data) is not _ARRAY:  # NumPy makes scalars of 0-d results
            data = np.asarray(data)
        wanted = a.requires_grad
        if not (wanted or wants) or not is_recording():
            return kind.wrap(data)
        node = _new(kind)
        node.array, node.form = data, pair.form
        if wanted:
            node.plan, node.first, node.second = pair.both if wants else pair.left, a, b
        else:
            node.plan, node.first, node.second = pair.right, b, a
        node.creation_op, node.requires_grad, node.grad = op, True, None
        node.freed = node.retains_grad = False
        return node

    return operator


#: By the name of an op the short way for two operands, the first a tensor.
PAIRED = {name: _operator(name) for name in ("add", "sub", "mul", "div")}


class PairedNode(Node):
    """A node whose `+ - * /` take the short way."""

    __slots__ = ()
    __add__, __sub__, __mul__, __truediv__ = (PAIRED[name] for name in ("add", "sub", "mul", "div"))


def pull(node: Node, gradient: np.ndarray) -> list[tuple[Any, np.ndarray]]:
    """`pull_arrays(node, gradient)`, by the plan of the node if it has one."""
    plan = node.plan
    if plan is None or gradient.dtype is not node.data.dtype:
        return pull_arrays(node, gradient)
    return plan.pull(node, gradient)  # type: ignore[no-any-return]
