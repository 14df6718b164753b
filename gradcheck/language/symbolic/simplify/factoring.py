"""Common factors of terms: `x @ A + A @ x` as `(A + A.T) @ x`.

Terms are grouped by their first or last factor, in one pass. A group is used only if the sum gets shorter; the inner
sum is simplified in turn. Products are multiplied out if divisors or terms then cancel.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from gradcheck.language.expr.nodes import Call, Expr, Name
from gradcheck.language.expr.terms import at_most, is_sum, signed_terms
from gradcheck.language.expr.traverse import distinct_nodes
from gradcheck.language.symbolic.simplify.matrix_chains import (
    Chain,
    chain_expr,
    chain_expr_from_vector,
    chain_of,
    transposed_chain,
)
from gradcheck.language.symbolic.simplify.part_properties import PartProperties
from gradcheck.language.symbolic.simplify.product import Product, is_call, is_product
from gradcheck.language.symbolic.simplify.sums import Terms, render_sum

_MAX_TERMS = 32


class _Linear(NamedTuple):
    """A term: numbers times a factor that is a chain, and its place.

    The chain of `outer(u, v)` is that of u, which ends with a vector, and that of v, which begins with one; the first
    `split` links are u's.
    """

    place: int
    scalars: Product
    factor: Expr
    chain: Chain
    split: int = 0

    def written(self, chain: Chain, split: int, know: PartProperties) -> Expr:
        """Return a part of the chain; a vector as the shorter of column and row."""
        if not self.split or not 0 < split < len(chain):
            is_vector = know.ndim(chain[-1].base) == 1
            ways = [chain_expr(chain), chain_expr_from_vector(chain)] if is_vector else [chain_expr(chain)]
            return min(ways, key=know.op_count)
        return Call("outer", (chain_expr(chain[:split]), chain_expr(chain[split:])))


def terms_of(node: Expr) -> Terms | None:
    """Return the terms of a sum, or None for others and for long sums."""
    if not is_sum(node):
        return None
    parts = at_most(_MAX_TERMS, signed_terms(node))
    if parts is None:
        return None
    terms = []
    for part, sign in parts:
        term = Product.of(part)
        terms.append(term.with_number(term.number * sign))
    return terms


def common_matrix(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `B.T @ X + C @ X` as `(B.T + C) @ X`, and add equal products.

    Also `x @ A + A @ x` as `(A + A.T) @ x`, and `outer(u, v) + outer(w, v)` as `outer(u + w, v)`.
    """
    terms = terms_of(node)
    if terms is None or know.ndim(node) not in (1, 2):
        return None
    linear = [found for place, term in enumerate(terms) if (found := _linear(place, term, know)) is not None]
    ways = ((slice(None), _joined_whole), (slice(-1, None), _joined_last), (slice(1), _joined_first))
    for links, join in ways:
        for group in _groups(linear, links, know):
            made = _with_group(terms, group, join(group, know))
            if know.cost(made) < know.cost(node):
                return made
    return None


def _linear(place: int, term: Product, know: PartProperties) -> _Linear | None:
    """Return a term as a chain, a vector as a column."""
    tensors = [pair for pair in term.factors.values() if not know.is_scalar(pair[0])]
    if len(tensors) != 1 or tensors[0][1] != 1 or any(not know.is_scalar(base) for base, _ in term.divisors.values()):
        return None
    factor = tensors[0][0]
    scalars = term.replace_factor(factor, None)
    if is_call(factor, "outer", 2):
        column, row = (_column(part, know) for part in factor.args)
        whole = None if column is None or row is None else [*column, *transposed_chain(row, know)]
        return None if whole is None or column is None else _Linear(place, scalars, factor, whole, len(column))
    chain = _column(factor, know)
    return None if chain is None or len(chain) < 2 else _Linear(place, scalars, factor, chain)


def _column(node: Expr, know: PartProperties) -> Chain | None:
    """Return the chain, with its vector last."""
    chain = chain_of(node, know)
    if chain is not None and know.ndim(chain[-1].base) == 2 and know.ndim(chain[0].base) == 1:
        return transposed_chain(chain, know)
    return chain


def _groups(linear: list[_Linear], links: slice, know: PartProperties) -> list[list[_Linear]]:
    """Return groups of two or more with the same numbers and links."""
    found: dict[object, list[_Linear]] = {}
    for one in linear:
        scalars = know.pool.intern(one.scalars.with_number(1).render())
        split = one.split if links == slice(None) else 0
        key = (id(scalars), bool(one.split), split, *(link.key for link in one.chain[links]))
        found.setdefault(key, []).append(one)
    return [group for group in found.values() if len(group) > 1]


def _joined_whole(group: list[_Linear], know: PartProperties) -> Expr:
    number = sum((one.scalars.number for one in group), Fraction(0))
    return Product.of(group[0].factor).with_number(number).render()


