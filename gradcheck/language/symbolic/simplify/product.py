"""Product: a number times factors over divisors, and its broadcasting."""

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

#: Numbers with larger denominators, such as 0.7978845608028654, stay as written.
_FINEST = 1024
_LARGEST = 10**15
#: The rounding error of a sum that is 1.
_TINY = 1e-12
_MAX_POWER = 9

_PRODUCTS = frozenset({"mul", "div", "neg"})
_REDUCTIONS = frozenset({"sum", "mean", "var", "std", "norm", "amax", "amin", "prod"})

_SPREADS = frozenset({"expand", "broadcast_to", "unsqueeze", "reshape"})

#: Interned expressions and their powers, by id.
Factors: TypeAlias = dict[int, tuple[Expr, int]]


@dataclass(slots=True)
class Product:
    """A number times factors over divisors, each of the two in order."""

    number: Fraction = Fraction(1)
    factors: Factors = field(default_factory=dict)
    divisors: Factors = field(default_factory=dict)

    @classmethod
    def of(cls, root: Expr) -> Product:
        """Return the product that an interned expression is, perhaps of itself."""
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

    def times(self, other: Product) -> Product:
        """Return the product of both."""
        made = Product(self.number * other.number, dict(self.factors), dict(self.divisors))
        for into, more in ((made.factors, other.factors), (made.divisors, other.divisors)):
            for part in more.values():
                _add(into, *part)
        return made

    def without(self, other: Product) -> Product:
        """Return the product divided by one whose factors and divisors it has."""
        made = Product(self.number / other.number, dict(self.factors), dict(self.divisors))
        for side, gone in ((made.factors, other.factors), (made.divisors, other.divisors)):
            for key, (base, times) in gone.items():
                left = side[key][1] - times
                side[key] = (base, left)
                if not left:
                    side.pop(key)
        return made

    def replace_factor(self, old: Expr, new: Expr | None) -> Product:
        """Return the product with a factor of power 1 replaced or removed."""
        made = Product(self.number, {}, dict(self.divisors))
        for key, (factor, times) in self.factors.items():
            if key != id(old):
                made.factors[key] = (factor, times)
            elif new is not None:
                made = made.times(Product.of(new))
        return made

    def cancel(self, never_zero: Callable[[Expr], bool]) -> Product:
        """Cancel factors and divisors that are never 0, such as sizes."""
        made = Product(self.number, dict(self.factors), dict(self.divisors))
        for key in [key for key in self.factors if key in self.divisors and never_zero(self.factors[key][0])]:
            (base, above), (_, below) = made.factors.pop(key), made.divisors.pop(key)
            if above != below:
                (made.factors if above > below else made.divisors)[key] = (base, abs(above - below))
        return made

    def with_roots(self, roots: Iterable[Call]) -> Product:
        """Return the product with `sqrt(v) ** 2` for divisors v of these roots."""
        made = Product(self.number, self.factors, dict(self.divisors))
        for root in roots:
            if id(root.args[0]) in made.divisors:
                _, times = made.divisors.pop(id(root.args[0]))
                _add(made.divisors, root, 2 * times)
        return made

    def with_number(self, number: Fraction | int) -> Product:
        """Return the product with another number."""
        return Product(Fraction(number), self.factors, self.divisors)

    @property
    def key(self) -> object:
        """The factors and divisors in any order; like terms have the same."""
        return tuple(
            frozenset((key, times) for key, (_, times) in side.items()) for side in (self.factors, self.divisors)
        )

    def is_ones(self) -> bool:
        """Return whether it is a number times ones."""
        factors = [factor for factor, _ in self.factors.values()]
        return bool(factors) and not self.divisors and all(is_call(factor, "ones_like", 1) for factor in factors)

    def render(self) -> Expr:
        """Return the expression, numbers first; `1` for an empty product."""
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
    """Return whether a node is a call of `op` with `count` arguments alone."""
    return isinstance(node, Call) and node.op == op and len(node.args) == count and not node.kwargs


def is_product(node: Expr) -> TypeGuard[Call]:
    """Return whether a node is a product, a quotient or a negative."""
    return isinstance(node, Call) and node.op in _PRODUCTS and not node.kwargs


def keyword_dim(node: Call) -> int | None:
    """Return the literal dimension in `dim=1`."""
    return integer(dict(node.kwargs).get("dim", node))


def integer(node: Expr) -> int | None:
    """Return the value of a literal integer, or None."""
    return node.value if isinstance(node, Literal) and type(node.value) is int else None


def _add(side: Factors, base: Expr, times: int) -> None:
    known = side.get(id(base))
    side[id(base)] = (base, times + (known[1] if known else 0))


def _exact(node: Expr) -> Fraction | None:
    """Return the exact value of a literal number."""
    if not isinstance(node, Literal) or isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
        return None
    if not np.isfinite(node.value) or abs(node.value) > _LARGEST:
        return None
    number = Fraction(node.value)
    return number if number.denominator <= _FINEST else None


def _as_literal(number: Fraction) -> Literal | None:
    """Return `2` or `0.5`, but None for a third, which has no finite decimal."""
    if number.denominator == 1:
        return Literal(number.numerator)
    value = float(number)
    return Literal(value) if Fraction(value) == number and number.denominator <= _FINEST else None


def _power(node: Expr) -> tuple[Expr, int]:
    """Return x and 3 of `x ** 3`."""
    times = integer(node.args[1]) if is_call(node, "pow", 2) else None
    return (node.children[0], times) if times is not None and 2 <= times <= _MAX_POWER else (node, 1)


def _raised(base: Expr, times: int) -> Expr:
    if times == 1:
        return base
    whole, rest = divmod(times, _MAX_POWER)
    powers = [_MAX_POWER] * whole + [rest] * (rest > 0)
    return _multiply_all([base if power == 1 else Call("pow", (base, Literal(power))) for power in powers])


def _multiply_all(parts: list[Expr]) -> Expr:
    """Return `a * b * c`, from the left."""
    return reduce(lambda found, part: Call("mul", (found, part)), parts)


def without_broadcast(node: Expr, know: PartProperties) -> tuple[Expr | None, Shapes] | None:
    """Return a factor without its broadcasting, and its shapes then.

    It is `x` for `expand(x, …)`, None (for 1) for `ones_like(x)`. Returns None if there is nothing to drop.
    """
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
    """Return the one-element tensor that a node broadcasts."""
    inner = node
    while isinstance(inner, Call) and inner.op in _SPREADS:
        inner = inner.args[0]
    return inner if inner is not node and know.ndim(inner) == 0 else None


def _adds_up_to_one(node: Call, know: PartProperties) -> bool:
    """Return whether a sum is 1: of one-hot rows, or of constants."""
    inner, values = node.args[0], know.values(node)
    inner = inner.args[0] if is_call(inner, "to", 2) else inner
    is_given = isinstance(inner, Name) and inner.name in know.constants
    if values is None or not (is_given or is_call(inner, "one_hot", 2)):
        return False
    return all(bool(np.all(np.abs(dtypes.wide(value) - 1) < _TINY)) for value in values)


def broadcast(parts: Iterable[Shapes | None], points: int) -> Shapes:
    """Return the broadcast shapes of operands; None is a number's."""
    known = [shapes for shapes in parts if shapes is not None]
    return tuple(np.broadcast_shapes(*(shapes[i] for shapes in known)) for i in range(points))


def drop_expansions(product: Product, total: Shapes, know: PartProperties, *beside: Shapes) -> Product:
    """Drop expansions that the other factors, or terms `beside`, make anyway."""
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
