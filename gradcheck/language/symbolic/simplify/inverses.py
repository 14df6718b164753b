"""Inverses beside their matrices; cofactors as inverse times determinant."""

from __future__ import annotations

from gradcheck.language.expr.nodes import Call, Expr
from gradcheck.language.symbolic.simplify.matrix_chains import Chain, ChainFactor, chain_expr, chain_of
from gradcheck.language.symbolic.simplify.part_properties import PartProperties
from gradcheck.language.symbolic.simplify.product import Product, is_call


def inverse_undone(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `inv(S) @ S @ X` as `X`.

    Also `inv(X @ X.T) @ X @ X.T @ y` as `y`, and `inv(A @ B) @ A` as `inv(B)` for square matrices.
    """
    if not is_call(node, "matmul", 2):
        return None
    chain = chain_of(node, know)
    shorter = None if chain is None else _without_inverses(chain, know)
    return None if shorter is None or chain is None or len(shorter) == len(chain) else chain_expr(shorter)


def _without_inverses(chain: Chain, know: PartProperties) -> Chain:
    """Drop inverses beside their matrices; at least one factor stays."""
    place = 0
    while place < len(chain):
        shorter = _undone_at(chain, place, know)
        if shorter is None:
            place += 1
        else:
            chain, place = shorter, 0
    return chain


def _undone_at(chain: Chain, place: int, know: PartProperties) -> Chain | None:
    """Return the chain without the inverse at this place, or with less in it."""
    link = chain[place]
    undone = chain_of(link.base.args[0], know, link.transposed) if is_call(link.base, "linalg.inv", 1) else None
    if undone is None or len(chain) < 2:
        return None
    count = len(undone)
    if len(chain) > count + 1 and chain[place + 1 : place + 1 + count] == undone:
        return chain[:place] + chain[place + 1 + count :]
    if len(chain) > count + 1 and place >= count and chain[place - count : place] == undone:
        return chain[: place - count] + chain[place + 1 :]
    if count == 1 or not all(_is_square(one, know) for one in undone):
        return None
    if chain[place + 1 : place + 2] == undone[:1]:
        return [*chain[:place], _inverse(undone[1:], know), *chain[place + 2 :]]
    if place and chain[place - 1] == undone[-1]:
        return [*chain[: place - 1], _inverse(undone[:-1], know), *chain[place + 1 :]]
    return None


def _is_square(link: ChainFactor, know: PartProperties) -> bool:
    return all(len(shape) == 2 and shape[0] == shape[1] for shape in know.shapes(link.base) or ((),))


def _inverse(chain: Chain, know: PartProperties) -> ChainFactor:
    if len(chain) == 1:
        return ChainFactor(know.pool.intern(Call("linalg.inv", (chain[0].base,))), chain[0].transposed)
    return ChainFactor(know.pool.intern(Call("linalg.inv", (chain_expr(chain),))), False)


def cofactors_over_determinant(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `cofactors(X) / det(X)` as `inv(X).T`; det(X) is not 0 there."""
    if not is_call(node, "div", 2) and not is_call(node, "mul", 2):
        return None
    product = Product.of(node)
    for factor, times in product.factors.values():
        if times != 1 or not is_call(factor, "cofactors", 1):
            continue
        matrix = factor.args[0]
        for below, count in list(product.divisors.values()):
            inner = know.definitions.get(id(below), below)
            if count == 1 and is_call(inner, "linalg.det", 1) and inner.args[0] is matrix:
                product.divisors.pop(id(below))
                return product.replace_factor(factor, Call("T", (Call("linalg.inv", (matrix,)),))).render()
    return None


def cofactors_undone(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `A.T @ cofactors(A @ X)` as `det * inv(X).T`, assuming det != 0."""
    if not is_call(node, "matmul", 2) or know.keeps_guards:
        return None
    chain = chain_of(node, know)
    places = [place for place, link in enumerate(chain or ()) if is_call(link.base, "cofactors", 1)]
    if chain is None or len(places) != 1:
        return None
    link = chain[places[0]]
    matrix = link.base.children[0]
    inverse = ChainFactor(know.pool.intern(Call("linalg.inv", (matrix,))), not link.transposed)
    shorter = _without_inverses([*chain[: places[0]], inverse, *chain[places[0] + 1 :]], know)
    determinant = know.pool.intern(Call("linalg.det", (matrix,)))
    known = know.names.get(id(determinant), determinant)
    made = Call("mul", (known, chain_expr(shorter)))
    if len(shorter) == len(chain) or know.op_count(made) >= know.op_count(node):
        return None
    if not know.are_equal(node, know.pool.intern(made)):
        return None
    know.assumed_nonzero[id(known)] = known
    return made
