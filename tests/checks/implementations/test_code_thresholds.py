"""Numbers and sizes about the constants that code is written with."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.checks.scheduling.run import run
from tests.engines.implementation.build import with_code

SQUARE = 'dims: {n: 3}\ninputs: {x: "randn(n)"}\ngraph: {y: x * x}'
SUM = 'dims: {n: 3, d: 2}\ninputs: {x: "randn(n, d)"}\ngraph: {y: x.sum(dim=0)}'


def status(case: str, forward: Any, backward: Any) -> str:
    (found,) = run(with_code(case, (forward, backward)), allow_code=True).cases
    return found.status


def test_a_threshold_is_visited_on_both_sides() -> None:
    def beyond(g: Any, x: Any) -> Any:
        return np.where(np.abs(x) > 300.0, 0.0, 2 * g * x)

    assert status(SQUARE, lambda x: x * x, lambda g, x: 2 * g * x) == "passed"
    assert status(SQUARE, lambda x: x * x, beyond) == "failed"


def test_sizes_are_a_little_more_than_a_block() -> None:
    def in_blocks(g: Any, x: Any) -> Any:
        found = np.zeros(x.shape)
        for start in range(0, max(1, len(x) // 48 * 48), 48):
            found[start : start + 48] = g
        return found

    assert status(SUM, lambda x: x.sum(0), lambda g, x: 0 * x + g) == "passed"
    assert status(SUM, lambda x: x.sum(0), in_blocks) == "failed"
