"""Calls of every op, made from its record, on the core and torch."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from gradcheck.autograd import Op, Tensor, dtypes, grad
from gradcheck.autograd.dtypes import largest_finite
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.engines.base import Application
from gradcheck.engines.recording import arrays, rebuild
from gradcheck.engines.torch import Torch
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NumPy
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.parser import parse

DOUBLE = np.dtype(np.float64)
TORCH = Torch()

#: 0-d, empty, one element, equal shapes, and shapes that broadcast.
SHAPES: dict[int, tuple[tuple[tuple[int, ...], ...], ...]] = {
    1: (((),), ((0,),), ((1,),), ((2, 3),)),
    2: (((), ()), ((0,), (0,)), ((1,), (1,)), ((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 3)),
        ((2, 3), ()), ((0, 3), (1,))),
    3: (((), (), ()), ((0,), (0,), (0,)), ((2, 3), (2, 3), (2, 3)), ((2, 3), (3,), (2, 1))),
}  # fmt: skip


def is_random(op: Op) -> bool:
    """Return whether the op draws random numbers."""
    return any(parameter.name == "generator" for parameter in op.parameters)


def generator(op: Op) -> np.random.Generator:
    """A stream for each op, so that its numbers do not depend on others."""
    return np.random.default_rng(zlib.crc32(op.name.encode()))


# Calls -------------------------------------------------------------------------------------------


def calls(op: Op) -> Iterator[Application]:
    """Yield calls on float64 arrays, of `SHAPES` from its domain, and samples."""
    stream = generator(op)
    if op.elementwise and op.domain:
        for shapes in SHAPES[len(op.domain)]:
            args = [np.asarray(stream.uniform(*b, shape)) for b, shape in zip(op.domain, shapes, strict=True)]
            if op.masked:
                args[0] = np.asarray(args[0] > 0.5)
            yield Application(op, tuple(args), {}, f"{op.name} of {shapes}")
    for sample in op.samples:
        yield application_in(op, sample, stream)


class Watching(NumPy):
    """NumPy with random numbers that notes applied ops and detached arrays."""

    def __init__(self, stream: np.random.Generator) -> None:
        self.stream = stream
        self.seen: list[tuple[Op, tuple[Any, ...], dict[str, Any]]] = []
        self.detached: list[np.ndarray] = []

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.seen.append((op, args, kwargs))
        made = op(*args, **kwargs, generator=self.stream) if is_random(op) else op(*args, **kwargs)
        if op.name == "detach":
            self.detached.append(made)
        return made


def application_in(op: Op, sample: str | Expr, stream: np.random.Generator) -> Application:
    """Return the last application of `op`; detached arrays get no gradient."""
    host = Watching(stream)
    with using_default_dtype(DOUBLE):
        evaluate(parse(sample) if isinstance(sample, str) else sample, {}, host, max_elements=10**5)
    applied = [(args, kwargs) for what, args, kwargs in host.seen if what is op]
    assert applied, f"the sample {sample!r} of {op.name} never calls it"
    args, kwargs = applied[-1]
    tracked = tuple(not any(a is d for d in host.detached) for a in arrays(args, kwargs))
    return Application(op, args, kwargs, str(sample), tracked)


def in_dtype(call: Application, dtype: np.dtype) -> Application:
    """Return the call in another dtype; imaginary parts for complex ones."""
    stream = generator(call.op)

    def convert(array: np.ndarray) -> Any:
        if dtype.kind != "c":
            return array.astype(dtype) if dtypes.category(array.dtype) == 2 else array
        return (
            np.asarray(array + 1j * stream.uniform(-0.9, 0.9, array.shape), dtype) if array.dtype == DOUBLE else array
        )

    args, kwargs = rebuild(call.args, call.kwargs, convert, dtypes.BY_NAME.__getitem__)
    return replace(call, args=args, kwargs=kwargs)


# Answers -----------------------------------------------------------------------------------------

Arrays = tuple[np.ndarray | None, ...]


@dataclass(frozen=True)
class Answer:
    """Values, gradients by array, and in second order by cotangent.

    A gradient is None where there is no derivative.
    """

    values: Arrays
    gradients: Arrays | None = ()
    second: Arrays | None = None


class Core:
    """gradcheck's own side."""

    def leaf(self, array: np.ndarray, requires_grad: bool) -> Any:
        return Tensor(array, requires_grad=requires_grad)

    def apply(self, call: Application, leaves: list[Any]) -> Any:
        remaining = iter(leaves)
        args, kwargs = rebuild(call.args, call.kwargs, lambda _: next(remaining), dtypes.BY_NAME.__getitem__)
        return call.op(*args, **kwargs)

    def array(self, tensor: Any) -> np.ndarray:
        return np.asarray(tensor.data if isinstance(tensor, Tensor) else tensor)

    def grad(self, outputs: list[Any], inputs: list[Any], seeds: list[Any], again: bool) -> tuple[Any, ...]:
        return grad(outputs, inputs, seeds, create_graph=again, retain_graph=True)


