"""Rare activations and layers: gated, learnt, hard, bilinear."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.op import composite
from gradcheck.autograd.ops.common.dims import canonical_dim
from gradcheck.autograd.ops.common.nn_functional import nn_functional_op, require_one_float_dtype
from gradcheck.errors import ArgumentError, DtypeMismatch, ShapeMismatch, Unsupported

# Activations -----------------------------------------------------------------------------------------


@nn_functional_op(samples="glu(randn(2, 4)); glu(randn(4, 3), 0)")
def glu(input: Any, dim: int = -1) -> Any:
    """The first half along `dim` times the sigmoid of the second."""
    if not input.ndim or input.shape[canonical_dim(dim, input.ndim)] % 2:
        raise ShapeMismatch(f"glu takes an even size along dimension {dim}, not the shape {list(input.shape)}")
    a, b = ops.chunk(input, 2, dim) if input.shape[dim] else (input, input)
    return a * ops.sigmoid(b)


@nn_functional_op(
    "prelu", kinks="0, where the slope of negative numbers counts",
    samples="prelu(randn(2, 3), randn(3)); prelu(randn(2, 3, 2), randn(1)); prelu(randn(()), randn(1))",
)  # fmt: skip
def prelu(input: Any, weight: Any) -> Any:
    """`input` if positive, else times `weight`, of one or each channel."""
    require_one_float_dtype("prelu", input, weight)
    if weight.ndim > 1:
        raise ShapeMismatch(f"prelu takes a weight of at most 1 dimension, not {weight.ndim}")
    size = weight.shape[0] if weight.ndim else 1
    if size != 1 and (input.ndim < 1 or size != (input.shape[1] if input.ndim > 1 else 1)):
        raise ShapeMismatch(f"prelu: {size} weights for the channels of {list(input.shape)}")
    axis = 1 if input.ndim > 1 else 0
    slope = ops.reshape(weight, [size if d == axis else 1 for d in range(input.ndim)])
    return ops.where(input > 0, input, slope * input)


@nn_functional_op(kinks="0", samples="rrelu(randn(2, 3)); rrelu(tensor([-1.0, 0.0, 2.0]), 0.2, 0.6)")
def rrelu(input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Any:
    """`leaky_relu` with the middle slope; random in training."""
    if training:
        raise Unsupported("rrelu is random in training, so no two engines can agree on it")
    if lower > upper:
        raise ArgumentError(f"rrelu takes a lower bound of at most the upper one, not {lower} and {upper}")
    return ops.leaky_relu(input, (lower + upper) / 2)


def _require_real_floating(input: Any, name: str) -> Any:
    if input.dtype.kind != "f":
        raise DtypeMismatch(f"{name} takes real floating numbers, not {input.dtype}")
    return input


@nn_functional_op(kinks="-3 and 3", samples="hardsigmoid(4 * randn(5)); hardsigmoid(tensor([-3.0, 3.0]))")
def hardsigmoid(input: Any) -> Any:
    """`input / 6 + 1 / 2`, between 0 and 1."""
    inside = (_require_real_floating(input, "hardsigmoid") > -3) & (input < 3)
    return ops.where(inside, input / 6 + 0.5, ops.where(input > 0, 1.0, ops.where(input < 0, 0.0, input * 0)))


@nn_functional_op(kinks="-3 and 3", samples="hardswish(4 * randn(5)); hardswish(tensor([-3.5, 3.5]))")
def hardswish(input: Any) -> Any:
    """`input` times `hardsigmoid(input)`."""
    x = _require_real_floating(input, "hardswish")
    return ops.where(x <= -3, 0 * x, ops.where(x < 3, x * (x / 6 + 0.5), x))


@composite(name="_safe_softmax", method=False, samples="{}(randn(2, 3), 1); {}(tensor([[-inf, -inf], [0.0, 1.0]]), 1)")
def safe_softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """`softmax`, and zeros instead of NaN where all is -inf."""
    values = input if dtype is None else ops.to(input, dtype)
    if not values.ndim:
        return ops.softmax(values, dim)
    blank = ops.all(ops.detach(values) == -np.inf, dim, True)
    return ops.where(blank, 0.0, ops.softmax(ops.where(blank, 0.0, values), dim))


@composite(name="_softmax_backward_data", method=False,
           samples="{}(randn(2, 3), softmax(randn(2, 3), 1), 1, torch.float64)")  # fmt: skip
def softmax_backward(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """The cotangent through a softmax whose result is `output`."""
    inner = ops.sum(grad_output * output, dim, True) if output.ndim else grad_output * output
    return (grad_output - inner) * output


@composite(
    torch="ops.aten.native_dropout_backward",
    method=False,
    samples="{}(randn(2, 3), tensor([[True, False, True], [True, True, False]]), 1.5)",
)
def native_dropout_backward(grad_output: Any, mask: Any, scale: float) -> Any:
    """The cotangent through a dropout that has kept `mask`."""
    return (
        ops.where(mask, grad_output * scale, 0 * grad_output) if mask.dtype.kind == "b" else grad_output * mask * scale
    )


# Dropout, where it is not random ---------------------------------------------------------------------


def _dropout(name: str, default: bool) -> None:
    doc = "`input` itself: nothing may be random here, so `p` must be 0 or 1 in training."

    @composite(name=name, torch="nn.functional.{}", doc=doc, method=False, samples="{}(randn(2, 3, 4), 0.5, False)")
    def drop(input: Any, p: float = 0.5, training: bool = default) -> Any:
        if (training and 0 < p < 1) or (training and p == 1 and "alpha" in name):
            raise Unsupported(f"{name} is random in training, so no two engines can agree on it")
        if name == "dropout1d" and input.ndim not in (2, 3):
            raise ShapeMismatch(f"dropout1d takes (N, C) or (N, C, l), not {list(input.shape)}")
        return ops.dropout(input, p, training)


for _name, _default in {
    "dropout1d": True,
    "dropout2d": True,
    "dropout3d": True,
    "alpha_dropout": False,
    "feature_alpha_dropout": False,
}.items():
    _dropout(_name, _default)


# Layers ----------------------------------------------------------------------------------------------


@nn_functional_op(
    "{}", samples="{}(randn(3, 2), randn(3, 4), randn(5, 2, 4)); {}(randn(2), randn(3), randn(1, 2, 3), randn(1))"
)
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """`input1 @ weight[k] @ input2` for each k, plus `bias`."""
    if weight.ndim != 3 or input1.shape[-1] != weight.shape[1] or input2.shape[-1] != weight.shape[2]:
        shapes = f"{list(input1.shape)}, {list(input2.shape)} and {list(weight.shape)}"
        raise ShapeMismatch(f"bilinear: shapes {shapes} do not go together")
    if tuple(input1.shape[:-1]) != tuple(input2.shape[:-1]):
        raise ShapeMismatch(f"bilinear: batches {list(input1.shape[:-1])} and {list(input2.shape[:-1])} differ")
    lead, (out, n, m) = tuple(input1.shape[:-1]), weight.shape
    rows = prod(map(int, lead))
    flat = ops.reshape(input1, (rows, n)) @ ops.reshape(ops.permute(weight, (1, 0, 2)), (n, out * m))
    found = ops.sum(ops.reshape(flat, (*lead, out, m)) * ops.unsqueeze(input2, -2), -1)
    if bias is not None and (not bias.ndim or bias.shape[0] != out):
        raise ShapeMismatch(f"bilinear: the bias has shape {list(bias.shape)}, expected [{out}]")
    return found if bias is None else found + bias


@nn_functional_op(samples="{}(randn(2, 5, 3), 3); {}(randn(1, 4, 2, 2), size=2, alpha=0.1, beta=0.5, k=2.0)")
def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """Divided by a power of `k` plus the mean square of near channels."""
    if input.ndim < 3:
        raise ShapeMismatch(f"local_response_norm takes (N, C, …) with at least 3 dimensions, not {input.ndim}")
    if not prod(map(int, input.shape)):
        return input
    squares, channels = input * input, input.shape[1]
    before, after = min(size // 2, channels), min((size - 1) // 2, channels)  # beyond which there are zeros alone
    padded = ops.constant_pad_nd(squares, (0, 0) * (input.ndim - 2) + (before, after))
    around = (ops.narrow(padded, 1, i, channels) for i in range(1, before + after + 1))
    total = sum(around, ops.narrow(padded, 1, 0, channels))
    return input / (total * (alpha / size) + k) ** beta


_BAGS = ("sum", "mean", "max")


def _bags(indices: Any, offsets: Any, include_last: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return flat indices, and the bounds of bags."""
    rows = np.asarray(ops.detach(indices))
    if rows.ndim == 2:
        return rows.reshape(-1), np.arange(rows.shape[0] + 1) * rows.shape[1]
    starts = np.asarray(ops.detach(offsets))
    if starts.size and starts[0]:
        raise ArgumentError(f"embedding_bag: the first bag begins at 0, not at {starts[0]}")
    return rows, np.append(starts[:-1] if include_last else starts, len(rows))  # torch's last bag goes to the end, too


