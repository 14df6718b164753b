"""Name a mistake by the one difference of a formula from its correction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.families import MATRIX_PRODUCTS
from gradcheck.autograd.op import TABLE
from gradcheck.checks.failures.correction.expression_pool import ExpressionPool
from gradcheck.checks.result import Diagnosis
from gradcheck.checks.scope import Scope
from gradcheck.facts import Fact, fact
from gradcheck.language.expr.nodes import Call, Expr, Gradient, Literal, Name
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.terms import signed_terms
from gradcheck.language.expr.traverse import differing_parts

#: A part with its sign, as a term, or its power, as a factor.
_Part: TypeAlias = tuple[int, Expr]
#: A comparison: a cause, the parts that differ, or None.
_Look: TypeAlias = Callable[[Expr, Expr], "Diagnosis | tuple[Expr, Expr] | None"]
#: The most characters of a part that is shown, and the most steps into a formula.
_MOST_SHOWN, _MOST_STEPS = 40, 20
#: The most pairs of parts that are compared.
_MOST_PAIRS = 4_000
#: Values that differ by less, relative to the largest, are the same.
_ALIKE = 1e-9


def edit_cause(wrong: Expr, right: Expr, scopes: Sequence[Scope]) -> Diagnosis | None:
    """Return the difference as a cause; None if it is no single one.

    Parts are the same if they have the same values in all scopes."""
    return _Comparison(scopes).of(wrong, right)


class _Comparison:
    def __init__(self, scopes: Sequence[Scope]) -> None:
        self.pools = [ExpressionPool(scope, scope.gradients) for scope in scopes]

    def of(self, wrong: Expr, right: Expr) -> Diagnosis | None:
        """Return the one difference as a cause."""
        if differing := differing_parts(wrong, right):
            (got, want), *more = differing
            if not more and got is not wrong and all(isinstance(one, (Name, Gradient)) for one in (got, want)):
                return self._exchanged(got, want)
        looks: tuple[_Look, ...] = (self._in_mask, self._in_sum, self._in_product, self._in_call)
        for step in range(_MOST_STEPS):
            found = (look(wrong, right) for look in looks)
            inner = next((one for one in found if one is not None), None)
            if inner is None:
                return self._exchanged(wrong, right) if step else None
            if isinstance(inner, Diagnosis):
                return inner
            wrong, right = inner
        return None

    def _same(self, one: Expr, other: Expr) -> bool:
        for pool in self.pools:
            a, b = pool.add(one), pool.add(other)
            if a != b and not _are_alike(pool.value(a), pool.value(b)):
                return False
        return True

    def _in_mask(self, wrong: Expr, right: Expr) -> Diagnosis | None:
        """Return that the formula lacks the condition under which it is 0."""
        if not isinstance(right, Call) or right.op != "where" or len(right.args) != 3:
            return None
        condition, *sides = right.args
        zeros = [isinstance(side, Literal) and side.value == 0 for side in sides]
        if sum(zeros) != 1 or not self._same(wrong, sides[zeros.index(False)]):
            return None
        return _cause("branch", fact("no_mask", condition=to_text(condition), is_zero_there=zeros[0]))

    def _in_sum(self, wrong: Expr, right: Expr) -> Diagnosis | tuple[Expr, Expr] | None:
        of_wrong, of_right = _terms(wrong), _terms(right)
        got, want = self._unmatched(of_wrong, of_right)
        match len(got), len(want):
            case 0, 1 if len(of_right) > 1:
                return _cause("one_term", fact("term_missing", term=to_text(want[0][1])))
            case 0, count if 1 < count < len(of_right):
                return _cause(
                    "one_term",
                    fact(
                        "terms_missing", terms=tuple(("-" if sign < 0 else "") + to_text(term) for sign, term in want)
                    ),
                )
            case 1, 0 if len(of_wrong) > 1:
                return _cause("one_term", fact("extra_term", term=to_text(got[0][1])))
            case 1, 1 if got[0][0] != want[0][0] and self._same(got[0][1], want[0][1]):
                return _cause("one_term", fact("term_of_other_sign", term=to_text(want[0][1])))
            case 1, 1 if got[0][0] == want[0][0]:
                inner = got[0][1], want[0][1]
                return inner if len(of_wrong) > 1 or (inner[0] != wrong and inner[1] != right) else None
        return None

    def _in_product(self, wrong: Expr, right: Expr) -> Diagnosis | tuple[Expr, Expr] | None:
        (sign, of_wrong), (other, of_right) = _factors(wrong), _factors(right)
        got, want = self._unmatched(of_wrong, of_right)
        match len(got), len(want):
            case 1, 1 if sign != other and len(of_wrong) + len(of_right) > 2:
                return _to_power(*got[0]), Call("neg", (_to_power(*want[0]),))
            case _ if sign != other:
                return None
            case 0, 1:
                factor = to_text(want[0][1])
                what = fact("no_factor", factor=factor) if want[0][0] > 0 else fact("no_divisor", factor=factor)
                return _cause("factor_of_tensor", what)
            case 1, 0:
                factor = to_text(got[0][1])
                what = fact("extra_factor", factor=factor) if got[0][0] > 0 else fact("extra_divisor", factor=factor)
                return _cause("factor_of_tensor", what)
            case 1, 1 if got[0][0] != want[0][0]:
                return self._exchanged(_to_power(*got[0]), _to_power(*want[0]))
            case 1, 1 if got[0][1] is not wrong:
                return got[0][1], want[0][1]
        return None

    def _in_call(self, wrong: Expr, right: Expr) -> Diagnosis | tuple[Expr, Expr] | None:
        if not isinstance(wrong, Call) or not isinstance(right, Call) or wrong.op == "getitem":
            return None
        got, want = _arguments(wrong), _arguments(right)
        if wrong.op != right.op:
            if len(got) != len(want) or not all(map(self._same, got.values(), want.values())):
                return None
            return _cause("other_formula", fact("part_exchanged", got=wrong.op, want=right.op))
        if wrong.op == "matmul" and all(map(self._same, wrong.args, reversed(right.args))):
            return _cause("operand_transposed", fact("factors_swapped", got=to_text(wrong), want=to_text(right)))
        other = [name for name in {**got, **want} if name not in got or name not in want]
        other += [name for name in got if name in want and not self._same(got[name], want[name])]
        if len(other) != 1:
            return None
        (name,) = other
        if name in got and name in want and name != "dim":
            return got[name], want[name]
        if name == "dim" and name in got and name in want:
            return _cause("summed", fact("other_dim", op=wrong.op, got=to_text(got[name]), want=to_text(want[name])))
        return None

    def _exchanged(self, wrong: Expr, right: Expr) -> Diagnosis | None:
        """Return that one part stands where the other belongs, if both are short."""
        got, want = to_text(wrong), to_text(right)
        if max(len(got), len(want)) > _MOST_SHOWN:
            return None
        if self._same(Call("mul", (Literal(-1), wrong)), right):
            return _cause("one_term", fact("part_of_other_sign", got=got, want=want))
        if self._same(Call("mT", (wrong,)), right):
            return _cause("operand_transposed", fact("part_transposed", got=got, want=want))
        return _cause("other_formula", fact("part_exchanged", got=got, want=want))

    def _unmatched(self, got: list[_Part], want: list[_Part]) -> tuple[list[_Part], list[_Part]]:
        """Return the parts of either side that the other has not.

        Of many parts, none is compared."""
        if len(got) * len(want) > _MOST_PAIRS:
            return got, want
        left = []
        want = list(want)
        for sign, part in got:
            known = next((one for one in want if one[0] == sign and self._same(part, one[1])), None)
            if known is None:
                left.append((sign, part))
            else:
                want.remove(known)
        return left, want


def _cause(kind: str, what: Fact) -> Diagnosis:
    return Diagnosis(kind, what, confidence="confirmed")


def _terms(expr: Expr) -> list[_Part]:
    """Return the terms of a sum, each with the sign of its first factor."""
    terms = [(sign, *_unsigned(term)) for term, sign in signed_terms(expr)]
    return [(sign * own, term) for sign, own, term in terms]


def _unsigned(expr: Expr) -> _Part:
    """Return the sign of a product's first factor, and the product without it."""
    spine: list[Call] = []
    node = expr
    while isinstance(node, Call) and node.op in ("mul", "div", *MATRIX_PRODUCTS) and len(node.args) == 2:
        spine.append(node)
        node = node.args[0]
    if isinstance(node, Literal) and isinstance(node.value, (int, float)) and node.value < 0:
        node = Literal(-node.value)
    elif isinstance(node, Call) and node.op == "neg":
        node = node.args[0]
    else:
        return 1, expr
    for call in reversed(spine):
        node = Call(call.op, (node, call.args[1]), call.kwargs)
    return -1, node


