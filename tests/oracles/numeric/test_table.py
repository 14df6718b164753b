"""Every op's gradient rule against the numeric oracle, which knows only its forward."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import Op, Tensor, dtypes, grad
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.autograd.op import TABLE
from gradcheck.engines.base import Application
from gradcheck.engines.recording import arrays, rebuild
from gradcheck.errors import GradcheckError, Unsupported
from gradcheck.facts import fact
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NumPy
from gradcheck.language.expr.parser import parse
from gradcheck.oracles.numeric.numeric_gradient import NumericGradient, is_between_sides
from gradcheck.oracles.numeric.objective import OpObjective, WideHost
from tests.autograd.table import DOUBLE, drawn_like, is_random
from tests.sampling import evenly_spread, sample

#: Its result is in single precision, where differences tell little.
_COARSE = frozenset({"cfloat"})
#: Equal singular values: of all their subgradients neighbours show but some.
_MANY = ("svdvals(eye(3))", "nuc")
DIFFERENTIABLE = [
    op for op in TABLE.values() if (any(op.rules) or op.composite) and not is_random(op) and op.name not in _COARSE
]
ANALYTIC = [op for op in TABLE.values() if op.analytic]
TOLERANCE = 1e-10
#: Their samples round, and so have no derivative, or none that differs from 0.
_ROUNDED = ("rounding_mode=",)
#: Where numbers leave what complex numbers continue: infinities, and negative bases of live exponents.
_NOT_CONTINUED = ("inf", "(-2.0) **", "tensor([0.0, 0.0, 1.0, 2.0]), tensor", "tensor([-2.0, -1.0]), tensor", "-1000.0")


class Gradient:
    """One gradient by the rules: of which array of which call, and the same call as a function of that array."""

    def __init__(self, call: Application, place: int, answer: np.ndarray, seeds: list[np.ndarray | None]) -> None:
        self.call, self.answer = call, answer
        held = list(arrays(call.args, call.kwargs))

        def apply(value: Any) -> Any:
            position = iter(range(len(held)))

            def chosen(_: np.ndarray) -> Any:
                at = next(position)
                return value if at == place else held[at].copy()

            args, kwargs = rebuild(call.args, call.kwargs, chosen, WideHost().dtype)
            return call.op(*args, **kwargs)

        self.numeric = NumericGradient([OpObjective(held[place], apply, seeds)])


def gradients(op: Op, most: int | None = None) -> Iterator[Gradient]:
    """Yield all gradients of an op over small real float64 calls (the most of them), for random cotangents."""
    stream = np.random.default_rng(zlib.crc32(op.name.encode()))
    for call in calls(op, stream) if most is None else evenly_spread(list(calls(op, stream)), most):
        held = list(arrays(call.args, call.kwargs))
        if any(array.dtype.kind == "c" or array.dtype == np.float32 for array in held):
            continue
        tracked = call.tracked or (True,) * len(held)
        pairs = zip(held, tracked, strict=True)
        leaves = [Tensor(a.copy(), bool(t) and dtypes.is_differentiable(a.dtype)) for a, t in pairs]
        remaining = iter(leaves)
        args, kwargs = rebuild(call.args, call.kwargs, partial(lambda r, _: next(r), remaining), WideHost().dtype)
        made = call.op(*args, **kwargs)
        outputs = made if isinstance(made, tuple) else (made,)
        alive = [isinstance(o, Tensor) and o.requires_grad for o in outputs]
        seeds = [drawn_like(o.data, stream) if a else None for o, a in zip(outputs, alive, strict=True)]
        roots = [o for o, a in zip(outputs, alive, strict=True) if a]
        inputs = [place for place, leaf in enumerate(leaves) if leaf.requires_grad and leaf.data.size]
        if not roots or not inputs:
            continue
        found = grad(roots, [leaves[i] for i in inputs], [seed for seed in seeds if seed is not None])
        for place, gradient in zip(inputs, found, strict=True):
            if gradient is not None:
                yield Gradient(call, place, gradient.data, seeds)


def calls(op: Op, stream: np.random.Generator) -> Iterator[Application]:
    """The op on arrays of shape (2, 3) and (3,) from its domain, then as its samples say."""
    if op.elementwise and op.domain:
        shapes = ((2, 3), (3,), (2, 1))[: len(op.domain)]
        args = [np.asarray(stream.uniform(*b, shape)) for b, shape in zip(op.domain, shapes, strict=True)]
        if op.masked:
            args[0] = np.asarray(args[0] > 0.5)
        yield Application(op, tuple(args), {}, f"{op.name} of {shapes}")
    for text in op.samples:
        if not any(word in text for word in (*_ROUNDED, *_MANY)):
            yield application(op, text, stream)


class Watching(NumPy):
    """NumPy with seeded random numbers, noting how one op is applied, and what is detached."""

    def __init__(self, stream: np.random.Generator, op: Op) -> None:
        self.stream, self.op = stream, op
        self.seen: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})
        self.detached: list[np.ndarray] = []

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if op is self.op:
            self.seen = args, kwargs
        made = op(*args, **kwargs, generator=self.stream) if is_random(op) else op(*args, **kwargs)
        if op.name == "detach":
            self.detached.append(made)
        return made


def application(op: Op, sample: str, stream: np.random.Generator) -> Application:
    host = Watching(stream, op)
    evaluate(parse(sample), {}, host)
    args, kwargs = host.seen
    tracked = tuple(not any(a is d for d in host.detached) for a in arrays(args, kwargs))
    return Application(op, args, kwargs, sample, tracked)


def named(ops: list[Op]) -> Callable[[Any], Any]:
    return pytest.mark.parametrize("op", ops, ids=lambda op: op.name)


@named(sample(DIFFERENTIABLE, 4, lambda op: f"{op.name} "))  # others than below
def test_rules_are_the_derivatives_of_their_forwards(op: Op) -> None:
    """Wherever the oracle can tell: within its error bar, or at a kink between the one-sided derivatives."""
    told = 0
    with using_default_dtype(DOUBLE), np.errstate(all="ignore"):
        for gradient in gradients(op, most=2):
            try:
                estimate = gradient.numeric.partials(range(gradient.answer.size))
            except GradcheckError:  # the forward itself is undefined close by
                continue
            answer = gradient.answer.ravel()
            scale = float(np.max(np.abs(answer), where=np.isfinite(answer), initial=0.0))
            room = TOLERANCE * (scale + np.abs(answer))
            known = estimate.error <= 1e-6 * (scale or 1.0)
            right = np.abs(answer - estimate.value) <= room + estimate.error
            known &= np.isfinite(answer)  # 0 / 0 is no claim
            assert np.all(right | ~known | estimate.kinked), (gradient.call.owner, answer, estimate)
            room = room + 1e-6 * scale  # of neighbours' differences
            assert np.all(is_between_sides(estimate, answer, room) | ~estimate.kinked), (
                gradient.call.owner,
                answer,
                estimate,
            )
            told += int(np.sum(known | estimate.kinked))
    assert told or not any(True for _ in gradients(op)), f"the oracle tells nothing about {op.name}"


#: Ops whose forwards are compiled code, or of other dtypes, have none in high precision; at least so many do.
_IN_HIGH_PRECISION = 0.7


def test_slopes_in_high_precision_are_those_of_the_rules() -> None:
    """Wherever an op has one: they see each side, so a kink has none."""
    asked, told = sample(DIFFERENTIABLE, 4, lambda op: op.name), set()
    with using_default_dtype(DOUBLE), np.errstate(all="ignore"):
        for op in asked:
            for gradient in gradients(op, most=2):
                answer, (derivative,) = gradient.answer.ravel(), gradient.numeric._derivatives
                for place in range(min(2, answer.size)):
                    with suppress(Unsupported):
                        slope = derivative.precise(gradient.numeric._unit(place, 1.0))
                        told.add(op.name)
                        scale = np.max(np.abs(answer), where=np.isfinite(answer), initial=0.0)
                        room = 1e-11 * abs(slope.value) + 1e-13 * scale
                        is_right = abs(slope.value - answer[place]) <= room
                        assert is_right or not np.isfinite(answer[place]), (gradient.call.owner, slope, answer[place])
    assert len(told) >= _IN_HIGH_PRECISION * len(asked)


@named(ANALYTIC)
def test_analytic_ops_take_complex_steps(op: Op) -> None:
    """To rounding: no difference of anything is taken."""
    served = 0
    with using_default_dtype(DOUBLE), np.errstate(all="ignore"):
        for gradient in gradients(op, most=3):
            if any(word in gradient.call.owner for word in _NOT_CONTINUED) or not np.all(np.isfinite(gradient.answer)):
                continue
            estimate = gradient.numeric.partials(range(gradient.answer.size))
            if not np.all(np.isfinite(estimate.value)):
                continue
            assert estimate.method == "complex step", (gradient.call.owner, estimate.no_complex_step_reason)
            answer = gradient.answer.ravel()
            room = 1e-13 * (np.abs(answer) + np.max(np.abs(answer), initial=0.0)) + estimate.error
            assert np.all(np.abs(answer - estimate.value) <= room), (gradient.call.owner, answer, estimate)
            served += 1
    assert served, f"no complex step through {op.name}"


#: Of which samples alone do not show that they are none, or which are meant to be taken by differences.
_NOT_SAID = {
    "binary_cross_entropy": "its rule is bounded where its forward is not",
    "det_hessian": "a rule's own",
    "logcumsumexp": "the order of its numbers decides",
    "matrix_exp": "as large a matrix takes another approximation",
    "median_of_all": "the order of its numbers decides",
    "nan_to_num": "what is no number decides",
}


def test_what_takes_complex_steps_says_so() -> None:
    """No entry that does is left to differences, but for those above."""
    taken = set()
    with using_default_dtype(DOUBLE), np.errstate(all="ignore"):
        for op in DIFFERENTIABLE:
            if op.composite or op.analytic:
                continue
            object.__setattr__(op, "analytic", True)
            try:
                steps = steps_through(op)
                if next(steps, False) and all(steps):
                    taken.add(op.name)
            finally:
                object.__setattr__(op, "analytic", False)
    assert taken == _NOT_SAID.keys()


def steps_through(op: Op) -> Iterator[bool]:
    """Of each gradient whether a complex step finds it."""
    for gradient in gradients(op):
        if any(word in gradient.call.owner for word in _NOT_CONTINUED) or not np.all(np.isfinite(gradient.answer)):
            continue
        estimate = gradient.numeric.partials(range(gradient.answer.size))
        if np.all(np.isfinite(estimate.value)):
            answer = gradient.answer.ravel()
            room = 1e-13 * (np.abs(answer) + np.max(np.abs(answer), initial=0.0)) + estimate.error
            yield estimate.method == "complex step" and bool(np.all(np.abs(answer - estimate.value) <= room))


@pytest.mark.parametrize(
    "name", ["abs", "linalg.vector_norm", "conj", "amax", "maximum", "where", "var", "sgn", "real"]
)
def test_what_is_not_analytic_is_marked_so(name: str) -> None:
    assert TABLE[name].analytic == (name == "where")


def test_comparisons_are_refused_by_complex_steps() -> None:
    x = np.array([1.0, 2.0])
    numeric = NumericGradient([OpObjective(x, lambda v: TABLE["where"](v > 1.5, v, 2 * v), [np.ones(2)])])
    estimate = numeric.partials(range(2))
    assert (estimate.method, estimate.no_complex_step_reason) == (
        "differences",
        fact("no_complex_step", message="gt is not analytic"),
    )
    np.testing.assert_allclose(estimate.value, [2, 1], rtol=1e-12)
