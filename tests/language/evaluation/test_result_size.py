"""Nothing too large is ever made: the size of a result is known before it is."""

from __future__ import annotations

import contextlib
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE, lookup
from gradcheck.errors import ArgumentError, TensorError, TooLarge
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.result_size import MAX_ELEMENTS, check, too_large
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.parser import parse
from gradcheck.language.random_streams import RandomHost, stream
from tests.samples import CALLS, OP_OF, drawn

HUGE = [
    "zeros(10 ** 9)",
    "ones([10000, 10000, 10])",
    "full((100000, 100000), 1.0)",
    "eye(100000)",
    "arange(10 ** 12)",
    "arange(0, 1, 1e-12)",
    "linspace(0, 1, 10 ** 9)",
    "zeros(20000, 1) + zeros(1, 20000)",
    "zeros(20000, 1) @ zeros(1, 20000)",
    "where(zeros(20000, 1) > 0, zeros(1, 20000), 1)",
    "outer(zeros(20000), zeros(20000))",
    "kron(zeros(200, 200), zeros(200, 200))",
    "zeros(1000).repeat(1000000)",
    "tile(zeros(1000), (1000000,))",
    "diag(zeros(20000))",
    "diag_embed(zeros(20000))",
    "einsum('i,j->ij', zeros(20000), zeros(20000))",
    "einsum('ab,cd,ac,bd->', zeros(40, 40), zeros(40, 40), zeros(40, 40), zeros(40, 40))",
    "sum(zeros(0, 10 ** 9), 0)",
    "logsumexp(zeros(0, 10 ** 9), 0)",
    "tensordot(zeros(20000), zeros(20000), dims=0)",
    "zeros(20000)[zeros(20000, 20000, dtype=int64)]",
    "zeros(1, 20000)[zeros(200000, dtype=int64)]",
    "embedding(zeros(200000, dtype=int64), zeros(1, 20000))",
    "zeros(1, 20000).index_select(0, zeros(200000, dtype=int64))",
    "randn(10 ** 9)",
    "rand(10 ** 9)",
    "uniform(0, 1, [10 ** 9])",
    "randint(0, 9, [10 ** 9])",
    "tensor([0.0]).expand(10 ** 9) + 1",
    "cat([zeros(9 * 10 ** 5), zeros(9 * 10 ** 5)])",
    "stack([zeros(9 * 10 ** 5), zeros(9 * 10 ** 5)])",
    "mse_loss(zeros(20000, 1), zeros(1, 20000))",
    "cosine_similarity(zeros(20000, 1, 2), zeros(1, 20000, 2), dim=2)",
    "linear(zeros(20000, 1), zeros(20000, 1))",
    "inner(zeros(20000, 1), zeros(20000, 1))",
    "addmm(zeros(1), zeros(20000, 1), zeros(1, 20000))",
    "addr(zeros(1), zeros(20000), zeros(20000))",
    "mm(zeros(20000, 1), zeros(1, 20000))",
    "bmm(zeros(1, 20000, 1), zeros(1, 1, 20000))",
    "cdist(zeros(20000, 1), zeros(20000, 1))",
    "scaled_dot_product_attention(zeros(20000, 1), zeros(20000, 1), zeros(20000, 1))",
    "pad(zeros(2), (10 ** 9, 0))",
    "one_hot(tensor(10 ** 9))",
    "repeat_interleave(zeros(1000), 1000000)",
    "zeros(2).new_zeros(10 ** 9)",
    "addcmul(zeros(20000, 1), zeros(1, 20000), zeros(1))",
    "tensor_split(zeros(3), 10 ** 9)",
    "chunk(zeros(0, 3), 10 ** 9)",
    "tensor_split(zeros(3), tensor(10 ** 9))",
    "split(zeros(10 ** 5), 1)",
    "unbind(zeros(10 ** 5))",
    "combinations(zeros(30), 15)",
    "combinations(zeros(4), 10 ** 9)",
    "combinations(zeros(0), 10 ** 9, True)",
    "combinations(zeros(20), 8)",
    "combinations(zeros(90), 45)",
    "combinations(zeros(10 ** 5), 5 * 10 ** 4)",
    "combinations(zeros(4), 10 ** 9, True)",
    "meshgrid(zeros(1000), zeros(1000), zeros(1000))[0].exp()",
    "cartesian_prod(zeros(100), zeros(100), zeros(100), zeros(100))",
    "embedding_bag(zeros(1000, dtype=int64), zeros(1, 20000), zeros(1, dtype=int64))",
    "cov(zeros(20000, 1))",
    "corrcoef(zeros(20000, 1))",
    "linalg.multi_dot([zeros(20000, 1), zeros(1, 20000)])",
    "chain_matmul(zeros(20000, 1), zeros(1, 20000))",
    "cdist(zeros(20000, 0), zeros(20000, 0))",
    "cdist(zeros(1000, 1), zeros(500, 1000, 1))",
    "mvlgamma(zeros(0), 10 ** 9)",
    "as_strided(zeros(3), (3, 0, 10 ** 9), (1, 1, 1))",
    "as_strided_scatter(zeros(3), zeros(2), (2, 10 ** 9), (1, 1))",
    "nn.functional.unfold(zeros(1, 1, 1, 1), 1, padding=10 ** 5)",
    "nn.functional.unfold(zeros(0, 1, 1, 1), 1, padding=10 ** 5)",
    "interpolate(zeros(1, 0, 2), 10 ** 9)",
    "interpolate(zeros(1, 1, 20000), 20000)",
    "_fft_c2r(complex(zeros(2, 3), zeros(2, 3)), [1], 0, 10 ** 9)",
    "istft(complex(ones(3, 5), ones(3, 5)), 4, length=10 ** 9)",
    "pivoted_rows(tensor([2, 3, 3]), 10 ** 9)",
    "arange(0, 1, 1e-300)",
    "adaptive_avg_pool1d(zeros(1, 1, 20000), 20000)",
    "linalg.svd(zeros(20000, 2))",
    "svd(zeros(2, 20000), False)",
    "svd(zeros(2, 20000), compute_uv=False)",
    "linalg.qr(zeros(20000, 2), 'complete')",
    "qr(zeros(20000, 2), False)",
    "linalg.lu(zeros(20000, 2))",
    "lu_unpack(zeros(20000, 2), ones(2, dtype=int32))",
]
#: Large numbers that make no large tensor: they are taken, or refused as what makes no sense.
HARMLESS = [
    "local_response_norm(zeros(2, 5, 3), 10 ** 9)",
    "linalg.svd(ones(20000, 2), False)",
    "linalg.qr(ones(20000, 2))",
    "adaptive_max_pool1d(zeros(1, 1, 2000), 2000)",
    "polygamma(10 ** 9, ones(3))",
    "polygamma(2 ** 62, ones(3))",
    "matrix_power(eye(3), 2 ** 62)",
    "matrix_power(eye(3), -2 ** 62)",
    "ones(3) ** 2 ** 62",
    "(2 ** 62) ** ones(3)",
    "tensor([2]) ** 2 ** 62",
    "zeros(2, 0).repeat(10 ** 9, 10 ** 9)",
    "zeros(0).repeat(2 ** 62)",
    "tile(zeros(0), (10 ** 12,))",
    "zeros(0).repeat_interleave(10 ** 12)",
    "zeros(0, 2).expand(10 ** 9, -1, -1)",
    "zeros(0, 2 ** 62)",
    "rand(2 ** 62, 0)",
    "one_hot(zeros(0, dtype=int64), 2 ** 62)",
    "conv1d(zeros(0, 1, 3), zeros(1, 1, 2), padding=10 ** 9)",
    "conv_transpose1d(zeros(0, 1, 3), zeros(1, 1, 2), stride=10 ** 9)",
    "pad(zeros(0, 2), (10 ** 9, 10 ** 9))",
    "roll(zeros(3), 2 ** 62)",
    "rot90(zeros(3, 3), 2 ** 62)",
    "diff(zeros(3), 2 ** 62)",
    "tril(zeros(3, 3), 2 ** 62)",
    "zeros(3)[2 ** 62:]",
    "zeros(3).unfold(0, 1, 2 ** 62)",
    "zeros(0).reshape(2 ** 62, 0)",
    "arange(inf)",
    "arange(0, 10, nan)",
    "interpolate(zeros(1, 1, 2), scale_factor=inf)",
    "full([2], 2 ** 63)",
    "max_pool1d(zeros(1, 1, 3), 1, 2 ** 62)",
    "adaptive_avg_pool1d(zeros(1, 1, 0), 10 ** 9)",
    "channel_shuffle(zeros(1, 4, 2, 2), 2 ** 62)",
    "norm(ones(3), 2 ** 62)",
    "9 ** 9 ** 9",
    "10 ** 10 ** 10",
    "2 ** -1",
]


