"""How ops act on residues that only move elements about or add them up: by their own forward, on integers."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.errors import Unsupported
from gradcheck.oracles.exact import modular
from gradcheck.oracles.exact.degree import Degree
from gradcheck.oracles.exact.dual import Residue, Truth, acts_on, lift
from gradcheck.oracles.exact.point import Point

#: Ops that only move elements about, or leave them out: they act on values and tangents alike.
MOVES = (
    *("reshape", "squeeze", "unsqueeze", "expand", "repeat", "clone", "contiguous", "positive"),
    *("permute", "movedim", "flip", "roll", "diagonal", "diag_embed", "tril", "triu", "getitem"),
    *("index_select", "cat", "stack", "scatter", "diagonal_scatter"),
)
#: Ops that add elements up.
SUMS = ("sum_to_size", "cumsum", "neg", "index_add", "index_adjoint", "index_put")

#: Which arguments of these ops hold numbers; of all others the first alone does.
_HOLDERS = {"where": (1, 2), "scatter": (0, 3), "scatter_add": (0, 3), "index_add": (0, 3), "diagonal_scatter": (0, 1),
            "index_put": (0, 2)}  # fmt: skip
_MOVES = frozenset(MOVES) | {"where", "gather", "transpose", "T", "mT"}


@acts_on(*MOVES, *SUMS)
def linear(point: Point, op: Op, *args: Any) -> Residue:
    """The forward itself on integers, once for the values and once for the tangents."""
    holders = _HOLDERS.get(op.name, (0,))
    if op.sequence is not None:
        operands = [lift(point, item) for item in args[op.sequence]]
    else:
        operands = [lift(point, _filling(args, i)) for i in holders if i < len(args)]
        if any(hasattr(type(arg), "__apply_op__") for i, arg in enumerate(args) if i not in holders):
            raise Unsupported(f"{op.name} at places that are made up")
    value = _forward(op, args, holders, [x.value for x in operands], point.prime)
    tangent = None
    tangents = [x.tangent for x in operands]
    if any(t is not None for t in tangents):
        zeros = [np.zeros_like(x.value) if t is None else t for x, t in zip(operands, tangents, strict=True)]
        tangent = _forward(op, args, holders, zeros, point.prime)
    kind = Truth if all(isinstance(x, Truth) for x in operands) and op.name in _MOVES else Residue
    return kind(point, value, tangent, _degree(op, operands, value))


def _filling(args: tuple[Any, ...], position: int) -> Any:
    """The argument; a number that fills what is scattered, as often as it is."""
    value = args[position]
    return np.full(np.shape(args[2]), value) if position == 3 and isinstance(value, (int, float)) else value


def _degree(op: Op, operands: list[Residue], value: np.ndarray) -> Degree:
    degrees = [x.degree for x in operands]
    if op.name in _MOVES:
        return reduce(Degree.beside, degrees) if len(degrees) > 1 else degrees[0]
    degree = reduce(Degree.plus, degrees)
    return degree.summed(_terms(op, operands, value)) if degree.bottom or degree.cofactor else degree


def _terms(op: Op, operands: list[Residue], value: np.ndarray) -> int:
    """How many elements are added up at most."""
    sizes = [x.value.size for x in operands]
    if op.name in ("sum_to_size", "sum"):
        return max(1, -(-max(sizes) // max(value.size, 1)))
    return 1 if op.name == "neg" else max(1, sum(sizes))


def _forward(
    op: Op, args: tuple[Any, ...], holders: tuple[int, ...], arrays: list[np.ndarray], prime: int
) -> np.ndarray:
    given: list[Any] = list(args)
    if op.sequence is not None:
        given[op.sequence] = arrays
    else:
        for position, array in zip(holders, arrays, strict=False):
            given[position] = array
    given = [None if isinstance(value, np.dtype) else value for value in given]  # casts, to which integers are blind
    result = np.asarray(op.forward(*given))
    if result.dtype.kind not in "biu":
        raise Unsupported(f"{op.name} with settings that are no integers")
    return result if op.name in _MOVES else modular.reduce(result, prime)


@acts_on("constant_pad_nd")
def _pad(point: Point, op: Op, x: Residue, pad: Any, value: Any = 0) -> Residue:
    """What is padded with is a constant, without a tangent."""
    padded = op.forward(x.value, pad, int(lift(point, value).value))
    tangent = None if x.tangent is None else op.forward(x.tangent, pad, 0)
    return Residue(point, padded, tangent, x.degree)


@acts_on("detach")
def _detach(point: Point, op: Op, x: Residue) -> Residue:
    return x.still()


@acts_on("zeros_like")
def _zeros_like(point: Point, op: Op, x: Any, *settings: Any) -> np.ndarray:
    return np.zeros(x.shape)


@acts_on("ones_like")
def _ones_like(point: Point, op: Op, x: Any, *settings: Any) -> np.ndarray:
    return np.ones(x.shape)


@acts_on("full_like")
def _full_like(point: Point, op: Op, x: Any, fill_value: Any, *settings: Any) -> np.ndarray:
    return np.full(x.shape, fill_value)