def _joined_last(group: list[_Linear], know: PartProperties) -> Expr:
    inner = _added([(one.scalars.number, one.written(one.chain[:-1], one.split, know)) for one in group])
    is_vector = all(one.split == len(one.chain) - 1 for one in group)
    return Call("outer" if is_vector else "matmul", (inner, group[0].chain[-1].expr()))


def _joined_first(group: list[_Linear], know: PartProperties) -> Expr:
    inner = _added([(one.scalars.number, one.written(one.chain[1:], one.split - 1, know)) for one in group])
    is_vector = all(one.split == 1 for one in group)
    return Call("outer" if is_vector else "matmul", (group[0].chain[0].expr(), inner))


def _added(parts: list[tuple[Fraction, Expr]]) -> Expr:
    plain_first = sorted(parts, key=lambda part: is_call(part[1], "T", 1))
    return render_sum([Product.of(part).with_number(number) for number, part in plain_first])


def _with_group(terms: Terms, group: list[_Linear], joined: Expr) -> Expr:
    scalars = group[0].scalars.with_number(1)
    return _replace_terms(terms, [one.place for one in group], Product.of(joined).times(scalars))


def _replace_terms(terms: Terms, places: list[int], new: Product) -> Expr:
    gone = set(places)
    kept = [term for place, term in enumerate(terms) if place not in gone]
    return render_sum([*kept[: places[0]], new, *kept[places[0] :]])


def common_transpose(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `(A @ X).T + (X @ A).T` as `(A @ X + X @ A).T`."""
    terms = terms_of(node)
    if terms is None or know.ndim(node) != 2:
        return None
    places, turned_back = [], []
    for place, term in enumerate(terms):
        tensors = [base for base, _ in term.factors.values() if not know.is_scalar(base)]
        if len(tensors) == 1 and is_call(tensors[0], "T", 1) and not term.divisors:
            places.append(place)
            turned_back.append(term.replace_factor(tensors[0], tensors[0].args[0]))
    if len(places) < 2:
        return None
    made = _replace_terms(terms, places, Product.of(Call("T", (render_sum(turned_back),))))
    return made if know.op_count(made) < know.op_count(node) else None


def common_factor(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `2 * a + 2 * c * w` as `2 * (a + c * w)`.

    Also `a / n - b / n` as `(a - b) / n`, and `r * a - r * b` as `r * (a - b)`.
    """
    terms = terms_of(node)
    if terms is None or know.shapes(node) is None:
        return None
    places: dict[tuple[bool, int], list[int]] = {}
    for place, term in enumerate(terms):
        for is_below, side in ((False, term.factors), (True, term.divisors)):
            for key in side:
                places.setdefault((is_below, key), []).append(place)
    shared = sorted(places.values(), key=len, reverse=True)
    everywhere = list(range(len(terms)))
    best = None
    for group in [everywhere, *shared]:
        if len(group) > 1:
            made = _factor_out(terms, group)
            if know.op_count(made) < know.op_count(node if best is None else best):
                best = made
    return best


def _factor_out(terms: Terms, places: list[int]) -> Expr:
    """Return the sum with the common factors of these terms taken out."""
    group = [terms[place] for place in places]
    common = Product()
    for of, into in (("factors", common.factors), ("divisors", common.divisors)):
        for key, (base, _) in getattr(group[0], of).items():
            times = min(getattr(term, of).get(key, (base, 0))[1] for term in group)
            if times:
                into[key] = (base, times)
    numbers = {abs(term.number) for term in group}
    if len(numbers) == 1 and numbers != {0}:
        common.number = numbers.pop()
    if all(term.number < 0 for term in group):
        common.number = -common.number
    inner = render_sum([term.without(common) for term in group])
    product = Call("mul", (Product(common.number, common.factors).render(), inner))
    whole = Product.of(product if common.factors or common.number != 1 else inner)
    return _replace_terms(terms, places, whole.times(Product(divisors=common.divisors)))


def sigmoid_complement(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `1 - t - sigmoid(-z)` as `sigmoid(z) - t`."""
    terms = terms_of(node)
    if terms is None:
        return None
    numbers = [place for place, term in enumerate(terms) if not term.factors and not term.divisors]
    if len(numbers) != 1:
        return None
    number = terms[numbers[0]].number
    for place, term in enumerate(terms):
        factors = [base for base, _ in term.factors.values()]
        if term.number != -number or len(factors) != 1 or term.divisors or not is_call(factors[0], "sigmoid", 1):
            continue
        inner = Product.of(factors[0].args[0])
        made = Product.of(Call("sigmoid", (inner.with_number(-inner.number).render(),))).with_number(number)
        places = sorted((numbers[0], place))
        new = _replace_terms(terms, places, made)
        return new if know.op_count(new) < know.op_count(node) else None
    return None


_MAX_EXPANDED = 16


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
        if len(done) + len(waiting) > _MAX_EXPANDED:
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
