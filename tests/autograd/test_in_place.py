"""Running statistics of norms are changed in place as by torch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.modes import using_default_dtype
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NUMPY
from gradcheck.language.expr.parser import parse
from tests.autograd import table

NAMES = ("x", "w", "b", "mean", "var")
CALLS = """
    batch_norm(x, mean, var, training=True)
    batch_norm(x, mean, var, w, b, True, 0.3)
    batch_norm(x, mean, var, w, b, False)
    batch_norm(x[..., 0], mean, var, training=True, momentum=0.0)
    batch_norm(x, mean, var, training=True, momentum=1.0, eps=0.5)
    instance_norm(x, mean, var, w, b)
    instance_norm(x, mean, var, momentum=0.4)
    instance_norm(x, mean, var, use_input_stats=False)
    native_batch_norm(x, w, b, mean, var, True, 0.3, 1e-5)
    native_batch_norm(x, w, b, mean, var, False, 0.3, 1e-5)
    native_batch_norm(x[..., 0], None, None, mean, var, True, 1.0, 0.1)
    torch._native_batch_norm_legit(x, w, b, mean, var, True, 0.25, 1e-5)
    torch._batch_norm_with_update(x, w, b, mean, var, 0.2, 1e-5)
"""


def given() -> dict[str, np.ndarray]:
    stream = np.random.default_rng(7)
    made = {name: stream.standard_normal(3) for name in NAMES[1:]}
    return {"x": stream.standard_normal((4, 3, 5)), **made, "var": stream.uniform(0.5, 2, 3)}


def after(side: Any, host: Any, text: str) -> list[np.ndarray]:
    """The result, and the tensors as they are then."""
    tensors = {name: side.leaf(array, False) for name, array in given().items()}
    made = evaluate(parse(text), tensors, host)
    return [side.array(made[0] if isinstance(made, tuple) else made), *(side.array(tensors[name]) for name in NAMES)]


@pytest.mark.parametrize("text", [line.strip() for line in CALLS.strip().splitlines()])
def test_running_statistics_are_moved_as_by_torch(text: str) -> None:
    with table.TORCH.session(table.DOUBLE), using_default_dtype(table.DOUBLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got, want = after(table.CORE, NUMPY, text), after(table.REFERENCE, table.TORCH.host, text)
    for name, mine, theirs in zip(("result", *NAMES), got, want, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-14, err_msg=name)
