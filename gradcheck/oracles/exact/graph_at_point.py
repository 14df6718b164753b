"""A case at one random point: values, directional derivatives, claims."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from gradcheck.errors import GradcheckError, ShapeMismatch, Unsupported
from gradcheck.language.case import Value
from gradcheck.language.evaluation.result_size import MAX_ELEMENTS
from gradcheck.language.expr.nodes import Derivative, Expr, Gradient
from gradcheck.language.problem import split_name, tensor_value, with_tensor_value
from gradcheck.language.random_streams import is_one_random_creator, stream
from gradcheck.oracles.exact import leaves, modular_arithmetic
from gradcheck.oracles.exact.degree import RANDOM
from gradcheck.oracles.exact.dependencies import Dependencies
from gradcheck.oracles.exact.dual_numbers import Dual, lift
from gradcheck.oracles.exact.field_point import SCALES, FieldPoint
from gradcheck.oracles.exact.graph_regions import Domain
from gradcheck.oracles.exact.modular_matrices import MatrixChain, ModularMatrix
from gradcheck.oracles.exact.ops.matrices import product
from gradcheck.oracles.exact.ops.reductions import sum_axes
from gradcheck.oracles.exact.partial_evaluation import DualHost


class Direction:
    """A random direction of one tensor: an outer product of random vectors.

    A gradient G that is wrong in any element is wrong along it, but by chance: `<G - true, V>` is a polynomial in the
    vectors, not zero if G is wrong, of one degree for each dimension.
    """

    __slots__ = ("point", "shape", "vectors")

    def __init__(self, point: FieldPoint, generator: np.random.Generator, shape: tuple[int, ...]) -> None:
        self.point, self.shape = point, shape
        sizes = shape or (1,)
        drawn, ends = point.vector(generator, sum(sizes)), accumulate(sizes)
        self.vectors = [drawn[end - size : end] for end, size in zip(ends, sizes, strict=True)]

    def added_to(self, tensor: Dual) -> Dual:
        """Return the tensor with this direction added to its tangent."""
        degree = tensor.degree.with_direction(max(1, len(self.shape)))
        tangent = self._tangent()
        if tensor.tangent is not None:
            dense = tangent.dense() if isinstance(tangent, MatrixChain) else tangent
            tangent = (dense + tensor.tangent) % self.point.prime
        return Dual(self.point, tensor.lazy_value, tangent, degree)

    def _tangent(self) -> Any:
        """Return the direction as an array; for a matrix, a chain of two vectors."""
        prime = self.point.prime
        if len(self.shape) == 2:
            column, row = self.vectors[0][:, None], self.vectors[1][None, :]
            return MatrixChain((ModularMatrix(column, prime), ModularMatrix(row, prime)))
        tangent = self.vectors[0]
        for vector in self.vectors[1:]:
            tangent = tangent[..., None] * vector % prime
        return tangent.reshape(self.shape)

    def inner(self, gradient: Dual) -> Dual:
        """Return the inner product with a tensor of its shape; a number."""
        if len(self.shape) == 2:
            left = Dual(self.point, self.vectors[0][None, :], None, RANDOM)
            right = Dual(self.point, self.vectors[1][:, None], None, RANDOM)
            return scalar(product(product(left, gradient), right))
        for vector in reversed(self.vectors):
            gradient = sum_axes(gradient * Dual(self.point, vector, None, RANDOM), -1)
        return gradient


def scalar(x: Dual) -> Dual:
    """Return the value of a tensor of one element, without dimensions."""
    return Dual(x.point, x.lazy_value.reshape(()), None, x.degree)


class PointSettings(NamedTuple):
    """The choice of a random point."""

    seed: int = 0
    number: int = 0
    keeps_squares: bool = False
    #: Whether incoming gradients are free, also those that the file states.
    frees_incoming: bool = False
    redraw: int = 0
    #: From 1 on, a point of small integers.
    integer_attempt: int = 0


class GraphAtPoint:
    """The case at a random point.

    `directions` are those along which tensors were differentiated, by name; `gradients` are the core's, if formulas use
    them: these are claims like all others.
    """

    def __init__(self, dependencies: Dependencies, setting: PointSettings) -> None:
        self.problem, self.case = dependencies.problem, dependencies.case
        self.dependencies, self.setting = dependencies, setting
        number = setting.number
        self.generator = stream(
            setting.seed, *(("whole", setting.integer_attempt) if setting.integer_attempt else ("exact", number))
        )
        salt = int(self.generator.integers(1 << 62))
        prime = modular_arithmetic.PRIMES[number % len(modular_arithmetic.PRIMES)]
        self.point = FieldPoint(prime, salt, setting.keeps_squares, setting.redraw)
        self.point.written_numbers = dependencies
        self.point.integer_scale = SCALES[setting.integer_attempt - 1] if setting.integer_attempt else 0
        self._host = DualHost(self.point)
        self.leaves = leaves.leaves(self.problem, self.point, self.generator)
        self.incoming: dict[str, Dual] = {}
        self.directions: dict[str, Direction] = {}
        self.gradients: dict[str, Dual] = {}
        self.terms: dict[str, Dual] = {}  # Jacobians and Hessians, by their text
        self.values: dict[str, Any] = {}
        self._steps: dict[str, Any] = {}

    def _evaluated(self, expr: Expr, names: Mapping[str, Any], gradients: Mapping[str, Any] | None = None) -> Any:
        return self.dependencies.evaluation.of(expr, names, self._host, gradients)

    # Incoming gradients ----------------------------------------------------------------------------

    def _total_incoming(self) -> dict[str, Dual]:
        """Return the incoming gradient of each root, summed over all passes."""
        total: dict[str, Dual] = {}
        for step, seeds in zip(self.case.steps, self.problem.seeds, strict=True):
            for root, given in seeds.items():
                seed = self._seed(root, step.roots[root], given)
                total[root] = total[root] + seed if root in total else seed
        return total

    def _seed(self, root: str, value: Value | None, given: np.ndarray | None) -> Dual:
        shape = _tensor(self.values, root).shape if given is None else given.shape
        if value is not None and is_one_random_creator(value) and not self.point.integer_scale:
            return leaves.free_variables(self.point, self.generator, shape)
        names = {**self.problem.sizes, **self.values}
        made = None if value is None else leaves.evaluate_on_residues(value, names, shape, self.point, self.generator)
        free = made is None and self.setting.frees_incoming
        if self.dependencies.fixes_incoming:
            made, free = None, False
        if free or (value is not None and is_one_random_creator(value) and made is None):
            return leaves.free_variables(self.point, self.generator, shape)
        if made is None:
            return lift(self.point, np.ones(shape, dtype=np.int64) if given is None else given)
        return made

    # The forward and its derivative ----------------------------------------------------------------

    def derivative(self, tensors: Collection[str]) -> Dual:
        """Return the derivative of the objective along these tensors' directions.

        The objective is the sum over all roots of `<incoming gradient, root>`. The first call also fills `values`.
        Raises GradcheckError if one of them is no tensor of real numbers, or the forward cannot be evaluated.
        """
        self.point.regions.phase = "graph"
        values = self._forward(tensors, self._along_direction)
        if not self.values:
            self.values = {name: _primal(value) for name, value in values.items()}
            self.incoming = self._total_incoming()
        self.point.regions.phase = "claim"
        return self._objective_tangent(values)

    def _forward(self, tensors: Collection[str], along: Callable[[str, Any], Dual]) -> dict[str, Any]:
        """Return all values, with a tangent added to each of these tensors."""
        parts: dict[str, list[str]] = {}
        for name in tensors:
            parts.setdefault(split_name(name)[0], []).append(name)
        values: dict[str, Any] = {**self.problem.sizes, **self.leaves}
        for name in parts:
            if name in values:
                values[name] = along(name, values[name])
        for name, claim in self.case.graph.items():
            value = self._evaluated(claim.expr, values)
            for part in parts.get(name, ()):
                value = self._with_direction(part, value, along)
            values[name] = value
        return values

    def _with_direction(self, tensor: str, value: Any, along: Callable[[str, Any], Dual]) -> Any:
        """Return the value of an entry, with a tangent in one of its tensors."""
        entry, indices = split_name(tensor)
        try:
            part = tensor_value({entry: value}, tensor)
            return with_tensor_value(value, indices, along(tensor, part))
        except LookupError as error:
            raise Unsupported(f"{tensor} is no tensor of real numbers") from error

    def _along_direction(self, name: str, value: Any) -> Dual:
        if not isinstance(value, Dual):
            raise Unsupported(f"{name} is no tensor of real numbers")
        if name not in self.directions:
            self.directions[name] = Direction(self.point, self.generator, value.shape)
        return self.directions[name].added_to(value)

    def _objective_tangent(self, values: Mapping[str, Any]) -> Dual:
        total = lift(self.point, 0)
        for root, seed in self.incoming.items():
            value = _tensor(values, root)
            if value.lazy_tangent is not None:
                tangent = Dual(self.point, value.lazy_tangent, None, value.degree.of_tangent())
                weighted = tangent * seed
                total = total + scalar(sum_axes(weighted) if weighted.shape else weighted)
        return total

    # What is claimed --------------------------------------------------------------------------------

    def claimed_value(self, name: str, formula: Expr) -> Dual:
        """Return the formula's value. Raises ShapeMismatch for a wrong shape."""
        mentioned = self.dependencies.of(formula)
        for needed in self.dependencies.children_first(mentioned.gradients, known=self.gradients):
            self.gradients[needed] = self._gradient(needed)
        for term in mentioned.derivatives:
            if term.name not in self.terms:
                self.terms[term.name] = self._term(term)
        steps = {step: self._step(step) for step in mentioned.steps}
        scope = {**self.values, **steps} if steps else self.values
        value = lift(self.point, self._evaluated(formula, scope, self._derivatives)).primal()
        expected = _tensor(self.values, name).shape
        if value.shape != expected:
            raise ShapeMismatch(f"the formula has shape {value.shape}, its tensor {expected}")
        return value

    def is_extra_condition(self, formula: Expr, domain: Domain, argument: Expr) -> bool:
        """Return whether the graph itself lacks this condition of a formula."""
        scope = {**self.values, **{step: self._step(step) for step in self.dependencies.of(formula).steps}}
        try:
            value = self._evaluated(argument, scope, self._derivatives)
        except GradcheckError:
            return True
        if not isinstance(value, Dual):
            return False
        return not self.point.regions.is_defined(domain, value.value)

    @property
    def _derivatives(self) -> Mapping[str, Dual]:
        return {**self.gradients, **self.terms} if self.terms else self.gradients

    def _term(self, term: Derivative) -> Dual:
        """Return a Jacobian or a Hessian, by a derivative along each unit vector.

        The gradient of a Hessian is derived by the core's rules, and differentiated as a forward is."""
        rows, by = term.tensors[-2:] if len(term.tensors) != 2 or term.kind == "jacobian" else term.tensors[1:] * 2
        shape, size = _tensor(self.values, rows).shape, math.prod(_tensor(self.values, by).shape)
        if math.prod(shape) * size > MAX_ELEMENTS:
            raise Unsupported(f"{term.name} has more than {MAX_ELEMENTS:,} elements")
        gradients = self.dependencies.gradients_of(term.tensors[0]) if term.kind == "hessian" else None
        found, degree = np.zeros((math.prod(shape), size), np.int64), RANDOM
        self.point.regions.phase = "rule"
        for column in range(size):
            moved = self._forward([by], lambda name, value, at=column: _along_unit(value, at))  # type: ignore[misc]
            tensor = _tensor(moved, rows) if gradients is None else self._gradient_of(gradients, rows, moved)
            if tensor is not None and tensor.tangent is not None:
                found[:, column] = np.broadcast_to(tensor.tangent, shape).ravel()
                degree = degree.join(tensor.degree.of_tangent())
        self.point.regions.phase = "claim"
        return Dual(self.point, found.reshape(shape + _tensor(self.values, by).shape), None, degree)

    def _gradient_of(self, gradients: Mapping[str, Expr], tensor: str, values: Mapping[str, Any]) -> Dual | None:
        """Return the derived gradient at these values; None if it is 0."""
        found: dict[str, Dual] = {}
        for name, expr in gradients.items():
            found[name] = lift(self.point, self._evaluated(expr, values, found))
        return found.get(tensor)

    def _step(self, name: str) -> Any:
        if name not in self._steps:
            scope = {**self.values, **self._steps}
            self._steps[name] = self._evaluated(self.case.let[name].expr, scope, self._derivatives)
        return self._steps[name]

    def _gradient(self, name: str) -> Dual:
        """Return `grad(name)` by the core's rules, from its children's gradients."""
        if self.dependencies.is_incoming_only(name):
            return self.incoming[name]
        derived, incoming = self.dependencies.derived(name), self.incoming.get(name)
        if incoming is not None and derived == Gradient(name):
            return incoming
        regions = self.point.regions
        regions.phase = "rule"
        try:
            value = lift(self.point, self._evaluated(derived, self.values, self.gradients)).primal()
        finally:
            regions.phase = "claim"
        return value if incoming is None or self.dependencies.fixes_incoming else value + incoming


def _tensor(values: Mapping[str, Any], name: str) -> Dual:
    try:
        value = tensor_value(values, name)
    except LookupError:
        value = None
    if not isinstance(value, Dual):
        raise Unsupported(f"{name} is no tensor of real numbers")
    return value


def _along_unit(value: Any, place: int) -> Dual:
    """Return the tensor with a tangent of 1 at one place."""
    if not isinstance(value, Dual):
        raise Unsupported("a derivative by no tensor of real numbers")
    unit = np.zeros(math.prod(value.shape), np.int64)
    unit[place] = 1
    return Dual(value.point, value.lazy_value, unit.reshape(value.shape), value.degree.with_direction(1))


def _primal(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_primal, value))
    return value.primal() if isinstance(value, Dual) else value
