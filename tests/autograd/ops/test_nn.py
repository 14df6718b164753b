"""The ops of neural networks at their edges: large scores, masks, what is ignored, what is empty, what is wrong."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from gradcheck import Tensor, ops
from gradcheck.engines.core import Core
from gradcheck.engines.torch import Torch
from gradcheck.errors import (
    ArgumentError,
    DtypeMismatch,
    GradcheckError,
    IndexOutOfRange,
    ShapeMismatch,
    TensorError,
    TooLarge,
    Unsupported,
)
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse

GENERATOR = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return GENERATOR.standard_normal(shape)


def agree(name: str, *args: Any, theirs: Any = None, rtol: float = 1e-12, **settings: Any) -> np.ndarray:
    """Value and gradients, for a random cotangent, of an op and of torch's; floating arrays get gradients.

    Returns the value. NaN agrees with NaN.
    """

    def is_leaf(value: Any) -> bool:
        return isinstance(value, np.ndarray) and value.dtype.kind == "f"

    ours = [Tensor(a, requires_grad=is_leaf(a)) if isinstance(a, np.ndarray) else a for a in args]
    other = [torch.tensor(a, requires_grad=is_leaf(a)) if isinstance(a, np.ndarray) else a for a in args]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's opinions on reductions
        want = (theirs or getattr(functional, name))(*other, **settings)
    got = getattr(ops, name)(*ours, **settings)
    close(got.data, want.detach().numpy(), rtol)
    cotangent = np.random.default_rng(1).standard_normal(got.shape)
    got.backward(cotangent)
    want.backward(torch.tensor(cotangent))
    for mine, torchs in zip(ours, other, strict=True):
        if isinstance(mine, Tensor) and mine.requires_grad and torchs.grad is not None:
            assert mine.grad is not None
            close(mine.grad.data, torchs.grad.numpy(), rtol)
    return got.data


def close(got: np.ndarray, want: np.ndarray, rtol: float) -> None:
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    scale = float(np.max(np.abs(want), initial=0, where=np.isfinite(want)))
    np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-14 * scale)


# Large scores and masks --------------------------------------------------------------------------

EXTREME = np.array([[1e4, -1e4, 3.0], [-1e4, -1e4 + 1, -1e4 + 2], [1e300, 0.0, -1e300]])


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_softmax_is_stable_for_large_scores(name: str) -> None:
    assert np.isfinite(agree(name, EXTREME, dim=1)[:2]).all()


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_leaves_out_what_is_masked_by_minus_infinity(name: str) -> None:
    value = agree(name, np.array([[0.5, -np.inf, 1.5], [-np.inf, -np.inf, 0.0]]), 1)
    assert not np.isnan(value).any()


def test_softmax_of_a_row_of_minus_infinities_is_nan() -> None:
    assert np.isnan(agree("softmax", np.array([[-np.inf, -np.inf]]), 1)).all()


def test_softmax_in_another_dtype() -> None:
    agree("softmax", normal(2, 3).astype(np.float32), 1, rtol=1e-5)
    single = Tensor(normal(2, 3).astype(np.float16), requires_grad=True)
    wide = ops.softmax(single, 1, dtype=np.dtype(np.float32))
    assert wide.dtype == np.float32
    wide.backward(np.ones((2, 3)))
    assert single.grad is not None
    assert single.grad.dtype == np.float16


def test_softmax_in_half_precision_rounds_once() -> None:
    scores = normal(4, 50).astype(np.float16)
    want = torch.softmax(torch.tensor(scores).float(), 1).half().numpy()
    np.testing.assert_array_equal(ops.softmax(scores, 1), want)


def test_cross_entropy_is_stable_for_large_scores() -> None:
    assert np.isfinite(agree("cross_entropy", EXTREME[:2], np.array([1, 0]), reduction="none")).all()


def test_cross_entropy_with_logits_is_stable_for_large_scores() -> None:
    scores = np.array([1e4, -1e4, 800.0, -800.0, 0.0])
    value = agree("binary_cross_entropy_with_logits", scores, np.array([0.0, 1.0, 1.0, 0.0, 0.5]), reduction="none")
    np.testing.assert_allclose(value[:2], 1e4)


def test_binary_cross_entropy_is_bounded_at_zero_and_one() -> None:
    value = agree("binary_cross_entropy", np.array([0.0, 1.0, 1.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.0]),
                  reduction="none")  # fmt: skip
    np.testing.assert_array_equal(value, [100, 100, 0, 0])


@pytest.mark.parametrize("name", ["huber_loss", "smooth_l1_loss"])
def test_huber_at_its_kinks_and_at_infinity(name: str) -> None:
    errors = np.array([1.0, -1.0, 0.0, 1 + 1e-12, np.inf, -np.inf, 1e300])
    agree(name, errors, np.zeros(7), reduction="none")


def test_kl_div_where_the_target_is_zero() -> None:
    agree("kl_div", normal(3), np.array([0.0, 0.25, 0.75]), reduction="none")


# What is ignored, what is empty ------------------------------------------------------------------


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_that_ignores_every_target(reduction: str, smoothing: float) -> None:
    value = agree("cross_entropy", normal(2, 3), np.array([-100, -100]), reduction=reduction, label_smoothing=smoothing)
    assert np.isnan(value).all() == (reduction == "mean")


@pytest.mark.parametrize("ignore", [0, 2, -1, 7])
def test_cross_entropy_ignores_any_index(ignore: int) -> None:
    agree("cross_entropy", normal(4, 3), np.array([0, ignore, 2, 1]), ignore_index=ignore)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_of_empty_batches(reduction: str) -> None:
    agree("cross_entropy", normal(0, 3), np.zeros(0, np.int64), reduction=reduction)
    agree("cross_entropy", normal(0, 3), normal(0, 3), reduction=reduction)
    agree("mse_loss", normal(0, 3), normal(0, 3), reduction=reduction)
    agree("binary_cross_entropy", normal(0, 3), normal(0, 3), reduction=reduction)
    agree("kl_div", normal(0, 3), normal(0, 3), reduction=reduction)


def test_layers_of_empty_batches() -> None:
    agree("linear", normal(0, 3), normal(4, 3), normal(4))
    agree("layer_norm", normal(0, 5), [5], normal(5), normal(5))
    agree("embedding", np.zeros((0, 2), np.int64), normal(3, 4))
    agree("scaled_dot_product_attention", normal(0, 2, 4), normal(0, 3, 4), normal(0, 3, 4))


def test_weights_of_zero_for_all_targets_give_nan() -> None:
    scores, target = normal(2, 3), np.array([0, 1])
    got = ops.cross_entropy(Tensor(scores), Tensor(target), Tensor([0.0, 0.0, 1.0]))
    want = functional.cross_entropy(
        torch.tensor(scores), torch.tensor(target), torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64)
    )
    assert np.isnan(got.data)
    assert torch.isnan(want)


# Norms at zero ------------------------------------------------------------------------------------


def test_norms_at_zero() -> None:
    zeros = np.zeros((2, 3))
    agree("normalize", zeros)
    agree("cosine_similarity", zeros, normal(2, 3))
    agree("pairwise_distance", zeros, zeros, eps=0.0)
    agree("layer_norm", np.ones((2, 3)), [3])
    agree("rms_norm", zeros, [3])


# Attention ---------------------------------------------------------------------------------------


def reference_attention(query: Any, key: Any, value: Any, attn_mask: Any = None, **settings: Any) -> Any:
    """torch's own path without fused kernels, which mask as documented."""
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return functional.scaled_dot_product_attention(query, key, value, attn_mask, **settings)


