"""Properties of every part of a formula: its values at several points.

Symbolic sizes differ between points. A rule reads shapes and dtypes here. A result must have the shape, dtype and
values of the part at every point, up to rounding. So a wrong rule is noticed, and none relies on a size that happens to
be 1.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import largest_finite
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.errors import GradcheckError
from gradcheck.language.evaluation.evaluate import evaluate, evaluate_node
from gradcheck.language.expr.common_subexpressions import InternPool
from gradcheck.language.expr.nodes import Attribute, Call, Expr, Literal, Name
from gradcheck.language.expr.traverse import distinct_nodes, fold

#: Beyond so many numbers in all, nothing further is evaluated or simplified.
MAX_NUMBERS = 20_000_000
#: The effect of another order of rounding, relative to the largest element, by the bytes of a real number.
_ROUNDING = {8: 1e-9, 4: 1e-4, 2: 0.05}

#: Ops whose result may be small beside their arguments.
_ADDS_UP = frozenset({"add", "sub", "neg", "sum", "mean", "matmul"})

#: A tensor's shape at each point.
Shapes: TypeAlias = tuple[tuple[int, ...], ...]
#: A part's value at each point, or None.
Values: TypeAlias = tuple[Any, ...] | None


@dataclass(frozen=True, slots=True)
class Sample:
    """The names and gradients that a formula sees at one point."""

    names: Mapping[str, Any]
    gradients: Mapping[str, Any]
    dtype: np.dtype


class PartProperties:
    """The values of parts, computed on demand; parts are interned in `pool`.

    ones, shaped    the names of tensors whose gradient is 1, as roots; and of tensors whose shape others may refer to
    sizes           the names of sizes that differ between points, which other sizes may be called by
    """

    def __init__(
        self,
        points: Sequence[Sample],
        pool: InternPool,
        ones: Collection[str] = (),
        shaped: Collection[str] = (),
        sizes: Collection[str] = (),
    ) -> None:
        self.pool, self.ones = pool, frozenset(ones)
        self._points = points
        self._values: dict[int, tuple[Expr, Values]] = {}
        self._scales: dict[int, tuple[Expr, tuple[float, ...]]] = {}
        self._weights: dict[int, tuple[Expr, tuple[int, int]]] = {}
        self._numbers = 0
        #: Keep guards against zeros, though formulas would hold elsewhere without.
        self.keeps_guards = False
        #: Arguments of logarithms and divisors in the graph: where one is 0, nothing is claimed.
        self.nonzero_in_graph: dict[int, Expr] = {}
        #: The names of named parts, by id; and the names that require no gradient.
        self.names: dict[int, Expr] = {}
        self.constants: frozenset[str] = frozenset()
        #: Products with a name.
        self.products: list[tuple[Expr, Any]] = []
        #: The expressions of names, such as `norm(x)` for `f`.
        self.definitions: dict[int, Expr] = {}
        #: Divisors without their guard: formulas hold where these are not 0.
        self.assumed_nonzero: dict[int, Expr] = {}
        self._name_shapes(shaped)
        self._words = {
            tuple(point.names[word] for point in points): Name(word)
            for word in sizes
            if all(isinstance(point.names.get(word), int) for point in points)  # not also the name of a tensor
            and len({point.names[word] for point in points}) > 1
        }

    def _name_shapes(self, shaped: Collection[str]) -> None:
        self._named: dict[Shapes, Name] = {}
        self._counted: dict[tuple[int, ...], Name] = {}
        self._sized: dict[tuple[int, ...], tuple[Name, int]] = {}
        for name in shaped:
            node = self.pool.intern(Name(name))
            shapes = self.shapes(node)
            if shapes is not None and isinstance(node, Name):
                self._named.setdefault(shapes, node)
                self._counted.setdefault(tuple(map(prod, shapes)), node)
                for dim, sizes in enumerate(zip(*shapes, strict=False)):
                    self._sized.setdefault(sizes, (node, dim))

    def values(self, node: Expr) -> Values:
        """Return the value of an expression at each point, or None."""
        return fold(node, self._computed, self._values)

    def _computed(self, node: Expr, parts: list[Values]) -> Values:
        known = [part for part in parts if part is not None]
        if len(known) < len(parts) or self._numbers > MAX_NUMBERS:
            return None
        try:
            found = tuple(self._at(i, node, [part[i] for part in known]) for i in range(len(self._points)))
        except (GradcheckError, MemoryError):
            return None
        self._numbers += sum(value.size for value in found if isinstance(value, np.ndarray))
        return found

    def _at(self, index: int, node: Expr, parts: list[Any]) -> Any:
        point = self._points[index]
        with using_default_dtype(dtypes.real_of(point.dtype)):
            if parts:
                value = evaluate_node(node, parts)
            else:
                value = evaluate(node, point.names, gradients=point.gradients)
        return np.asarray(value) if isinstance(value, np.generic) else value

    def shapes(self, node: Expr) -> Shapes | None:
        """Return the tensor's shape at each point, None for other values."""
        values = self.values(node)
        if values is None or not all(isinstance(value, np.ndarray) for value in values):
            return None
        return tuple(value.shape for value in values)

    def ndim(self, node: Expr) -> int | None:
        """Return the number of dimensions if it is the same everywhere."""
        found = {len(shape) for shape in self.shapes(node) or ()}
        return found.pop() if len(found) == 1 else None

    def dtype(self, node: Expr) -> np.dtype | None:
        values = self.values(node)
        return values[0].dtype if values and isinstance(values[0], np.ndarray) else None

    def is_number(self, node: Expr) -> bool:
        """Return whether a node is a plain number, such as a size."""
        return all(type(value) in (int, float) for value in self.values(node) or (None,))

    def tensor_of_same_shape(self, node: Expr) -> Name | None:
        """Return a tensor of the case that has this shape at every point."""
        shapes = self.shapes(node)
        return None if shapes is None else self._named.get(shapes)

    def size_expr(self, node: Expr) -> Expr | None:
        """Return a size of the case that equals this one: `n`, or `x.shape[0]`."""
        sizes = self.values(node)
        if sizes is None or sizes in self._words:
            return None if sizes is None else self._words[sizes]
        found = self._sized.get(sizes)
        return found and Call("getitem", (Attribute(found[0], "shape"), Literal(found[1])))

    def assumed_divisors(self, root: Expr) -> list[Expr]:
        """Return the divisors in an expression that are assumed to be nonzero."""
        found: dict[int, Expr] = {}
        for node in distinct_nodes(self.pool.intern(root)) if self.assumed_nonzero else ():
            if isinstance(node, Call) and node.op == "div":
                found.update(
                    (id(part), part) for part in distinct_nodes(node.args[1]) if id(part) in self.assumed_nonzero
                )
            if id(node) in self.assumed_nonzero and self._is_determinant(node):
                found[id(node)] = node
        return list(found.values())

    def _is_determinant(self, node: Expr) -> bool:
        node = self.definitions.get(id(node), node)
        return isinstance(node, Call) and node.op == "linalg.det"

    def is_never_zero(self, node: Expr) -> bool:
        """Return whether a node is a size, or 0 only outside the graph's domain."""
        return id(node) in self.nonzero_in_graph or self.is_number(node)

    def tensor_of_same_count(self, node: Expr) -> Name | None:
        """Return a tensor of the case with so many elements."""
        counts = self.values(node)
        return None if counts is None else self._counted.get(counts)

    def op_count(self, node: Expr) -> int:
        """Return the number of written operations; `x.shape[0]` is none."""
        return self.cost(node)[0]

    def cost(self, node: Expr) -> tuple[int, int]:
        """Return the numbers of written operations and of matrix products."""
        return fold(self.pool.intern(node), _weight, self._weights)

    def is_symmetric(self, node: Expr) -> bool:
        """Return whether a node is a symmetric matrix at every point.

        For two eigenvectors, symmetry is a chance of their signs.
        """
        shapes = self.shapes(node)
        if shapes is None or any(len(shape) != 2 or shape[0] != shape[1] for shape in shapes):
            return False
        if max(shape[0] for shape in shapes) < 2 or not self.are_equal(node, self.pool.intern(Call("T", (node,)))):
            return False
        values = self.values(node)
        return values is None or not any(map(_is_reflection, values))

    def is_scalar(self, node: Expr) -> bool:
        """Return whether a node is a size or a tensor without dimensions."""
        return self.is_number(node) or self.ndim(node) == 0

    def are_equal(self, old: Expr, new: Expr) -> bool:
        """Return whether two nodes agree in type, shape, dtype and values.

        Values agree up to rounding at every point. If terms cancel, the rounding is that of the terms.
        """
        before, after = self.values(old), self.values(new)
        if before is None or after is None:
            return False
        if all(_are_equal(a, b) for a, b in zip(before, after, strict=True)):
            return True
        scales = fold(old, self._magnitude, self._scales)
        return all(_are_equal(a, b, scale) for a, b, scale in zip(before, after, scales, strict=True))

    def _magnitude(self, node: Expr, parts: list[tuple[float, ...]]) -> tuple[float, ...]:
        """Return a part's magnitude at least; a sum is as large as its terms."""
        values = self.values(node)
        if values is None:
            return (0.0,) * len(self._points)
        found = tuple(largest_finite(np.asarray(v)) if isinstance(v, (int, float, np.ndarray)) else 0 for v in values)
        if not isinstance(node, Call) or node.op not in _ADDS_UP:
            return found
        return tuple(map(max, found, *parts))


