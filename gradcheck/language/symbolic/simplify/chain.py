"""Products of matrices in a row: transposes at the factors, inverses beside what they undo, powers of one matrix.

A chain is its factors from left to right, each with whether it is transposed; vectors stand at its ends alone. Matrix
products associate, up to rounding; `(a @ b).T` is `b.T @ a.T`. What is made is taken only where it is shorter.
"""

from __future__ import annotations

from functools import reduce
from itertools import groupby
from typing import NamedTuple

from gradcheck.language.expr.nodes import Call, Expr, Literal
from gradcheck.language.symbolic.simplify.facts import Facts
from gradcheck.language.symbolic.simplify.product import Product, is_call

#: Chains of more factors than this are left as they are.
_LONGEST = 64
#: So many equal matrices in a row are a power.
_LEAST_POWER = 3


class Link(NamedTuple):
    """A factor of a chain, an interned expression, and whether it is transposed."""

    base: Expr
    transposed: bool

    @property
    def key(self) -> tuple[int, bool]:
        """What tells it from others."""
        return id(self.base), self.transposed

    def expr(self) -> Expr:
        """The factor as it is written."""
        return Call("T", (self.base,)) if self.transposed else self.base


Chain = list[Link]


def chain_of(root: Expr, know: Facts, transposed: bool = False) -> Chain | None:
    """The chain that a product of vectors and matrices is, or its transpose; None for batches, and for long ones."""
    found: Chain = []
    stack = [(root, transposed)]
    while stack:
        node, flag = stack.pop()
        ndim = know.ndim(node)
        if ndim not in (1, 2) or len(found) + len(stack) > _LONGEST:
            return None
        if ndim == 2 and (is_call(node, "T", 1) or is_call(node, "mT", 1)):
            stack.append((node.args[0], not flag))
        elif is_call(node, "matmul", 2):
            left, right = node.args
            parts = [(right, flag != _is_row(right, know)), (left, flag != _is_column(left, know))]
            stack += reversed(parts) if flag else parts
        else:
            found.append(Link(node, flag and ndim == 2 and not know.is_symmetric(node)))
    return found


def _is_column(node: Expr, know: Facts) -> bool:
    """Whether it is a matrix times a vector."""
    return is_call(node, "matmul", 2) and know.ndim(node) == 1 and know.ndim(node.args[0]) == 2


def _is_row(node: Expr, know: Facts) -> bool:
    """Whether it is a vector times a matrix."""
    return is_call(node, "matmul", 2) and know.ndim(node) == 1 and know.ndim(node.args[1]) == 2


def turned(chain: Chain, know: Facts) -> Chain:
    """The transpose."""
    return [Link(base, _flag(base, not flag, know)) for base, flag in reversed(chain)]


def _flag(base: Expr, flag: bool, know: Facts) -> bool:
    return flag and know.ndim(base) == 2 and not know.is_symmetric(base)


def written(chain: Chain) -> Expr:
    """A chain as a product, from the left; equal matrices in a row as a power."""
    parts: list[Expr] = []
    for link, group in groupby(chain):
        count = len(list(group))
        if count < _LEAST_POWER:
            parts += [link.expr()] * count
        else:
            power = Call("linalg.matrix_power", (link.base, Literal(count)))
            parts.append(Call("T", (power,)) if link.transposed else power)
    return reduce(lambda left, right: Call("matmul", (left, right)), parts)


def normal_chain(node: Expr, know: Facts) -> Expr | None:
    """`(B @ (B.T @ X.T)).T` as `X @ B @ B.T`, `inv(S) @ S @ X` as `X`, `v @ M.T` as `M @ v`."""
    if not is_call(node, "matmul", 2) and not (is_call(node, "T", 1) and is_call(node.args[0], "matmul", 2)):
        return None
    chain = chain_of(node, know)
    if chain is None or len(chain) < 2:
        return None
    chain = _without_inverses(chain, know)
    best = min(_ways(chain, know), key=know.length)
    return best if know.length(best) < know.length(node) else None


def _ways(chain: Chain, know: Facts) -> list[Expr]:
    """As it stands; as the transpose of its transpose; what begins with a vector as what ends with it."""
    straight = written(chain)
    ends = know.ndim(chain[0].base), know.ndim(chain[-1].base)
    if ends == (2, 2):
        return [straight, Call("T", (written(turned(chain, know)),))]
    return [straight, written(turned(chain, know))] if ends == (1, 2) else [straight]


def _without_inverses(chain: Chain, know: Facts) -> Chain:
    """The chain less inverses and, right beside them, what they are the inverses of; one factor stays at least."""
    place = 0
    while place < len(chain):
        undone = _undone(chain[place], know)
        count = 0 if undone is None else len(undone)
        if undone is not None and len(chain) > count + 1:
            if chain[place + 1 : place + 1 + count] == undone:
                chain, place = chain[:place] + chain[place + 1 + count :], 0
                continue
            if place >= count and chain[place - count : place] == undone:
                chain, place = chain[: place - count] + chain[place + 1 :], 0
                continue
        place += 1
    return chain


def _undone(link: Link, know: Facts) -> Chain | None:
    """The chain that this factor is the inverse of."""
    if not is_call(link.base, "linalg.inv", 1):
        return None
    return chain_of(link.base.args[0], know, link.transposed)


# Outer products -----------------------------------------------------------------------------------


def outer_in_a_product(node: Expr, know: Facts) -> Expr | None:
    """`M @ outer(u, v)` as `outer(M @ u, v)`, `outer(u, v) @ M` as `outer(u, v @ M)`, `outer(u, v) @ w` as `(v @ w) *
    u`."""
    if not is_call(node, "matmul", 2):
        return None
    left, right = node.args
    if is_call(right, "outer", 2) and know.ndim(left) == 2:
        return Call("outer", (Call("matmul", (left, right.args[0])), right.args[1]))
    if is_call(left, "outer", 2):
        after = Call("matmul", (left.args[1], right))
        return Call("outer" if know.ndim(right) == 2 else "mul", (left.args[0], after))
    return None


def outer_turned(node: Expr, know: Facts) -> Expr | None:
    """`outer(u, v).T` as `outer(v, u)`."""
    if not is_call(node, "T", 1) or not is_call(node.args[0], "outer", 2):
        return None
    return Call("outer", tuple(reversed(node.args[0].args)))


# Determinants and inverses ------------------------------------------------------------------------


def cofactors_over_determinant(node: Expr, know: Facts) -> Expr | None:
    """`cofactors(X) / det(X)` as `inv(X).T`: the logarithm of a determinant asks for one that is not 0."""
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
                return product.replaced(factor, Call("T", (Call("linalg.inv", (matrix,)),))).render()
    return None