@pytest.mark.parametrize("settings", [{}, {"is_causal": True}, {"scale": 0.3}, {"scale": 0.3, "is_causal": True}])
@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
def test_attention(lead: tuple[int, ...], settings: dict[str, Any]) -> None:
    query, key, value = normal(*lead, 3, 4), normal(*lead, 5, 4), normal(*lead, 5, 2)
    agree("scaled_dot_product_attention", query, key, value, theirs=reference_attention, **settings)


@pytest.mark.parametrize(
    "mask",
    [
        np.array([[True, False, True], [False, True, True]]),
        np.array([[True, False, True], [False, False, False]]),
        np.array([[True], [False]]),
        np.array([[0.0, -np.inf, 1.0], [-np.inf, -np.inf, -np.inf]]),
        np.array([[0.5, -1.0, 1.0], [2.0, 0.0, 0.25]]),
    ],
)
def test_attention_with_a_mask(mask: np.ndarray) -> None:
    value = agree("scaled_dot_product_attention", normal(2, 4), normal(3, 4), normal(3, 4), mask,
                  theirs=reference_attention)  # fmt: skip
    assert not np.isnan(value).any()


# Layers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("momentum", [0.1, 0.5])
def test_batch_norm_moves_its_running_statistics_in_place(momentum: float) -> None:
    batch, mean, var = normal(4, 3, 2), normal(3), np.abs(normal(3))
    ours, theirs = [Tensor(mean), Tensor(var)], [torch.tensor(mean), torch.tensor(var)]
    ops.batch_norm(Tensor(batch, requires_grad=True), *ours, training=True, momentum=momentum)
    functional.batch_norm(torch.tensor(batch), *theirs, training=True, momentum=momentum)
    for mine, torchs in zip(ours, theirs, strict=True):
        close(mine.data, torchs.numpy(), 1e-14)


