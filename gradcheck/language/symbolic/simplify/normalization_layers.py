"""Normalization: `layer_norm`, `batch_norm`, and terms that sum to 0.

With C = `x - mean(x, dim=d, keepdim=True)` and R = `rsqrt(var(x, dim=d, correction=0, keepdim=True) + eps)`, `C * R` is
normalized; sums of C over d are 0, up to rounding.
"""

from __future__ import annotations

from typing import NamedTuple

from gradcheck.language.expr.nodes import Attribute, Call, Expr, Literal, Sequence
from gradcheck.language.symbolic.simplify.factoring import terms_of
from gradcheck.language.symbolic.simplify.named_functions import is_broadcast_along
from gradcheck.language.symbolic.simplify.part_properties import PartProperties
from gradcheck.language.symbolic.simplify.product import Factors, Product, integer, is_call, is_product, keyword_dim
from gradcheck.language.symbolic.simplify.sums import render_sum

_REDUCTIONS = ("sum", "mean")
_WITH_DIM = frozenset({"sum", "mean", "var", "std", "softmax", "log_softmax", "logsumexp", "amax", "amin", "prod"})
_EPS = 1e-5


class _Scale(NamedTuple):
    """The parts of R: its tensor, its dimension, and the added eps."""

    of: Expr
    dim: int
    eps: Expr


