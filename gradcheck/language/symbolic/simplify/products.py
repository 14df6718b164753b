"""Products in one form: a number first, then the factors in their order, then what they are divided by.

`grad(o) * 0.5 * 5 * (2 * (x + 1))` becomes `5 * grad(o) * (x + 1)`. Elementwise products commute and associate, up to
rounding. Nothing is cancelled: `x / x` is not 1 where x is 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from gradcheck.language.expr.nodes import Attribute, Call, Expr, Literal
from gradcheck.language.symbolic.simplify.facts import Facts, Shapes

OPS = frozenset({"mul", "div", "neg"})
#: Numbers with a larger denominator, such as 0.7978845608028654, are left as they are written.
_FINEST = 1024
_LARGEST = 10**15
_MAX_POWER = 9


@dataclass(slots=True)
class Product:
    """A number times factors over divisors, each of the two in order, with how often it occurs."""

    number: Fraction = Fraction(1)
    factors: dict[int, tuple[Expr, int]] = field(default_factory=dict)
    divisors: dict[int, tuple[Expr, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, root: Expr) -> Product:
        """The product that an interned expression is; of anything else, the product of it alone."""
        found = cls()
        stack = [(root, 1)]
        while stack:
            node, power = stack.pop()
            if is_call(node, "mul", 2):
                stack += [(child, power) for child in reversed(node.children)]
            elif is_call(node, "div", 2):
                stack += [(node.children[1], -power), (node.children[0], power)]
            elif is_call(node, "neg", 1):
                found.number = -found.number
                stack.append((node.children[0], power))
            elif not found._take_number(node, power):
                found._add(node, power)
        return found

    def _take_number(self, node: Expr, power: int) -> bool:
        number = nice(node)
        if number is None or (number == 0 and power < 0):
            return False
        product = self.number * number if power > 0 else self.number / number
        if abs(product.numerator) > _LARGEST or product.denominator > _LARGEST:
            return False
        self.number = product
        return True

    def _add(self, node: Expr, power: int) -> None:
        base, times = _power(node)
        side = self.factors if power > 0 else self.divisors
        known = side.get(id(base))
        side[id(base)] = (base, times + (known[1] if known else 0))

    def replaced(self, old: Expr, new: Expr | None) -> Product:
        """The same with another factor, or none, for one that occurs once."""
        made = Product(self.number, {}, dict(self.divisors))
        for key, (factor, times) in self.factors.items():
            if key != id(old):
                made.factors[key] = (factor, times)
            elif new is not None:
                inner = Product.of(new)
                made.number *= inner.number
                for into, side in ((made.factors, inner.factors), (made.divisors, inner.divisors)):
                    for k, (f, n) in side.items():
                        into[k] = (f, n + (into[k][1] if k in into else 0))
        return made

    def is_ones(self) -> bool:
        """Whether it is a number times ones of whatever shape."""
        factors = [factor for factor, _ in self.factors.values()]
        return bool(factors) and not self.divisors and all(is_call(factor, "ones_like", 1) for factor in factors)

    def without_number(self) -> Product:
        """The same, times 1."""
        return Product(Fraction(1), self.factors, self.divisors)

    def render(self) -> Expr:
        """As an expression; `1` where nothing is left."""
        number, over = self.number, [_raised(*pair) for pair in self.divisors.values()]
        factors = sorted(self.factors.values(), key=lambda pair: not isinstance(pair[0], Literal))  # numbers first
        parts = [_raised(*pair) for pair in factors]
        bottom: list[Expr] = []
        shown = _as_literal(number)
        if shown is None:
            shown = Literal(number.numerator)
            bottom = [Literal(number.denominator)]
        if parts and number.numerator in (1, -1) and (bottom or number.denominator == 1):
            top = chain("mul", parts if number > 0 else [Call("neg", (parts[0],)), *parts[1:]])
        else:
            top = chain("mul", [shown, *parts])
        below = [*bottom, *over]
        return Call("div", (top, chain("mul", below))) if below else top


def is_call(node: Expr, op: str, count: int) -> bool:
    """Whether it is a call of the op with so many arguments, and no others."""
    return isinstance(node, Call) and node.op == op and len(node.args) == count and not node.kwargs


def nice(node: Expr) -> Fraction | None:
    """The value of a literal number that can be reckoned with exactly."""
    if not isinstance(node, Literal) or type(node.value) not in (int, float):
        return None
    value = node.value
    assert isinstance(value, (int, float))
    if not np.isfinite(value) or abs(value) > _LARGEST:
        return None
    number = Fraction(value)
    return number if number.denominator <= _FINEST else None


def _as_literal(number: Fraction) -> Literal | None:
    """`2`, `0.5`; None for a third, which has no end as a decimal."""
    if number.denominator == 1:
        return Literal(number.numerator)
    value = float(number)
    return Literal(value) if Fraction(value) == number and number.denominator <= _FINEST else None


def _power(node: Expr) -> tuple[Expr, int]:
    """`x ** 3` as x, three times."""
    if isinstance(node, Call) and is_call(node, "pow", 2):
        exponent = node.args[1]
        if isinstance(exponent, Literal) and type(exponent.value) is int and 2 <= exponent.value <= _MAX_POWER:
            return node.args[0], exponent.value
    return node, 1


def _raised(base: Expr, times: int) -> Expr:
    if times == 1:
        return base
    if times <= _MAX_POWER:
        return Call("pow", (base, Literal(times)))
    return chain("mul", [base] * times)


def chain(op: str, parts: list[Expr]) -> Expr:
    """`a * b * c`, from the left."""
    found = parts[0]
    for part in parts[1:]:
        found = Call(op, (found, part))
    return found


# What broadcasting makes superfluous -----------------------------------------------------------------


def bare(node: Expr, know: Facts) -> tuple[Expr | None, Shapes] | None:
    """A factor without what broadcasting would do anyway, and its shapes then: `x` of `expand(x, …)`, None (for 1) of
    `ones_like(x)`; or nothing, if it is as bare as can be."""
    shapes = know.shapes(node)
    if shapes is None or not isinstance(node, Call) or not node.args:
        return None
    if node.op in ("ones_like", "ones") or (node.op == "to" and is_call(node.args[0], "ones_like", 1)):
        return None, ((),) * len(shapes)
    inner = node.args[0]
    before = know.shapes(inner)
    if node.op in ("expand", "broadcast_to"):
        return (inner, before) if before is not None else (inner, ((),) * len(shapes))
    if node.op != "unsqueeze" or before is None:
        return None
    leads = all(after == (1,) * (len(after) - len(old)) + old for old, after in zip(before, shapes, strict=True))
    return (inner, before) if leads else None


def broadcast(parts: list[Shapes], points: int) -> Shapes:
    """The shapes that operands have together."""
    return tuple(np.broadcast_shapes(*(shapes[i] for shapes in parts)) for i in range(points))


def normal_product(node: Expr, know: Facts) -> Expr | None:
    """The product's one form, without factors of ones where broadcasting serves."""
    if not isinstance(node, Call) or node.op not in OPS or node.kwargs:
        return None
    total = know.shapes(node)
    found = Product.of(node)
    if total is None:
        return found.render() if know.is_number(node) and not found.divisors else None
    slimmer = slim(found, total, know, [])
    left = (*slimmer.factors.values(), *slimmer.divisors.values())
    return (slimmer if any(know.shapes(factor) is not None for factor, _ in left) else found).render()


