"""A Case to a Problem: its values drawn, or as written.

`trial_draws` says what a trial draws, `random_streams` where numbers come from.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.errors import InvalidCase, Place, TensorError, TooLarge
from gradcheck.language.array_conversion import as_array, copy_as_dtype
from gradcheck.language.array_structures import apply_structure
from gradcheck.language.case import Case, Claim, Step, Value
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.result_size import MAX_ELEMENTS
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import free_names, ops_in
from gradcheck.language.problem import DrawSettings, Problem, tensor_value
from gradcheck.language.random_streams import RANDOM_OPS, RandomHost, stream
from gradcheck.language.trial_draws import (
    LARGE,
    NO_VARIATION,
    Variation,
    apply_spread,
    inner_roots,
    is_fixed_incoming,
    move_numbers,
    redraw_literal,
    trial_sizes,
    trial_spread,
)

#: The most elements of a tensor in a trial of other sizes than the case's own.
MOST_IN_TRIALS = 4_000_000


def draw(
    case: Case,
    seed: int | None = None,
    trial: int | None = None,
    *,
    attempt: int = 0,
    variation: Variation = NO_VARIATION,
    sizes: Mapping[str, int] | None = None,
) -> Problem:
    """Return the problem of a case, or of one of its trials (from 0).

    `seed` replaces the case's own. `variation` redraws written numbers. A trial takes `sizes` if given. The same
    arguments give the same problem. Raises InvalidCase if a value of the case itself cannot be computed. Raises
    TensorError if the sizes of a trial do not fit: another `attempt` draws others, and the last one takes the case's
    own.
    """
    dtype = dtypes.BY_NAME[case.dtype]
    drawn = DrawSettings(case.seed if seed is None else seed, trial, attempt, variation)
    is_resized = trial is not None and (sizes or {}) != {**case.symbol_sizes, **case.dims}
    with using_default_dtype(dtypes.real_of(dtype)), quiet():
        problem = Sampler(case, drawn, sizes or {}, MOST_IN_TRIALS if is_resized else MAX_ELEMENTS).problem()
        if is_resized and max((sizes or {}).values(), default=0) > LARGE[1]:  # the file states such sizes
            try:
                graph_values(case, problem.environment(), MOST_IN_TRIALS)
            except TensorError as error:
                if isinstance(error, TooLarge):
                    raise
    return problem


def claimed_array(problem: Problem, value: Value) -> np.ndarray:
    """Return the array of a value in `values` or `expected`."""
    if value.array is not None:
        return np.asarray(value.array)
    assert value.expr is not None
    with using_default_dtype(dtypes.real_of(problem.dtype)), quiet():
        try:
            return as_array(evaluate(value.expr, problem.environment()), problem.dtype)
        except TensorError as error:
            raise InvalidCase(error.message, place=value.place, hint=error.hint) from error


def graph_values(case: Case, names: Mapping[str, Any], most: int = MAX_ELEMENTS) -> dict[str, Any]:
    """Return the graph's values by NumPy, on copies; raise TensorError."""
    values = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in names.items()}
    for name, claim in case.graph.items():
        values[name] = evaluate(claim.expr, values, max_elements=most)
    return values


def literal_problem(
    name: str,
    inputs: Mapping[str, Sequence[Any]],
    graph: Mapping[str, str],
    incoming: Mapping[str, Sequence[Any] | None],
    passes: int = 1,
    dtype: str | None = None,
) -> Problem:
    """Return a problem of Python lists, expression texts and given gradients."""
    entries = {entry: Claim(text, parse(text)) for entry, text in graph.items()}
    leaves = {leaf: Value(array=np.array(numbers)) for leaf, numbers in inputs.items()}
    given = {root: None if numbers is None else Value(array=np.array(numbers)) for root, numbers in incoming.items()}
    step = Step("backward", roots=given)
    case = Case(id=name, name=name, place=Place(), inputs=leaves, graph=entries, steps=(step,) * passes)
    return draw(case if dtype is None else replace(case, dtype=dtype))


def random_parts(problem: Problem, leaf: str) -> list[np.ndarray]:
    """Return the draws of the random creators of one leaf, in order."""
    case = problem.case
    value = case.inputs.get(leaf) or case.constants[leaf]
    assert value.expr is not None
    with using_default_dtype(dtypes.real_of(problem.dtype)), quiet():
        sampler = Sampler(case, problem.draw_settings, problem.sizes)
        host = sampler.host(leaf)
        evaluate(value.expr, problem.environment(), host)
    return host.drawn_arrays


