"""Expressions by number, and their values at one point."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from gradcheck.autograd.modes import silently
from gradcheck.errors import GradcheckError
from gradcheck.language.evaluation.evaluate import evaluate, evaluate_node
from gradcheck.language.expr.nodes import Attribute, Call, Expr, Literal, Sequence, Slice
from gradcheck.language.expr.traverse import fold, with_children

#: The value of an expression that cannot be evaluated.
BROKEN: Any = object()
#: The most elements of an expression.
MAX_ELEMENTS = 1_000_000
#: So many elements, read or written, cost about as much as the call of an op.
_ELEMENTS_PER_CALL = 1_000

#: The index of `v[:, None]`.
_COLUMN = Sequence((Slice(), Literal(None)), True)
_FLOAT64 = np.dtype(np.float64)
#: NumPy functions of ops on two plain arrays, of which most candidates are made.
_UFUNCS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "matmul": np.matmul}

#: Functions of one element of two plain arrays.
_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
}

#: The way from an expression to a part: the child's number at each level.
Path = tuple[int, ...]


class LazyExpressions:
    """Expressions by number; calls are made on demand, since most never fit."""

    __slots__ = ("_calls", "_children", "_made")

    def __init__(self, children: list[tuple[int, ...]]) -> None:
        self._made: list[Expr | None] = []
        self._calls: dict[int, tuple[str, tuple[str, ...]]] = {}
        self._children = children

    def __len__(self) -> int:
        return len(self._made)

    def __getitem__(self, part: int) -> Expr:
        found = self._made[part]
        return self._make(part) if found is None else found

    def append(self, node: Expr) -> None:
        self._made.append(node)

    def append_call(self, op: str, keys: tuple[str, ...]) -> None:
        """Add a call whose last children have these keywords."""
        self._calls[len(self._made)] = (op, keys)
        self._made.append(None)

    def op(self, part: int) -> str | None:
        """Return the op that a part calls, None for no call."""
        node = self._made[part]
        if node is None:
            return self._calls[part][0]
        return node.op if type(node) is Call else None

    def _make(self, part: int) -> Expr:
        waiting = [part]
        while waiting:
            missing = [child for child in self._children[waiting[-1]] if self._made[child] is None]
            waiting += missing
            if not missing:
                last = waiting.pop()
                op, keys = self._calls.pop(last)
                parts = [self[child] for child in self._children[last]]
                count = len(parts) - len(keys)
                self._made[last] = Call(op, tuple(parts[:count]), tuple(zip(keys, parts[count:], strict=True)))
        return self[part]


class ExpressionPool:
    """Expressions `exprs[i]` over `children[i]`; equal ones have one number.

    `names` and `gradients` are the values of `x` and `grad(x)`; `work` counts evaluations in calls of an op on
    small tensors.
    """

    def __init__(self, names: Mapping[str, Any], gradients: Mapping[str, Any]) -> None:
        self.names, self.gradients = names, gradients
        self.children: list[tuple[int, ...]] = []
        self.exprs = LazyExpressions(self.children)
        self.work = 0
        self._numbers: dict[object, int] = {}
        self._values: dict[int, Any] = {}
        self._counted: set[int] = set()  # what `work` counts already, although it is not evaluated

    def add(self, root: Expr) -> int:
        return fold(root, lambda node, children: self.add_node(node, tuple(children)))

    def add_node(self, node: Expr, children: tuple[int, ...]) -> int:
        """Return the number of a node over other parts."""
        key = (type(node), node.label, children)
        number = self._numbers.get(key)
        if number is None:
            made = with_children(node, [self.exprs[child] for child in children]) if children else node
            number = self._enter(key, made, children)
        return number

    def _enter(self, key: object, node: Expr, children: tuple[int, ...]) -> int:
        number = self._numbers[key] = len(self.exprs)
        self.exprs.append(node)
        self.children.append(children)
        return number

    def call(self, op: str, *args: int, **kwargs: int) -> int:
        children = (*args, *kwargs.values()) if kwargs else args
        key = (Call, (op, len(args), *kwargs), children)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.exprs)
            self.exprs.append_call(op, tuple(kwargs))
            self.children.append(children)
        return number

    def column(self, vector: int) -> int:
        """Return `v[:, None]`."""
        return self.add(Call("getitem", (self.exprs[vector], _COLUMN)))

    def literal(self, value: Any) -> int:
        return self.add_node(Literal(value), ())

    def replace(self, root: int, path: Path, part: int) -> int:
        """Return the expression with another part at the end of a path."""
        if not path:
            return part
        parents = [root]
        for step in path[:-1]:
            parents.append(self.children[parents[-1]][step])
        for parent, step in zip(reversed(parents), reversed(path), strict=False):
            children = list(self.children[parent])
            children[step] = part
            part = self.add_node(self.exprs[parent], tuple(children))
        return part

    def replace_everywhere(self, root: int, changed: dict[int, int]) -> int:
        """Return the expression with parts replaced wherever they occur."""
        made = dict(changed)
        stack = [root]
        while stack:
            top = stack[-1]
            missing = [] if top in made else [child for child in self.children[top] if child not in made]
            stack += missing
            if not missing:
                stack.pop()
                below = tuple(made[child] for child in self.children[top]) if top not in made else ()
                made.setdefault(top, self.add_node(self.exprs[top], below) if below else top)
        return made[root]

    def positions(self, root: int) -> Iterator[tuple[Path, int, int]]:
        """Yield path, part and parent (-1 for the root) in reading order."""
        stack: list[tuple[Path, int, int]] = [((), root, -1)]
        while stack:
            path, part, parent = stack.pop()
            yield path, part, parent
            below = [((*path, step), child, part) for step, child in enumerate(self.children[part])]
            stack += reversed(below)

    def value(self, part: int) -> Any:
        known = self._values
        if part in known:
            return known[part]
        children = self.children[part]
        if len(children) == 2 and children[0] in known and children[1] in known:
            known[part] = found = self._compute(part)
            return found
        stack = [part]
        while stack:
            top = stack[-1]
            missing = [child for child in self.children[top] if child not in known]
            if missing:
                stack += missing
                continue
            stack.pop()
            if top not in known:
                known[top] = self._compute(top)
        return known[part]

    def array(self, part: int) -> np.ndarray | None:
        """Return the value of a part if it is a tensor, else None."""
        value = self.value(part)
        return value if isinstance(value, np.ndarray) else None

    def first_element(self, part: int) -> float | None:
        """Return a part's first element if that is cheap; it counts as evaluated."""
        children, known = self.children[part], self._values
        arithmetic = _ARITHMETIC.get(self.exprs.op(part) or "") if len(children) == 2 else None
        if arithmetic is None or part in known or part in self._counted:
            return None
        a, b = (known.get(child, BROKEN) for child in children)
        if not _are_plain(a, b) or not a.size:
            return None
        try:
            found: float = arithmetic(a.item(0), b.item(0))
        except ArithmeticError:  # Python divides by no zero
            return None
        self._counted.add(part)
        self.work += 1 + 3 * a.size // _ELEMENTS_PER_CALL
        return found

    def _compute(self, part: int) -> Any:
        values = [self._values[child] for child in self.children[part]]
        ufunc = _UFUNCS.get(self.exprs.op(part) or "") if len(values) == 2 and _are_plain(*values) else None
        if part in self._counted:
            return np.asarray(silently(ufunc, *values))
        self.work += 1
        elements = 0
        for value in values:
            if value is BROKEN:
                return BROKEN
            elements += value.size if type(value) is np.ndarray else 0
        try:
            if not values:
                return evaluate(self.exprs[part], self.names, gradients=self.gradients)
            if ufunc is not None:
                found = np.asarray(silently(ufunc, *values))
            else:
                found = evaluate_node(self.exprs[part], values, max_elements=MAX_ELEMENTS)
        except (GradcheckError, KeyError, TypeError, ValueError):  # a change may make no sense at all
            return BROKEN
        elements += found.size if type(found) is np.ndarray else 0
        self.work += elements // _ELEMENTS_PER_CALL
        return found


def _are_plain(a: Any, b: Any) -> bool:
    """Return whether two values are float64 arrays of one shape."""
    return type(a) is type(b) is np.ndarray and a.shape == b.shape and a.dtype is b.dtype is _FLOAT64


def is_op(node: Expr, *ops: str) -> bool:
    return isinstance(node, Call) and node.op in ops


def is_shape(node: Expr) -> bool:
    return isinstance(node, Attribute) and node.name == "shape"
