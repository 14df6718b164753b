"""Functions with names: softmax, means; products that the graph names."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from gradcheck.language.expr.nodes import Call, Expr, Literal
from gradcheck.language.symbolic.simplify.part_properties import PartProperties, Shapes
from gradcheck.language.symbolic.simplify.product import Factors, Product, integer, is_call, is_product, keyword_dim

_REDUCTIONS = frozenset({"sum", "mean", "var", "std", "norm", "logsumexp", "amax", "amin", "prod"})


def norm_by_name(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `linalg.vector_norm(x)` as `norm(x)`."""
    if not isinstance(node, Call) or node.op != "linalg.vector_norm" or "dtype" in dict(node.kwargs):
        return None
    return Call("norm", node.args, tuple(("p" if name == "ord" else name, value) for name, value in node.kwargs))


def kept_dim(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `unsqueeze(sum(x, dim=1), dim=1)` with `keepdim=True`."""
    if not isinstance(node, Call) or node.op != "unsqueeze" or not isinstance(node.args[0], Call):
        return None
    inner, dim = node.args[0], keyword_dim(node.args[0])
    if inner.op not in _REDUCTIONS or "keepdim" in dict(inner.kwargs) or dim is None:
        return None
    if dim != integer(node.children[-1]):
        return None
    return Call(inner.op, inner.args, (*inner.kwargs, ("keepdim", Literal(True))))


def softmax_by_name(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `exp(x - logsumexp(x, dim=0))` as `softmax(x, dim=0)`."""
    if not is_call(node, "exp", 1) or not is_call(node.args[0], "sub", 2):
        return None
    x, total = node.args[0].args
    while isinstance(total, Call) and total.op == "unsqueeze":
        total = total.args[0]
    total = know.definitions.get(id(total), total)
    if not isinstance(total, Call) or total.op != "logsumexp" or total.args[0] is not x:
        return None
    return Call("softmax", (x,), (("dim", dict(total.kwargs).get("dim", total.children[-1])),))


def logistic(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `exp(u) / (1 + exp(u))` as `sigmoid(u)`, with 1 above `-u`."""
    if not is_product(node):
        return None
    product = Product.of(node)
    for below, times in list(product.divisors.values()):
        power = _one_plus_exp(below)
        if power is None:
            continue
        above = product.factors.get(id(power))
        product.divisors.pop(id(below))
        inner: Expr = power.args[0]
        if above is not None and above[1] == times:
            product.factors.pop(id(power))
        else:
            inner = Product.of(inner).with_number(-Product.of(inner).number).render()
        made = Product.of(know.pool.intern(Call("sigmoid", (inner,))))
        ((key, (base, _)),) = made.factors.items()
        product.factors[key] = (base, times)
        return product.render()
    return None


def exp_times_logistic(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `exp(u) * sigmoid(-u)` as `sigmoid(u)`."""
    if not is_product(node):
        return None
    product = Product.of(node)
    for factor, times in list(product.factors.values()):
        if times != 1 or not is_call(factor, "sigmoid", 1):
            continue
        inner = Product.of(factor.args[0])
        turned = know.pool.intern(inner.with_number(-inner.number).render())
        power = product.factors.get(id(know.pool.intern(Call("exp", (turned,)))))
        if power is not None and power[1] == 1:
            product.factors.pop(id(power[0]))
            return product.replace_factor(factor, Call("sigmoid", (turned,))).render()
    return None


def _one_plus_exp(node: Expr) -> Call | None:
    """Return `exp(u)` of `1 + exp(u)`."""
    if not is_call(node, "add", 2):
        return None
    one = next((part for part in node.args if isinstance(part, Literal) and part.value == 1), None)
    power = next((part for part in node.args if is_call(part, "exp", 1)), None)
    return power if one is not None and power is not None else None


_QUOTIENTS = {("sinh", "cosh"): "tanh", ("sin", "cos"): "tan"}


def quotient_by_name(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `sinh(x) / cosh(x)` as `tanh(x)`."""
    if not is_product(node):
        return None
    product = Product.of(node)
    for factor, times in product.factors.values():
        for below, count in list(product.divisors.values()):
            if times == count == 1 and isinstance(factor, Call) and isinstance(below, Call):
                name = _QUOTIENTS.get((factor.op, below.op))
                if name is not None and factor.args == below.args:
                    product.divisors.pop(id(below))
                    return product.replace_factor(factor, Call(name, factor.args)).render()
    return None


def mean_by_name(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `sum(x, dim=0) / n` as `mean(x, dim=0)` for n summands."""
    if not is_product(node):
        return None
    product = Product.of(node)
    for factor, times in product.factors.values():
        if times != 1 or not isinstance(factor, Call) or factor.op != "sum" or len(factor.args) != 1:
            continue
        if any(name not in ("dim", "keepdim") for name, _ in factor.kwargs):
            continue
        counts = _added_up(factor, know)
        for below, count in list(product.divisors.values()):
            if count == 1 and counts is not None and know.is_number(below) and know.values(below) == counts:
                product.divisors.pop(id(below))
                return product.replace_factor(factor, Call("mean", factor.args, factor.kwargs)).render()
    return None


def _added_up(node: Call, know: PartProperties) -> tuple[int, ...] | None:
    """Return the number of summands of each element, at every point."""
    before, after = know.values(node.args[0]), know.values(node)
    if before is None or after is None or before[0].dtype.kind not in "fcV":
        return None
    if any(a.size == 0 for a in after):
        return None
    return tuple(b.size // a.size for b, a in zip(before, after, strict=True))


def factors_out_of_a_sum(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `sum(x * column, dim=1, keepdim=True)` as `column * sum(…)`."""
    if not isinstance(node, Call) or node.op not in ("sum", "mean") or len(node.args) != 1:
        return None
    product = Product.of(node.args[0])
    total = know.shapes(node)
    kept = dict(node.kwargs).get("keepdim")
    is_kept = isinstance(kept, Literal) and kept.value is True
    if total is None or not (is_kept or keyword_dim(node) == 0):
        return None
    outside = Product()
    for side, into in ((product.factors, outside.factors), (product.divisors, outside.divisors)):
        for key, (factor, times) in list(side.items()):
            if is_broadcast_along(know.shapes(factor), total):
                into[key] = (factor, times)
                side.pop(key)
    if not product.factors or not (outside.factors or outside.divisors):
        return None
    inner = Call(node.op, (product.render(),), node.kwargs)
    if outside.factors:
        return Call("mul", (inner, outside.render()))
    return Call("div", (inner, Product(Fraction(1), outside.divisors).render()))


def is_broadcast_along(shapes: Shapes | None, total: Shapes) -> bool:
    """Return whether these shapes only broadcast along the summed dimensions.

    None is the shapes of a number; `total` are those of the sum.
    """
    return shapes is None or all(np.broadcast_shapes(a, b) == b for a, b in zip(shapes, total, strict=True))


_AVERAGES = ("sum", "mean")


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
        if times != 1 or not isinstance(factor, Call) or factor.op not in _AVERAGES or len(factor.args) != 1:
            continue
        inner = Product.of(factor.args[0])
        if inner.factors.get(id(missing), (missing, 0))[1] != 1 or "keepdim" not in dict(factor.kwargs):
            continue
        new = Call(factor.op, (inner.replace_factor(missing, name).render(),), factor.kwargs)
        whole = know.pool.intern(new)
        return _divide_out(product.replace_factor(factor, None), known, rest, whole)
    return None
