"""What is right and what is wrong, found without gradcheck: torch at many points, and fifty digits where that matters.

A formula is held to torch's gradient wherever the case leaves something open. It is *wrong* where it is defined and
differs by more than rounding, or where its shape does; *partial* where it is undefined at points of the graph's domain
and right elsewhere; *equal* where no difference is found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch

from benchmarks.exam import digits
from benchmarks.exam.evaluator import evaluate
from benchmarks.exam.graph import Graph, Item
from benchmarks.exam.points import (
    STRUCTURED,
    Point,
    points,
    speaks_of_a_root,
    state,
)

Truth = Literal["wrong", "equal", "partial", "no formula"]

#: Relative to the element, by the dtype of the case: far above what it may be off by.
VISIBLE = {"float16": 0.05, "bfloat16": 0.3, "float32": 1e-3}
_VISIBLE = 1e-6
#: In lower precision, also a part of the largest incoming gradient.
_OF_INCOMING_THERE = 0.1
#: What rounding may come to: of the tensor's largest, of the largest incoming gradient, and times what gradient and
#: formula move by when every leaf is moved in its 13th digit.
_OF_LARGEST, _OF_INCOMING, _MOVED, _TIMES = 1e-12, 1e-13, 1e-13, 100.0
#: Of integers and the like, which must not be moved.
_OF_LARGEST_THERE = 1e-8
#: Differences of less than this are rounding in double precision.
_ROUNDING = 1e-14
#: Where fifty digits are enough.
_WELL_SCALED = ("ordinary", "again", "threefold", "small")

_ERRORS = (RuntimeError, ValueError, TypeError, IndexError, AttributeError, NameError, ZeroDivisionError, SyntaxError,
           OverflowError, NotImplementedError)  # fmt: skip


@dataclass
class Judge:
    """The points of one graph at which its right formulas hold, and what they say of others."""

    graph: Graph
    points: list[Point] = field(default_factory=list)
    dropped: int = 0
    disagreements: list[str] = field(default_factory=list)
    witness: str = ""  # of what was judged last and is wrong: where that shows
    _smooth: dict[int, bool] = field(default_factory=dict)
    _moved: dict[int, Point] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: Graph) -> Judge:
        judge = cls(graph)
        for point in points(graph):
            why = judge._disagrees(point)
            if why:
                judge.dropped += 1
                judge.disagreements.append(why)
            else:
                judge.points.append(point)
        return judge

    def _disagrees(self, point: Point) -> str:
        """Which right formula does not hold at this point; empty where all do. Undefined ones say nothing; where one is
        infinite, what torch says is of an overflow, and nobody's truth."""
        for tensor, formula in self.graph.right.items():
            if point.free and not speaks_of_a_root(self.graph, formula, self.graph.let):
                continue
            got = value_of(formula, self.graph.let, point)
            if isinstance(got, Exception):
                return f"{tensor}: {got!r} at {point.mode} {point.sizes}"
            want = point.names[f"grad__{tensor}"]
            if bool(torch.isinf(got).any()):
                return f"{tensor} overflows at {point.mode} {point.sizes}"
            incoming = max(
                (float(g.abs().max()) for roots in point.incoming for g in roots.values() if g.numel()), default=1
            )
            if got.shape != want.shape or bool(_differs(got, want, 1e-6, 1e-7, 1e-12 * incoming).any()):
                return f"{tensor} at {point.mode} {point.sizes}: {tuple(got.shape)} {_worst(got, want)}"
        return ""

    def truth(self, item: Item, points: Sequence[Point] | None = None) -> Truth:
        """What this formula is."""
        speaks = speaks_of_a_root(self.graph, item.formula, item.steps_of_derivation)
        undefined, errors, asked = 0, 0, 0
        for point in self.points if points is None else points:
            if point.free and not speaks:
                continue
            asked += 1
            got = value_of(item.formula, item.steps_of_derivation, point)
            want = point.names[f"grad__{item.tensor}"]
            if isinstance(got, Exception):
                errors += 1
                if asked == 1:
                    return "no formula"
            elif got.shape != want.shape:
                self.witness = f"shape {tuple(got.shape)} for {tuple(want.shape)} at {point}"
                return "wrong"
            elif bool(torch.isfinite(got).all()):
                if self._is_far(item, point, got, want) and self._is_smooth(point):
                    self.witness = f"{_worst(got, want)} at {point}"
                    return "wrong"
            elif point.mode not in STRUCTURED and bool(torch.isnan(got).any()):
                undefined += 1
        if errors:
            self.witness = "it cannot be evaluated everywhere"
            return "wrong" if errors < asked else "no formula"
        if undefined:
            return "partial"
        self.witness = "in fifty digits"
        return "wrong" if self._is_near_miss(item) else "equal"

    def _is_far(self, item: Item, point: Point, got: torch.Tensor, want: torch.Tensor) -> bool:
        """Whether they differ by more than rounding, in some element."""
        visible = VISIBLE.get(self.graph.dtype, _VISIBLE)
        incoming = max(
            (float(g.abs().max()) for roots in point.incoming for g in roots.values() if g.numel()), default=1
        )
        floor = incoming * (visible * _OF_INCOMING_THERE if self.graph.dtype in VISIBLE else _OF_INCOMING)
        if not bool(_differs(got, want, visible, _OF_LARGEST, floor).any()):
            return False
        if point.mode in STRUCTURED:
            return bool(_differs(got, want, visible, _OF_LARGEST_THERE, floor).any())
        moved = self._moved_from(point)
        again = value_of(item.formula, item.steps_of_derivation, moved)
        if isinstance(again, Exception) or again.shape != got.shape:
            return True
        noise = (again - got).abs() + (moved.names[f"grad__{item.tensor}"] - want).abs()
        noise = torch.nan_to_num(noise, nan=math.inf)
        return bool(_differs(got, want, visible, _OF_LARGEST, _TIMES * noise + floor).any())

    def _moved_from(self, point: Point) -> Point:
        """The same point with all leaves in other last digits."""
        if id(point) not in self._moved:
            generator = torch.Generator().manual_seed(1)
            leaves = dict(point.leaves)
            for name in self.graph.inputs:
                signs = 2 * torch.randint(0, 2, leaves[name].shape, generator=generator) - 1
                leaves[name] = leaves[name] * (1 + _MOVED * signs)
            names = state(self.graph, {**point.sizes, **leaves}, point.incoming)
            self._moved[id(point)] = Point({**point.sizes, **names}, point.mode, point.free, leaves, point.incoming)
        return self._moved[id(point)]

    def _is_smooth(self, point: Point) -> bool:
        """Whether the gradients here are those of nearby points: no kink, no tie, of numbers that are written out
        neither."""
        is_written = any(not isinstance(value, str) for value in self.graph.inputs.values())
        if not self.graph.pieces or (point.mode not in STRUCTURED and not is_written):
            return True
        if id(point) not in self._smooth:
            self._smooth[id(point)] = all(self._stays(point, seed) for seed in range(4))
        return self._smooth[id(point)]

    def _stays(self, point: Point, seed: int) -> bool:
        generator = torch.Generator().manual_seed(seed)
        moved = dict(point.leaves)
        for name in self.graph.inputs:
            leaf = moved[name].to(torch.float64) if not moved[name].is_complex() else moved[name]
            largest = min(1.0, float(leaf.abs().max()) if leaf.numel() else 1.0) or 1.0
            moved[name] = leaf + 1e-7 * largest * (2 * torch.rand(leaf.shape, generator=generator) - 1)
        found = state(self.graph, {**point.sizes, **moved}, point.incoming)
        names = [name for name in found if name.startswith("grad__")]
        return not any(bool(_differs(found[name], point.names[name], 1e-4, 1e-4).any()) for name in names)

    def _is_near_miss(self, item: Item) -> bool:
        """Whether fifty digits tell it from the right formula, though sixteen hardly do."""
        if self.graph.dtype != "float64" or item.let is not None:
            return False
        right = self.graph.right[item.tensor]
        for point in [p for p in self.points if p.mode in _WELL_SCALED and not p.free and self._is_smooth(p)][:6]:
            got, want = (value_of(text, self.graph.let, point) for text in (item.formula, right))
            if isinstance(got, Exception) or not bool(torch.isfinite(got).all()):
                continue
            if bool(_differs(got, want, _ROUNDING, _ROUNDING).any()) and digits.differ(
                item.formula, right, self.graph, point.names
            ):
                return True
        return False


