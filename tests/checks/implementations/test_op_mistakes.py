"""Mistakes at one op inside an entry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.checks.scheduling.run import run
from tests.engines.implementation.build import with_code

CASE = 'dims: {n: 3, d: 2}\ninputs: {x: "randn(n, d)", w: "randn(d, d)"}\ngraph: {y: tanh(x @ w) + 2 * x}'


def forward(x: Any, w: Any) -> Any:
    return np.tanh(x @ w) + 2 * x, (x, w, np.tanh(x @ w))


@pytest.mark.parametrize(
    ("backward", "tensor", "kind"),
    [
        (lambda g, c: (g @ c[1].T + 2 * g, c[0].T @ g), "w", "incoming_passed_on"),  # without tanh's derivative
        (lambda g, c: (0 * g + 2 * g, c[0].T @ (g * (1 - c[2] ** 2))), "x", "path_dropped"),
        (lambda g, c: ((g * (1 - c[2] ** 2)) @ c[1].T + 2.5 * g, c[0].T @ (g * (1 - c[2] ** 2))), "x", "factor"),
        (
            lambda g, c: ((g * (1 - c[2] ** 2)) @ c[1] + 2 * g, c[0].T @ (g * (1 - c[2] ** 2))),
            "x",
            "operand_transposed",
        ),
    ],
)
def test_they_are_named(backward: Any, tensor: str, kind: str) -> None:
    (found,) = run(with_code(CASE, (forward, backward)), allow_code=True).cases
    kinds = {c.tensor: [d.kind for d in c.diagnoses] for c in found.comparisons if c.diagnoses}
    assert kind in kinds[tensor]


def test_what_is_no_known_mistake_stays_unknown() -> None:
    def backward(g: Any, c: Any) -> Any:
        return (g * (1 - c[2] ** 2)) @ c[1].T + g * (2 + np.sin(7 * c[0])), c[0].T @ (g * (1 - c[2] ** 2))

    (found,) = run(with_code(CASE, (forward, backward)), allow_code=True).cases
    assert {d.kind for c in found.comparisons for d in c.diagnoses} == {"unknown"}
