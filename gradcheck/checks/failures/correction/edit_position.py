"""A part of a formula at its place, and the operands that edits may use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeGuard

import numpy as np

from gradcheck.autograd.families import MATRIX_PRODUCTS
from gradcheck.autograd.op import lookup
from gradcheck.checks.failures.correction.expression_pool import BROKEN, ExpressionPool, is_op
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Attribute, Call, Expr, Gradient, Literal, Name
from gradcheck.language.expr.terms import signed_terms
from gradcheck.language.expr.traverse import free_names

TRANSPOSES = ("T", "mT", "t", "transpose")
_RESHAPING = ("reshape", "view", "unsqueeze", "squeeze", "expand")
#: Ops through which a factor or a sign of an operand is one of the result.
_LINEAR = ("mul", "div", "outer", *MATRIX_PRODUCTS, *TRANSPOSES, *_RESHAPING, "neg", "sum", "mean", "diag")
#: The most names, sizes and terms that are tried.
MOST_NAMES, MOST_SIZES, MOST_TERMS = 24, 16, 12
#: The most functions and numbers of the graph that are tried as forgotten.
_MOST_FORGOTTEN = 6
#: The most literals that are tried in place of others.
_MOST_LITERALS = 12
#: The most parts of derived formulas and of the graph, and their longest.
_MOST_PARTS, _SHORT = 16, 8
#: The most conditions of derived formulas, and their longest.
_MOST_CONDITIONS, _LONGEST_CONDITION = 6, 24


@dataclass(frozen=True, slots=True)
class Operands:
    """The operands of edits, as parts of one pool.

    `tensors` and `parts` (of derived formulas and the graph) come with shapes, `sizes` are distinct, `terms` signed.
    `functions` take one tensor; `numbers` and `literals` are written in the graph or in derived formulas. `conditions`
    say where derived formulas are 0; `before` maps a tensor of a recurrence to the one a step earlier. `is_complete` is
    False if anything was left out, `is_broken` True if the formula has no value of the right shape.
    """

    tensors: tuple[tuple[int, tuple[int, ...]], ...]
    sizes: tuple[int, ...]
    terms: tuple[int, ...]
    is_complete: bool
    functions: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    literals: tuple[int, ...] = ()
    has_square_roots: bool = False
    parts: tuple[tuple[int, tuple[int, ...]], ...] = ()
    conditions: tuple[tuple[int, bool], ...] = ()
    is_broken: bool = False
    before: Mapping[int, int] = field(default_factory=dict)

    def of_shape(self, shape: tuple[int, ...], but: int) -> Iterator[int]:
        return (part for part, known in self.tensors if known == shape and part != but)


def operands_of(
    pool: ExpressionPool, case: Case, target: str, derived: Sequence[Expr], others: Sequence[Mapping[str, Any]] = ()
) -> Operands:
    """Return all that a formula for the gradient of `target` may name.

    Args:
            derived: formulas that are right.
            others: scopes of other points, where equal sizes may differ.
    """
    names = [Name(name) for name in (*case.inputs, *case.constants, *case.graph, *case.let)]
    gradients = [Gradient(name) for name in case.graph if name != target and name in pool.gradients]
    tensors: list[tuple[int, tuple[int, ...]]] = []
    for expr in (*names, *gradients)[: MOST_NAMES * 2]:
        part = pool.add(expr)
        array = pool.array(part)
        is_cut_off = isinstance(expr, Gradient) and array is not None and not np.any(array)
        if array is not None and array.dtype.kind in "fcViu" and not is_cut_off:
            tensors.append((part, array.shape))
    listed = [list(signed_terms(one, products=products)) for products in ((), ("mul",)) for one in derived]
    parts = (part if sign > 0 else Call("neg", (part,)) for one in listed if len(one) > 1 for part, sign in one)
    terms = dict.fromkeys(map(pool.add, parts))
    sizes = _sizes(pool, case, target, others)
    left_out = len(names) + len(gradients) > MOST_NAMES * 2 or len(tensors) > MOST_NAMES
    left_out = left_out or len(sizes) > MOST_SIZES or len(terms) > MOST_TERMS
    written = [node for expr in (*(c.expr for c in case.graph.values()), *derived) for node in expr.walk()]
    numbers = dict.fromkeys(pool.literal(n.value) for n in written if isinstance(n, Literal) and _is_forgettable(n))
    literals = dict.fromkeys(pool.literal(n.value) for n in reversed(written) if _is_number(n))
    return Operands(
        tuple(tensors[:MOST_NAMES]),
        tuple(sizes[:MOST_SIZES]),
        tuple(terms)[:MOST_TERMS],
        is_complete=not left_out,
        functions=tuple(dict.fromkeys(node.op for node in written if _is_function(node)))[:_MOST_FORGOTTEN],
        numbers=tuple(numbers)[:_MOST_FORGOTTEN],
        literals=tuple(literals)[:_MOST_LITERALS],
        parts=tuple(_parts(pool, (*derived, *(claim.expr for claim in case.graph.values())))),
        conditions=tuple(_conditions(pool, derived)),
        before=_steps_before(pool, case, names),
        has_square_roots=any(is_op(node, "sqrt", "rsqrt") or _is_half_power(node) for node in written),
    )


def _parts(pool: ExpressionPool, formulas: Sequence[Expr]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield short calls within formulas, derived ones first, that are tensors."""
    nodes = [node for expr in formulas for node in expr.walk() if node is not expr and isinstance(node, Call)]
    short = (node for node in nodes if sum(1 for _ in node.walk()) <= _SHORT and not is_op(node, "neg", *TRANSPOSES))
    for part in islice(dict.fromkeys(map(pool.add, short)), _MOST_PARTS):
        array = pool.array(part)
        if array is not None and array.dtype.kind in "fcViu":
            yield part, array.shape