def value_of(formula: str, let: dict[str, str] | Any, point: Point) -> Any:
    """What a formula comes to at a point, as a tensor; or what was raised."""
    names = dict(point.names)
    try:
        for name, text in let.items():
            names[name] = evaluate(text, names)
        found = evaluate(formula, names)
    except _ERRORS as error:
        return error
    tensor = found if isinstance(found, torch.Tensor) else torch.tensor(found)
    return tensor if tensor.is_floating_point() or tensor.is_complex() else tensor.to(torch.float64)


def _differs(
    got: torch.Tensor, want: torch.Tensor, relative: float, of_largest: float, absolute: Any = 0.0
) -> torch.Tensor:
    """Elementwise; what is undefined on one side is left out."""
    defined = torch.isfinite(got) & torch.isfinite(want)
    size = want.abs()
    largest = size.max() if size.numel() else torch.tensor(math.inf)
    return defined & ((got - want).abs() > relative * size + of_largest * largest + absolute)


def _worst(got: torch.Tensor, want: torch.Tensor) -> str:
    if got.shape != want.shape:
        return f"for {tuple(want.shape)}"
    gap = (got - want).abs().flatten()
    at = int(gap.argmax()) if gap.numel() else 0
    return f"{got.flatten()[at].item():.13g} for {want.flatten()[at].item():.13g}" if gap.numel() else "empty"
