"""What terms of a sum have in common, taken out: `x @ A + A @ x` as `(A + A.T) @ x`, `a / n - b / n` as `(a - b) / n`.

Terms are grouped by what they begin or end with, in one pass over them; a group is taken only where the sum is then
shorter, and what is left inside is simplified in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from typing import NamedTuple

from gradcheck.language.expr.nodes import Call, Expr
from gradcheck.language.symbolic.simplify.chain import Chain, Link, chain_of, turned, written
from gradcheck.language.symbolic.simplify.facts import Facts
from gradcheck.language.symbolic.simplify.product import Product, is_call
from gradcheck.language.symbolic.simplify.sums import Terms, is_sum, rendered, spine

#: A sum of more terms than this is left as it is.
_MOST = 32


class _Linear(NamedTuple):
    """A term that is a chain, or an outer product of two vectors, times numbers: where it stands, these numbers, it."""

    place: int
    scalars: Product
    chain: Chain
    is_outer: bool


def terms_of(node: Expr) -> Terms | None:
    """The terms of a sum; None for other things, and for long sums."""
    if not is_sum(node):
        return None
    parts = spine(node, lambda part: False)
    if len(parts) > _MOST:
        return None
    terms = []
    for part, sign in parts:
        term = Product.of(part)
        terms.append(term.times(term.number * sign))
    return terms


# Products of matrices -----------------------------------------------------------------------------


def common_matrix(node: Expr, know: Facts) -> Expr | None:
    """`B.T @ X + C @ X` as `(B.T + C) @ X`, `x @ A + A @ x` as `(A + A.T) @ x`, `outer(u, v) + outer(w, v)` as
    `outer(u + w, v)`; equal products are added up."""
    terms = terms_of(node)
    if terms is None or know.ndim(node) not in (1, 2):
        return None
    linear = [found for place, term in enumerate(terms) if (found := _linear(place, term, know)) is not None]
    for key, join in ((_whole, _joined_whole), (_last, _joined_last), (_first, _joined_first)):
        for group in _groups(linear, lambda one, key=key: (_scalars(one, know), one.is_outer, *key(one))):  # type: ignore[misc]
            made = _with_group(terms, group, join(group))
            if know.length(made) < know.length(node):
                return made
    return None


def _linear(place: int, term: Product, know: Facts) -> _Linear | None:
    """The term as a chain, a vector that comes out as a column."""
    tensors = [pair for pair in term.factors.values() if not know.is_scalar(pair[0])]
    if len(tensors) != 1 or tensors[0][1] != 1 or any(not know.is_scalar(base) for base, _ in term.divisors.values()):
        return None
    factor = tensors[0][0]
    scalars = term.replaced(factor, None)
    if is_call(factor, "outer", 2):
        return _Linear(place, scalars, [Link(part, False) for part in factor.args], True)
    chain = chain_of(factor, know)
    if chain is None or len(chain) < 2:
        return None
    if know.ndim(chain[-1].base) == 2 and know.ndim(chain[0].base) == 1:
        chain = turned(chain, know)
    return _Linear(place, scalars, chain, False)


def _scalars(one: _Linear, know: Facts) -> Hashable:
    return id(know.pool.intern(one.scalars.times(1).render()))


def _whole(one: _Linear) -> Iterable[Hashable]:
    return tuple(link.key for link in one.chain)


def _last(one: _Linear) -> Iterable[Hashable]:
    return (one.chain[-1].key,)


def _first(one: _Linear) -> Iterable[Hashable]:
    return (one.chain[0].key,)


def _groups(linear: list[_Linear], key: Callable[[_Linear], Hashable]) -> list[list[_Linear]]:
    """Those of one key, two or more, together."""
    found: dict[Hashable, list[_Linear]] = {}
    for one in linear:
        found.setdefault(key(one), []).append(one)
    return [group for group in found.values() if len(group) > 1]


def _product(chain: Chain, is_outer: bool) -> Expr:
    return Call("outer", tuple(link.expr() for link in chain)) if is_outer else written(chain)


def _joined_whole(group: list[_Linear]) -> Expr:
    number = sum((one.scalars.number for one in group), Fraction(0))
    return Product.of(_product(group[0].chain, group[0].is_outer)).times(number).render()


def _joined_last(group: list[_Linear]) -> Expr:
    inner = _added([(one.scalars.number, one.chain[:-1]) for one in group])
    op = "outer" if group[0].is_outer else "matmul"
    return Call(op, (inner, group[0].chain[-1].expr()))


def _joined_first(group: list[_Linear]) -> Expr:
    inner = _added([(one.scalars.number, one.chain[1:]) for one in group])
    op = "outer" if group[0].is_outer else "matmul"
    return Call(op, (group[0].chain[0].expr(), inner))


def _added(parts: list[tuple[Fraction, Chain]]) -> Expr:
    return rendered([Product.of(written(chain)).times(number) for number, chain in parts])


def _with_group(terms: Terms, group: list[_Linear], joined: Expr) -> Expr:
    """The sum with one term for those of a group."""
    scalars = group[0].scalars.times(1)
    new = Product.of(joined)
    for into, more in ((new.factors, scalars.factors), (new.divisors, scalars.divisors)):
        into.update(more)
    return _instead(terms, [one.place for one in group], new)


def _instead(terms: Terms, places: list[int], new: Product) -> Expr:
    gone = set(places)
    kept = [term for place, term in enumerate(terms) if place not in gone]
    return rendered([*kept[: places[0]], new, *kept[places[0] :]])


# Numbers and elementwise factors ------------------------------------------------------------------


def common_factor(node: Expr, know: Facts) -> Expr | None:
    """`2 * a + 2 * c * w` as `2 * (a + c * w)`, `a / n - b / n` as `(a - b) / n`, `r * a - r * b` as `r * (a - b)`."""
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
            made = _taken_out(terms, group)
            if know.length(made) < know.length(node if best is None else best):
                best = made
    return best


def _taken_out(terms: Terms, places: list[int]) -> Expr:
    """The sum with all that terms at these places share as a factor of them."""
    group = [terms[place] for place in places]
    common = Product()
    for of, into in (("factors", common.factors), ("divisors", common.divisors)):
        for key, (base, _) in getattr(group[0], of).items():
            times = min(getattr(term, of).get(key, (base, 0))[1] for term in group)
            if times:
                into[key] = (base, times)
    numbers = {abs(term.number) for term in group}
    if len(numbers) == 1:
        common.number = numbers.pop()
    if all(term.number < 0 for term in group):
        common.number = -common.number
    inner = rendered([_less(term, common) for term in group])
    product = Call("mul", (Product(common.number, common.factors).render(), inner))
    whole = Product.of(product if common.factors or common.number != 1 else inner)
    for key, (base, times) in common.divisors.items():
        known = whole.divisors.get(key, (base, 0))[1]
        whole.divisors[key] = (base, known + times)
    return _instead(terms, places, whole)


def _less(term: Product, common: Product) -> Product:
    """A term without what is taken out of it."""

    def without(side: str) -> dict[int, tuple[Expr, int]]:
        gone = getattr(common, side)
        left = {
            key: (base, times - gone.get(key, (base, 0))[1]) for key, (base, times) in getattr(term, side).items()
        }
        return {key: pair for key, pair in left.items() if pair[1]}

    return Product(term.number / common.number, without("factors"), without("divisors"))


# The logistic function ----------------------------------------------------------------------------


def complement(node: Expr, know: Facts) -> Expr | None:
    """`1 - t - sigmoid(-z)` as `sigmoid(z) - t`."""
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
        made = Product.of(Call("sigmoid", (inner.times(-inner.number).render(),))).times(number)
        places = sorted((numbers[0], place))
        new = _instead(terms, places, made)
        return new if know.length(new) < know.length(node) else None
    return None


