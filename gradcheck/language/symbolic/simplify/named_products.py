"""Products with a name: `x * r` as `y`, if the graph has `y: x * r`."""

from __future__ import annotations

from gradcheck.language.expr.nodes import Call, Expr
from gradcheck.language.symbolic.simplify.part_properties import PartProperties
from gradcheck.language.symbolic.simplify.product import Factors, Product, is_call, is_product

_REDUCTIONS = ("sum", "mean")


def dot_by_name(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `a @ p` as `f` if the graph has `f: p @ a` of two vectors."""
    if not is_call(node, "matmul", 2) or know.ndim(node) != 0:
        return None
    return know.names.get(id(know.pool.intern(Call("matmul", tuple(reversed(node.args))))))


def known_product(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite a product that holds all factors of a named one by its name.

    One factor may stand in a sum along which the others are broadcast: `r * mean(g * x, dim=1, keepdim=True)` becomes
    `mean(g * y, dim=1, keepdim=True)`.
    """
    if not is_product(node):
        return None
    whole = Product.of(node)
    for name, known in know.products:
        product = whole.with_roots(base for base, _ in known.divisors.values() if is_call(base, "sqrt", 1))
        if not _contains(product.divisors, known.divisors):
            continue
        missing = [pair for key, pair in known.factors.items() if not _contains(product.factors, {key: pair})]
        if not missing:
            return _divide_out(product, known, known.factors, name)
        if len(missing) == 1 and missing[0][1] == 1:
            found = _inside(product, known, missing[0][0], name, know)
            if found is not None:
                return found
    return None


def _contains(whole: Factors, part: Factors) -> bool:
    return all(key in whole and whole[key][1] >= times for key, (_, times) in part.items())


def _divide_out(product: Product, known: Product, factors: Factors, name: Expr) -> Expr:
    """Return the product with a name for its known factors and divisors."""
    rest = product.without(Product(known.number, factors, known.divisors))
    return rest.times(Product(factors={id(name): (name, 1)})).render()


def _inside(product: Product, known: Product, missing: Expr, name: Expr, know: PartProperties) -> Expr | None:
    """Return the product if a sum holds one factor of the known product."""
    rest = {key: pair for key, pair in known.factors.items() if pair[0] is not missing}
    for factor, times in product.factors.values():
        if times != 1 or not isinstance(factor, Call) or factor.op not in _REDUCTIONS or len(factor.args) != 1:
            continue
        inner = Product.of(factor.args[0])
        if inner.factors.get(id(missing), (missing, 0))[1] != 1 or "keepdim" not in dict(factor.kwargs):
            continue
        new = Call(factor.op, (inner.replace_factor(missing, name).render(),), factor.kwargs)
        whole = know.pool.intern(new)
        return _divide_out(product.replace_factor(factor, None), known, rest, whole)
    return None
