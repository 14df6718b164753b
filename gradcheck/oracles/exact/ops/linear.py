"""Ops that move elements or add them up: the op's own forward on integers."""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE, Op
from gradcheck.errors import Unsupported
from gradcheck.oracles.exact import modular_arithmetic
from gradcheck.oracles.exact.degree import Degree
from gradcheck.oracles.exact.dual_numbers import EXACT_RULES, Dual, Indicator, exact_rule, lift
from gradcheck.oracles.exact.modular_matrices import DiagonalMatrix, MatrixChain

#: Ops that move elements, or leave some out.
MOVES = (
    *("reshape", "squeeze", "unsqueeze", "expand", "repeat", "clone", "contiguous", "positive"),
    *("permute", "movedim", "flip", "roll", "diagonal", "tril", "triu", "getitem", "index_select"),
    *("cat", "stack", "scatter", "diagonal_scatter"),
)
#: Ops that add elements up, or change their signs.
SUMS = ("sum_to_size", "cumsum", "neg", "index_adjoint", "index_add", "index_put")
#: The arguments with the elements, if not the first alone, and no sequence.
_OPERANDS = {"scatter": (0, 3), "diagonal_scatter": (0, 1), "index_add": (0, 3), "index_put": (0, 2)}
_MOVING = frozenset({*MOVES, "where", "gather", "diag_embed", "transpose", "T", "mT"})


def apply_linear(name: str, *args: Any) -> Dual:
    """Apply the op's forward to integers, to the values and to the tangents."""
    op, places = TABLE[name], EXACT_RULES[name].operands
    if any(hasattr(type(arg), "__apply_op__") for i, arg in enumerate(args) if i not in places):
        raise Unsupported(f"{name} at indices that depend on values")
    operands = list(args[op.sequence]) if op.sequence is not None else [_broadcast_operand(args, i) for i in places]
    point = operands[0].point
    value = _forward(op, args, places, [x.value for x in operands], point.prime)
    tangent = None
    if any(x.lazy_tangent is not None for x in operands):
        tangents = [np.zeros_like(x.value) if x.tangent is None else x.tangent for x in operands]
        tangent = _forward(op, args, places, tangents, point.prime)
    kind = Indicator if name in _MOVING and all(isinstance(x, Indicator) for x in operands) else Dual
    return kind(point, value, tangent, _degree(name, operands, value))


def _broadcast_operand(args: tuple[Any, ...], place: int) -> Dual:
    """Return the operand; a scattered number is repeated."""
    x: Dual = args[place]
    if place != 3 or x.ndim:
        return x
    return Dual(x.point, np.broadcast_to(x.value, np.shape(args[2])), None, x.degree)


def _forward(
    op: Op, args: tuple[Any, ...], places: tuple[int, ...], arrays: list[np.ndarray], prime: int
) -> np.ndarray:
    given: list[Any] = [None if isinstance(value, np.dtype) else value for value in args]  # casts: integers stay so
    if op.sequence is not None:
        given[op.sequence] = arrays
    else:
        for place, array in zip(places, arrays, strict=True):
            given[place] = array
    result = np.asarray(op.forward(*given))
    if result.dtype.kind not in "biu":
        raise Unsupported(f"{op.name} with settings that are no integers")
    return result if op.name in _MOVING else modular_arithmetic.reduce(result, prime)


def _degree(name: str, operands: list[Dual], value: np.ndarray) -> Degree:
    degrees = [x.degree for x in operands]
    if name in _MOVING:
        return reduce(Degree.join, degrees)
    return reduce(Degree.plus, degrees).summed(_terms(name, operands, value))


def _terms(name: str, operands: list[Dual], value: np.ndarray) -> int:
    """Return how many elements are added up at most."""
    sizes = [x.value.size for x in operands]
    if name == "sum_to_size":
        return -(-max(sizes) // max(value.size, 1))
    return 1 if name == "neg" else sum(sizes)


for _name in (*MOVES, *SUMS):
    _places = () if TABLE[_name].sequence is not None else _OPERANDS.get(_name, (0,))
    exact_rule(_name, operands=_places)(partial(apply_linear, _name))


def _transpose(name: str, x: Dual, *dims: int) -> Dual:
    """Transpose; a chain of matrices stays a chain."""
    if x.ndim != 2 or (dims and dims[0] % 2 == dims[1] % 2):
        return apply_linear(name, x, *dims)
    tangent = x.tangent_chain()
    return Dual(x.point, x.value_chain().T, None if tangent is None else tangent.T, x.degree)


for _name in ("T", "mT", "transpose"):
    exact_rule(_name)(partial(_transpose, _name))


@exact_rule("diag_embed")
def _diag_embed(x: Dual, *where: int) -> Dual:
    """Return the diagonal; of a vector, a chain of one diagonal matrix."""
    if type(x) is not Dual or x.shape in ((), (0,)) or x.ndim > 1 or where != (0, -2, -1):
        return apply_linear("diag_embed", x, *where)

    def matrix(diagonal: np.ndarray) -> MatrixChain:
        return MatrixChain((DiagonalMatrix(diagonal, x.point.prime),))

    return Dual(x.point, matrix(x.value), None if x.tangent is None else matrix(x.tangent), x.degree)


@exact_rule("constant_pad_nd")
def _pad(x: Dual, pad: Any, value: Any) -> Dual:
    """Pad with a constant, which has no tangent."""
    forward = TABLE["constant_pad_nd"].forward
    padded = forward(x.value, pad, int(lift(x.point, value).value))
    return Dual(x.point, padded, None if x.tangent is None else forward(x.tangent, pad, 0), x.degree)


@exact_rule("to")
def _to(x: Dual, dtype: Any) -> Dual:
    """Return x: float rounding is ignored. Raises Unsupported for integers."""
    target = np.dtype(getattr(dtype, "dtype", dtype))
    if target.kind in "biuc" and not (isinstance(x, Indicator) and target.kind in "biu"):
        raise Unsupported(f"residues as {target}")
    if isinstance(x, Indicator) and target.kind != "b":
        return Dual(x.point, x.lazy_value, None, x.degree)
    return x


exact_rule("detach")(lambda x: x.primal())
exact_rule("zeros_like")(lambda x, *settings: np.zeros(x.shape))
exact_rule("ones_like")(lambda x, *settings: np.ones(x.shape))
exact_rule("full_like")(lambda x, fill_value, *settings: np.full(x.shape, fill_value))
