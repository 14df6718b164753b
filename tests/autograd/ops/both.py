"""One expression, computed by the core and by torch: what they return, what flows back, or what they raise."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch

from gradcheck.autograd import Tensor, dtypes, grad
from gradcheck.engines.core import Core
from gradcheck.engines.torch import Torch
from gradcheck.errors import TensorError
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse

CORE, TORCH = Core(), Torch()
DOUBLE = np.dtype(np.float64)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng((seed, *shape)).standard_normal(shape)


def outputs(engine: Any, text: str, names: dict[str, np.ndarray]) -> tuple[list[Any], list[Any]]:
    """What the expression returns, as a list, and the leaves that `names` became."""
    leaves = {key: engine.leaf(array, dtypes.is_differentiable(array.dtype)) for key, array in names.items()}
    with engine.session(DOUBLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's deprecations
        found = evaluate(parse(text), leaves, engine.host)
    return list(found) if isinstance(found, tuple) else [found], [x for x in leaves.values() if x.requires_grad]


def agree(text: str, *, rtol: float = 1e-12, **names: np.ndarray) -> None:
    """Values, and gradients for random cotangents, are equal; no gradient equals one of zeros."""
    mine, my_leaves = outputs(CORE, text, names)
    theirs, their_leaves = outputs(TORCH, text, names)
    assert len(mine) == len(theirs)
    for got, want in zip(mine, theirs, strict=True):
        same(CORE.array(got), TORCH.array(want), rtol)
    pairs = [(got, want) for got, want in zip(mine, theirs, strict=True) if want.requires_grad]
    if not pairs:
        return
    seeds = [cotangent(TORCH.array(want), i) for i, (_, want) in enumerate(pairs)]
    found = grad([got for got, _ in pairs], my_leaves, [Tensor(seed) for seed in seeds])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cotangents = [torch.from_numpy(seed) for seed in seeds]
        wanted = torch.autograd.grad([want for _, want in pairs], their_leaves, cotangents, allow_unused=True)
    for leaf, got, want in zip(my_leaves, found, wanted, strict=True):
        zeros = np.zeros_like(leaf.data)
        same(zeros if got is None else got.data, zeros if want is None else TORCH.array(want), rtol)


def cotangent(array: np.ndarray, seed: int) -> np.ndarray:
    """Random numbers of an array's shape and dtype."""
    drawn: Any = normal(*array.shape, seed=100 + seed)
    if array.dtype.kind == "c":
        drawn = drawn + 1j * normal(*array.shape, seed=200 + seed)
    return np.asarray(drawn, dtype=array.dtype)


def same(got: np.ndarray, want: np.ndarray, rtol: float) -> None:
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * float(np.abs(want).max(initial=0)))


def raised(text: str, **names: np.ndarray) -> tuple[str, str]:
    """The kinds of error of the core and of torch; empty for one that raises none."""
    return _kind(CORE, text, names), _kind(TORCH, text, names)


def _kind(engine: Any, text: str, names: dict[str, np.ndarray]) -> str:
    try:
        outputs(engine, text, names)
    except TensorError as error:
        return error.kind
    return ""
