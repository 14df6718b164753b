"""Guards of gradient rules against zeros, and their removal.

A guard is `where(n == 0, 0, g / where(n == 0, 1, n))`. Inside the last operand of `where(c, a, b)`, c is false and n is
not 0. A factor that is 0 where the guard is needs no guard. If a guard is dropped though something is divided by n, the
formula holds only where n is not 0: `PartProperties.assumed_nonzero` records that for the reports.
"""

from __future__ import annotations

from gradcheck.language.expr.nodes import Call, Expr, Literal
from gradcheck.language.expr.traverse import distinct_nodes, fold, with_children
from gradcheck.language.symbolic.simplify.part_properties import PartProperties
from gradcheck.language.symbolic.simplify.product import Product, integer, is_call, is_product

_MAX_OPS = 60
_FLIPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
#: Ops that move elements without changing them.
_MOVES = frozenset({"unsqueeze", "squeeze", "expand", "reshape"})


def guard_in_a_guard(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `where(c, a, g / where(c, 1, n))` as `where(c, a, g / n)`."""
    if not is_call(node, "where", 3) or know.op_count(node.args[2]) > _MAX_OPS:
        return None
    condition, chosen, other = node.args

    def without(part: Expr, children: list[Expr]) -> Expr:
        if is_call(part, "where", 3) and part.args[0] is condition:
            return children[2]
        return with_children(part, children)

    changed = fold(other, without)
    return None if changed is other else Call("where", (condition, chosen, changed))


def divided_in_a_guard(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `where(n == 0, 0, n * g / n)` as `where(n == 0, 0, g)`."""
    guarded = _guarded(node)
    if guarded is None:
        return None
    size, inner = guarded
    product = Product.of(inner)
    if id(size) not in product.factors or id(size) not in product.divisors:
        return None
    product = product.cancel(lambda base: base is size)
    if not product.factors:
        ones = Call("ones_like", (size,))
        product.factors[id(ones)] = (ones, 1)
    return Call("where", (*node.children[:2], product.render()))


def _guarded(node: Expr) -> tuple[Expr, Expr] | None:
    """Return n and b of `where(n == 0, 0, b)`."""
    if not is_call(node, "where", 3) or integer(node.args[1]) != 0 or not is_call(node.args[0], "eq", 2):
        return None
    size, zero = node.args[0].args
    while is_call(size, "to", 2):  # half precision is compared in single
        size = size.args[0]
    return (size, node.args[2]) if integer(zero) == 0 else None


def bound_in_a_guard(node: Expr, know: PartProperties) -> Expr | None:
    """Merge the guard of a bound: `where(n >= c, a / n, 0)` for c above 0.

    Before, it is `where(n == 0, 0, where(n >= c, a, 0) / n)`.
    """
    guarded = _guarded(node)
    if guarded is None:
        return None
    size, inner = guarded
    product = Product.of(inner)
    for factor, times in product.factors.values():
        bound = _bound(factor)
        if times == 1 and bound is not None and bound[0] is size and bound[1] > 0:
            condition, chosen, nothing = factor.children
            return Call("where", (condition, product.replace_factor(factor, chosen).render(), nothing))
    return None


def clamp_in_a_bound(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `where(n >= c, g / clamp(n, c), 0)` with `g / n`."""
    bound = _bound(node)
    if bound is None or know.op_count(node.children[1]) > _MAX_OPS:
        return None
    size, least = bound

    def without(part: Expr, children: list[Expr]) -> Expr:
        is_its = is_call(part, "clamp", 2) and part.args[0] is size and part.args[1] == Literal(least)
        return size if is_its else with_children(part, children)

    condition, chosen, nothing = node.children
    changed = fold(chosen, without)
    return None if changed is chosen else Call("where", (condition, changed, nothing))


def _bound(node: Expr) -> tuple[Expr, float] | None:
    """Return n and c of `where(n >= c, a, 0)`, for a number c."""
    if not is_call(node, "where", 3) or integer(node.args[2]) != 0 or not is_call(node.args[0], "ge", 2):
        return None
    size, least = node.args[0].args
    number = least.value if isinstance(least, Literal) else None
    return (size, number) if isinstance(number, (int, float)) else None


def guard_of_a_factor(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `x * where(n == 0, 0, g)` as `x * g` if n is the norm of x.

    Where n is 0, so is x. If g divides by n, the formula then holds only where n is not 0.
    """
    if not is_product(node):
        return None
    product = Product.of(node)
    for factor, times in product.factors.values():
        guarded = _guarded(factor) if times == 1 else None
        if guarded is None:
            continue
        size, inner = guarded
        vanishing = _vanishing(size, know)
        if vanishing is None or not any(_vanishes_with(part, vanishing, know) for part, _ in product.factors.values()):
            continue
        below = [base for base, _ in Product.of(inner).divisors.values() if _vanishing(base, know) == vanishing]
        if below and (know.keeps_guards or any(is_call(part, "where", 3) for part in distinct_nodes(inner))):
            continue  # further pieces matter near 0
        made = know.pool.intern(product.replace_factor(factor, inner).render())
        if know.are_equal(node, made):
            know.assumed_nonzero.update((id(base), base) for base in below)
        return made
    return None


def _vanishes_with(part: Expr, vanishing: tuple[str, Expr], know: PartProperties) -> bool:
    """Return whether a factor is the x of a norm, or the centred x of a std."""
    op, x = vanishing
    if op == "norm":
        return part is x
    part = know.definitions.get(id(part), part)
    if not is_call(part, "sub", 2) or part.args[0] is not x:
        return False
    mean = know.definitions.get(id(part.args[1]), part.args[1])
    return isinstance(mean, Call) and mean.op == "mean" and mean.args == (x,)


def _vanishing(size: Expr, know: PartProperties) -> tuple[str, Expr] | None:
    """Return the op and x if a node is a norm or a deviation of x."""
    node = size
    while isinstance(node, Call) and node.op in _MOVES:
        node = node.args[0]
    node = know.definitions.get(id(node), node)
    if not isinstance(node, Call) or node.op not in ("linalg.vector_norm", "norm", "std"):
        return None
    return "std" if node.op == "std" else "norm", node.args[0]


def guard_times_its_value(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `where(n == 0, 0, n * g)` as `n * g`."""
    guarded = _guarded(node)
    if guarded is None:
        return None
    size, inner = guarded
    product = Product.of(inner)
    return inner if id(size) in product.factors and id(size) not in product.divisors else None


def guard_of_a_relu(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `where(z <= 0, 0, g * relu(z))` as `g * relu(z)`."""
    if not is_call(node, "where", 3) or integer(node.args[1]) != 0:
        return None
    for factor, _ in Product.of(node.args[2]).factors.values():
        if is_call(factor, "relu", 1):
            condition = know.pool.intern(Call("le", (factor.args[0], Literal(0))))
            simpler = compared_with_zero(condition, know) or condition
            if know.pool.intern(simpler) is node.args[0]:
                return node.args[2]
    return None


def clamp_within_bounds(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `x - clamp(x, a, b)` guarded by these bounds as zeros."""
    if not is_call(node, "where", 3) or integer(node.args[2]) != 0 or not is_call(node.args[0], "bitwise_and", 2):
        return None
    low, high = node.args[0].args
    if not is_call(low, "ge", 2) or not is_call(high, "le", 2) or low.args[0] is not high.args[0]:
        return None
    x = low.args[0]
    clamped = know.pool.intern(Call("clamp", (x, low.args[1], high.args[1])))
    for factor, _ in Product.of(node.args[1]).factors.values():
        if is_call(factor, "sub", 2) and factor.args == (x, clamped):
            return Call("zeros_like", (x,))
    return None


def negative_in_a_guard(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `where(x > 0, a, exp(where(x < 0, x, 0)))` with `exp(x)`."""
    if not is_call(node, "where", 3) or not is_call(node.args[0], "gt", 2) or integer(node.args[0].args[1]) != 0:
        return None
    if know.op_count(node.args[2]) > _MAX_OPS:
        return None
    x, zero = node.args[0].args
    kept = know.pool.intern(Call("where", (Call("lt", (x, zero)), x, zero)))
    changed = fold(node.args[2], with_children, {id(kept): (kept, x)})
    return None if changed is node.args[2] else Call("where", (*node.args[:2], changed))


def product_in_a_guard(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `where(c, 0, 1) * y` as `where(c, 0, y)`; numbers move out."""
    if is_call(node, "where", 3) and integer(node.args[1]) == 0:
        product = Product.of(node.args[2])
        if product.number in (0, 1) or not product.factors:
            return None
        inner = Call("where", (*node.args[:2], product.with_number(1).render()))
        return Product.of(inner).with_number(product.number).render()
    if not is_product(node):
        return None
    product = Product.of(node)
    for factor, times in product.factors.values():
        if times == 1 and is_call(factor, "where", 3) and integer(factor.args[1]) == 0:
            ones = Product.of(factor.args[2])
            rest = product.with_number(1).replace_factor(factor, None)
            if (ones.is_ones() or integer(factor.args[2]) == 1) and rest.factors:
                inner = Call("where", (*factor.args[:2], rest.render()))
                return Product.of(inner).with_number(product.number * ones.number).render()
    return None


def compared_with_zero(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `1 - u <= 0` as `u >= 1`."""
    if not isinstance(node, Call) or node.op not in _FLIPPED or len(node.args) != 2 or integer(node.args[1]) != 0:
        return None
    if not is_call(node.args[0], "sub", 2):
        return None
    left, right = node.args[0].args
    if isinstance(left, Literal):
        return Call(_FLIPPED[node.op], (right, left))
    return Call(node.op, (left, right))