class Reference:
    """torch's side."""

    def leaf(self, array: np.ndarray, requires_grad: bool) -> Any:
        return TORCH.leaf(array, requires_grad)

    def apply(self, call: Application, leaves: list[Any]) -> Any:
        remaining = iter(leaves)
        args, kwargs = rebuild(call.args, call.kwargs, lambda _: next(remaining), TORCH.host.dtype)
        return TORCH.host.call(call.op, args, kwargs)

    def array(self, tensor: Any) -> np.ndarray:
        return TORCH.array(tensor) if isinstance(tensor, torch.Tensor) else np.asarray(tensor)

    def grad(self, outputs: list[Any], inputs: list[Any], seeds: list[Any], again: bool) -> tuple[Any, ...]:
        found: tuple[Any, ...] = torch.autograd.grad(
            outputs, inputs, seeds, create_graph=again, retain_graph=True, allow_unused=True
        )
        return found


CORE, REFERENCE = Core(), Reference()


def answer(side: Core | Reference, call: Application, *, second_order: bool = False) -> Answer:
    """Values and gradients for random cotangents of every output that has one."""
    stream = generator(call.op)
    found = list(arrays(call.args, call.kwargs))
    tracked = call.tracked or (True,) * len(found)
    with TORCH.session(DOUBLE), using_default_dtype(DOUBLE), warnings.catch_warnings():
        if side is REFERENCE:
            warnings.simplefilter("ignore")  # torch's opinions: deprecations, deviations of single elements
        leaves = [side.leaf(a, t and dtypes.is_differentiable(a.dtype)) for a, t in zip(found, tracked, strict=True)]
        made = side.apply(call, leaves)
        outputs = made if isinstance(made, tuple) else (made,)
        values = tuple(side.array(output) for output in outputs)
        inputs = [leaf for leaf in leaves if leaf.requires_grad]
        roots = [output for output in outputs if getattr(output, "requires_grad", False)]
        if not roots or not inputs:
            return Answer(values)
        seeds = [side.leaf(drawn_like(side.array(root), stream), second_order) for root in roots]
        try:
            gradients = side.grad(roots, inputs, seeds, second_order)
        except RuntimeError as error:
            if "derivative for" not in str(error) and "ill-defined" not in str(error):
                raise
            return Answer(values, None)
        second = _again(side, gradients, [*inputs, *seeds], stream) if second_order else None
        return Answer(values, tuple(None if g is None else side.array(g) for g in gradients), second)


