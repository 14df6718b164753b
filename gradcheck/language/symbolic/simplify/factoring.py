"""What terms of a sum have in common, taken out: `x @ A + A @ x` as `(A + A.T) @ x`, `a / n - b / n` as `(a - b) / n`.

Terms are grouped by what they begin or end with, in one pass over them; a group is taken only where the sum is then
shorter, and what is left inside is simplified in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from gradcheck.language.expr.nodes import Call, Expr
from gradcheck.language.symbolic.simplify.matrix_chains import (
    Chain,
    chain_expr,
    chain_expr_from_vector,
    chain_of,
    transposed_chain,
)
from gradcheck.language.symbolic.simplify.part_properties import PartProperties
from gradcheck.language.symbolic.simplify.product import Product, is_call
from gradcheck.language.symbolic.simplify.sums import Terms, is_sum, render_sum, signed_terms

#: A sum of more terms than this is left as it is.
_MOST = 32


class _Linear(NamedTuple):
    """A term that is a chain times numbers: where it stands, these numbers, what they multiply, as a chain. That of
    `outer(u, v)` is u's, which ends with a vector, and v's, which begins with one; `split` links are u's."""

    place: int
    scalars: Product
    factor: Expr
    chain: Chain
    split: int = 0

    def written(self, chain: Chain, split: int, know: PartProperties) -> Expr:
        """A part of the chain; a vector as a column or a row, whichever is shorter."""
        if not self.split or not 0 < split < len(chain):
            is_vector = know.ndim(chain[-1].base) == 1
            ways = [chain_expr(chain), chain_expr_from_vector(chain)] if is_vector else [chain_expr(chain)]
            return min(ways, key=know.op_count)
        return Call("outer", (chain_expr(chain[:split]), chain_expr(chain[split:])))


def terms_of(node: Expr) -> Terms | None:
    """The terms of a sum; None for other things, and for long sums."""
    if not is_sum(node):
        return None
    parts = signed_terms(node, lambda part: False, _MOST)
    if parts is None:
        return None
    terms = []
    for part, sign in parts:
        term = Product.of(part)
        terms.append(term.with_number(term.number * sign))
    return terms


# Products of matrices -----------------------------------------------------------------------------


def common_matrix(node: Expr, know: PartProperties) -> Expr | None:
    """`B.T @ X + C @ X` as `(B.T + C) @ X`, `x @ A + A @ x` as `(A + A.T) @ x`, `outer(u, v) + outer(w, v)` as
    `outer(u + w, v)`; equal products are added up."""
    terms = terms_of(node)
    if terms is None or know.ndim(node) not in (1, 2):
        return None
    linear = [found for place, term in enumerate(terms) if (found := _linear(place, term, know)) is not None]
    for links, join in ((_whole, _joined_whole), (_last, _joined_last), (_first, _joined_first)):
        for group in _groups(linear, links, know):
            made = _with_group(terms, group, join(group, know))
            if know.cost(made) < know.cost(node):
                return made
    return None


def _linear(place: int, term: Product, know: PartProperties) -> _Linear | None:
    """The term as a chain, a vector that comes out as a column."""
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
    """The chain, with the vector last where it has one."""
    chain = chain_of(node, know)
    if chain is not None and know.ndim(chain[-1].base) == 2 and know.ndim(chain[0].base) == 1:
        return transposed_chain(chain, know)
    return chain


def _whole(one: _Linear) -> Chain:
    return one.chain


def _last(one: _Linear) -> Chain:
    return one.chain[-1:]


def _first(one: _Linear) -> Chain:
    return one.chain[:1]


def _groups(linear: list[_Linear], links: Callable[[_Linear], Chain], know: PartProperties) -> list[list[_Linear]]:
    """Those with the same numbers and these links, two or more, together."""
    found: dict[object, list[_Linear]] = {}
    for one in linear:
        scalars = know.pool.intern(one.scalars.with_number(1).render())
        key = (id(scalars), bool(one.split), one.split if links is _whole else 0, *(link.key for link in links(one)))
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
    """The sum with one term for those of a group."""
    scalars = group[0].scalars.with_number(1)
    new = Product.of(joined)
    for into, more in ((new.factors, scalars.factors), (new.divisors, scalars.divisors)):
        into.update(more)
    return _replace_terms(terms, [one.place for one in group], new)


def _replace_terms(terms: Terms, places: list[int], new: Product) -> Expr:
    gone = set(places)
    kept = [term for place, term in enumerate(terms) if place not in gone]
    return render_sum([*kept[: places[0]], new, *kept[places[0] :]])


def common_transpose(node: Expr, know: PartProperties) -> Expr | None:
    """`(A @ X).T + (X @ A).T` as `(A @ X + X @ A).T`."""
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


# Numbers and elementwise factors ------------------------------------------------------------------


def common_factor(node: Expr, know: PartProperties) -> Expr | None:
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
            made = _factor_out(terms, group)
            if know.op_count(made) < know.op_count(node if best is None else best):
                best = made
    return best


def _factor_out(terms: Terms, places: list[int]) -> Expr:
    """The sum with all that terms at these places share as a factor of them."""
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
    inner = render_sum([_divide_term(term, common) for term in group])
    product = Call("mul", (Product(common.number, common.factors).render(), inner))
    whole = Product.of(product if common.factors or common.number != 1 else inner)
    for key, (base, times) in common.divisors.items():
        known = whole.divisors.get(key, (base, 0))[1]
        whole.divisors[key] = (base, known + times)
    return _replace_terms(terms, places, whole)


def _divide_term(term: Product, common: Product) -> Product:
    """A term without what is taken out of it."""

    def without(side: str) -> dict[int, tuple[Expr, int]]:
        gone = getattr(common, side)
        left = {key: (base, times - gone.get(key, (base, 0))[1]) for key, (base, times) in getattr(term, side).items()}
        return {key: pair for key, pair in left.items() if pair[1]}

    return Product(term.number / common.number, without("factors"), without("divisors"))


# The logistic function ----------------------------------------------------------------------------


def sigmoid_complement(node: Expr, know: PartProperties) -> Expr | None:
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
        made = Product.of(Call("sigmoid", (inner.with_number(-inner.number).render(),))).with_number(number)
        places = sorted((numbers[0], place))
        new = _replace_terms(terms, places, made)
        return new if know.op_count(new) < know.op_count(node) else None
    return None
