"""Expansion of products, if divisors or terms then cancel.

Examples: `p * (a / p + b)` as `a + b * p`, `(1 - y) * s - y * (1 - s)` as `s - y`.
"""

from __future__ import annotations

from gradcheck.language.expr.nodes import Expr, Name
from gradcheck.language.expr.traverse import distinct_nodes
from gradcheck.language.symbolic.simplify.factoring import terms_of
from gradcheck.language.symbolic.simplify.part_properties import PartProperties
from gradcheck.language.symbolic.simplify.product import Product, is_product
from gradcheck.language.symbolic.simplify.sums import Terms, render_sum

_MAX_TERMS = 16


def multiplied_out(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `(1 - y) * s - y * (1 - s)` as `s - y`, if it is shorter.

    Also `((1 - y) / (1 - p) - y / p) * p * (1 - p)` as `p - y`. Terms that cancel go only if their names occur
    elsewhere, too: `x - x` is not 0 for infinities.
    """
    if is_product(node):
        product = Product.of(node)
        if not any(_cancels(factor, product, know) for factor, times in product.factors.values() if times == 1):
            return None
        terms = _expanded([product], know)
    else:
        summed = terms_of(node) or []
        sums = sum(any(terms_of(base) for base, _ in term.factors.values()) for term in summed)
        terms = _expanded(summed, know) if sums > 1 else None
    if terms is None:
        return None
    made = render_sum(_collected(terms))
    return made if know.op_count(made) < know.op_count(node) else None


def _cancels(factor: Expr, product: Product, know: PartProperties) -> bool:
    """Return whether a factor is a sum with another factor as a divisor."""
    terms = terms_of(factor)
    return terms is not None and any(
        key in product.factors and know.is_never_zero(base)
        for term in terms
        for key, (base, _) in term.divisors.items()
    )


def _expanded(products: Terms, know: PartProperties) -> Terms | None:
    """Return all products of one term of each sum, None for too many."""
    done: Terms = []
    waiting = list(products)
    while waiting:
        one = waiting.pop().cancel(know.is_never_zero)
        whole = next((f for f, times in reversed(one.factors.values()) if times == 1 and terms_of(f)), None)
        # Sums with divisors first, while their divisors still stand as factors.
        for factor, times in one.factors.values():
            if times == 1 and any(term.divisors for term in terms_of(factor) or ()):
                whole = factor
                break
        parts = None if whole is None else terms_of(whole)
        if whole is None or parts is None:
            done.append(one)
            continue
        rest = one.replace_factor(whole, None)
        waiting += [rest.times(part) for part in parts]
        if len(done) + len(waiting) > _MAX_TERMS:
            return None
    return done


def _collected(terms: Terms) -> Terms:
    known: dict[object, Product] = {}
    for term in terms:
        if term.key in known:
            known[term.key].number += term.number
        else:
            known[term.key] = term
    kept = [term for term in known.values() if term.number != 0]
    left = {name for term in kept for name in _names(term)}
    return kept + [term for term in known.values() if term.number == 0 and not _names(term) <= left]


def _names(term: Product) -> set[str]:
    parts = (*term.factors.values(), *term.divisors.values())
    return {node.name for base, _ in parts for node in distinct_nodes(base) if isinstance(node, Name)}
