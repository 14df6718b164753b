"""Sums in one form: like terms collected, zeros gone, a term without a minus first.

`grad(y) + grad(y) - 0` becomes `2 * grad(y)`. `x - x` stays: it is not 0 where x is infinite.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from gradcheck.language.expr.nodes import Call, Expr, Literal
from gradcheck.language.symbolic.simplify.facts import Facts, Shapes
from gradcheck.language.symbolic.simplify.products import Product, broadcast, is_call, slim

OPS = frozenset({"add", "sub"})
#: A part of a sum that is used elsewhere too is taken apart only if it has no more terms than this.
_FEW = 8

Terms = list[Product]


def spine(root: Expr, is_shared: Callable[[Expr], bool]) -> list[tuple[Expr, int]]:
    """What a sum adds up, with signs, down to sums that are shared: those are simplified once, on their own."""
    found: list[tuple[Expr, int]] = []
    stack = [(root, 1)]
    while stack:
        node, sign = stack.pop()
        if node is root or not is_shared(node):
            if is_call(node, "add", 2):
                stack += [(node.children[1], sign), (node.children[0], sign)]
                continue
            if is_call(node, "sub", 2):
                stack += [(node.children[1], -sign), (node.children[0], sign)]
                continue
        found.append((node, sign))
    return found


def normal_sum(parts: list[tuple[Expr, int]], total: Shapes | None, know: Facts) -> Expr:
    """The sum of simplified parts, in its one form. `total` is its shape, None for plain numbers."""
    terms = [term for part, sign in parts for term in _terms(part, sign)]
    terms = _collected(terms, know, total is None)
    terms = _whole_rows(terms, know)
    if total is not None:
        terms = _without_zeros(terms, total, know)
        terms = _slimmed(terms, total, know)
        terms = _collected(terms, know, False)
    return _rendered(terms)


def _terms(part: Expr, sign: int) -> Terms:
    """A part as terms; a sum that was simplified on its own is taken apart if it is short."""
    found = []
    inner = spine(part, lambda node: False)
    for node, direction in inner if len(inner) <= _FEW else [(part, 1)]:
        term = Product.of(node)
        term.number *= sign * direction
        found.append(term)
    return found


def _collected(terms: Terms, know: Facts, numbers: bool) -> Terms:
    """Like terms as one; those of tensors that cancel stay apart."""
    known: dict[int, Product] = {}
    found: Terms = []
    for term in terms:
        rest = know.pool.intern(term.without_number().render())
        other = known.get(id(rest))
        constant = isinstance(rest, Literal) and not term.factors and not term.divisors
        if other is not None and (other.number + term.number != 0 or numbers or constant):
            other.number += term.number
            continue
        found.append(term)
        known.setdefault(id(rest), term)
    return [term for term in found if term.number != 0] if numbers else found


def _whole_rows(terms: Terms, know: Facts) -> Terms:
    """`x[0] + x[1] + x[2]`, all that x has, as `sum(x, dim=0)`."""
    groups: dict[tuple[int, Fraction], dict[int, Product]] = {}
    owners: dict[int, Expr] = {}
    for term in terms:
        found = _row(term)
        if found is not None:
            owners[id(found[0])] = found[0]
            groups.setdefault((id(found[0]), term.number), {}).setdefault(found[1], term)
    for (key, number), rows in groups.items():
        lengths = {shape[0] for shape in know.shapes(owners[key]) or ((0,),) if shape}
        if len(rows) < 2 or lengths != {len(rows)} or set(rows) != set(range(len(rows))):
            continue
        whole = know.pool.intern(Call("sum", (owners[key],), (("dim", Literal(0)),)))
        gone = {id(term) for term in rows.values()}
        at = next(index for index, term in enumerate(terms) if id(term) in gone)
        rest = [term for term in terms if id(term) not in gone]
        terms = [*rest[:at], Product(number, {id(whole): (whole, 1)}), *rest[at:]]
    return terms


def _row(term: Product) -> tuple[Expr, int] | None:
    """x and 0 of `x[0]`."""
    factors = list(term.factors.values())
    if len(factors) != 1 or term.divisors or factors[0][1] != 1:
        return None
    node = factors[0][0]
    if not isinstance(node, Call) or not is_call(node, "getitem", 2) or not isinstance(node.args[1], Literal):
        return None
    return (node.args[0], node.args[1].value) if type(node.args[1].value) is int else None


def _without_zeros(terms: Terms, total: Shapes, know: Facts) -> Terms:
    kept = list(terms)
    for term in terms:
        if _is_zero(term) and len(kept) > 1:
            rest = [other for other in kept if other is not term]
            if _together(rest, total, know) == total:
                kept = rest
    return kept


def _is_zero(term: Product) -> bool:
    if term.number == 0 and not term.factors and not term.divisors:
        return True
    factors = [factor for factor, _ in term.factors.values()]
    return len(factors) == 1 and isinstance(factors[0], Call) and factors[0].op in ("zeros_like", "zeros")


def _shapes(term: Product, total: Shapes, know: Facts) -> Shapes:
    shapes = [know.shapes(factor) for factor, _ in (*term.factors.values(), *term.divisors.values())]
    return broadcast([shape for shape in shapes if shape is not None] + [((),) * len(total)], len(total))


def _together(terms: Terms, total: Shapes, know: Facts) -> Shapes:
    return broadcast([_shapes(term, total, know) for term in terms], len(total))


def _slimmed(terms: Terms, total: Shapes, know: Facts) -> Terms:
    """Each term without an expansion that the others make good. Prefix and suffix shapes keep it linear."""
    shapes = [_shapes(term, total, know) for term in terms]
    nothing: Shapes = ((),) * len(total)
    after = [nothing]
    for shape in reversed(shapes):
        after.append(broadcast([after[-1], shape], len(total)))
    after.reverse()
    before, found = nothing, []
    for index, term in enumerate(terms):
        slimmer = slim(term, total, know, [before, after[index + 1]])
        before = broadcast([before, _shapes(slimmer, total, know)], len(total))
        found.append(slimmer)
    return found


def _rendered(terms: Terms) -> Expr:
    if not terms:
        return Literal(0)
    lead = next((term for term in terms if term.number > 0), terms[0])
    found = lead.render()
    for term in terms:
        if term is lead:
            continue
        op = "add" if term.number > 0 else "sub"
        found = Call(op, (found, Product(abs(term.number), term.factors, term.divisors).render()))
    return found