@pytest.mark.parametrize("text", HUGE)
def test_no_huge_tensor_is_ever_made(text):
    tracemalloc.start()
    started = time.process_time()
    try:
        with pytest.raises(TooLarge):
            evaluate(parse(text), {}, max_elements=10**6)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.process_time() - started < 3
    assert peak < 16e6


@pytest.mark.parametrize("text", HARMLESS)
def test_a_large_number_takes_neither_time_nor_memory(text: str) -> None:
    tracemalloc.start()
    started = time.process_time()
    try:
        with contextlib.suppress(TensorError):
            evaluate(parse(text), {}, RandomHost(stream(0, "x"), np.dtype(np.float64)), max_elements=10**6)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.process_time() - started < 3
    assert peak < 16e6


@pytest.mark.parametrize(
    "call", ["zeros({})", "zeros([{}])", "ones({})", "randn({})", "full([{}], 1)", "zeros(1).repeat({})"]
)
def test_more_dimensions_than_numpy_broadcasts_are_refused(call: str) -> None:
    def made(dimensions: int) -> Any:
        return evaluate(parse(call.format("1, " * dimensions)), {}, RandomHost(stream(0, "x"), np.dtype(np.float64)))

    assert made(32).ndim == 32
    with pytest.raises(TooLarge, match="more than 32 dimensions"):
        made(33)


