"""The normal form of sums: like terms collected, zeros dropped.

A positive term comes first. `grad(y) + grad(y) - 0` becomes `2 * grad(y)`. `x - x` stays, since it is not 0 where x is
infinite.
"""

from __future__ import annotations

from fractions import Fraction

from gradcheck.language.expr.nodes import Call, Expr, Literal
from gradcheck.language.expr.terms import at_most, signed_terms
from gradcheck.language.symbolic.simplify.part_properties import PartProperties, Shapes
from gradcheck.language.symbolic.simplify.product import Product, broadcast, drop_expansions, integer, is_call

#: A part of a sum that is used elsewhere too is split only if it has no more terms than this.
_FEW = 8

Terms = list[Product]


def normal_sum(parts: list[tuple[Expr, int]], total: Shapes | None, know: PartProperties) -> Expr:
    """Return the normal sum of parts; `total` is its shape, None for numbers."""
    terms = [term for part, sign in parts for term in _terms(part, sign)]
    terms = _collected(terms, total is None)
    terms = _whole_rows(terms, know)
    if total is not None:
        terms = _without_zeros(terms, total, know)
        terms = _slimmed(terms, total, know)
        terms = _collected(terms, False)
    return render_sum(terms)


def _terms(part: Expr, sign: int) -> Terms:
    """Return the terms of a part; a short sum among them is split."""
    found = []
    for node, direction in at_most(_FEW, signed_terms(part)) or [(part, 1)]:
        term = Product.of(node)
        found.append(term.with_number(term.number * sign * direction))
    return found


def _collected(terms: Terms, numbers: bool) -> Terms:
    """Return like terms as one; tensors that cancel stay apart."""
    known: dict[object, Product] = {}
    found: Terms = []
    for term in terms:
        other = known.get(term.key)
        constant = not term.factors and not term.divisors
        if other is not None and (other.number + term.number != 0 or numbers or constant):
            other.number += term.number
            continue
        found.append(term)
        known.setdefault(term.key, term)
    return [term for term in found if term.number != 0] if numbers else found


def _whole_rows(terms: Terms, know: PartProperties) -> Terms:
    """Rewrite `x[0] + x[1] + x[2]`, all rows of x, as `sum(x, dim=0)`."""
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
        terms = [*rest[:at], Product.of(whole).with_number(number), *rest[at:]]
    return terms


def _row(term: Product) -> tuple[Expr, int] | None:
    """Return x and 0 of `x[0]`."""
    factors = list(term.factors.values())
    if len(factors) != 1 or term.divisors or factors[0][1] != 1:
        return None
    node = factors[0][0]
    index = integer(node.args[1]) if is_call(node, "getitem", 2) else None
    return None if index is None else (node.children[0], index)


def _without_zeros(terms: Terms, total: Shapes, know: PartProperties) -> Terms:
    kept = list(terms)
    for term in terms:
        if _is_zero(term) and len(kept) > 1:
            rest = [other for other in kept if other is not term]
            if broadcast((_shapes(other, total, know) for other in rest), len(total)) == total:
                kept = rest
    return kept


def _is_zero(term: Product) -> bool:
    if term.number == 0 and not term.factors and not term.divisors:
        return True
    factors = [factor for factor, _ in term.factors.values()]
    return len(factors) == 1 and isinstance(factors[0], Call) and factors[0].op in ("zeros_like", "zeros")


def _shapes(term: Product, total: Shapes, know: PartProperties) -> Shapes:
    factors = (*term.factors.values(), *term.divisors.values())
    return broadcast((know.shapes(factor) for factor, _ in factors), len(total))


def _slimmed(terms: Terms, total: Shapes, know: PartProperties) -> Terms:
    """Drop expansions that other terms make anyway, in linear time."""
    after: list[Shapes] = [((),) * len(total)]
    for term in reversed(terms):
        after.append(broadcast([after[-1], _shapes(term, total, know)], len(total)))
    before, found = after[0], []
    for term in terms:
        after.pop()
        slimmer = drop_expansions(term, total, know, before, after[-1])
        before = broadcast([before, _shapes(slimmer, total, know)], len(total))
        found.append(slimmer)
    return found


def render_sum(terms: Terms) -> Expr:
    if not terms:
        return Literal(0)
    lead = next((term for term in terms if term.number > 0), terms[0])
    found = lead.render()
    for term in terms:
        if term is not lead:
            found = Call("add" if term.number > 0 else "sub", (found, term.with_number(abs(term.number)).render()))
    return found