def test_batch_norm_leaves_them_alone_outside_of_training() -> None:
    mean, var = Tensor(normal(3)), Tensor(np.ones(3))
    before = mean.data.copy()
    ops.batch_norm(Tensor(normal(4, 3)), mean, var)
    np.testing.assert_array_equal(mean.data, before)
    np.testing.assert_array_equal(var.data, np.ones(3))


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(training: bool) -> None:
    stats = [Tensor(normal(3)), Tensor(np.ones(3))]
    theirs = [torch.tensor(s.data) for s in stats]

    def run(functions: Any, statistics: list[Any], *args: Any) -> Any:
        return functions.batch_norm(args[0], *statistics, *args[1:], training=training, eps=1e-3)

    arrays = normal(4, 3, 2), normal(3), normal(3)
    ours, others = (
        [Tensor(a, requires_grad=True) for a in arrays],
        [torch.tensor(a, requires_grad=True) for a in arrays],
    )
    got, want = run(ops, stats, *ours), run(functional, theirs, *others)
    close(got.data, want.detach().numpy(), 1e-12)
    seed = normal(4, 3, 2)
    got.backward(seed)
    want.backward(torch.tensor(seed))
    for mine, torchs in zip(ours, others, strict=True):
        assert mine.grad is not None
        close(mine.grad.data, torchs.grad.numpy(), 1e-11)


def test_embedding_keeps_the_gradient_from_its_padding() -> None:
    agree("embedding", np.array([[0, 2], [2, 1]]), normal(3, 4), padding_idx=2)
    agree("embedding", np.array([[0, 2], [2, 1]]), normal(3, 4), padding_idx=-3)


def test_one_hot() -> None:
    classes = np.array([[0, 2], [1, 2]])
    for count in (-1, 3, 5):
        want = functional.one_hot(torch.tensor(classes), count).numpy()
        np.testing.assert_array_equal(ops.one_hot(classes, count), want)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_losses_in_less_precision_keep_their_dtype(dtype: type) -> None:
    scores = Tensor(normal(4, 3).astype(dtype), requires_grad=True)
    loss = ops.cross_entropy(scores, Tensor(np.array([0, 1, 2, 2])))
    loss.backward()
    assert loss.dtype == dtype
    assert scores.grad is not None
    assert scores.grad.dtype == dtype


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("around", [(2, 1), (0, 3), (3, 0, 1, 2)])
def test_padding_with_the_tensor_itself(mode: str, around: tuple[int, ...]) -> None:
    agree("pad", normal(1, 2, 4, 5) if len(around) > 2 else normal(1, 2, 4), around, mode=mode)


# What is wrong -----------------------------------------------------------------------------------

