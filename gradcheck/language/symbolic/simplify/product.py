"""Product: a number times factors over divisors, and what of it broadcasting makes superfluous."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import TypeAlias, TypeGuard

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.language.expr.nodes import Call, Expr, Literal, Name
from gradcheck.language.symbolic.simplify.part_properties import PartProperties, Shapes

#: Numbers with a larger denominator, such as 0.7978845608028654, are left as they are written.
_FINEST = 1024
_LARGEST = 10**15
#: By which what adds up to 1 may miss it by rounding.
_TINY = 1e-12
_MAX_POWER = 9

_REDUCTIONS = frozenset({"sum", "mean", "var", "std", "norm", "amax", "amin", "prod"})

_SPREADS = frozenset({"expand", "broadcast_to", "unsqueeze", "reshape"})

#: Interned expressions, each with how often it occurs, by their ids.
Factors: TypeAlias = dict[int, tuple[Expr, int]]


@dataclass(slots=True)
class Product:
    """A number times factors over divisors, each of the two in order."""

    number: Fraction = Fraction(1)
    factors: Factors = field(default_factory=dict)
    divisors: Factors = field(default_factory=dict)

    @classmethod
    def of(cls, root: Expr) -> Product:
        """The product that an interned expression is; of anything else, the product of it alone."""
        found = cls()
        stack = [(root, 1)]
        while stack:
            node, power = stack.pop()
            if is_call(node, "mul", 2):
                stack += [(child, power) for child in reversed(node.args)]
            elif is_call(node, "div", 2):
                stack += [(node.args[1], -power), (node.args[0], power)]
            elif is_call(node, "neg", 1):
                found.number = -found.number
                stack.append((node.args[0], power))
            elif not found._take_number(node, power):
                base, times = _power(node)
                _add(found.factors if power > 0 else found.divisors, base, times)
        return found

    def _take_number(self, node: Expr, power: int) -> bool:
        number = _exact(node)
        if number is None or (number == 0 and power < 0):
            return False
        product = self.number * number if power > 0 else self.number / number
        if abs(product.numerator) > _LARGEST or product.denominator > _LARGEST:
            return False
        self.number = product
        return True

    def replace_factor(self, old: Expr, new: Expr | None) -> Product:
        """The same with another factor, or none, for one that occurs once."""
        made = Product(self.number, {}, dict(self.divisors))
        for key, (factor, times) in self.factors.items():
            if key != id(old):
                made.factors[key] = (factor, times)
            elif new is not None:
                inner = Product.of(new)
                made.number *= inner.number
                for into, added in ((made.factors, inner.factors), (made.divisors, inner.divisors)):
                    for part in added.values():
                        _add(into, *part)
        return made

    def cancel(self, never_zero: Callable[[Expr], bool]) -> Product:
        """Without what is both multiplied and divided by, where it is never 0: `n * x / n` is x, since no size is 0. A
        tensor may be, somewhere."""
        made = Product(self.number, dict(self.factors), dict(self.divisors))
        for key in [key for key in self.factors if key in self.divisors and never_zero(self.factors[key][0])]:
            (base, above), (_, below) = made.factors.pop(key), made.divisors.pop(key)
            if above != below:
                (made.factors if above > below else made.divisors)[key] = (base, abs(above - below))
        return made

    def with_number(self, number: Fraction | int) -> Product:
        """The same factors with another number."""
        return Product(Fraction(number), self.factors, self.divisors)

    @property
    def key(self) -> object:
        """What like terms have alike: the factors and divisors, in any order."""
        return tuple(
            frozenset((key, times) for key, (_, times) in side.items()) for side in (self.factors, self.divisors)
        )

    def is_ones(self) -> bool:
        """Whether it is a number times ones of whatever shape."""
        factors = [factor for factor, _ in self.factors.values()]
        return bool(factors) and not self.divisors and all(is_call(factor, "ones_like", 1) for factor in factors)

    def render(self) -> Expr:
        """As an expression, numbers first; `1` where nothing is left."""
        factors = sorted(self.factors.values(), key=lambda pair: not isinstance(pair[0], Literal))
        parts = [_raised(*pair) for pair in factors]
        below = [_raised(*pair) for pair in self.divisors.values()]
        shown = _as_literal(self.number)
        if shown is None:
            below = [Literal(self.number.denominator), *below]
            shown = Literal(self.number.numerator)
        if not parts or shown.value not in (1, -1):
            parts = [shown, *parts]
        elif self.number < 0:
            parts = [Call("neg", (parts[0],)), *parts[1:]]
        top = _multiply_all(parts)
        return Call("div", (top, _multiply_all(below))) if below else top


def is_call(node: Expr, op: str, count: int) -> TypeGuard[Call]:
    """Whether it is a call of the op with so many arguments, and no others."""
    return isinstance(node, Call) and node.op == op and len(node.args) == count and not node.kwargs


def integer(node: Expr) -> int | None:
    """The value of a literal integer."""
    return node.value if isinstance(node, Literal) and type(node.value) is int else None


def _add(side: Factors, base: Expr, times: int) -> None:
    known = side.get(id(base))
    side[id(base)] = (base, times + (known[1] if known else 0))


def _exact(node: Expr) -> Fraction | None:
    """The value of a literal number that can be reckoned with exactly."""
    if not isinstance(node, Literal) or isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
        return None
    if not np.isfinite(node.value) or abs(node.value) > _LARGEST:
        return None
    number = Fraction(node.value)
    return number if number.denominator <= _FINEST else None


def _as_literal(number: Fraction) -> Literal | None:
    """`2`, `0.5`; None for a third, which has no end as a decimal."""
    if number.denominator == 1:
        return Literal(number.numerator)
    value = float(number)
    return Literal(value) if Fraction(value) == number and number.denominator <= _FINEST else None


def _power(node: Expr) -> tuple[Expr, int]:
    """`x ** 3` as x, three times."""
    times = integer(node.args[1]) if is_call(node, "pow", 2) else None
    return (node.children[0], times) if times is not None and 2 <= times <= _MAX_POWER else (node, 1)


def _raised(base: Expr, times: int) -> Expr:
    if times == 1:
        return base
    whole, rest = divmod(times, _MAX_POWER)
    powers = [_MAX_POWER] * whole + [rest] * (rest > 0)
    return _multiply_all([base if power == 1 else Call("pow", (base, Literal(power))) for power in powers])


def _multiply_all(parts: list[Expr]) -> Expr:
    """`a * b * c`, from the left."""
    return reduce(lambda found, part: Call("mul", (found, part)), parts)


# What broadcasting makes superfluous ------------------------------------------------------------


def without_broadcast(node: Expr, know: PartProperties) -> tuple[Expr | None, Shapes] | None:
    """A factor without what broadcasting would do anyway, and its shapes then: `x` of `expand(x, …)`, None (for 1) of
    `ones_like(x)`; or nothing, if it is as bare as can be."""
    shapes = know.shapes(node)
    if shapes is None or not isinstance(node, Call) or not node.args:
        return None
    if node.op in ("ones_like", "ones") or (node.op == "to" and is_call(node.args[0], "ones_like", 1)):
        return None, ((),) * len(shapes)
    inner = _number_spread(node, know)
    if inner is not None:
        return inner, ((),) * len(shapes)
    inner = node.args[0]
    if node.op == "sum" and _adds_up_to_one(node, know):
        return None, ((),) * len(shapes)
    before = know.shapes(inner)
    if node.op in ("expand", "broadcast_to"):
        return inner, before if before is not None else ((),) * len(shapes)
    kept = tuple((name, value) for name, value in node.kwargs if name != "keepdim")
    if node.op in _REDUCTIONS and len(kept) < len(node.kwargs):  # `sum(x, dim=0, keepdim=True)`
        inner = know.pool.intern(Call(node.op, node.args, kept))
        before = know.shapes(inner)
    elif node.op not in ("unsqueeze", "reshape"):
        return None
    if before is None:
        return None
    leads = all(after == (1,) * (len(after) - len(old)) + old for old, after in zip(before, shapes, strict=True))
    return (inner, before) if leads else None


def _number_spread(node: Expr, know: PartProperties) -> Expr | None:
    """The tensor of one number that something is, at every place."""
    inner = node
    while isinstance(inner, Call) and inner.op in _SPREADS:
        inner = inner.args[0]
    return inner if inner is not node and know.ndim(inner) == 0 else None


def _adds_up_to_one(node: Call, know: PartProperties) -> bool:
    """Whether it is the sum of each row of `one_hot`, or of constants whose rows add up to 1."""
    inner, values = node.args[0], know.values(node)
    inner = inner.args[0] if is_call(inner, "to", 2) else inner
    is_given = isinstance(inner, Name) and inner.name in know.constants
    if values is None or not (is_given or is_call(inner, "one_hot", 2)):
        return False
    return all(bool(np.all(np.abs(dtypes.wide(value) - 1) < _TINY)) for value in values)


def broadcast(parts: Iterable[Shapes | None], points: int) -> Shapes:
    """The shapes that operands have together at so many points; None is a number's."""
    known = [shapes for shapes in parts if shapes is not None]
    return tuple(np.broadcast_shapes(*(shapes[i] for shapes in known)) for i in range(points))


def drop_expansions(product: Product, total: Shapes, know: PartProperties, *beside: Shapes) -> Product:
    """Without expansions that the other factors, or what it is `beside` in a sum, make good."""
    shapes = {key: know.shapes(factor) for key, (factor, _) in (product.factors | product.divisors).items()}
    for key, (factor, times) in list(product.factors.items()):
        simpler = without_broadcast(factor, know) if times == 1 else None
        if simpler is None:
            continue
        others = [shape for other, shape in shapes.items() if other != key]
        if broadcast([*others, simpler[1], *beside], len(total)) == total:
            product = product.replace_factor(factor, simpler[0])
            shapes[key] = simpler[1]
    return product
