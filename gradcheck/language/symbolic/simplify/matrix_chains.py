"""Products of matrices in a row: transposes, powers, inverses, cofactors.

A chain lists its factors from left to right, each with a transposed flag; vectors stand at its ends alone. Matrix
products associate, up to rounding, and `(a @ b).T` is `b.T @ a.T`. A result is used only if it is shorter.
"""

from __future__ import annotations

from functools import reduce
from itertools import groupby
from typing import NamedTuple

from gradcheck.language.expr.nodes import Call, Expr, Literal
from gradcheck.language.symbolic.simplify.part_properties import PartProperties
from gradcheck.language.symbolic.simplify.product import Product, integer, is_call

_MAX_FACTORS = 64
_MIN_POWER = 3


class ChainFactor(NamedTuple):
    """An interned factor of a chain, and whether it is transposed."""

    base: Expr
    transposed: bool

    @property
    def key(self) -> tuple[int, bool]:
        return id(self.base), self.transposed

    def expr(self) -> Expr:
        """Return the factor as an expression."""
        return Call("T", (self.base,)) if self.transposed else self.base


Chain = list[ChainFactor]


def chain_of(root: Expr, know: PartProperties, transposed: bool = False) -> Chain | None:
    """Return a matrix product, or its transpose, as a chain; None for batches."""
    found: Chain = []
    stack = [(root, transposed)]
    while stack:
        node, flag = stack.pop()
        ndim = know.ndim(node)
        if ndim not in (1, 2) or len(found) + len(stack) > _MAX_FACTORS:
            return None
        if ndim == 2 and (is_call(node, "T", 1) or is_call(node, "mT", 1)):
            stack.append((node.args[0], not flag))
        elif is_call(node, "matmul", 2):
            left, right = node.args
            parts = [(right, flag != _is_row(right, know)), (left, flag != _is_column(left, know))]
            stack += reversed(parts) if flag else parts
        elif is_call(node, "linalg.matrix_power", 2) and 0 < (integer(node.args[1]) or 0) <= _MAX_FACTORS:
            stack += [(node.args[0], flag)] * (integer(node.args[1]) or 0)
        else:
            found.append(ChainFactor(node, _flag(node, flag, know)))
    return found


def _is_column(node: Expr, know: PartProperties) -> bool:
    """Return whether a node is a matrix times a vector."""
    return is_call(node, "matmul", 2) and know.ndim(node) == 1 and know.ndim(node.args[0]) == 2


def _is_row(node: Expr, know: PartProperties) -> bool:
    """Return whether a node is a vector times a matrix."""
    return is_call(node, "matmul", 2) and know.ndim(node) == 1 and know.ndim(node.args[1]) == 2


def transposed_chain(chain: Chain, know: PartProperties) -> Chain:
    """Return the transposed chain."""
    return [ChainFactor(base, _flag(base, not flag, know)) for base, flag in reversed(chain)]


def _flag(base: Expr, flag: bool, know: PartProperties) -> bool:
    return flag and know.ndim(base) == 2 and not know.is_symmetric(base)


def chain_expr(chain: Chain) -> Expr:
    """Return a chain as a product from the left, equal matrices as a power."""
    parts: list[Expr] = []
    for link, group in groupby(chain):
        count = len(list(group))
        if count < _MIN_POWER:
            parts += [link.expr()] * count
        else:
            power = Call("linalg.matrix_power", (link.base, Literal(count)))
            parts.append(Call("T", (power,)) if link.transposed else power)
    return reduce(lambda left, right: Call("matmul", (left, right)), parts)


def chain_expr_from_vector(chain: Chain) -> Expr:
    """Return `x @ b @ A` for a chain `A.T @ x @ b` that ends with a vector."""
    found = chain[-1].expr()
    for link in reversed(chain[:-1]):
        found = Call("matmul", (found, link.base) if link.transposed else (link.base, found))
    return found


def normal_chain(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite a chain as its shortest spelling.

    Examples: `(B @ (B.T @ X.T)).T` as `X @ B @ B.T`, `v @ M.T` as `M @ v`.
    """
    if not is_call(node, "matmul", 2) and not (is_call(node, "T", 1) and is_call(node.args[0], "matmul", 2)):
        return None
    chain = chain_of(node, know)
    if chain is None or len(chain) < 2:
        return None
    best = min(_chain_spellings(chain, know), key=know.op_count)
    return best if know.op_count(best) < know.op_count(node) else None


def _chain_spellings(chain: Chain, know: PartProperties) -> list[Expr]:
    """Return the chain, and the transpose of its transpose if that differs."""
    straight = chain_expr(chain)
    ends = know.ndim(chain[0].base), know.ndim(chain[-1].base)
    if ends == (2, 2):
        return [straight, Call("T", (chain_expr(transposed_chain(chain, know)),))]
    return [straight, chain_expr(transposed_chain(chain, know))] if ends == (1, 2) else [straight]


def outer_in_a_product(node: Expr, know: PartProperties) -> Expr | None:
    """Move a matrix into an outer product: `M @ outer(u, v)`.

    It becomes `outer(M @ u, v)`; `outer(u, v) @ M` becomes `outer(u, v @ M)`, and `outer(u, v) @ w` becomes `(v @ w) *
    u`.
    """
    if not is_call(node, "matmul", 2):
        return None
    left, right = node.args
    if is_call(right, "outer", 2) and know.ndim(left) == 2:
        return Call("outer", (Call("matmul", (left, right.args[0])), right.args[1]))
    if is_call(left, "outer", 2):
        after = Call("matmul", (left.args[1], right))
        return Call("outer" if know.ndim(right) == 2 else "mul", (left.args[0], after))
    return None


def vectors_multiplied(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `sum(u * v)` of vectors as `u @ v`."""
    if not isinstance(node, Call) or node.op != "sum" or len(node.args) != 1 or know.ndim(node) != 0:
        return None
    product = Product.of(node.args[0])
    factors = list(product.factors.values())
    if len(factors) < 2 or product.number != 1 or any(know.ndim(factor) != 1 for factor, _ in factors):
        return None
    last, times = factors[-1]
    if times != 1 or any(know.shapes(factor) != know.shapes(last) for factor, _ in factors):
        return None
    return Call("matmul", (product.replace_factor(last, None).render(), last))


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
