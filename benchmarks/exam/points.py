"""Where the truth is looked for: sizes, values at many scales, incoming gradients; and torch's own gradients there."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import torch

from benchmarks.exam.evaluator import evaluate, mentions
from benchmarks.exam.graph import Graph

Draw = Callable[[np.random.Generator, Sequence[int]], np.ndarray]


def _scaled(factor: float) -> Draw:
    return lambda rng, size: factor * rng.standard_normal(size)


def _spread(rng: np.random.Generator, size: Sequence[int]) -> np.ndarray:
    return rng.standard_normal(size) * 10.0 ** rng.integers(-3, 4, size)


#: How a standard normal number is drawn.
MODES: dict[str, Draw] = {
    "ordinary": _scaled(1.0),
    "again": _scaled(1.0),
    "threefold": _scaled(3.0),
    "large": _scaled(30.0),
    "small": _scaled(0.01),
    "integers": lambda rng, size: rng.integers(-3, 4, size).astype(float),
    "positive": lambda rng, size: np.abs(rng.standard_normal(size)) * 2,
    "negative": lambda rng, size: -np.abs(rng.standard_normal(size)) * 2,
    "some zeros": lambda rng, size: rng.standard_normal(size) * (rng.random(size) < 0.6),
    "halves": lambda rng, size: rng.integers(-7, 8, size) / 2,
    "spread": _spread,
    "very large": _scaled(1000.0),
    "very small": _scaled(1e-5),
    "large integers": lambda rng, size: rng.integers(-12, 13, size).astype(float),
    "huge": _scaled(1e5),
    "positive integers": lambda rng, size: rng.integers(1, 6, size).astype(float),
    "all zero": lambda rng, size: np.zeros(size),
    "ones": lambda rng, size: np.ones(size),
    "tiny": _scaled(1e-9),
    "far below": lambda rng, size: -30 * np.abs(rng.standard_normal(size)),
}
#: Well below the largest number in half precision.
LARGEST_HALF = 3e3
#: Where a kink or a tie may be hit, so that a difference there may be a convention.
STRUCTURED = {"integers", "some zeros", "halves", "large integers", "positive integers", "all zero", "ones"}


@dataclass
class Point:
    """Names with their values, gradients among them as `grad__p`; `free` where a fixed incoming gradient was varied."""

    names: dict[str, Any]
    mode: str
    free: bool
    leaves: dict[str, torch.Tensor] = field(default_factory=dict)
    incoming: list[dict[str, torch.Tensor]] = field(default_factory=list)

    def __str__(self) -> str:
        varied = ", the incoming gradient varied" if self.free else ""
        return f"{self.mode} values, sizes {self.sizes}{varied}"

    @property
    def sizes(self) -> dict[str, int]:
        return {name: value for name, value in self.names.items() if isinstance(value, int)}


def points(graph: Graph, count: int = 60, first: int = 0) -> list[Point]:
    """Points at which torch can evaluate the graph, and all its gradients are finite."""
    found = []
    fixed = is_fixed(graph)
    for number, sizes in zip(range(first, first + count), _sizes(graph, count), strict=True):
        rng = np.random.default_rng([zlib.crc32(graph.name.encode()), number])
        mode = list(MODES)[number % len(MODES)] if number else "ordinary"
        for free in (False, True) if fixed else (False,):
            point = point_at(graph, sizes, mode, rng, free, own=not number)
            if point is not None:
                found.append(point)
    return found


def is_fixed(graph: Graph) -> bool:
    """Whether some incoming gradient is written out, or made without freedom."""
    if graph.steps or isinstance(graph.backward, str):
        return False
    return any(not (isinstance(value, str) and "rand" in value) for value in graph.roots.values())


# Sizes -------------------------------------------------------------------------------------------------


def words(graph: Graph) -> dict[str, int]:
    """Every symbolic size with the file's own."""
    own = dict(graph.dims)
    for name, shape in graph.shapes.items():
        if isinstance(shape, (list, tuple)):
            value = graph.inputs.get(name, graph.constants.get(name))
            for word, size in zip(shape, np.asarray(value).shape, strict=True):
                own |= {word: size} if isinstance(word, str) else {}
    return own