def _is_reflection(value: Any) -> bool:
    """Return whether a symmetric 2x2 matrix is orthogonal, and not diagonal."""
    if not isinstance(value, np.ndarray) or value.shape[0] > 2 or value.dtype.kind not in "fc":
        return False
    wide = dtypes.wide(value)
    return bool(np.any(wide[0, 1:] != 0)) and np.allclose(wide @ wide.conj().T, np.eye(len(wide)), atol=1e-6)


def _weight(node: Expr, parts: list[tuple[int, int]]) -> tuple[int, int]:
    is_size = isinstance(node, Call) and node.op == "getitem" and isinstance(node.args[0], Attribute)
    is_operation = isinstance(node, Call) and not is_size
    is_product = isinstance(node, Call) and node.op == "matmul"
    return sum(part[0] for part in parts) + is_operation, sum(part[1] for part in parts) + is_product


def _are_equal(old: Any, new: Any, scale: float = 0.0) -> bool:
    if not isinstance(old, np.ndarray) or not isinstance(new, np.ndarray):
        return type(old) is type(new) and _equal(old, new)
    if old.shape != new.shape or old.dtype != new.dtype:
        return False
    if not dtypes.is_differentiable(old.dtype):
        return bool((old == new).all())
    wide = dtypes.double_of(old.dtype)
    bound = _ROUNDING[dtypes.real_of(old.dtype).itemsize] * max(scale, largest_finite(old))
    with np.errstate(all="ignore"):
        before, after = old.astype(wide), new.astype(wide)
        same = (old == new) | (np.isnan(before) & np.isnan(after))
        return bool((same | (np.abs(before - after) <= bound)).all())


def _equal(old: Any, new: Any) -> bool:
    if isinstance(old, (tuple, list)):  # of an op with several results
        return len(old) == len(new) and all(map(_are_equal, old, new))
    return bool(old == new or (type(old) is float and abs(old - new) <= 1e-12 * abs(old)))
