"""Code that has no number where there is no derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.checks.run import run
from tests.engines.implementation.build import with_code

NORM = 'dims: {n: 6, d: 1}\ninputs: {x: "randn(n, d)"}\ngraph: {y: "x.norm(dim=1)"}'


def norm(x: Any) -> Any:
    y = np.sqrt((x * x).sum(1))
    return y, (x, y)


def norm_backward(g: Any, cache: Any) -> Any:
    x, y = cache
    with np.errstate(all="ignore"):
        return g[:, None] * x / y[:, None]


def test_a_norm_at_zero_is_no_place_to_fail() -> None:
    (found,) = run(with_code(NORM, (norm, norm_backward)), allow_code=True).cases
    assert found.status == "passed"
    assert any(c.verdict is not None and c.verdict.kind == "undefined_at_kink" for c in found.comparisons)


def test_a_product_is_smooth_there() -> None:
    def backward(g: Any, x: Any) -> Any:
        with np.errstate(all="ignore"):
            return g * np.prod(x) / x

    case = "inputs: {x: [0.0, 2.0, 3.0]}\ngraph: {y: x.prod()}"
    (found,) = run(with_code(case, (np.prod, backward)), allow_code=True).cases
    assert found.status == "failed"