class Sampler:
    """Draws one problem; no tensor may have more than `most` elements.

    `names` holds what values may use: the sizes, and the leaves drawn so far.
    """

    def __init__(self, case: Case, drawn: DrawSettings, sizes: Mapping[str, int], most: int = MAX_ELEMENTS) -> None:
        self.case, self.draw_settings, self.max_elements = case, drawn, most
        self.is_trial = drawn.trial is not None
        self.dtype = dtypes.BY_NAME[case.dtype]
        self.sizes = {**case.symbol_sizes, **case.dims, **sizes}
        if drawn.trial is not None and not sizes:
            self.sizes = trial_sizes(case, drawn.seed, drawn.trial, drawn.attempt)
        self.names: dict[str, Any] = dict(self.sizes)

    def problem(self) -> Problem:
        case = self.case
        for name, value in leaves_in_file_order(case):
            self.names[name] = self.leaf(name, name, value, is_input=name in case.inputs)
        forwards = tuple(
            {name: self.leaf(f"forward[{i}].{name}", name, v, is_input=True) for name, v in step.inputs.items()}
            for i, step in enumerate(case.steps)
        )
        return Problem(
            case=case,
            inputs={name: self.names[name] for name in case.inputs},
            constants={name: self.names[name] for name in case.constants},
            sizes=self.sizes,
            seeds=self._incoming_gradients(forwards),
            forwards=forwards,
            dtype=self.dtype,
            draw_settings=self.draw_settings,
        )

    def _stream(self, name: str) -> np.random.Generator:
        of_trial = () if self.draw_settings.trial is None else (self.draw_settings.trial, self.draw_settings.attempt)
        return stream(self.draw_settings.seed, name, *of_trial)

    def host(self, leaf: str) -> RandomHost:
        """Return the host that draws for a leaf."""
        return self._host(self._stream(leaf))

    def _host(self, generator: np.random.Generator) -> RandomHost:
        spread = trial_spread(self.draw_settings.trial, self.draw_settings.attempt)
        spread_by = partial(apply_spread, spread=spread) if spread != "ordinary" else None
        return RandomHost(generator, self.dtype, spread_by, self.draw_settings.variation.structure)

    def leaf(self, key: str, name: str, value: Value, *, is_input: bool) -> np.ndarray:
        """Return a leaf's array; `key` names its stream, `name` its shape."""
        array = self._value(key, value, self.case.shapes.get(name), is_input)
        if value.dtype:
            return np.array(array, dtype=dtypes.BY_NAME[value.dtype], order="C")
        if array.dtype.kind in "biu" and not is_input:
            return copy_as_dtype(array, array.dtype)
        if is_input and array.dtype.kind == "c" and self.dtype.kind != "c":
            hint = "the case's dtype is then complex128 or complex64"
            raise InvalidCase(f"a complex value does not fit in {self.case.dtype}", place=value.place, hint=hint)
        return copy_as_dtype(array, self.dtype)

    def _value(self, key: str, value: Value, shape: Any, is_input: bool) -> np.ndarray:
        """Return a leaf as written; in a trial, one with a shape anew."""
        if value.expr is not None:
            return self.expression(key, value)
        array = np.asarray(value.array)
        dtype = dtypes.BY_NAME[value.dtype] if value.dtype else self.dtype
        reach = self.draw_settings.variation.literals
        if is_input and reach is not None and not (shape and self.is_trial):
            of_trial = () if self.draw_settings.trial is None else (self.draw_settings.trial,)
            generator = stream(self.draw_settings.seed, f"{key}/moved", reach, self.draw_settings.attempt, *of_trial)
            return self._with_structure(move_numbers(array.astype(dtype), generator, reach))
        if shape is None or not self.is_trial:
            return array
        if not isinstance(shape, tuple):
            return self._evaluate(value, shape, self._stream(key), self.names)
        sizes = tuple(self.sizes[size] if isinstance(size, str) else size for size in shape)
        if math.prod(sizes) > MAX_ELEMENTS:
            raise TooLarge(f"a tensor of {math.prod(sizes):,} elements, where {MAX_ELEMENTS:,} are allowed")
        return self._redraw(array.astype(dtype) if is_input else array, sizes, self._stream(key))

    def _redraw(self, array: np.ndarray, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
        return self._with_structure(redraw_literal(array, shape, generator))

    def _with_structure(self, array: np.ndarray) -> np.ndarray:
        structure = self.draw_settings.variation.structure
        return array if structure is None else apply_structure(array, structure)

    def expression(self, key: str, value: Value) -> np.ndarray:
        """Return the array of an expression over `names`; `key` names its stream."""
        assert value.expr is not None
        return self._evaluate(value, value.expr, self._stream(key), self.names)

    def _evaluate(self, value: Value, expr: Expr, random: np.random.Generator, names: Mapping[str, Any]) -> np.ndarray:
        try:
            return as_array(evaluate(expr, names, self._host(random), max_elements=self.max_elements), self.dtype)
        except TensorError as error:
            if self.is_trial:
                raise
            raise InvalidCase(error.message, place=value.place, hint=error.hint) from error

    @cached_property
    def _inner(self) -> set[str]:
        return inner_roots(self.case)

    def _incoming_gradients(self, forwards: Sequence[Mapping[str, np.ndarray]]) -> tuple[dict[str, Any], ...]:
        forward = _Forward(self.case, self.names)
        found: list[dict[str, Any]] = []
        for index, step in enumerate(self.case.steps):
            if step.action == "forward" and forwards[index]:
                forward = _Forward(self.case, {**self.names, **forwards[index]})
            found.append({})
            if step.action == "backward":
                for root, value in step.roots.items():
                    found[-1][root] = self._incoming(index, root, value, forward)
        return tuple(found)

    def _incoming(self, index: int, root: str, value: Value | None, forward: _Forward) -> np.ndarray | None:
        if value is None and not self.draw_settings.variation.incoming:
            return None
        generator = self._stream(f"backward[{index}].{root}")
        varies = self.draw_settings.variation.incoming and is_fixed_incoming(self.case, value)
        if varies and root.partition("[")[0] not in self._inner:
            target = forward.value(root)
            if target is not None and dtypes.is_differentiable(target.dtype):
                return self._redraw(target, target.shape, generator)
        if value is None:
            return None
        if value.expr is not None:
            uses_graph = not set(self.case.graph).isdisjoint(free_names(value.expr))
            names = self._forward_values(forward) if uses_graph else forward.names
            if names is None:
                return None
            try:
                return self._as_gradient(self._evaluate(value, value.expr, generator, names), value, None)
            except InvalidCase as error:
                error.needs_graph_values = uses_graph
                raise
        array = np.asarray(value.array)
        is_needed = self.is_trial or self.dtype.kind == "c"
        target = forward.value(root) if is_needed and self._forward_values(forward) is not None else None
        if self.is_trial and target is not None and (target.shape != array.shape or (self.case.shapes and array.ndim)):
            array = self._redraw(array.astype(self.dtype), target.shape, generator)
        return self._as_gradient(array, value, target)

    def _forward_values(self, forward: _Forward) -> Mapping[str, Any] | None:
        """Return the forward values; None if the case's own cannot be computed."""
        try:
            return forward.values
        except TensorError:
            if self.is_trial:
                raise
            return None

    def _as_gradient(self, array: np.ndarray, value: Value, root: np.ndarray | None) -> np.ndarray:
        if value.dtype:
            return np.array(array, dtype=dtypes.BY_NAME[value.dtype])
        if root is not None and dtypes.is_differentiable(root.dtype):
            return copy_as_dtype(array, root.dtype)
        return copy_as_dtype(array, dtypes.real_of(self.dtype))  # a complex root takes real ones too


@dataclass
class _Forward:
    """The forward values over `names`, computed by NumPy at the first use."""

    case: Case
    names: Mapping[str, Any]

    @cached_property
    def values(self) -> dict[str, Any]:
        return graph_values(self.case, self.names)

    def value(self, root: str) -> np.ndarray | None:
        """Return the tensor of a root, which may be a part such as `m[0]`."""
        try:
            value = tensor_value(self.values, root)
        except LookupError:
            return None
        return value if isinstance(value, np.ndarray) else None


def leaves_in_file_order(case: Case) -> list[tuple[str, Value]]:
    """Return inputs and constants in file order: each may use those above it."""
    leaves = [*case.inputs.items(), *case.constants.items()]
    return sorted(leaves, key=lambda item: (item[1].place.line, item[1].place.column))


def drawn_leaves(case: Case, varied: Iterable[str] = ()) -> set[str]:
    """Return inputs and constants that a draw, or one of `varied`, goes into."""
    drawn = {*varied, *case.shapes}
    for name, value in leaves_in_file_order(case):
        expr = value.expr
        if expr is not None and not (RANDOM_OPS.isdisjoint(ops_in(expr)) and drawn.isdisjoint(free_names(expr))):
            drawn.add(name)
    return drawn


def inputs_without_draws(own: Problem) -> dict[str, str]:
    """Return the inputs that neither a draw nor a moved literal goes into."""
    inputs = own.case.inputs
    varied = drawn_leaves(own.case, {name for name, value in inputs.items() if value.expr is None})
    made = {name: value.expr for name, value in inputs.items() if value.expr and name not in varied}
    return {name: to_text(expr) for name, expr in made.items() if dtypes.is_differentiable(own.inputs[name].dtype)}
