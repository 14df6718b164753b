"""Rules about elementwise ops: products, conjugates, casts, broadcasting.

A product has one form: a number, then the factors in order, then the divisors. `grad(o) * 0.5 * 5 * (2 * (x + 1))`
becomes `5 * grad(o) * (x + 1)`. Elementwise products commute and associate, up to rounding. Nothing cancels, since `x /
x` is not 1 where x is 0.
"""

from __future__ import annotations

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import lookup
from gradcheck.language.expr.nodes import Attribute, Call, Dtype, Expr, Literal, Name
from gradcheck.language.symbolic.simplify.part_properties import PartProperties
from gradcheck.language.symbolic.simplify.product import (
    Product,
    drop_expansions,
    integer,
    is_call,
    is_product,
    without_broadcast,
)

#: Ops through which `conj` moves, into every tensor among the arguments.
_CONJUGABLE = frozenset(
    {"add", "sub", "mul", "div", "neg", "matmul", "T", "mT", "sum", "expand", "unsqueeze", "squeeze"}
)


def conjugate_of_a_real(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `conj(x)` as x if x is real, or was before a cast."""
    if not is_call(node, "conj", 1):
        return None
    inner = node.args[0]
    dtype = know.dtype(inner.children[0] if is_call(inner, "to", 2) else inner)
    return inner if dtype is not None and dtype.kind != "c" else None


def push_conjugate_in(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `conj(conj(g) @ b.T)` as `g @ conj(b).T`."""
    if not is_call(node, "conj", 1):
        return None
    inner = node.args[0]
    if not isinstance(inner, Call) or inner.op not in _CONJUGABLE or inner.kwargs or not _has_conjugate(inner):
        return None
    args = (Call("conj", (arg,)) if know.dtype(arg) is not None else arg for arg in inner.args)
    return Call(inner.op, tuple(args))


def _has_conjugate(node: Expr) -> bool:
    """Return whether a conjugate below can move up to this node."""
    stack = list(node.children)
    while stack:
        part = stack.pop()
        if is_call(part, "conj", 1):
            return True
        if isinstance(part, Call) and part.op in _CONJUGABLE:
            stack.extend(part.children)
    return False


def cast_to_itself(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `x.to(torch.float32)` of a float32 tensor as x."""
    if not is_call(node, "to", 2) or not isinstance(node.args[1], Dtype):
        return None
    return node.args[0] if know.dtype(node.args[0]) == dtypes.BY_NAME[node.args[1].name] else None


def cast_of_a_half(node: Expr, know: PartProperties) -> Expr | None:
    """Drop float32 steps around ops in half precision, which round anyway.

    Several ops then round each, instead of once together.
    """
    if not is_call(node, "to", 2) or not isinstance(node.args[1], Dtype):
        return None
    root, half = node.args[0], node.args[1]
    if dtypes.BY_NAME[half.name] not in dtypes.HALVES:
        return None
    if is_call(root, "to", 2):
        return root.args[0] if know.dtype(root.args[0]) == dtypes.BY_NAME[half.name] else None
    if not isinstance(root, Call) or root.op == "to":
        return None
    return Call(root.op, tuple(_rounded(arg, half, know) for arg in root.args), root.kwargs)


def _rounded(arg: Expr, half: Dtype, know: PartProperties) -> Expr:
    """Return a floating tensor cast to half precision, others unchanged."""
    dtype = know.dtype(arg)
    return Call("to", (arg, half)) if dtype is not None and dtypes.is_differentiable(dtype) else arg


def drop_operand_expansion(node: Expr, know: PartProperties) -> Expr | None:
    """Drop the expansion of an operand that broadcasts anyway, as in `where`."""
    entry = lookup(node.op) if isinstance(node, Call) else None
    if not isinstance(node, Call) or entry is None or not entry.elementwise or node.kwargs or len(node.args) < 2:
        return None
    for index, arg in enumerate(node.args):
        simpler = without_broadcast(arg, know)
        if simpler is None:
            continue
        again = Call(node.op, (*node.args[:index], simpler[0] or Literal(1), *node.args[index + 1 :]))
        if know.are_equal(node, know.pool.intern(again)):
            return again
    return None


#: Ops that cast integers beside real numbers.
_PROMOTING = frozenset({"add", "sub", "mul", "div"})
#: Linear ops, and the number of arguments from which a number can move out.
_LINEAR = {
    **dict.fromkeys(("matmul", "outer"), 2),
    **dict.fromkeys(("sum", "mean", "T", "mT", "unsqueeze", "squeeze", "reshape", "flip"), 1),
    **dict.fromkeys(("tril", "triu", "sum_to_size", "diag_embed"), 1),
}


_MOVES = frozenset({"unsqueeze", "squeeze", "reshape", "flip"})


def normal_product(node: Expr, know: PartProperties) -> Expr | None:
    """Return a product in its form, without ones that broadcasting makes."""
    if not is_product(node):
        return None
    total = know.shapes(node)
    whole = Product.of(node)
    found = whole.cancel(know.is_never_zero)
    if total is not None and not found.factors and not found.divisors:  # `x / x`
        ones = Call("ones_like", (node.children[0],))
        found.factors[id(ones)] = (ones, 1)
    found = _in_its_dtype(found, whole, node, know)
    if total is None:
        return found.render() if know.is_number(node) and not found.divisors else None
    slimmer = drop_expansions(found, total, know)
    left = (*slimmer.factors.values(), *slimmer.divisors.values())
    return (slimmer if any(know.shapes(factor) is not None for factor, _ in left) else found).render()


def _in_its_dtype(found: Product, whole: Product, node: Expr, know: PartProperties) -> Product:
    """Cast integers if the real factors have cancelled: `k * x / x`."""
    dtype = know.dtype(node)
    if len(found.factors) == len(whole.factors) or dtype is None or not dtypes.is_differentiable(dtype):
        return found
    left = (*found.factors.values(), *found.divisors.values())
    if any(dtypes.is_differentiable(known) for base, _ in left if (known := know.dtype(base)) is not None):
        return found
    for factor, times in found.factors.values():
        if times == 1 and know.shapes(factor) is not None:
            return found.replace_factor(factor, Call("to", (factor, Dtype(dtype.name))))
    return found


def drop_promoting_cast(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `p - to(k, torch.float64)` of integers as `p - k`."""
    if not isinstance(node, Call) or node.op not in _PROMOTING or len(node.args) != 2:
        return None
    for index, arg in enumerate(node.args):
        if is_call(arg, "to", 2) and isinstance(arg.args[1], Dtype):
            dtype = know.dtype(arg.args[0])
            other = node.args[1 - index]
            if dtype is not None and dtype.kind in "iub" and know.dtype(other) == know.dtype(arg):
                args = list(node.args)
                args[index] = arg.args[0]
                return Call(node.op, tuple(args))
    return None


def lift_expand(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `expand(g, s) * 2` as `expand(g * 2, s)`, to drop it further up."""
    if not is_product(node):
        return None
    product = Product.of(node)
    if product.number == 1 and len(product.factors) + len(product.divisors) == 1:
        return None
    for factor, times in product.factors.values():
        if times == 1 and isinstance(factor, Call) and factor.op == "expand" and len(factor.args) == 2:
            return Call("expand", (product.replace_factor(factor, factor.args[0]).render(), factor.args[1]))
    return None


def expanded_one(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite a number expanded to the shape of x as `10 * ones_like(x)`."""
    if not isinstance(node, Call) or node.op != "expand" or len(node.args) != 2:
        return None
    size = node.args[1]
    number = Product.of(node.args[0])
    if not isinstance(size, Attribute) or size.name != "shape" or not number.is_ones():
        return None
    ones = Call("ones_like", (size.value,))
    return Product.of(ones).with_number(number.number).render()


def pull_number_out(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `sum(-2 * x)` as `-2 * sum(x)`, and so for linear ops."""
    if not isinstance(node, Call) or node.op not in _LINEAR:
        return None
    for index, arg in enumerate(node.args[: _LINEAR[node.op]]):
        product = Product.of(arg)
        if product.number in (0, 1) or not product.factors or know.shapes(arg) is None:
            continue
        args = (*node.args[:index], product.with_number(1).render(), *node.args[index + 1 :])
        return Product.of(Call(node.op, args, node.kwargs)).with_number(product.number).render()
    return None


def pull_scalar_out(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `A @ (s * x)` as `s * (A @ x)` for a one-element tensor s.

    This holds for linear ops. If elements only move, s may also be a size.
    """
    if not isinstance(node, Call) or node.op not in _LINEAR:
        return None
    for index, arg in enumerate(node.args[: _LINEAR[node.op]]):
        inside, outside = Product.of(arg), Product()
        for side, into in ((inside.factors, outside.factors), (inside.divisors, outside.divisors)):
            for key in [key for key, (base, _) in side.items() if _can_be_pulled_out(base, node, know)]:
                into[key] = side.pop(key)
        if inside.factors and (outside.factors or outside.divisors):
            args = (*node.args[:index], inside.render(), *node.args[index + 1 :])
            made = Call(node.op, args, node.kwargs)
            outside.factors[id(made)] = (made, 1)
            return outside.render()
    return None


def _can_be_pulled_out(factor: Expr, node: Call, know: PartProperties) -> bool:
    return know.ndim(factor) == 0 or (node.op in _MOVES and know.is_number(factor))


def sizes_as_numel(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `x.shape[0] * x.shape[1]`, or `n * m`, as `x.numel()`."""
    if not is_call(node, "mul", 2) or not know.is_number(node):
        return None
    product = Product.of(node)
    if product.number == 1 and not product.divisors and all(isinstance(f, Name) for f, _ in product.factors.values()):
        counted = know.tensor_of_same_count(node)
        return None if counted is None else Attribute(counted, "numel")
    sizes = [size_of(factor) for factor, times in product.factors.values() for _ in range(times)]
    known = [size for size in sizes if size is not None]
    if not known or len(known) < len(sizes) or product.divisors or product.number != 1:
        return None
    owner = known[0][0]
    if any(other is not owner for other, _ in known) or know.ndim(owner) != len(known):
        return None
    return Attribute(owner, "numel") if {index for _, index in known} == set(range(len(known))) else None


def counted_ones(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `s * sum(ones_like(x))` as `s * n`."""
    if not is_product(node):
        return None
    product = Product.of(node)
    others = [factor for factor, _ in product.factors.values() if not is_call(factor, "sum", 1)]
    if not product.divisors and all(is_call(factor, "ones_like", 1) for factor in others):
        return None  # a number for a tensor
    for factor, times in product.factors.values():
        if times == 1 and is_call(factor, "sum", 1) and not factor.kwargs and is_call(factor.args[0], "ones_like", 1):
            count = Attribute(factor.args[0].args[0], "numel")
            return product.replace_factor(factor, know.size_expr(count) or count).render()
    return None


def size_of(node: Expr) -> tuple[Expr, int] | None:
    """Return x and 0 of `x.shape[0]`."""
    if not is_call(node, "getitem", 2):
        return None
    shape, index = node.args[0], integer(node.args[1])
    is_shape = isinstance(shape, Attribute) and shape.name == "shape"
    return (shape.children[0], index) if is_shape and index is not None else None


def outer_product(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite a column times a row, `unsqueeze(u, -1) * v`, as `outer(u, v)`."""
    if not is_product(node) or know.ndim(node) != 2:
        return None
    product = Product.of(node)
    for factor, times in product.factors.values():
        column = _unsqueezed(factor, (-1, 1), know) if times == 1 else None
        if column is None:
            continue
        row = product.replace_factor(factor, None)
        parts = [(_row(part, know), times) for part, times in row.factors.values()]
        if any(part is None for part, _ in parts) or any(know.ndim(part) for part, _ in row.divisors.values()):
            return None
        row.factors = {id(part): (part, times) for part, times in parts if part is not None}
        return Call("outer", (column, row.render())) if row.factors else None
    return None


def _unsqueezed(node: Expr, dims: tuple[int, int], know: PartProperties) -> Expr | None:
    """Return u of `unsqueeze(u, -1)`, a vector, if the dimension is in `dims`."""
    if not isinstance(node, Call) or node.op != "unsqueeze" or know.ndim(node.args[0]) != 1:
        return None
    return node.args[0] if integer(node.children[-1]) in dims else None


def _row(node: Expr, know: PartProperties) -> Expr | None:
    """Return a factor that varies along the last dimension alone, else None."""
    if isinstance(node, Call) and node.op == "unsqueeze" and integer(node.children[-1]) is not None:
        return _unsqueezed(node, (-2, 0), know)
    return node if (know.ndim(node) or 0) < 2 else None