def dim_from_the_front(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `sum(x, dim=-1)` of a matrix as `sum(x, dim=1)`."""
    if not isinstance(node, Call) or node.op not in _WITH_DIM:
        return None
    dim, ndim = keyword_dim(node), know.ndim(node.args[0])
    if dim is None or dim >= 0 or not ndim:
        return None
    return Call(node.op, node.args, tuple((n, Literal(dim + ndim) if n == "dim" else v) for n, v in node.kwargs))


def variance(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `mean((x - mean(x, dim=0)) ** 2, dim=0)` as a `var`."""
    if not isinstance(node, Call) or node.op != "mean" or len(node.args) != 1:
        return None
    given = dict(node.kwargs)
    square = node.args[0]
    if not is_call(square, "square", 1) and not (is_call(square, "pow", 2) and integer(square.args[1]) == 2):
        return None
    x = _centred(square.children[0], keyword_dim(node), know)
    if x is None or not given.keys() <= {"dim", "keepdim"}:
        return None
    kept = tuple((name, value) for name, value in node.kwargs if name == "keepdim")
    return Call("var", (x,), (("dim", given["dim"]), ("correction", Literal(0)), *kept))


def _centred(node: Expr, dim: int | None, know: PartProperties) -> Expr | None:
    """Return x of `x - mean(x, dim=d)`, kept or broadcast."""
    node = know.definitions.get(id(node), node)
    if dim is None or not is_call(node, "sub", 2):
        return None
    x, mean = node.args
    mean = know.definitions.get(id(mean), mean)
    if not isinstance(mean, Call) or mean.op != "mean" or mean.args != (x,):
        return None
    return x if keyword_dim(mean) == dim and (dim == 0 or "keepdim" in dict(mean.kwargs)) else None


def is_scale(node: Expr, know: PartProperties) -> bool:
    """Return whether a node is R, of a tensor whose normalization has a name."""
    scale = _scale(node, know)
    return scale is not None and _normalized_expr(scale, know) is not None


def _scale(node: Expr, know: PartProperties) -> _Scale | None:
    if not (is_call(node, "rsqrt", 1) or is_call(node, "sqrt", 1)) or not is_call(node.args[0], "add", 2):
        return None
    var, eps = node.args[0].args
    if not isinstance(var, Call) or var.op != "var" or not isinstance(eps, Literal):
        return None
    given, dim = dict(var.kwargs), keyword_dim(var)
    if dim is None or integer(given.get("correction", node)) != 0 or "keepdim" not in given:
        return None
    return _Scale(var.args[0], dim, eps)


def normalization_by_name(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite C times R, or a sum with C, by `layer_norm(x, [m])`."""
    if not is_product(node):
        return None
    product = Product.of(node)
    divisors = [know.pool.intern(Call("sqrt", (base,))) for base, _ in product.divisors.values()]
    product = product.with_roots(one for one in divisors if is_call(one, "sqrt", 1) and _scale(one, know) is not None)
    roots = [base for base, _ in product.factors.values() if is_call(base, "rsqrt", 1)]
    for root in [*roots, *(base for base, _ in product.divisors.values() if is_call(base, "sqrt", 1))]:
        scale = _scale(root, know)
        whole = None if scale is None else _normalized_expr(scale, know)
        if scale is None or whole is None:
            continue
        for other, times in product.factors.values():
            new = None if times != 1 else _with_whole(other, scale, whole, know)
            if new is not None:
                made, once = product.replace_factor(other, new), Factors({id(root): (root, 1)})
                gone = Product(factors=once) if id(root) in made.factors else Product(divisors=once)
                return made.without(gone).render()
    return None


def _with_whole(factor: Expr, scale: _Scale, whole: Expr, know: PartProperties) -> Expr | None:
    """Return a factor times R; it is C, or a sum over d with C inside."""
    if _centred(factor, scale.dim, know) is scale.of:
        return whole
    if not _is_reduction(factor, scale.dim):
        return None
    inner = Product.of(factor.children[0])
    for part, times in inner.factors.values():
        if times == 1 and _centred(part, scale.dim, know) is scale.of:
            assert isinstance(factor, Call)
            return Call(factor.op, (inner.replace_factor(part, whole).render(),), factor.kwargs)
    return None


def _is_reduction(node: Expr, dim: int) -> bool:
    """Return whether a node sums over one dimension and keeps it."""
    if not isinstance(node, Call) or node.op not in _REDUCTIONS or len(node.args) != 1:
        return False
    return keyword_dim(node) == dim and "keepdim" in dict(node.kwargs)


def _normalized_expr(scale: _Scale, know: PartProperties) -> Expr | None:
    """Return `layer_norm` for the last dimension, `batch_norm` for the first."""
    ndim = know.ndim(scale.of)
    eps = () if scale.eps == Literal(_EPS) else (("eps", scale.eps),)
    if ndim is not None and scale.dim == ndim - 1:
        size = Call("getitem", (Attribute(scale.of, "shape"), Literal(scale.dim)))
        return know.pool.intern(Call("layer_norm", (scale.of, Sequence((size,))), eps))
    if ndim == 2 and scale.dim == 0:
        training = (("training", Literal(True)), *eps)
        return know.pool.intern(Call("batch_norm", (scale.of, Literal(None), Literal(None)), training))
    return None


def drop_centred_terms(node: Expr, know: PartProperties) -> Expr | None:
    """Drop terms with C from a mean over d, as `column * C`."""
    dim = keyword_dim(node) if isinstance(node, Call) else None
    if dim is None or not isinstance(node, Call) or not _is_reduction(node, dim):
        return None
    terms, total = terms_of(node.args[0]), know.shapes(node)
    if terms is None or total is None:
        return None
    kept = [term for term in terms if not _sums_to_zero(term, dim, total, know)]
    if not kept or len(kept) == len(terms):
        return None
    return Call(node.op, (render_sum(kept),), node.kwargs)


def _sums_to_zero(term: Product, dim: int, total: tuple[tuple[int, ...], ...], know: PartProperties) -> bool:
    """Return whether a term is C, times factors that broadcast along d."""
    parts = [*term.factors.values(), *term.divisors.values()]
    full = [base for base, _ in parts if not is_broadcast_along(know.shapes(base), total)]
    if len(full) != 1 or id(full[0]) not in term.factors or term.factors[id(full[0])][1] != 1:
        return False
    return _centred(full[0], dim, know) is not None or _is_normalized(full[0], dim, know)


def _is_normalized(node: Expr, dim: int, know: PartProperties) -> bool:
    node = know.definitions.get(id(node), node)
    if not isinstance(node, Call):
        return False
    if node.op == "layer_norm" and len(node.args) == 2:
        return dim == (know.ndim(node) or 0) - 1
    return node.op == "batch_norm" and len(node.args) == 3 and dim == 0


def power_of_a_root(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `rsqrt(v) ** 3` as `v ** -1.5`."""
    if not is_product(node) and not is_call(node, "pow", 2):
        return None
    product = Product.of(node)
    for factor, times in list(product.factors.values()):
        if times > 2 and is_call(factor, "rsqrt", 1) and not is_scale(factor, know):
            product.factors.pop(id(factor))
            power = Call("pow", (factor.args[0], Literal(-times / 2 if times % 2 else -times // 2)))
            product.factors[id(power)] = (power, 1)
            return product.render()
    return None
