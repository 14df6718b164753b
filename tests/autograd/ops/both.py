"""An expression or call on both sides: the core and torch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from gradcheck.autograd import Tensor, dtypes, grad, ops
from gradcheck.autograd.dtypes import largest_finite
from gradcheck.engines.base import Application
from gradcheck.engines.core import Core
from gradcheck.engines.torch import Torch
from gradcheck.errors import GradcheckError, TensorError, TooLarge
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse
from tests.autograd import table

CORE, TORCH = Core(), Torch()
DOUBLE = np.dtype(np.float64)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng((seed, *shape)).standard_normal(shape)


#: Arguments that are right for one op and wrong for the next.
NAMES: dict[str, np.ndarray] = {
    "x": normal(2, 3),
    "X": normal(2, 3, 4),
    "z": normal(3),
    "f": normal(2),
    "s": normal(),
    "single": normal(2, 3).astype(np.float32),
    "integers": np.ones((2, 3), np.int64),
    "t": np.array([0, 1]),
    "bad": np.array([0, 3]),
    "negative": np.array([0, -1]),
    "i32": np.array([0, 1], np.int32),
}


def outputs(
    engine: Any, text: str, names: dict[str, np.ndarray], *, tracked: bool = True
) -> tuple[list[Any], list[Any]]:
    """Return the results and the leaves of `names`, `tracked` or not."""
    leaves = {
        key: engine.leaf(array, tracked and dtypes.is_differentiable(array.dtype)) for key, array in names.items()
    }
    with engine.session(DOUBLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's deprecations
        found = evaluate(parse(text), leaves, engine.host)
    return list(found) if isinstance(found, tuple) else [found], [x for x in leaves.values() if x.requires_grad]


def agree(text: str, *, rtol: float = 1e-12, **names: np.ndarray) -> None:
    """Compare values and gradients for random cotangents; None equals zeros."""
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
    """Return both sides' kinds of error; empty if there is none."""
    return _kind(CORE, text, names), _kind(TORCH, text, names)


def _kind(engine: Any, text: str, names: dict[str, np.ndarray]) -> str:
    try:
        outputs(engine, text, names, tracked=False)
    except TensorError as error:
        return error.kind
    return ""


def refused(text: str) -> tuple[str, str]:
    """Return both sides' kinds of error for an expression such as `randn(3)`."""
    host = table.Watching(np.random.default_rng(0))
    with pytest.raises(TensorError) as ours:
        evaluate(parse(text), {}, host)
    op, args, kwargs = host.seen[-1]
    with pytest.raises(TensorError) as theirs:
        table.answer(table.REFERENCE, Application(op, args, kwargs, text))
    return ours.value.kind, theirs.value.kind


def agree_on_call(name: str, *args: Any, theirs: Any = None, rtol: float = 1e-12, **settings: Any) -> np.ndarray:
    """Compare an op with torch's function, or with `theirs`; return the value.

    Floating arrays get gradients, for a random cotangent; NaN equals NaN.
    """
    ours = [Tensor(a, requires_grad=_is_leaf(a)) if isinstance(a, np.ndarray) else a for a in args]
    other = [torch.tensor(a, requires_grad=_is_leaf(a)) if isinstance(a, np.ndarray) else a for a in args]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's opinions on reductions
        want = (theirs or getattr(functional, name))(*other, **settings)
    got = getattr(ops, name)(*ours, **settings)
    close(got.data, want.detach().numpy(), rtol)
    seed = np.random.default_rng(1).standard_normal(got.shape)
    got.backward(seed)
    want.backward(torch.tensor(seed))
    for mine, torchs in zip(ours, other, strict=True):
        if isinstance(mine, Tensor) and mine.requires_grad and torchs.grad is not None:
            assert mine.grad is not None
            close(mine.grad.data, torchs.grad.numpy(), rtol)
    return got.data


def _is_leaf(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def close(got: np.ndarray, want: np.ndarray, rtol: float) -> None:
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-14 * largest_finite(want))


def is_too_large(text: str) -> bool:
    """Return whether an expression is rejected before its result is made."""
    names = {"x": np.zeros((100_000, 1)), "y": np.zeros((100_000, 1)), "i": np.zeros(100_000, np.int64)}
    try:
        evaluate(parse(text), names)
    except TooLarge:
        return True
    return False


# Tests that are a table: `test_… = refused_by_both(…)` -------------------------------------------------


def refused_by_both(*cases: tuple[str, str]) -> Callable[[str, str], None]:
    """Assert that both sides reject each expression with this kind of error."""

    @pytest.mark.parametrize(("kind", "text"), cases)
    def test(kind: str, text: str) -> None:
        assert refused(text) == (kind, kind)

    return test


def refused_as_by_torch(*texts: str) -> Callable[[str], None]:
    """Assert that each expression of `NAMES` is rejected as by torch."""

    @pytest.mark.parametrize("text", texts)
    def test(text: str) -> None:
        kinds = raised(text, **NAMES)
        assert kinds[0] == kinds[1] != ""

    return test


def told(wrong: dict[str, tuple[type[GradcheckError], Callable[[], Any]]]) -> Callable[[str], None]:
    """Assert that each call raises an error of this kind with a message."""

    @pytest.mark.parametrize("what", wrong)
    def test(what: str) -> None:
        kind, call = wrong[what]
        with pytest.raises(kind) as caught:
            call()
        assert caught.value.message

    return test