def _sizes(graph: Graph, count: int) -> Iterator[dict[str, int]]:
    own = words(graph)
    rng = np.random.default_rng(zlib.crc32(graph.name.encode()))
    listed = [own, own] if own else []
    for word in own:
        listed.append({**_any(rng, own), word: 1})
        listed.append({**_any(rng, own), word: int(rng.integers(8, 12))})
        listed.append({**own, word: 1})
        listed.append({**own, word: 8})
    for one, other in combinations(own, 2):
        drawn = _any(rng, own)
        listed.append({**drawn, one: drawn[other]})
        listed.append({**drawn, one: drawn[other] + 1})
    listed += [dict.fromkeys(own, size) for size in (1, 2, 3, 5)]
    given = 0
    tried = 0
    while given < count:
        sizes = listed.pop(0) if listed else (own if given % 5 == 4 else _any(rng, own))
        tried += 1
        if tried > 40 * count:
            raise ValueError(f"no sizes satisfy {graph.needs!r} in {graph.name}")
        if eval(graph.needs, {}, dict(sizes)):
            given += 1
            yield sizes


def _any(rng: np.random.Generator, own: Mapping[str, int]) -> dict[str, int]:
    return {word: int(rng.integers(1, 8)) for word in own}


# Values ------------------------------------------------------------------------------------------------


def point_at(
    graph: Graph, sizes: Mapping[str, int], mode: str, rng: np.random.Generator, free: bool, own: bool = False
) -> Point | None:
    """One point; None where the graph is not defined there. `own`: literals keep their numbers."""
    names: dict[str, Any] = {**sizes, **creators(rng, mode, graph.is_complex)}
    made: dict[str, torch.Tensor] = {}
    try:
        for name, value in {**graph.constants, **graph.inputs}.items():
            moved = name in graph.inputs and not own
            tensor = leaf(graph, name, value, names, (rng, mode) if moved else None)
            made[name] = names[name] = tensor
        point = with_gradients(graph, sizes, made, rng, free, mode)
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        if own:
            raise ValueError(f"{graph.name}: {error}") from error
        return None
    gradients = [value for name, value in point.names.items() if name.startswith("grad__")]
    return point if all(bool(torch.isfinite(g).all()) for g in gradients) and _fits(graph, point) else None


def _fits(graph: Graph, point: Point) -> bool:
    """Whether the case's dtype has numbers of this size; of half precision, that has few."""
    if graph.dtype != "float16":
        return True
    tensors = [value for value in point.names.values() if isinstance(value, torch.Tensor) and value.numel()]
    return point.mode not in ("tiny", "very small") and all(float(t.abs().max()) < LARGEST_HALF for t in tensors)


def leaf(
    graph: Graph, name: str, value: Any, names: Mapping[str, Any], moved: tuple[np.random.Generator, str] | None
) -> torch.Tensor:
    """A value of the case on torch's tensors; a literal is moved unless `moved` is None."""
    if isinstance(value, str):
        return evaluate(value, names)
    shape = graph.shapes.get(name)
    if isinstance(shape, str):
        return evaluate(shape, names)
    tensor = torch.tensor(value)
    is_float = name in graph.inputs or tensor.is_floating_point()
    tensor = tensor.to(dtype_of(graph)) if is_float else tensor
    if moved is None or not is_float:
        return tensor
    size = [names[word] if isinstance(word, str) else word for word in shape] if shape else list(tensor.shape)
    rng, mode = moved
    return torch.tensor(MODES[mode](rng, size), dtype=dtype_of(graph))


def dtype_of(graph: Graph) -> torch.dtype:
    """The truth is looked for in double precision, whatever the case's dtype."""
    return torch.complex128 if graph.is_complex else torch.float64


def creators(rng: np.random.Generator, mode: str, is_complex: bool) -> dict[str, Any]:
    """`randn` and the like, which draw in the given mode; `uniform` keeps its bounds."""

    def randn(*size: Any) -> torch.Tensor:
        shape = size[0] if len(size) == 1 and isinstance(size[0], (list, tuple)) else size
        drawn = MODES[mode](rng, shape)
        return torch.tensor(drawn + 1j * MODES[mode](rng, shape) if is_complex else drawn)

    def uniform(low: float, high: float, size: Sequence[int]) -> torch.Tensor:
        return torch.tensor(_uniform(rng, mode, low, high, size), dtype=torch.float64)

    def randint(low: int, high: int, size: Sequence[int]) -> torch.Tensor:
        return torch.tensor(rng.integers(low, high, size))

    def like(x: torch.Tensor) -> torch.Tensor:
        drawn = randn(*x.shape)
        return drawn.to(x.dtype) if x.is_complex() else drawn.real

    return {"randn": randn, "uniform": uniform, "randint": randint, "randn_like": like}


