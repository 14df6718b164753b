"""Derived formulas; formulas without idle parts, simplified."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.claims.stated_claims import StepClaims
from gradcheck.checks.derivation import explain
from gradcheck.checks.failures.correction.expression_pool import ExpressionPool, is_op
from gradcheck.checks.failures.explanation_points import SEED
from gradcheck.checks.points.point import Point
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case
from gradcheck.language.expr.common_subexpressions import InternPool
from gradcheck.language.expr.nodes import Attribute, Call, Expr, Gradient, Literal, Name
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.terms import is_sum, left_to_right
from gradcheck.language.expr.traverse import differing_parts, free_names, rewrite
from gradcheck.language.symbolic.simplify.part_properties import PartProperties, Sample
from gradcheck.language.symbolic.simplify.simplifier import RULES_WITHIN_TERMS, Simplifier

#: The most parts that are removed.
_MOST_DROPPED = 12
#: The points at which a simplified formula must have equal values.
_SAMPLES = 3
_ARITHMETIC = frozenset(("add", "sub", "mul", "div", "neg"))
#: Ops with boolean results.
_COMPARISONS = frozenset(("gt", "ge", "lt", "le", "eq", "ne", "isclose"))

#: The most parts of a derived formula, with shared steps written out.
MAX_PARTS = 120
#: The most parts of a graph whose gradients are derived.
MAX_GRAPH = 400


#: Numbers by their digits, with the expressions that a person writes.
_NAMED_NUMBERS: dict[object, Expr] = {
    number: parse(text)
    for text, number in (
        ("pi", math.pi),
        ("sqrt(2 * pi)", math.sqrt(2 * math.pi)),
        ("sqrt(pi)", math.sqrt(math.pi)),
        ("sqrt(2)", math.sqrt(2)),
        ("sqrt(3)", math.sqrt(3)),
        ("2 / sqrt(pi)", 2 / math.sqrt(math.pi)),
        ("log(2)", math.log(2)),
        ("log(10)", math.log(10)),
    )
}


def with_named_numbers(expr: Expr, case: Case) -> Expr:
    """Return the formula with `pi` and `log(2)` for their digits."""
    if "pi" in {*case.inputs, *case.constants, *case.graph}:
        return expr
    return rewrite(expr, lambda node: _NAMED_NUMBERS.get(node.value, node) if isinstance(node, Literal) else node)


class DerivedFormulas:
    """The derived formulas of one case, on demand."""

    def __init__(self, case: Case) -> None:
        self._case = case

    def of(self, tensor: str) -> list[Expr]:
        """Return formulas of a gradient: by children's gradients, and by inputs."""
        return [expr for expr, _ in self._by_tensor.get(tensor, ())]

    def without_shared_steps(self, tensor: str) -> list[Expr]:
        """Return formulas without shared steps: a person divides by no others."""
        return [expr for expr, shares in self._by_tensor.get(tensor, ()) if not shares]

    @cached_property
    def _by_tensor(self) -> dict[str, list[tuple[Expr, bool]]]:
        """Formulas by tensor, and whether they share steps with other tensors'."""
        found: dict[str, list[tuple[Expr, bool]]] = {}
        if sum(1 for claim in self._case.graph.values() for _ in claim.expr.walk()) > MAX_GRAPH:
            return found
        for expand in (False, True):
            explanation = explain(self._case, SEED, expand=expand)
            exprs = {one.tensor: one.expr for one in explanation.formulas}
            for tensor, expr in explanation.without_steps(MAX_PARTS).items():
                shares = not explanation.let.keys().isdisjoint(free_names(exprs[tensor]))
                found.setdefault(tensor, []).append((expr, shares))
        return found