@nn_functional_op(
    kinks="ties, in mode 'max'",
    samples="""
        {}(tensor([0, 2, 1, 2]), randn(4, 3), tensor([0, 3])); {}(tensor([[0, 2], [1, 1]]), randn(3, 2), mode='max');
        {}(tensor([0, 2, 1]), randn(3, 2), tensor([0, 1]), mode='sum', per_sample_weights=randn(3))
    """,
    elements=lambda input, weight, *_: prod(map(int, input.shape)) * prod(map(int, weight.shape[1:])),
)
def embedding_bag(
    input: Any, weight: Any, offsets: Any = None, max_norm: Any = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Any = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """Rows of `weight`, combined by sum, mean or maximum in each bag."""
    if mode not in _BAGS:
        raise ArgumentError(f"embedding_bag has no mode {mode!r}", hint=f"one of {', '.join(_BAGS)}")
    if (input.ndim == 1) != (offsets is not None):
        raise ShapeMismatch("embedding_bag takes an input of 1 dimension with offsets, or of 2 without")
    if weight.ndim != 2:
        raise ShapeMismatch(f"embedding_bag takes a matrix of rows, not {list(weight.shape)}")
    if max_norm is not None or scale_grad_by_freq:
        raise ArgumentError("embedding_bag: max_norm changes its weight, and scale_grad_by_freq is no gradient")
    places, bounds = _bags(input, offsets, include_last_offset)
    if padding_idx is not None:
        kept = places != padding_idx % weight.shape[0]
        bounds = np.concatenate([[0], np.cumsum(kept)])[bounds]
        places = places[kept]
    shares = None if per_sample_weights is None else ops.reshape(per_sample_weights, (-1,))
    rows = ops.index_select(weight, 0, places)
    if shares is not None:
        if mode != "sum":
            raise ArgumentError("embedding_bag takes per_sample_weights with mode='sum' alone")
        if tuple(per_sample_weights.shape) != tuple(input.shape):
            raise ShapeMismatch(f"embedding_bag: {list(per_sample_weights.shape)} weights for {list(input.shape)}")
        rows = rows * ops.unsqueeze(shares if padding_idx is None else shares[np.flatnonzero(kept)], -1)
    return _reduce_bags(rows, bounds, mode)


def _reduce_bags(rows: Any, bounds: np.ndarray, mode: str) -> Any:
    """Reduce each bag to a row; an empty one to zeros."""
    counts = np.diff(bounds)
    if mode == "max":
        blank = ops.zeros([rows.shape[1]], dtype=rows.dtype)
        bags = [
            ops.max(ops.narrow(rows, 0, int(a), int(n)), 0)[0] if n else blank
            for a, n in zip(bounds, counts, strict=False)
        ]
        return ops.stack(bags, 0) if bags else ops.zeros([0, rows.shape[1]], dtype=rows.dtype)
    begun = ops.narrow(rows, 0, int(bounds[0]), int(bounds[-1] - bounds[0]))
    owner = np.repeat(np.arange(len(counts)), counts)
    total = ops.index_add(ops.zeros([len(counts), rows.shape[1]], dtype=rows.dtype), 0, owner, begun)
    if mode == "sum":
        return total
    return total / np.maximum(counts, 1)[:, None].astype(rows.dtype)