def slim(product: Product, total: Shapes, know: Facts, beside: list[Shapes]) -> Product:
    """Without expansions that the other factors, or what it is `beside` in a sum, make good."""
    shapes = {key: know.shapes(factor) for key, (factor, _) in (product.factors | product.divisors).items()}
    for key, (factor, times) in list(product.factors.items()):
        simpler = bare(factor, know) if times == 1 else None
        if simpler is None:
            continue
        others = [shape for other, shape in shapes.items() if other != key and shape is not None]
        if broadcast([*others, simpler[1], *beside, ((),) * len(total)], len(total)) == total:
            product = product.replaced(factor, simpler[0])
            shapes[key] = simpler[1]
    return product


def lift_expand(node: Expr, know: Facts) -> Expr | None:
    """`expand(g, s) * 2` as `expand(g * 2, s)`, where nothing else has the full shape: so whoever uses it can do
    without."""
    if not isinstance(node, Call) or node.op not in OPS or node.kwargs:
        return None
    product = Product.of(node)
    for factor, times in product.factors.values():
        if times == 1 and isinstance(factor, Call) and factor.op == "expand" and len(factor.args) == 2:
            rest = product.replaced(factor, factor.args[0])
            if len(product.factors) + len(product.divisors) > 1 or product.number != 1:
                return Call("expand", (rest.render(), factor.args[1]))
    return None