class Tidier:
    """Shortens formulas of one pool.

    `fits` says whether a formula is right at the pool's point. `known` are the wrong formula, first, and derived ones:
    no others may divide by further tensors.
    """

    def __init__(
        self, pool: ExpressionPool, fits: Callable[[int], bool], known: Iterable[Expr], simplifier: Simplifier
    ) -> None:
        self.pool, self._fits, self._simplifier = pool, fits, simplifier
        known = self._wrong, *_ = tuple(known)
        sizes = {name for name, value in pool.names.items() if isinstance(value, int)}
        self._divided_by = sizes.union(*map(_divisors, known))

    def tidy_forms(self, part: int) -> list[Expr]:
        """Return the ways to write a formula, shortest first; () for odd divisors."""
        ways = [self._shorter(one) for one in dict.fromkeys((self._reduced(part), part))]
        return [way for way in ways if self._divided_by.issuperset(_divisors(way))]

    def without_idle_parts(self, text: str, is_right: Callable[[str], bool]) -> str:
        """Remove parts that change nothing: `x * (1 + (x == inf))` is `x`."""
        part = self._reduced(self.pool.add(parse(text)), lambda made: is_right(to_text(self.pool.exprs[made])))
        return to_text(self.pool.exprs[part])

    def _reduced(self, part: int, is_right: Callable[[int], bool] = lambda made: True) -> int:
        for _ in range(_MOST_DROPPED):
            fitting = (made for made in self._without_one(part) if self._fits(made) and is_right(made))
            shorter = next(fitting, None)
            if shorter is None:
                break
            part = shorter
        return part

    def _without_one(self, part: int) -> Iterator[int]:
        for path, node, _ in self.pool.positions(part):
            if isinstance(self.pool.exprs[node], Call) and self.pool.array(node) is not None:
                for child in self.pool.children[node]:
                    if self.pool.array(child) is not None:
                        yield self.pool.replace(part, path, child)
                yield from (self.pool.replace(part, path, made) for made in self._cancelled(node))

    def _cancelled(self, part: int) -> Iterator[int]:
        """Yield `a / n` for `a * b / n / b`, and `a` for `a + b - b`."""
        if is_op(self.pool.exprs[part], "sub"):
            first, second = self.pool.children[part]
            terms = self.pool.children[first] if is_op(self.pool.exprs[first], "add") else ()
            yield from (one for one in terms if {one, second} == {*terms})
        if is_op(self.pool.exprs[part], "div") and len(self.pool.children[part]) == 2:
            numerator, divisor = self.pool.children[part]
            for path, node, _ in self.pool.positions(numerator):
                factors = self.pool.children[node]
                if is_op(self.pool.exprs[node], "mul") and divisor in factors:
                    yield self.pool.replace(numerator, path, factors[1 - factors.index(divisor)])
                elif is_op(self.pool.exprs[node], "div") and factors[0] == divisor:
                    one = self.pool.call("div", self.pool.literal(1), factors[1])
                    yield self.pool.replace(numerator, path, one)

    def _shorter(self, part: int) -> Expr:
        """Return the formula with its changed part simplified, or all of it.

        The author's way of writing is kept where simplifying all of it saves no operation that was added.
        """
        expr = self.pool.exprs[part]
        saved = _operations(self._wrong) - _operations(self._in_its_ops(self._wrong))
        changed = differing_parts(self._wrong, expr)
        if len(changed) == 1:
            ((_, new),) = changed
            kept = rewrite(expr, lambda node: self._in_its_ops(new) if node == new else node)
        else:
            kept = expr if len(list(expr.walk())) == len(list(self._wrong.walk())) else self._in_its_ops(expr)
        simpler = self._in_its_ops(expr)
        return left_to_right(kept) if _operations(kept) - _operations(simpler) <= saved else simpler

    def _in_its_ops(self, expr: Expr) -> Expr:
        """Return it simplified, unless that saves one operation by another op.

        The dot product `x @ y` stays `(x * y).sum()` where the author writes so.
        """
        simpler = self._simplified(expr)
        is_other = not _ops(simpler) <= _ops(expr) and _operations(expr) - _operations(simpler) <= 1
        return expr if is_other else simpler

    def _simplified(self, expr: Expr) -> Expr:
        try:
            simpler = self._simplifier.simplify({"": expr})[""]
        except (GradcheckError, ValueError, ArithmeticError):
            return expr
        got, want = (len(to_text(one).replace("dim=-", "dim=")) for one in (simpler, expr))  # `dim=-1` stays
        return simpler if got < want else expr


def simplifier_at(points: Sequence[Point], case: Case) -> Simplifier:
    """Return a simplifier whose rewrites hold at these points."""
    scopes = [(p.scope(p.last_step), p.problem.dtype) for p in points[:_SAMPLES]]
    samples = [Sample(scope, scope.gradients, dtype) for scope, dtype in scopes]
    with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[case.dtype])):
        return Simplifier(PartProperties(samples, InternPool(), (), [*case.inputs, *case.graph]), RULES_WITHIN_TERMS)


def has_constant_condition(expr: Expr, wrong: Expr, held: Sequence[StepClaims]) -> bool:
    """Return whether an added comparison has one outcome: nobody means that."""
    known = set(wrong.walk())
    asked = [node for node in expr.walk() if isinstance(node, Call) and node.op in _COMPARISONS and node not in known]
    return any(len(set(chain.from_iterable(_outcomes(node, one) for one in held))) == 1 for node in asked)


def count_subtracted_sums(expr: Expr) -> int:
    """Return how many sums in an expression have a minus before them."""
    return sum(is_op(node, "neg", "sub") and is_sum(node.children[-1]) for node in expr.walk())


def _outcomes(node: Expr, claims: StepClaims) -> list[bool]:
    try:
        return [bool(one) for one in np.unique(np.asarray(claims.scope.value_of(node)) != 0)]
    except GradcheckError:
        return []


def _operations(expr: Expr) -> int:
    return sum(isinstance(node, Call) for node in expr.walk())


def _ops(expr: Expr) -> set[str]:
    return {node.op for node in expr.walk() if isinstance(node, Call)} - _ARITHMETIC


def _divisors(expr: Expr) -> set[str]:
    found: set[str] = set()
    for node in expr.walk():
        if is_op(node, "div", "floor_divide", "remainder"):
            found |= _tensors(node.children[1:])
        elif is_op(node, "reciprocal", "rsqrt", "inv", "linalg.inv"):
            found |= _tensors(node.children)
        elif is_op(node, "pow") and len(node.children) == 2 and _is_negative(node.children[1]):
            found |= _tensors(node.children[:1])
    return found


def _tensors(exprs: Iterable[Expr]) -> set[str]:
    """Return the names in expressions, but for shapes, which are never 0."""
    found: set[str] = set()
    stack = list(exprs)
    while stack:
        node = stack.pop()
        if isinstance(node, Attribute) and node.name in ("shape", "numel", "ndim"):
            continue
        if isinstance(node, (Name, Gradient)):
            found.add(to_text(node))
        stack += node.children
    return found


def _is_negative(power: Expr) -> bool:
    number = power.children[0] if is_op(power, "neg") else power
    if not isinstance(number, Literal) or not isinstance(number.value, (int, float)):
        return False
    return number is not power or number.value < 0