def _conditions(pool: ExpressionPool, derived: Sequence[Expr]) -> Iterator[tuple[int, bool]]:
    """Yield conditions that choose 0 in derived formulas, and when they do."""
    choices = (node for expr in derived for node in expr.walk() if is_op(node, "where") and len(node.children) == 3)
    found: dict[tuple[int, bool], None] = {}
    for condition, *sides in (node.children for node in choices):
        are_zero = [isinstance(side, Literal) and side.value == 0 for side in sides]
        if sum(1 for _ in condition.walk()) <= _LONGEST_CONDITION and any(are_zero) and not all(are_zero):
            found[pool.add(condition), are_zero[0]] = None
    yield from islice(found, _MOST_CONDITIONS)


def _steps_before(pool: ExpressionPool, case: Case, names: Sequence[Name]) -> dict[int, int]:
    """Return the tensor that each entry of a numbered family continues."""
    found: dict[int, int] = {}
    shapes = {one.name: np.shape(pool.value(pool.add(one))) for one in names}
    stems = {name: name.rstrip("0123456789_") for name in shapes}
    families = Counter(stems[entry] for entry in case.graph)
    for entry, claim in case.graph.items():
        used = [name for name in shapes if name in free_names(claim.expr) and shapes[name] == shapes[entry]]
        used.sort(key=lambda name: stems[name] == stems[entry])
        for kind in (Name, Gradient) if used and families[stems[entry]] > 1 else ():
            found[pool.add(kind(entry))] = pool.add(kind(used[-1]))
    return found


def _is_function(node: Expr) -> TypeGuard[Call]:
    """Return whether a node is an elementwise function of one tensor."""
    if not isinstance(node, Call) or len(node.args) != 1 or node.kwargs or node.op in ("neg", "positive", "clone"):
        return False
    entry = lookup(node.op)
    return entry is not None and entry.elementwise


def _is_forgettable(node: Literal) -> bool:
    value = node.value
    return isinstance(value, float) and value not in (0, 1, 2, 0.5) and abs(value) < 1e6


def _is_number(node: Expr) -> TypeGuard[Literal]:
    value = node.value if isinstance(node, Literal) else None
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value not in (0, 1)


def _is_half_power(node: Expr) -> bool:
    return is_op(node, "pow") and any(isinstance(c, Literal) and c.value in (0.5, -0.5) for c in node.children[1:])


def _sizes(pool: ExpressionPool, case: Case, target: str, others: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return distinct sizes above 1: symbols, then the target's, then others'."""
    found: dict[tuple[object, ...], int] = {}
    candidates: list[Expr] = [Name(word) for word in case.dims]
    tensors = [target, *(name for name in (*case.inputs, *case.constants, *case.graph) if name != target)]
    for name in tensors[:MOST_NAMES]:
        array = pool.names.get(name)
        if isinstance(array, np.ndarray):
            candidates.append(Attribute(Name(name), "numel"))
            shape = Attribute(Name(name), "shape")
            candidates += [Call("getitem", (shape, Literal(dim))) for dim in range(array.ndim)]
    for expr in candidates:
        part = pool.add(expr)
        value = pool.value(part)
        if type(value) is int and value > 1:
            found.setdefault((value, *(_value(expr, names) for names in others)), part)
    return list(found.values())


def _value(expr: Expr, names: Mapping[str, Any]) -> object:
    try:
        return evaluate(expr, names)
    except (GradcheckError, KeyError):
        return None


@dataclass(frozen=True, slots=True)
class EditPosition:
    """A part of a formula and its parent, None for the whole formula."""

    pool: ExpressionPool
    operands: Operands
    part: int
    parent: Expr | None

    @property
    def node(self) -> Expr:
        return self.pool.exprs[self.part]

    @property
    def children(self) -> tuple[int, ...]:
        return self.pool.children[self.part]

    @property
    def ndim(self) -> int:
        """The dimensions of a tensor; -1 for others and what has no value."""
        array = self.pool.array(self.part)
        return -1 if array is None else array.ndim

    @property
    def is_tensor(self) -> bool:
        """True for a tensor, or a call that has no value."""
        value = self.pool.value(self.part)
        return self.pool.array(self.part) is not None or (value is BROKEN and isinstance(self.node, Call))

    @property
    def is_term(self) -> bool:
        """True if a factor here differs from one further up."""
        return self.parent is None or not (is_op(self.parent, *_LINEAR) or isinstance(self.parent, Attribute))

    @property
    def is_base(self) -> bool:
        """True if a power here is no factor's or summand's further down."""
        is_quotient = self.parent is not None and is_op(self.parent, "div")
        return is_quotient or not is_op(self.node, "mul", "matmul", "add", "sub")

    @property
    def is_masked_alone(self) -> bool:
        """True if a mask here differs from one further up."""
        return self.parent is None or not is_op(self.parent, "mul", "div", "neg")

    @property
    def is_argument(self) -> bool:
        """True in a function that is not linear in the part."""
        linear = (*_LINEAR, "add", "sub")
        return isinstance(self.parent, Call) and not is_op(self.parent, *linear)

    @property
    def is_summand(self) -> bool:
        """True if the operator beside it has its sign."""
        return self.parent is not None and is_op(self.parent, "add", "sub")
