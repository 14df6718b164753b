"""What ops refuse: as torch does, and with the same kind of error."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.engines.base import Application
from gradcheck.errors import TensorError
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse
from tests.autograd import table

REFUSED = {
    "dtype_mismatch": (
        "mean(randint(0, 5, [3]))",
        "mean(randn(2) > 0)",
        "var(randint(0, 5, [3]))",
        "std(randint(0, 5, [3]))",
        "where(randn(3), 1.0, randn(3))",
        "relu(complex(randn(2), randn(2)))",
        "floor(complex(randn(2), randn(2)))",
        "complex(randn(2), randn(2)) < 1",
        "maximum(complex(randn(2), randn(2)), complex(randn(2), randn(2)))",
        "amax(complex(randn(2), randn(2)))",
        "erf(complex(randn(2), randn(2)))",
        "clamp(complex(randn(2), randn(2)), 0, 1)",
        "elu(randint(0, 5, [3]))",
        "hypot(randint(0, 5, [3]), randint(0, 5, [3]))",
        "logaddexp(randint(0, 5, [3]), randint(0, 5, [3]))",
        "round(randn(2) > 0)",
        "abs(tensor([True]))",
        "imag(randn(3))",
        "view_as_real(randn(3))",
        "bitwise_and(randn(2), randn(2))",
        "~randn(2)",
        "-tensor([True, False])",
        "linalg.vector_norm(randint(0, 5, [3]))",
        "linalg.vector_norm(randn(3), dtype=torch.float32)",
    ),
    "index_out_of_range": (
        "sum(randn(2, 3), 2)",
        "sum(randn(()), 1)",
        "logsumexp(randn(2), 1)",
        "cumsum(randn(2, 3), 2)",
        "cumprod(randn(2, 3), -3)",
        "argmax(randn(2, 3), 2)",
        "argmax(randn(0))",
        "argmin(randn(0, 3), 0)",
        "max(randn(2, 3), 2)",
        "max(randn(0, 3), 0)",
        "amax(randn(0, 3), 0)",
        "any(randn(2), 1)",
        "count_nonzero(randn(2), 1)",
        "linalg.vector_norm(randn(2, 3), 2, 2)",
    ),
    "shape_mismatch": (
        "randn(2, 3) + randn(2, 2)",
        "where(randn(3) > 0, randn(3), randn(2))",
        "lerp(randn(3), randn(3), randn(2))",
        "sum(randn(2, 3), (0, 0))",
        "amax(randn(2, 3), (0, -2))",
        "max(randn(0))",
        "amin(randn(0))",
        "view_as_complex(randn(3))",
        "linalg.norm(randn(2, 2, 2), 1)",
        "linalg.matrix_norm(randn(3))",
        "linalg.vector_norm(randn(0), inf)",
        "norm(randn(2), 'nuc')",
        "linalg.svdvals(randn(3))",
        "zeros(-1)",
        "full([2, -1], 1.0)",
        "tensor([[1], [1, 2]])",
        "sum_to_size(randn(2, 3), 2)",
    ),
    "domain_error": (
        "randint(0, 5, [3]) // 0",
        "randint(0, 5, [3]) % 0",
        "fmod(randint(0, 5, [3]), 0)",
        "randint(1, 5, [3]) ** -1",
    ),
    "bad_argument": (
        "prod(randn(2, 3), (0, 1))",
        "sum(randn(2), dim='x')",
        "sum(randn(2), 1.5)",
    ),
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in REFUSED.items() for text in texts])
def test_both_refuse_in_the_same_way(kind: str, text: str) -> None:
    host = table.Watching(np.random.default_rng(0))
    with pytest.raises(TensorError) as ours:
        evaluate(parse(text), {}, host)
    assert ours.value.kind == kind
    op, args, kwargs = host.seen[-1]
    with pytest.raises(TensorError) as theirs:
        table.answer(table.REFERENCE, Application(op, args, kwargs, text))
    assert theirs.value.kind == kind


def test_a_number_that_its_dtype_cannot_hold() -> None:
    with pytest.raises(TensorError, match="out of bounds"):
        evaluate(parse("x + 300"), {"x": np.array([1], np.uint8)})
