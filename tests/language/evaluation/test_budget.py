"""Nothing too large is ever made: the size of a result is known before it is."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE, lookup
from gradcheck.errors import TooLarge
from gradcheck.language.evaluation.budget import MAX_ELEMENTS, check
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.parser import parse
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
