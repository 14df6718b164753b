"""From a Case to a Problem: values are drawn or taken as they are written, for the case itself and for its trials.

A trial draws afresh what is symbolic: the creators, the sizes, the literals that have `shapes`, and with them the
literal incoming gradients. Other literals keep their numbers. See `random` for the streams.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.errors import ArgumentError, InvalidCase, TensorError, TooLarge
from gradcheck.language.case import Case, Step, Value
from gradcheck.language.evaluation.budget import MAX_ELEMENTS
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NUMPY
from gradcheck.language.expr.mentions import free_names, ops_in
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.problem import Drawn, Problem
from gradcheck.language.random import RANDOM, Drawing, nudge, redraw, stream
from gradcheck.language.trial_sizes import symbolic, trial_sizes


def draw(
    case: Case,
    seed: int | None = None,
    trial: int | None = None,
    *,
    attempt: int = 0,
    nudged: bool = False,
    sizes: Mapping[str, int] | None = None,
) -> Problem:
    """The case with its own numbers, or those of a trial (from 0); `seed` instead of the case's own.

    `nudged` moves the inputs that are literals a little, at the case's own sizes; a trial takes its sizes from
    `sizes`, if they are given.

    Deterministic: the problem's `drawn` says by what. Raises InvalidCase where a value of the case itself cannot be
    computed; in a trial TensorError, where the sizes do not go together: another `attempt` draws others, and in the end
    the case's own.
    """
    dtype = dtypes.BY_NAME[case.dtype]
    drawn = Drawn(case.seed if seed is None else seed, trial, attempt, nudged)
    with using_default_dtype(dtypes.real_of(dtype)), quiet():
        return _Sampler(case, drawn, sizes or {}).problem()


def is_general(case: Case) -> bool:
    """Whether a trial differs from the case itself in anything."""
    if case.shapes or symbolic(case):
        return True
    steps = [value for step in case.steps for value in (*step.roots.values(), *step.inputs.values())]
    values = (*case.inputs.values(), *case.constants.values(), *steps)
    return any(v is not None and v.expr is not None and not RANDOM.isdisjoint(ops_in(v.expr)) for v in values)


def trials(case: Case, count: int | None = None) -> range:
    """The trials to verify the case with: none unless `generalize` applies and something changes."""
    if case.generalize is None or not is_general(case):
        return range(0)
    return range(case.generalize.trials if count is None else count)


def claimed(problem: Problem, value: Value) -> np.ndarray:
    """The array that the case claims, in `values` or `expected`. Raises InvalidCase."""
    if value.array is not None:
        return np.asarray(value.array)
    assert value.expr is not None
    with using_default_dtype(dtypes.real_of(problem.dtype)), quiet():
        try:
            return _as_array(evaluate(value.expr, problem.environment()), problem.dtype)
        except TensorError as error:
            raise InvalidCase(error.message, place=value.place, hint=error.hint) from error


class _Sampler:
    """Draws one problem."""

    def __init__(self, case: Case, drawn: Drawn, sizes: Mapping[str, int]) -> None:
        self.case, self.drawn, self.trial = case, drawn, drawn.trial
        self.dtype = dtypes.BY_NAME[case.dtype]
        own = {**case.words, **case.dims}
        if drawn.trial is not None:
            own = trial_sizes(case, drawn.seed, drawn.trial, drawn.attempt)
        self.sizes = {**own, **sizes}
        self.names: dict[str, Any] = dict(self.sizes)  # what values may use

    def stream(self, name: str) -> np.random.Generator:
        """The numbers for one name, others in each trial and for each attempt."""
        of_trial = () if self.trial is None else (self.trial, self.drawn.attempt)
        return stream(self.drawn.seed, name, *of_trial)

    def problem(self) -> Problem:
        case = self.case
        leaves = {name: (value, name in case.inputs) for name, value in _in_file_order(case)}
        drawn = {name: self._leaf(name, value, leaf) for name, (value, leaf) in leaves.items()}
        inputs = {name: drawn[name] for name in case.inputs}
        constants = {name: drawn[name] for name in case.constants}
        forwards = tuple(self._forward(i, step) for i, step in enumerate(case.steps))
        return Problem(
            case=case,
            inputs=inputs,
            constants=constants,
            sizes=self.sizes,
            seeds=self._seeds(forwards),
            forwards=forwards,
            dtype=self.dtype,
            drawn=self.drawn,
        )

    # Leaves --------------------------------------------------------------------------------------

    def _leaf(self, name: str, value: Value, leaf: bool) -> np.ndarray:
        array = self._value(name, value, self.case.shapes.get(name), floating=leaf)
        array = self._in_dtype(array, value, leaf)
        self.names[name] = array
        return array

    def _forward(self, index: int, step: Step) -> dict[str, np.ndarray]:
        """The new values of inputs in a `forward` step; they have the shapes of the old."""
        drawn = {}
        for name, value in step.inputs.items():
            array = self._value(f"forward[{index}].{name}", value, self.case.shapes.get(name), floating=True)
            drawn[name] = self._in_dtype(array, value, leaf=True)
        return drawn

    def _value(self, name: str, value: Value, shape: Any, *, floating: bool) -> np.ndarray:
        """The value by its own expression or numbers; in a trial, one with a shape anew."""
        if value.expr is None and floating and self.drawn.nudged:
            return nudge(np.asarray(value.array).astype(self.dtype), stream(self.drawn.seed, f"{name}/nudged"))
        if value.expr is None and (self.trial is None or shape is None):
            return np.asarray(value.array)
        generator = self.stream(name)
        if value.expr is not None:
            return self._evaluate(value, value.expr, generator, self.names)
        if not isinstance(shape, tuple):
            return self._evaluate(value, shape, generator, self.names)
        array = np.asarray(value.array)
        return redraw(array.astype(self.dtype) if floating else array, self._concrete(shape), generator)

    def _concrete(self, shape: tuple[str | int, ...]) -> tuple[int, ...]:
        sizes = tuple(self.sizes[size] if isinstance(size, str) else size for size in shape)
        if math.prod(sizes) > MAX_ELEMENTS:
            raise TooLarge(f"a tensor of {math.prod(sizes):,} elements, where {MAX_ELEMENTS:,} are allowed")
        return sizes

    def _evaluate(
        self, value: Value, expr: Expr, generator: np.random.Generator, names: Mapping[str, Any]
    ) -> np.ndarray:
        try:
            result = evaluate(expr, names, Drawing(generator, self.dtype))
            return _as_array(result, self.dtype)
        except TensorError as error:
            if self.trial is not None:
                raise
            raise InvalidCase(error.message, place=value.place, hint=error.hint) from error

    def _in_dtype(self, array: np.ndarray, value: Value, leaf: bool) -> np.ndarray:
        """A copy in the dtype that the case says: integers of inputs become floats, those of constants stay."""
        if value.dtype:
            target = dtypes.BY_NAME[value.dtype]
        elif array.dtype.kind in "biu" and not leaf:
            target = array.dtype
        else:
            target = self.dtype
            if array.dtype.kind == "c" and target.kind != "c":
                if leaf:
                    message = f"a complex value does not fit in {self.case.dtype}"
                    raise InvalidCase(
                        message, place=value.place, hint="the case's dtype is then complex128 or complex64"
                    )
                target = dtypes.complex_of(target)
        return np.array(array, dtype=target, order="C")

    # Incoming gradients --------------------------------------------------------------------------

    def _seeds(self, forwards: tuple[Mapping[str, np.ndarray], ...]) -> tuple[dict[str, np.ndarray | None], ...]:
        graph = _Graph(self.case, self.names)
        seeds = []
        for index, step in enumerate(self.case.steps):
            if step.action == "forward":
                graph = graph.after(forwards[index])
            roots = step.roots if step.action == "backward" else {}
            seeds.append(
                {
                    root: None if value is None else self._incoming(index, root, value, graph)
                    for root, value in roots.items()
                }
            )
        return tuple(seeds)

    def _incoming(self, index: int, root: str, value: Value, graph: _Graph) -> np.ndarray | None:
        generator = self.stream(f"backward[{index}].{root}")
        if value.expr is not None:
            names = graph.names
            if not set(self.case.graph).isdisjoint(free_names(value.expr)):
                names = graph.run()
            return self._as_gradient(self._evaluate(value, value.expr, generator, names), value, None)
        array = np.asarray(value.array)
        target = self._root(root, graph) if self.trial is not None or self.dtype.kind == "c" else None
        if self.trial is not None and target is not None and self._is_anew(array, target):
            array = redraw(array.astype(self.dtype), target.shape, generator)
        return self._as_gradient(array, value, target)

    def _is_anew(self, array: np.ndarray, root: np.ndarray) -> bool:
        """Whether a literal incoming gradient is drawn afresh with its root; a lone number for one element stays."""
        return root.shape != array.shape or (bool(self.case.shapes) and array.ndim > 0)

    def _root(self, root: str, graph: _Graph) -> np.ndarray | None:
        base, _, part = root.partition("[")
        value = graph.run().get(base)
        value = value[int(part[:-1])] if part and isinstance(value, tuple) else value
        return value if isinstance(value, np.ndarray) else None

    def _as_gradient(self, array: np.ndarray, value: Value, root: np.ndarray | None) -> np.ndarray:
        """In the dtype of its root, or else of the case."""
        if value.dtype:
            return np.array(array, dtype=dtypes.BY_NAME[value.dtype])
        target = root.dtype if root is not None and dtypes.is_differentiable(root.dtype) else self.dtype
        if target.kind != "c" and array.dtype.kind == "c":
            target = dtypes.complex_of(target)
        return np.array(array, dtype=target, order="C")


class _Graph:
    """The forward values, computed by NumPy when an incoming gradient first depends on them."""

    def __init__(self, case: Case, names: Mapping[str, Any]) -> None:
        self.case, self.names = case, names
        self._values: dict[str, Any] | None = None

    def after(self, forward: Mapping[str, np.ndarray]) -> _Graph:
        return _Graph(self.case, {**self.names, **forward}) if forward else self

    def run(self) -> dict[str, Any]:
        """Every name's value. Ops that change their arguments get copies. Raises TensorError."""
        if self._values is None:
            values = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in self.names.items()}
            for name, claim in self.case.graph.items():
                values[name] = evaluate(claim.expr, values, NUMPY)
            self._values = values
        return self._values


def _in_file_order(case: Case) -> Iterator[tuple[str, Value]]:
    """Inputs and constants as they stand in the file: each may use those above it, of either section."""
    leaves = [*case.inputs.items(), *case.constants.items()]
    yield from sorted(leaves, key=lambda item: (item[1].place.line, item[1].place.column))


def _as_array(value: Any, dtype: np.dtype) -> np.ndarray:
    """What an expression came out as, as an array: Python numbers have the default dtype, integers int64."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, (bool, int, np.generic)):
        return np.asarray(value)
    if isinstance(value, (float, complex)):
        target = dtypes.complex_of(dtype) if isinstance(value, complex) else dtypes.real_of(dtype)
        return np.asarray(value, dtype=target)
    if isinstance(value, (list, tuple)) and all(isinstance(item, (bool, int, float, complex)) for item in value):
        return np.asarray(value)
    what = "several tensors" if isinstance(value, tuple) else type(value).__name__
    raise ArgumentError(f"the value is {what}, not a tensor", hint="index it, or write tensor([…])")