def test_a_number_that_nobody_can_read_is_not_written_out() -> None:
    with pytest.raises(TooLarge, match="of more than 10\\^18 elements, where 10 are allowed"):
        evaluate(parse("arange(0, 1, 1e-300)"), {}, max_elements=10)
    assert "of 1,000,000,000 elements" in too_large("x", 10**9, 10).message
    assert len(too_large("x", 10**5000, 10).message) < 100


def test_the_budget_is_the_caller_s():
    assert evaluate(parse("zeros(10)"), {}, max_elements=10).size == 10
    with pytest.raises(TooLarge, match="of 11 elements, where 10 are allowed"):
        evaluate(parse("zeros(11)"), {}, max_elements=10)
    with pytest.raises(TooLarge):
        evaluate(parse("x + y"), {"x": np.zeros((4, 1)), "y": np.zeros((1, 4))}, max_elements=10)


@pytest.mark.parametrize(
    ("op", "args", "elements"),
    [
        ("zeros", ((3, 4),), 12),
        ("arange", (7,), 7),
        ("add", (np.zeros((3, 1)), np.zeros((1, 4))), 12),
        ("cat", ([np.zeros(5), np.zeros((6,))],), 11),
        ("outer", (np.zeros(3), np.zeros(4)), 12),
        ("where", (np.zeros((3, 1)) > 0, np.zeros((1, 4)), 0.0), 12),
    ],
)
def test_the_elements_of_a_result(op: str, args: tuple[Any, ...], elements: int) -> None:
    entry = lookup(op)
    assert entry is not None
    check(entry, args, {}, elements)
    with pytest.raises(TooLarge, match=f"of {elements} elements, where {elements - 1} are allowed"):
        check(entry, args, {}, elements - 1)


