"""Products multiplied out, where a divisor in one term of a sum then cancels, `p * (a / p + b)` as `a + b * p`, or what
is in several: `(1 - y) * s - y * (1 - s)` as `s - y`."""

from __future__ import annotations

from gradcheck.language.expr.nodes import Expr, Name
from gradcheck.language.expr.traverse import distinct_nodes
from gradcheck.language.symbolic.simplify.factoring import terms_of
from gradcheck.language.symbolic.simplify.named_functions import is_product
from gradcheck.language.symbolic.simplify.part_properties import PartProperties
from gradcheck.language.symbolic.simplify.product import Product
from gradcheck.language.symbolic.simplify.sums import Terms, render_sum

#: So many terms, multiplied out, are looked at.
_MOST = 16


def multiplied_out(node: Expr, know: PartProperties) -> Expr | None:
    """`((1 - y) / (1 - p) - y / p) * p * (1 - p)` as `p - y`, `(1 - y) * s - y * (1 - s)` as `s - y`, if it is shorter.
    Terms that cancel are left out where all that is in them stands elsewhere, too: `x - x` is not 0 for infinities."""
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
    """Whether it is a sum with a divisor in it that is also a factor of the product."""
    terms = terms_of(factor)
    return terms is not None and any(
        key in product.factors and know.is_never_zero(base)
        for term in terms
        for key, (base, _) in term.divisors.items()
    )


def _expanded(products: Terms, know: PartProperties) -> Terms | None:
    """All products of one term of each sum, what cancels within them gone first; None where there are too many."""
    done: Terms = []
    waiting = list(products)
    while waiting:
        one = waiting.pop().cancel(know.is_never_zero)
        whole = next((f for f, times in reversed(one.factors.values()) if times == 1 and terms_of(f)), None)
        # Sums with divisors first, that what they are divided by is still there as a factor.
        for factor, times in one.factors.values():
            if times == 1 and any(term.divisors for term in terms_of(factor) or ()):
                whole = factor
                break
        parts = None if whole is None else terms_of(whole)
        if whole is None or parts is None:
            done.append(one)
            continue
        rest = one.replace_factor(whole, None)
        waiting += [_times(rest, part) for part in parts]
        if len(done) + len(waiting) > _MOST:
            return None
    return done


def _times(left: Product, right: Product) -> Product:
    made = Product(left.number * right.number, dict(left.factors), dict(left.divisors))
    for into, more in ((made.factors, right.factors), (made.divisors, right.divisors)):
        for key, (base, times) in more.items():
            into[key] = (base, into.get(key, (base, 0))[1] + times)
    return made


def _collected(terms: Terms) -> Terms:
    """Like terms added up."""
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