def all_sizes(node: Expr, know: Facts) -> Expr | None:
    """`x.shape[0] * x.shape[1]`, all of them, as `x.numel()`."""
    if not is_call(node, "mul", 2) or not know.is_number(node):
        return None
    product = Product.of(node)
    owners = [_size_of(factor) for factor, times in product.factors.values() for _ in range(times)]
    if product.divisors or product.number != 1 or None in owners:
        return None
    pairs = [owner for owner in owners if owner is not None]
    same = {id(owner) for owner, _ in pairs}
    if len(same) != 1 or know.ndim(pairs[0][0]) != len(pairs):
        return None
    return Attribute(pairs[0][0], "numel") if {index for _, index in pairs} == set(range(len(pairs))) else None


def _size_of(node: Expr) -> tuple[Expr, int] | None:
    """x and 0 of `x.shape[0]`."""
    if not isinstance(node, Call) or not is_call(node, "getitem", 2):
        return None
    shape, index = node.args
    if isinstance(shape, Attribute) and shape.name == "shape" and isinstance(index, Literal):
        return (shape.value, index.value) if type(index.value) is int else None
    return None


def outer_product(node: Expr, know: Facts) -> Expr | None:
    """A column times a row, `unsqueeze(u, -1) * v`, as `outer(u, v)`."""
    if not isinstance(node, Call) or node.op not in OPS or node.kwargs or know.ndim(node) != 2:
        return None
    product = Product.of(node)
    for factor, times in product.factors.values():
        column = _column(factor, know) if times == 1 else None
        if column is None:
            continue
        row = product.replaced(factor, None)
        rest = [_row(f, know) for f, _ in row.factors.values()]
        if None in rest or any((know.ndim(d) or 0) > 0 for d, _ in row.divisors.values()):
            return None
        row.factors = {id(r): (r, n) for r, (_, n) in zip(rest, row.factors.values(), strict=True) if r is not None}
        return Call("outer", (column, row.render())) if row.factors else None
    return None


def _column(node: Expr, know: Facts) -> Expr | None:
    """u of `unsqueeze(u, -1)`, a vector."""
    if not isinstance(node, Call) or node.op != "unsqueeze" or know.ndim(node.args[0]) != 1:
        return None
    dim = node.children[-1]
    return node.args[0] if isinstance(dim, Literal) and dim.value in (-1, 1) else None


def _row(node: Expr, know: Facts) -> Expr | None:
    """What varies along the last dimension alone; None for what varies along the first."""
    if isinstance(node, Call) and node.op == "unsqueeze" and isinstance(node.children[-1], Literal):
        inner = node.args[0]
        return inner if node.children[-1].value in (-2, 0) and know.ndim(inner) == 1 else None
    return node if (know.ndim(node) or 0) < 2 else None


#: Linear ops, and how many of their arguments a number can be taken out of.
_LINEAR = {"sum": 1, "mean": 1, "matmul": 2, "T": 1, "mT": 1, "unsqueeze": 1, "squeeze": 1, "reshape": 1, "flip": 1,
           "outer": 2, "tril": 1, "triu": 1, "sum_to_size": 1, "diag_embed": 1}  # fmt: skip


def number_outwards(node: Expr, know: Facts) -> Expr | None:
    """`sum(-2 * x)` as `-2 * sum(x)`, and so with all that is linear."""
    if not isinstance(node, Call) or node.op not in _LINEAR:
        return None
    for index in range(min(_LINEAR[node.op], len(node.args))):
        arg = node.args[index]
        product = Product.of(arg)
        if product.number in (0, 1) or not product.factors or know.shapes(arg) is None:
            continue
        rest = Call(node.op, (*node.args[:index], product.without_number().render(), *node.args[index + 1 :]),
                    node.kwargs)  # fmt: skip
        return Product(product.number, {id(rest): (rest, 1)}).render()
    return None