def _uniform(rng: np.random.Generator, mode: str, low: float, high: float, size: Sequence[int]) -> np.ndarray:
    drawn = rng.uniform(low, high, size)
    if mode in ("integers", "large integers", "positive integers"):
        rounded = np.round(drawn)
        return np.where((rounded >= low) & (rounded < high), rounded, drawn)
    if mode == "small":
        return low + (drawn - low) * 0.01
    if mode == "large":
        return high - (high - drawn) * 0.01
    return drawn


# Gradients ---------------------------------------------------------------------------------------------


def with_gradients(
    graph: Graph, sizes: Mapping[str, int], made: Mapping[str, torch.Tensor], rng: np.random.Generator, free: bool,
    mode: str,
) -> Point:  # fmt: skip
    """The values of the graph and torch's gradients, of every input and entry, added up over the passes."""
    names: dict[str, Any] = dict(sizes)
    incoming: list[dict[str, torch.Tensor]] = []
    for step in graph.steps or [{"backward": graph.backward}]:
        roots = step["backward"]
        listed = {roots: 1} if isinstance(roots, str) else roots
        probe = run_forward(graph, {**sizes, **made}, requires_grad=False)
        drawing = {**probe, **creators(rng, "ordinary" if mode == "all zero" else mode, graph.is_complex)}
        incoming.append({name: _incoming(graph, value, probe[name], drawing, free) for name, value in listed.items()})
    names |= state(graph, {**sizes, **made}, incoming)
    return Point(names, mode, free, dict(made), incoming)


def run_forward(graph: Graph, names: Mapping[str, Any], requires_grad: bool = True) -> dict[str, Any]:
    """All names of the graph; the inputs are leaves that require a gradient."""
    known = dict(names)
    for name in graph.inputs:
        known[name] = known[name].detach().to(dtype_of(graph)).requires_grad_(requires_grad)
    for name, text in graph.graph.items():
        known[name] = evaluate(text, known)
        if requires_grad and known[name].requires_grad:
            known[name].retain_grad()
    return known


def state(graph: Graph, names: Mapping[str, Any], incoming: Sequence[Mapping[str, torch.Tensor]]) -> dict[str, Any]:
    """Values without history, and `grad__p` of every tensor."""
    with torch.enable_grad():
        known = run_forward(graph, names)
        for roots in incoming:
            torch.autograd.backward([known[name] for name in roots], [g.to(known[n].dtype) for n, g in roots.items()],
                                    retain_graph=True)  # fmt: skip
    found: dict[str, Any] = {}
    for name, value in known.items():
        found[name] = value.detach() if isinstance(value, torch.Tensor) else value
        if name in graph.inputs or name in graph.graph:
            found[f"grad__{name}"] = torch.zeros_like(value) if value.grad is None else value.grad.detach()
    return found


def _incoming(graph: Graph, value: Any, root: torch.Tensor, names: Mapping[str, Any], free: bool) -> torch.Tensor:
    if free and not (isinstance(value, str) and "rand" in value):
        return names["randn_like"](root)
    made = evaluate(value, names) if isinstance(value, str) else torch.tensor(value)
    if isinstance(value, list) and made.shape != root.shape:  # redrawn with its root
        return names["randn_like"](root)
    return made.to(root.dtype).expand(root.shape) if made.numel() == 1 else made.to(root.dtype)


def speaks_of_a_root(graph: Graph, formula: str, let: Mapping[str, str]) -> bool:
    """Whether the formula, or a step that leads to it, mentions the gradient of a root."""
    return not {f"grad__{root}" for root in graph.roots}.isdisjoint(leading_to(formula, let))


def leading_to(formula: str, let: Mapping[str, str]) -> set[str]:
    """All names that a formula mentions, itself or by way of intermediate steps."""
    pending, seen = [formula], set()
    while pending:
        for name in mentions(pending.pop()) - seen:
            seen.add(name)
            if name in let:
                pending.append(let[name])
    return seen