def test_shapes_that_do_not_go_together_are_the_op_s_to_refuse() -> None:
    check(TABLE["add"], (np.zeros(3), np.zeros(4)), {}, 3)
    check(TABLE["zeros"], ((3,),), {"dtype": None}, MAX_ELEMENTS)


def test_an_op_expects_what_it_makes() -> None:
    """No fewer elements than it makes of less, as the budget counts on that; and not many more."""
    wrong = []
    for text in (t for t in CALLS if TABLE[OP_OF[t]].elements is not None):
        expr, arrays = drawn(text)
        made = evaluate(expr, arrays)
        size = sum(np.size(part) for part in (made if isinstance(made, (tuple, list)) else (made,)))
        given = max((array.size for array in arrays.values()), default=0)
        wrong += [f"fewer: {text}"] if size > max(given, 1) and not is_too_large(expr, arrays, size - 1) else []
        wrong += [f"many more: {text}"] if is_too_large(expr, arrays, 40 * max(size, given) + 100) else []
    assert not wrong, "\n".join(wrong)


def is_too_large(expr: Expr, arrays: dict[str, np.ndarray], limit: int) -> bool:
    try:
        evaluate(expr, arrays, max_elements=limit)
    except TooLarge:
        return True
    return False


@pytest.mark.parametrize(
    "text",
    [
        *("zeros([2**62, 0])", "zeros(0, 2**40, 2**40)", "ones([2**62, 0])", "full([0, 2**62], 1.0)", "eye(0, 2**62)"),
        *("randn(0).reshape(2**62, 0)", "randn(0).reshape([0, 2**62])", "randn(1, 0).expand(2**62, 0)"),
        *("randn(0).repeat(2**62, 1)", "tile(randn(0), (2**62, 1))", "broadcast_to(randn(1, 0), (2**62, 0))"),
        *("randn(2).new_zeros((2**62, 0))", "pad(randn(2, 0), (0, 0, 2**62, 0))"),
        "native_group_norm(randn(0, 0), None, None, 2**31 - 1, 0, 1, 2, 0.1)[1]",
    ],
)
def test_a_shape_of_no_elements_that_numpy_cannot_have_is_too_large(text: str) -> None:
    """torch can have it, and its tensor would be no array."""
    expr, arrays = drawn(text)
    with pytest.raises(TooLarge):
        evaluate(expr, arrays)


@pytest.mark.parametrize(
    "text",
    [
        "nn.functional.unfold(ones(1, 2, 5, 5), 2, 2 ** 63 - 1, 0, 1)",
        "nn.functional.unfold(ones(1, 2, 5, 5), 2, dilation=(1, 2 ** 62))",
        "conv2d(ones(1, 1, 5, 5), ones(1, 1, 2, 2), stride=2 ** 63 - 1)",
        "linalg.matrix_power(ones(2, 2), -(2 ** 63))",
        "roll(ones(3), 2 ** 31)",
        "linalg.matrix_power(ones(2, 2), tensor(-(2 ** 63)))",
        "nn.functional.unfold(ones(1, 2, 5, 5), 2, (tensor([2 ** 62])[0], 1))",
    ],
)
def test_integers_by_which_torch_overflows_are_refused(text: str) -> None:
    """torch reads outside of `unfold`'s tensor, and never returns from `matrix_power`."""
    with pytest.raises(ArgumentError, match=r"takes no \w+ of 2\^31 or more"):
        evaluate(parse(text), {})


def test_numbers_that_are_no_geometry_may_be_vast() -> None:
    assert evaluate(parse("full((2,), 2 ** 62, dtype=int64)"), {})[0] == 2**62