SCORES, CLASSES = np.ones((2, 3)), np.array([0, 1])
WRONG: dict[str, tuple[type[GradcheckError], Any]] = {
    "a class beyond the last": (IndexOutOfRange, lambda: ops.cross_entropy(SCORES, np.array([0, 3]))),
    "a class below the first": (IndexOutOfRange, lambda: ops.cross_entropy(SCORES, np.array([0, -1]))),
    "a class of nll_loss": (IndexOutOfRange, lambda: ops.nll_loss(SCORES, np.array([0, 3]))),
    "a word beyond the last": (IndexOutOfRange, lambda: ops.embedding(np.array([3]), SCORES.T)),
    "a word below the first": (IndexOutOfRange, lambda: ops.embedding(np.array([-1]), SCORES)),
    "a padding that is no word": (IndexOutOfRange, lambda: ops.embedding(CLASSES, SCORES, 2)),
    "one_hot beyond": (IndexOutOfRange, lambda: ops.one_hot(np.array([2]), 2)),
    "a dimension": (IndexOutOfRange, lambda: ops.softmax(SCORES, 2)),
    "too few targets": (ShapeMismatch, lambda: ops.cross_entropy(SCORES, np.array([0]))),
    "too few weights": (ShapeMismatch, lambda: ops.cross_entropy(SCORES, CLASSES, np.ones(2))),
    "targets of another shape": (ShapeMismatch, lambda: ops.binary_cross_entropy(SCORES, np.ones(3))),
    "logits of another shape": (ShapeMismatch, lambda: ops.binary_cross_entropy_with_logits(SCORES, np.ones(3))),
    "weights of another shape": (ShapeMismatch, lambda: ops.mse_loss(SCORES, SCORES, weight=np.ones(3))),
    "a normalized shape": (ShapeMismatch, lambda: ops.layer_norm(SCORES, [2])),
    "a weight of layer_norm": (ShapeMismatch, lambda: ops.layer_norm(SCORES, [3], np.ones(2))),
    "one value a channel": (ShapeMismatch, lambda: ops.batch_norm(SCORES[:1], None, None, training=True)),
    "sizes of queries and keys": (
        ShapeMismatch,
        lambda: ops.scaled_dot_product_attention(SCORES, np.ones((2, 4)), SCORES),
    ),
    "scores without dimensions": (IndexOutOfRange, lambda: ops.cross_entropy(np.array(1.0), np.array(0))),
    "floating classes": (DtypeMismatch, lambda: ops.cross_entropy(SCORES, np.array([0.0, 1.0]))),
    "integer probabilities": (DtypeMismatch, lambda: ops.cross_entropy(SCORES, np.ones((2, 3), np.int64))),
    "integer scores": (DtypeMismatch, lambda: ops.softmax(np.ones((2, 3), np.int64), 1)),
    "an integer mask": (
        DtypeMismatch,
        lambda: ops.scaled_dot_product_attention(SCORES, SCORES, SCORES, np.ones((2, 2), np.int64)),
    ),
    "floating words": (DtypeMismatch, lambda: ops.embedding(np.array([0.0]), SCORES)),
    "a reduction": (ArgumentError, lambda: ops.mse_loss(SCORES, SCORES, reduction="avg")),
    "batchmean elsewhere": (ArgumentError, lambda: ops.mse_loss(SCORES, SCORES, reduction="batchmean")),
    "a size that is no list": (ArgumentError, lambda: ops.layer_norm(SCORES, 3)),
    "smoothing beyond 1": (ArgumentError, lambda: ops.cross_entropy(SCORES, CLASSES, label_smoothing=1.5)),
    "a negative beta": (ArgumentError, lambda: ops.smooth_l1_loss(SCORES, SCORES, beta=-1.0)),
    "a delta of zero": (ArgumentError, lambda: ops.huber_loss(SCORES, SCORES, delta=0.0)),
    "no running statistics": (ArgumentError, lambda: ops.batch_norm(SCORES, None, None)),
    "a mask and is_causal": (
        ArgumentError,
        lambda: ops.scaled_dot_product_attention(SCORES, SCORES, SCORES, np.ones((2, 2)), 0.0, True),
    ),
    "a legacy argument": (ArgumentError, lambda: ops.mse_loss(SCORES, SCORES, True)),
    "dropout": (Unsupported, lambda: ops.dropout(SCORES)),
    "attention with dropout": (
        Unsupported,
        lambda: ops.scaled_dot_product_attention(SCORES, SCORES, SCORES, None, 0.5),
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_errors_say_what_is_wrong(what: str) -> None:
    kind, call = WRONG[what]
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.message


REFUSED = (
    "cross_entropy(x, bad)", "cross_entropy(x, negative)", "cross_entropy(x, f)", "cross_entropy(x, i32)",
    "cross_entropy(x, z)", "cross_entropy(s, t)", "cross_entropy(x, t, f)", "cross_entropy(single, t, z)",
    "cross_entropy(integers, t)", "cross_entropy(x, integers)", "cross_entropy(x, t, reduction='avg')",
    "cross_entropy(x, t, label_smoothing=2)", "nll_loss(x, bad)", "nll_loss(X, t)", "mse_loss(x, f)",
    "huber_loss(x, x, delta=-1)", "smooth_l1_loss(x, x, beta=-1.0)", "binary_cross_entropy(5 * x, x)",
    "binary_cross_entropy(sigmoid(x), integers)", "binary_cross_entropy(sigmoid(x), z)",
    "binary_cross_entropy_with_logits(x, z)", "binary_cross_entropy_with_logits(x, x, pos_weight=f)",
    "kl_div(x, x, reduction='foo')", "linear(x, X)", "linear(x, x, z)", "linear(x, single)", "layer_norm(x, [2])",
    "layer_norm(x, [3], f)", "layer_norm(single, [3], z)", "rms_norm(x, [2])", "batch_norm(x, None, None)",
    "batch_norm(x[:1], None, None, training=True)", "batch_norm(x, f, f)", "batch_norm(x, z, z, eps=-1.0)",
    "group_norm(x, 2)", "normalize(x, dim=2)", "cosine_similarity(x, f)", "cdist(x, z)", "cdist(x, X)",
    "cdist(x, single)", "embedding(bad, x)", "embedding(negative, x)", "embedding(f, x)", "embedding(t, z)",
    "embedding(t, x, 5)", "one_hot(f)", "one_hot(bad, 2)", "one_hot(negative)", "dropout(x, 2.0)", "softmax(x, 2)",
    "softmax(integers, 1)", "scaled_dot_product_attention(x, z, x)", "scaled_dot_product_attention(x, single, x)",
    "scaled_dot_product_attention(x, x, x, integers)", "conv1d(X, x)", "conv1d(X, X, z)", "conv1d(X, X, padding=-1)",
    "conv1d(X, X, stride=0)", "conv1d(X, X, dilation=0)", "conv1d(X, X, groups=2)", "conv1d(X, X, groups=0)",
    "conv1d(X, X, padding='foo')", "conv1d(X, X, stride=2, padding='same')", "conv1d(X, X, stride=[1, 1])",
    "avg_pool1d(X, 5)", "avg_pool1d(X, 2, 0)", "avg_pool1d(X, 2, 1, 2)", "max_pool2d(X, [2, 2, 2])", "pad(x, [1])",
    "pad(x, [-5, 0])", "pad(x, [3, 1], mode='reflect')", "pad(X, [5, 0], mode='circular')",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("text", REFUSED)
def test_what_torch_refuses_is_refused_for_the_same_reason(text: str) -> None:
    arrays = {
        "x": normal(2, 3), "X": normal(2, 3, 4), "z": normal(3), "f": normal(2), "s": normal(),
        "single": normal(2, 3).astype(np.float32), "integers": np.ones((2, 3), np.int64), "t": np.array([0, 1]),
        "bad": np.array([0, 3]), "negative": np.array([0, -1]), "i32": np.array([0, 1], np.int32),
    }  # fmt: skip
    kinds = []
    for engine in (Core(), Torch()):
        with engine.session(np.dtype(np.float64)), pytest.raises(TensorError) as caught:
            evaluate(parse(text), {name: engine.leaf(array, False) for name, array in arrays.items()}, engine.host)
        kinds.append(caught.value.kind)
    assert kinds[0] == kinds[1] != "error"


@pytest.mark.parametrize(
    "text",
    [
        "linear(x, y)",
        "mse_loss(x, y.T)",
        "cdist(x, y)",
        "pairwise_distance(x[:, None], y)",
        "scaled_dot_product_attention(x, y, y)",
        "embedding(i, y.T)",
        "one_hot(i, 100000)",
        "conv1d(x.T, y[:, :, None])",
        "conv1d(x.T, y[:1, :, None], padding=100000000)",
        "avg_pool1d(x.T, 50000, 1)",
        "pad(x, (0, 100000000))",
    ],
)
def test_nothing_grows_beyond_bounds(text: str) -> None:
    names = {"x": np.zeros((100_000, 1)), "y": np.zeros((100_000, 1)), "i": np.zeros(100_000, np.int64)}
    with pytest.raises(TooLarge):
        evaluate(parse(text), names)
