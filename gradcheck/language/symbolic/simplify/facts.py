"""What is known of every part of a formula: its values at several points, of several sizes where sizes are symbolic.

A rule asks them for shapes and dtypes, and what it makes of a part must have the same at every point, and the same
values up to rounding. So no rule can be wrong and go unnoticed, and none relies on a size that is 1 by accident.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import largest_finite
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.errors import GradcheckError
from gradcheck.language.evaluation.evaluate import evaluate, evaluate_node
from gradcheck.language.expr.nodes import Expr, Name
from gradcheck.language.expr.sharing import Pool
from gradcheck.language.expr.traverse import fold

#: Beyond so many numbers in all, nothing more is known, and nothing more is simplified.
MAX_NUMBERS = 20_000_000
#: How much rounding in another order may change, relative to the largest element, by the bytes of a real number.
_ROUNDING = {8: 1e-9, 4: 1e-4, 2: 0.05}

#: A tensor's shape at each point.
Shapes: TypeAlias = tuple[tuple[int, ...], ...]
#: A part's value at each point; None where it has none.
Values: TypeAlias = tuple[Any, ...] | None


@dataclass(frozen=True, slots=True)
class Sample:
    """Names and gradients as a formula sees them."""

    names: Mapping[str, Any]
    gradients: Mapping[str, Any]
    dtype: np.dtype


class Facts:
    """The values of parts, computed when first asked for. Every expression must be interned in `pool`.

    ones, shaped    the names of tensors whose gradient is 1 because a backward pass starts there; and of the tensors
                    whose shape others may be said to have
    """

    def __init__(
        self, points: Sequence[Sample], pool: Pool, ones: Collection[str] = (), shaped: Collection[str] = ()
    ) -> None:
        self.pool, self.ones = pool, frozenset(ones)
        self._points = points
        self._values: dict[int, tuple[Expr, Values]] = {}
        self._numbers = 0
        self._named: dict[Shapes, Name] = {}
        self._sized: dict[tuple[int, ...], tuple[Name, int]] = {}
        for name in shaped:
            node = pool.intern(Name(name))
            shapes = self.shapes(node)
            if shapes is not None and isinstance(node, Name):
                self._named.setdefault(shapes, node)
                for dim, sizes in enumerate(zip(*shapes, strict=False)):
                    self._sized.setdefault(sizes, (node, dim))

    def values(self, node: Expr) -> Values:
        """The value of an expression at each point; None where it has none."""
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
        """The tensor's shape at each point; None for what is no tensor."""
        values = self.values(node)
        if values is None or not all(isinstance(value, np.ndarray) for value in values):
            return None
        return tuple(value.shape for value in values)

    def ndim(self, node: Expr) -> int | None:
        """The number of dimensions, if it is the same everywhere."""
        found = {len(shape) for shape in self.shapes(node) or ()}
        return found.pop() if len(found) == 1 else None

    def dtype(self, node: Expr) -> np.dtype | None:
        """The tensor's dtype."""
        values = self.values(node)
        return values[0].dtype if values and isinstance(values[0], np.ndarray) else None

    def is_number(self, node: Expr) -> bool:
        """Whether it is a plain number, such as a size, and no tensor."""
        return all(type(value) in (int, float) for value in self.values(node) or (None,))

    def named(self, node: Expr) -> Name | None:
        """A tensor of the case that has the shape of this one, at every point."""
        shapes = self.shapes(node)
        return None if shapes is None else self._named.get(shapes)

    def sized(self, node: Expr) -> tuple[Name, int] | None:
        """A tensor of the case, and a dimension of it, that has this size."""
        sizes = self.values(node)
        return None if sizes is None else self._sized.get(sizes)

    def alike(self, old: Expr, new: Expr) -> bool:
        """Whether two expressions have one kind, shape, dtype, and values up to rounding, at every point."""
        before, after = self.values(old), self.values(new)
        if before is None or after is None:
            return False
        return all(_alike(a, b) for a, b in zip(before, after, strict=True))


def _alike(old: Any, new: Any) -> bool:
    if not isinstance(old, np.ndarray) or not isinstance(new, np.ndarray):
        return type(old) is type(new) and _equal(old, new)
    if old.shape != new.shape or old.dtype != new.dtype:
        return False
    if not dtypes.is_differentiable(old.dtype):
        return bool((old == new).all())
    wide = dtypes.double_of(old.dtype)
    bound = _ROUNDING[dtypes.real_of(old.dtype).itemsize] * largest_finite(old)
    with np.errstate(all="ignore"):
        before, after = old.astype(wide), new.astype(wide)
        same = (old == new) | (np.isnan(before) & np.isnan(after))
        return bool((same | (np.abs(before - after) <= bound)).all())


def _equal(old: Any, new: Any) -> bool:
    return bool(old == new or (type(old) is float and abs(old - new) <= 1e-12 * abs(old)))
