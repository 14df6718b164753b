"""Name a mistake by the one difference of a formula from its correction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeAlias

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.op import TABLE
from gradcheck.checks.failures.correction.expression_pool import ExpressionPool
from gradcheck.checks.result import Diagnosis
from gradcheck.checks.scope import Scope
from gradcheck.facts import Fact, fact
from gradcheck.language.expr.nodes import Call, Expr, Gradient, Literal, Name
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.terms import signed_terms, split_sign
from gradcheck.language.expr.traverse import differing_parts

#: A part with its sign, as a term, or its power, as a factor.
_Part: TypeAlias = tuple[int, Expr]
#: A comparison: a cause, the parts that differ, or None.
_Look: TypeAlias = Callable[[Expr, Expr], "Diagnosis | tuple[Expr, Expr] | None"]
#: The most characters of a part that is shown, and the most steps into a formula.
_MOST_SHOWN, _MOST_STEPS = 40, 20
#: The most pairs of parts that are compared.
_MOST_PAIRS = 4_000
#: The most places at which one mistake is named.
_MOST_OCCURRENCES = 4
#: Values that differ by less, relative to the largest, are the same.
_ALIKE = 1e-9


def edit_cause(wrong: Expr, right: Expr, scopes: Sequence[Scope]) -> Diagnosis | None:
    """Return the difference as a cause; None if it is no single one.

    Parts are the same if they have the same values in all scopes."""
    return _Comparison(scopes).of(wrong, right)


def says_less_than_an_edit(one: Diagnosis) -> bool:
    """Return whether a cause is none, a guess, or one of several."""
    if one.message.kind in ("path_sign", "path_for_another") or one.kind in ("unknown", "mixed_up", "saved_value"):
        return True
    return one.confidence == "possible" and one.kind != "path_dropped"


def is_of_unnamed_path(one: Diagnosis) -> bool:
    """Return whether a cause speaks of a path where a number may be meant."""
    path = one.message["path"] if one.message.kind == "path_not_there" else None
    return one.message.kind == "path_counted_twice" or (isinstance(path, Fact) and path.kind == "path_use")


def is_of_number(cause: Diagnosis) -> bool:
    """Return whether a number is the factor that is missing or too much."""
    return cause.kind == "factor_of_tensor" and str(cause.message["factor"]).replace(".", "", 1).isdigit()


class _Comparison:
    def __init__(self, scopes: Sequence[Scope]) -> None:
        self.pools = [ExpressionPool(scope, scope.gradients) for scope in scopes]

    def of(self, wrong: Expr, right: Expr) -> Diagnosis | None:
        """Return the one difference as a cause, which may occur several times."""
        if self._same(Call("mul", (Literal(-1), wrong)), right):
            return _cause("sign", fact("wrong_sign"))
        differing = [pair for pair in differing_parts(wrong, right) if pair[0] != pair[1]]
        are_names = [all(isinstance(part, (Name, Gradient)) for part in pair) for pair in differing]
        pairs = [pair for pair, is_name in zip(differing, are_names, strict=True) if is_name or pair[0] is not wrong]
        are_few = 0 < len(pairs) <= _MOST_OCCURRENCES
        found = None if are_few and all(are_names) else self._followed(wrong, right) or self._as_factor(wrong, right)
        if found is not None or not are_few:
            return found
        if len(pairs) == 2 and pairs[0] == pairs[1][::-1]:
            one, other = map(to_text, pairs[0])
            return _cause("swapped", fact("parts_swapped", one=one, other=other))
        causes = [self._followed(got, want, is_part=True) for got, want in pairs]
        named = list({cause.message: cause for cause in causes if cause is not None}.values())
        if None in causes or len(named) > 2:
            return None
        first, last = named[0], named[-1]
        return first if first is last else _cause(first.kind, fact("two_causes", one=first.message, other=last.message))

    def _followed(self, wrong: Expr, right: Expr, is_part: bool = False) -> Diagnosis | None:
        """Return the cause that the difference has, followed into the formulas."""
        looks: tuple[_Look, ...] = (self._in_mask, self._in_sum, self._in_product, self._in_call)
        for step in range(_MOST_STEPS):
            found = (look(wrong, right) for look in looks)
            inner = next((one for one in found if one is not None), None)
            if inner is None:
                return self._exchanged(wrong, right) if step or is_part else None
            if isinstance(inner, Diagnosis):
                return inner
            wrong, right = inner
        return None

    def _as_factor(self, wrong: Expr, right: Expr) -> Diagnosis | None:
        """Return a part of one formula as the quotient of both."""
        for whole, less, source in (
            (right, wrong, right),
            (wrong, right, wrong),
            (wrong, right, right),
            (right, wrong, wrong),
        ):
            for part in dict.fromkeys(source.walk()):
                is_tensor = isinstance(part, (Name, Gradient, Call)) and part is not source
                if is_tensor and len(to_text(part)) <= _MOST_SHOWN and self._same(Call("mul", (less, part)), whole):
                    return _factor_cause(to_text(part), source is right, is_divisor=whole is not source)
        return None

    def _same(self, one: Expr, other: Expr) -> bool:
        for pool in self.pools:
            a, b = pool.add(one), pool.add(other)
            if a != b and not _are_alike(pool.value(a), pool.value(b)):
                return False
        return True

    def _in_mask(self, wrong: Expr, right: Expr) -> Diagnosis | None:
        """Return that the formula lacks a case, such as the one in which it is 0."""
        if not isinstance(right, Call) or right.op != "where" or len(right.args) != 3:
            return None
        condition, *sides = right.args
        same = [self._same(wrong, side) for side in sides]
        value = to_text(sides[same.index(False)]) if sum(same) == 1 else ""
        if not 0 < len(value) <= _MOST_SHOWN:
            return None
        return _cause("branch", fact("no_mask", condition=to_text(condition), is_there=same[1], value=value))

    def _in_sum(self, wrong: Expr, right: Expr) -> Diagnosis | tuple[Expr, Expr] | None:
        of_wrong, of_right = _terms(wrong), _terms(right)
        got, want = self._unmatched(of_wrong, of_right)
        match len(got), len(want):
            case 0, 1 if len(of_right) > 1:
                return _cause("one_term", fact("term_missing", term=_signed(want[0])))
            case 0, count if 1 < count < len(of_right):
                return _cause("one_term", fact("terms_missing", terms=tuple(map(_signed, want))))
            case 1, 0 if len(of_wrong) > 1:
                return _cause("one_term", fact("extra_term", term=to_text(got[0][1])))
            case 1, 1 if got[0][0] != want[0][0] and self._same(got[0][1], want[0][1]):
                return _cause("one_term", fact("term_of_other_sign", term=to_text(want[0][1])))
            case 1, 1 if got[0][0] == want[0][0]:
                inner = got[0][1], want[0][1]
                return inner if len(of_wrong) > 1 or (inner[0] != wrong and inner[1] != right) else None
            case a, b if a and b and (a < len(of_wrong) or b < len(of_right)):
                return _joined(got, "add", "sub"), _joined(want, "add", "sub")
        return None

    def _in_product(self, wrong: Expr, right: Expr) -> Diagnosis | tuple[Expr, Expr] | None:
        (sign, of_wrong), (other, of_right) = _factors(wrong), _factors(right)
        got, want = self._unmatched(of_wrong, of_right)
        match len(got), len(want):
            case 1, 1 if sign != other and len(of_wrong) + len(of_right) > 2:
                return _to_power(*got[0]), Call("neg", (_to_power(*want[0]),))
            case _ if sign != other:
                return None
            case 0, count if count:
                return _of_factors(want, is_missing=True)
            case count, 0 if count:
                return _of_factors(got, is_missing=False)
            case 1, 1 if got[0][0] != want[0][0]:
                return self._exchanged(_to_power(*got[0]), _to_power(*want[0]))
            case 1, 1 if got[0][1] is not wrong:
                return got[0][1], want[0][1]
            case a, b if a and b and (a < len(of_wrong) or b < len(of_right)):
                return self._exchanged(_product_of(got), _product_of(want))
        return None

    def _in_call(self, wrong: Expr, right: Expr) -> Diagnosis | tuple[Expr, Expr] | None:
        for whole, less in ((right, wrong), (wrong, right)):
            for place in (0, 1) if isinstance(whole, Call) and whole.op == "matmul" else ():
                if self._same(whole.children[place], less):
                    return _factor_cause(to_text(whole.children[1 - place]), whole is right)
        if not isinstance(wrong, Call) or not isinstance(right, Call):
            return None
        got, want = _arguments(wrong), _arguments(right)
        if wrong.op == "getitem" and got.get("index") != want.get("index"):
            return None
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
        if name == "keepdim":
            return _cause("reshaped", fact("no_keepdim" if name in want else "extra_keepdim", op=wrong.op))
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
    terms = [(sign, *split_sign(term)) for term, sign in signed_terms(expr)]
    return [(sign * own, term) for sign, own, term in terms]


def _signed(part: _Part) -> str:
    sign, term = part
    return ("-" if sign < 0 else "") + to_text(term)


def _joined(parts: Sequence[_Part], op: str, inverse: str) -> Expr:
    """Return the sum of terms, or the product of factors, positive ones first."""
    first, *others = sorted(parts, key=lambda part: -part[0])
    start = first[1] if first[0] > 0 else Call("neg", (first[1],)) if op == "add" else _to_power(*first)
    return reduce(lambda made, part: Call(op if part[0] > 0 else inverse, (made, part[1])), others, start)


def _product_of(factors: Sequence[_Part]) -> Expr:
    return _joined(factors, "mul", "div")


def _of_factors(factors: Sequence[_Part], is_missing: bool) -> Diagnosis | None:
    """Return that factors are missing or too much, if they are short."""
    is_divisor = all(power < 0 for power, _ in factors)
    text = to_text(_product_of([(1, factor) for _, factor in factors] if is_divisor else factors))
    return None if len(text) > _MOST_SHOWN and len(factors) > 1 else _factor_cause(text, is_missing, is_divisor)


def _factor_cause(factor: str, is_missing: bool, is_divisor: bool = False) -> Diagnosis:
    if is_divisor:
        return _cause("factor_of_tensor", fact("no_divisor" if is_missing else "extra_divisor", factor=factor))
    return _cause("factor_of_tensor", fact("no_factor" if is_missing else "extra_factor", factor=factor))


def _to_power(power: int, factor: Expr) -> Expr:
    return factor if power > 0 else Call("div", (Literal(1), factor))


def _factors(expr: Expr) -> tuple[int, list[_Part]]:
    """Return a product's sign, and its factors but 1 with powers 1 or -1."""
    sign, expr = split_sign(expr)
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
