"""What is known of every part of a formula: its values at several points, of several sizes where sizes are symbolic.

A rule asks them for shapes and dtypes, and what it makes of a part must have the same at every point, and the same
values up to rounding. So no rule can be wrong and go unnoticed, and none relies on a size that is 1 by accident.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.errors import GradcheckError
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Call, Expr, Gradient, Literal, Name
from gradcheck.language.expr.sharing import Pool
from gradcheck.language.expr.traverse import with_children

#: Beyond so many numbers in all, nothing more is known, and nothing more is simplified.
MAX_NUMBERS = 20_000_000
#: How much rounding in another order may change, relative to the largest element, by the bytes of a real number.
_ROUNDING = {8: 1e-9, 4: 1e-4, 2: 0.05}

Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Point:
    """Names and gradients as a formula sees them."""

    names: Mapping[str, Any]
    gradients: Mapping[str, Any]
    dtype: np.dtype


class Facts:
    """The values of parts, computed when first asked for.

    ones, shaped    the names of tensors whose gradient is 1 because a backward pass starts there; and of the tensors
                    whose shape others may be said to have
    """

    def __init__(
        self, points: Sequence[Point], pool: Pool, ones: Collection[str] = (), shaped: Collection[str] = ()
    ) -> None:
        self.pool, self.ones = pool, frozenset(ones)
        self._points = points
        self._values: dict[int, tuple[Any, ...] | None] = {}
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

    def values(self, node: Expr) -> tuple[Any, ...] | None:
        """The value of an interned expression at each point; None where it has none."""
        stack = [node]
        while stack:
            top = stack[-1]
            missing = [child for child in top.children if id(child) not in self._values]
            if missing and id(top) not in self._values:
                stack.extend(missing)
                continue
            stack.pop()
            if id(top) not in self._values:
                self._values[id(top)] = self._computed(top)
        return self._values[id(node)]

    def _computed(self, node: Expr) -> tuple[Any, ...] | None:
        parts = [self._values[id(child)] for child in node.children]
        if any(part is None for part in parts) or self._numbers > MAX_NUMBERS:
            return None
        columns: Any = zip(*parts, strict=True) if parts else repeat(())
        template = _template(type(node), node.label, len(parts)) if parts else node
        if template is None:
            template = with_children(node, [Name(str(i)) for i in range(len(parts))])
        try:
            found = tuple(
                _evaluated(template, point, dict(zip(map(str, range(len(parts))), column, strict=True)))
                for point, column in zip(self._points, columns, strict=False)
            )
        except (GradcheckError, MemoryError):
            return None
        self._numbers += sum(value.size for value in found if isinstance(value, np.ndarray))
        return found

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

    def sizes(self, node: Expr) -> Shapes | None:
        """What a sequence of sizes comes to at each point; None for anything else."""
        values = self.values(node)
        if values is None or not all(isinstance(value, (tuple, list)) for value in values):
            return None
        found = tuple(tuple(value) for value in values)
        return found if all(type(size) is int for sizes in found for size in sizes) else None

    def named(self, shapes: Shapes) -> Name | None:
        """A tensor of the case that has these shapes."""
        return self._named.get(shapes)

    def sized(self, sizes: tuple[Any, ...]) -> tuple[Name, int] | None:
        """A tensor of the case, and a dimension of it, that has these sizes."""
        return self._sized.get(sizes)

    def alike(self, old: Expr, new: Expr) -> bool:
        """Whether two interned expressions have one kind, shape, dtype, and values up to rounding, at every point."""
        before, after = self.values(old), self.values(new)
        if before is None or after is None:
            return False
        return all(_alike(a, b) for a, b in zip(before, after, strict=True))


def _template(kind: type[Expr], label: tuple[Any, ...], count: int) -> Expr | None:
    """A call of the same form over names that stand for its parts, kept since compiling one costs more than running."""
    if kind is not Call:
        return None
    return _call_template(label[0], label[1], tuple(label[2:]))


@cache
def _call_template(op: str, positional: int, keys: tuple[str, ...]) -> Expr:
    args = tuple(Name(str(i)) for i in range(positional))
    return Call(op, args, tuple((key, Name(str(positional + i))) for i, key in enumerate(keys)))


def _evaluated(template: Expr, point: Point, parts: Mapping[str, Any]) -> Any:
    if isinstance(template, Literal):
        return template.value
    if isinstance(template, Gradient):
        return evaluate(template, {}, gradients=point.gradients)
    with using_default_dtype(dtypes.real_of(point.dtype)):
        value = evaluate(template, parts if parts else point.names)
    return np.asarray(value) if isinstance(value, np.generic) else value


def _alike(old: Any, new: Any) -> bool:
    if not isinstance(old, np.ndarray) or not isinstance(new, np.ndarray):
        return type(old) is type(new) and _equal(old, new)
    if old.shape != new.shape or old.dtype != new.dtype:
        return False
    if not dtypes.is_differentiable(old.dtype):
        return bool((old == new).all())
    wide = np.complex128 if old.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        before, after = old.astype(wide), new.astype(wide)
        magnitude = np.abs(before)
        scale = float(np.max(magnitude, where=np.isfinite(magnitude), initial=0.0))
        bound = _ROUNDING[dtypes.real_of(old.dtype).itemsize] * scale
        same = (old == new) | (np.isnan(before) & np.isnan(after))
        return bool((same | (np.abs(before - after) <= bound)).all())


def _equal(old: Any, new: Any) -> bool:
    return bool(old == new or (type(old) is float and abs(old - new) <= 1e-12 * abs(old)))
