"""Code that has no number where there is no derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.checks.scheduling.run import run
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


def test_a_quotient_of_zeros_is_no_place_either() -> None:
    def cosine(a: Any, b: Any) -> Any:
        with np.errstate(all="ignore"):
            return (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))

    def backward(g: Any, a: Any, b: Any) -> Any:
        with np.errstate(all="ignore"):
            m, n = np.sqrt((a * a).sum(1, keepdims=True)), np.sqrt((b * b).sum(1, keepdims=True))
            c, g = (a * b).sum(1, keepdims=True) / (m * n), g[:, None]
            return g * (b / (m * n) - c * a / m**2), g * (a / (m * n) - c * b / n**2)

    case = 'dims: {n: 9}\ninputs: {a: "randn(n, 2)", b: "randn(n, 2)"}\ngeneralize: {dims: {n: [9, 9]}}\n'
    case += 'graph: {y: "F.cosine_similarity(a, b, dim=1)"}'
    (found,) = run(with_code(case, (cosine, backward)), allow_code=True).cases
    assert found.status == "passed"
    assert any(c.verdict is not None and c.verdict.kind == "undefined_at_kink" for c in found.comparisons)


def test_a_mean_of_zeros_is_one() -> None:
    def sinc(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.sin(x) / x

    def backward(g: Any, x: Any) -> Any:
        with np.errstate(all="ignore"):
            return g * (np.cos(x) / x - np.sin(x) / x**2)

    case = 'dims: {n: 6, d: 1}\ninputs: {x: "randn(n, d)"}\ngraph: {y: "sinc(x / pi)"}'
    (found,) = run(with_code(case, (sinc, backward)), allow_code=True).cases
    assert found.status == "failed"


def test_a_product_is_smooth_there() -> None:
    def backward(g: Any, x: Any) -> Any:
        with np.errstate(all="ignore"):
            return g * np.prod(x) / x

    case = "inputs: {x: [0.0, 2.0, 3.0]}\ngraph: {y: x.prod()}"
    (found,) = run(with_code(case, (np.prod, backward)), allow_code=True).cases
    assert found.status == "failed"