def _again(side: Core | Reference, gradients: Any, inputs: list[Any], stream: np.random.Generator) -> Arrays:
    probes = [None if g is None else drawn_like(side.array(g), stream) for g in gradients]
    pairs = [
        (g, side.leaf(p, False)) for g, p in zip(gradients, probes, strict=True) if g is not None and g.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    found = side.grad([g for g, _ in pairs], inputs, [p for _, p in pairs], False)
    return tuple(None if g is None else side.array(g) for g in found)


def drawn_like(array: np.ndarray, stream: np.random.Generator) -> np.ndarray:
    """Return random numbers of an array's shape and dtype, unsymmetric.

    Multiples of 1/64 below 2 in size, which every floating dtype holds exactly.
    """
    drawn: Any = stream.integers(32, 96, array.shape) * stream.choice([-1, 1], array.shape) / 64
    if array.dtype.kind == "c":
        drawn = drawn + 1j * stream.integers(-96, 96, array.shape) / 64
    return np.asarray(drawn).astype(array.dtype)


# Comparison --------------------------------------------------------------------------------------

#: Relative to each element, and to the largest.
TOLERANCE = {"float64": 1e-10, "complex128": 1e-10, "float32": 1e-5, "complex64": 1e-5, "float16": 2e-3,
             "bfloat16": 1.6e-2}  # fmt: skip
#: In which dtype torch computes what its own rounding may have spoilt.
WIDER = {"float16": np.dtype(np.float32), "bfloat16": np.dtype(np.float32), "float32": DOUBLE}


#: Whose gradients torch has wrong; differences of the forward hold ours, in `tests/oracles/numeric/test_table.py`.
TORCH_ERRS = {
    "as_strided_scatter": "what was there before gets a gradient where it was written over",
    "cholesky_inverse": "the triangle that is not read gets a gradient",
    "cholesky_solve": "the triangle that is not read gets a gradient",
    "ctc_loss": "it is that of what a log_softmax stands before, to this",
    "ldexp": "powers of 2 are whole numbers, 0 for a negative exponent",
}
#: Which torch computes in fewer digits than doubles have, and in how many.
TORCH_ROUNDS = {
    "digamma": 1e-8,
    "polygamma": 1e-8,
    "mvlgamma": 1e-8,
    "lgamma": 1e-8,
    "hardsigmoid": 1e-7,
    "hardswish": 1e-7,
}


def tolerance(call: Application, answer: Answer) -> float:
    """That of the least precise dtype that takes part."""
    rough = TORCH_ROUNDS.get(call.op.name, 0)
    return max(rough, _tolerance(call, answer))


def _tolerance(call: Application, answer: Answer) -> float:
    taking_part = [*arrays(call.args, call.kwargs), *(value for value in answer.values if value is not None)]
    return max((TOLERANCE.get(array.dtype.name, 0) for array in taking_part), default=0)


def differences(got: Answer, want: Answer, tolerance: float) -> list[str]:
    """Return the differences in words; empty if the answers agree.

    In second order, NaN in torch may be anything: it divides by masked zeros.
    """
    found = _compared("value", got.values, want.values, tolerance)
    if got.gradients is not None and want.gradients is not None:
        found += _compared("gradient", got.gradients, want.gradients, tolerance)
    if got.second is not None and want.second is not None:
        found += _compared("second", got.second, want.second, tolerance, lenient=True)
    return found


def _compared(what: str, got: Arrays, want: Arrays, tolerance: float, *, lenient: bool = False) -> list[str]:
    if len(got) != len(want):
        return [f"{len(got)} {what}s instead of {len(want)}"]
    scales = [largest(w) for w in want]
    if tolerance > TOLERANCE["float32"]:  # in half precision, contributions that cancel leave their rounding behind
        scales = [max([1.0, *scales])] * len(scales)
    found = []
    for index, (g, w) in enumerate(zip(got, want, strict=True)):
        problem = difference(g, w, tolerance, max(scales) if lenient else scales[index], lenient=lenient)
        found += [f"{what} {index}: {problem}"] if problem else []
    return found


def largest(array: np.ndarray | None) -> float:
    """The size of the largest finite element."""
    return 0.0 if array is None or array.dtype.kind == "b" else largest_finite(array)


def difference(
    got: np.ndarray | None, want: np.ndarray | None, tolerance: float, scale: float, *, lenient: bool = False
) -> str:
    """Describe an error of `got`; only zeros equal zeros, NaN equals NaN."""
    if got is None or want is None:
        other = want if got is None else got
        return "" if other is None or not np.any(other) else f"{got} instead of {want}"
    if (got.shape, got.dtype) != (want.shape, want.dtype):
        return f"{got.dtype} {got.shape} instead of {want.dtype} {want.shape}"
    if got.dtype.kind in "biu":
        return "" if np.array_equal(got, want) else f"{got} instead of {want}"
    g, w = got.astype(np.complex128), want.astype(np.complex128)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(g - w) <= tolerance * (np.abs(w) + scale)
    same = (g == w) | (np.isnan(w) if lenient else np.isnan(g) & np.isnan(w))
    return "" if np.all(np.where(np.isfinite(w), near, same)) else f"{got} instead of {want}"


def disagreements(call: Application, *, second_order: bool = False, want: Answer | None = None) -> list[str]:
    """Return differences from torch, and from its rounded higher precision."""
    want = want or answer(REFERENCE, call, second_order=second_order)
    got = answer(CORE, call, second_order=second_order)
    allowed = tolerance(call, want)
    if call.op.name in TORCH_ERRS:
        want = Answer(want.values, None)
    found = differences(got, want, allowed)
    floats = {a.dtype.name for a in arrays(call.args, call.kwargs)} & WIDER.keys()
    if found and floats:
        wide = answer(REFERENCE, in_dtype(call, max(WIDER[name] for name in floats)))
        if want.gradients is None:
            wide = Answer(wide.values, None)
        with np.errstate(over="ignore"):
            rounded = Answer(_like(wide.values, want.values), _like(wide.gradients or (), want.gradients or ()))
        found = differences(replace(got, second=None), rounded, allowed)
    return [f"{call.owner}: {problem}" for problem in found]


def _like(values: Arrays, models: Arrays) -> Arrays:
    pairs = zip(values, models, strict=True)
    return tuple(v if v is None or m is None else v.astype(m.dtype) for v, m in pairs)