def _to_power(power: int, factor: Expr) -> Expr:
    return factor if power > 0 else Call("div", (Literal(1), factor))


def _factors(expr: Expr) -> tuple[int, list[_Part]]:
    """Return a product's sign, and its factors but 1 with powers 1 or -1."""
    sign, expr = _unsigned(expr)
    found, stack = list[_Part](), [(1, expr)]
    while stack:
        power, node = stack.pop()
        if isinstance(node, Call) and node.op in ("mul", "div") and len(node.args) == 2 and not node.kwargs:
            stack += [(power if node.op == "mul" else -power, node.args[1]), (power, node.args[0])]
        elif node != Literal(1):
            found.append((power, node))
    return sign, found


def _arguments(call: Call) -> dict[str, Expr]:
    """Return a call's arguments by the op's names for them."""
    names = [one.name for one in TABLE[call.op].parameters]
    return {**dict(zip(names, call.args, strict=False)), **dict(call.kwargs)}


def _are_alike(one: object, other: object) -> bool:
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return isinstance(one, (int, float)) and isinstance(other, (int, float)) and one == other
    a, b = wide(one), wide(other)
    return a.shape == b.shape and bool(np.all(np.abs(a - b) <= _ALIKE * float(np.max(np.abs(a), initial=0.0))))
