"""Rules about elementwise ops: conjugates, casts, powers, and operands that broadcast by themselves."""

from __future__ import annotations

from collections.abc import Callable

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import lookup
from gradcheck.language.expr.nodes import Call, Dtype, Expr, Literal
from gradcheck.language.symbolic.simplify.facts import Facts
from gradcheck.language.symbolic.simplify.products import bare, is_call

#: Ops that `conj` can be moved through, into every tensor among the arguments.
_CONJUGABLE = frozenset(
    {"add", "sub", "mul", "div", "neg", "matmul", "T", "mT", "sum", "expand", "unsqueeze", "squeeze"}
)
_SINGLE = frozenset({"to", "conj", "neg", "exp", "tanh", "sigmoid", "sin", "cos"})


def double_negation(node: Expr, know: Facts) -> Expr | None:
    """`-(-x)` is x."""
    return node.children[0].children[0] if is_call(node, "neg", 1) and is_call(node.children[0], "neg", 1) else None


def first_power(node: Expr, know: Facts) -> Expr | None:
    """`x ** 1` is x, and `x ** 0` is 1 even where x is 0 or not a number."""
    if isinstance(node, Call) and is_call(node, "pow", 2) and isinstance(node.args[1], Literal):
        base, exponent = node.args[0], node.args[1].value
        return base if exponent == 1 else Call("ones_like", (base,)) if exponent == 0 else None
    return None


def conjugate_of_a_conjugate(node: Expr, know: Facts) -> Expr | None:
    """`conj(conj(x))` is x, and so is `conj(x)` where x is real, or was until it was cast."""
    if not isinstance(node, Call) or not is_call(node, "conj", 1):
        return None
    inner = node.args[0]
    if isinstance(inner, Call) and is_call(inner, "conj", 1):
        return inner.args[0]
    dtype = know.dtype(inner.children[0] if is_call(inner, "to", 2) else inner)
    return inner if dtype is not None and dtype.kind != "c" else None


def conjugate_inwards(node: Expr, know: Facts) -> Expr | None:
    """`conj(conj(g) @ b.T)` is `g @ conj(b).T`, where a conjugate inside is undone by it."""
    if not isinstance(node, Call) or not is_call(node, "conj", 1):
        return None
    inner = node.args[0]
    if not isinstance(inner, Call) or inner.op not in _CONJUGABLE or inner.kwargs or not _has_conjugate(inner):
        return None
    return Call(inner.op, tuple(_conjugated(arg, know) for arg in inner.args))


def _has_conjugate(node: Expr) -> bool:
    """Whether a conjugate stands below, with nothing between that it cannot pass."""
    stack = list(node.children)
    while stack:
        part = stack.pop()
        if is_call(part, "conj", 1):
            return True
        if isinstance(part, Call) and part.op in _CONJUGABLE:
            stack.extend(part.children)
    return False


def _conjugated(arg: Expr, know: Facts) -> Expr:
    return Call("conj", (arg,)) if know.dtype(arg) is not None else arg


def cast_to_itself(node: Expr, know: Facts) -> Expr | None:
    """`x.to(torch.float32)` of a float32 tensor is x."""
    if isinstance(node, Call) and is_call(node, "to", 2) and isinstance(node.args[1], Dtype):
        dtype = know.dtype(node.args[0])
        return node.args[0] if dtype is not None and dtype == dtypes.BY_NAME[node.args[1].name] else None
    return None


def cast_of_a_half(node: Expr, know: Facts) -> Expr | None:
    """Half precision raised to single, computed and rounded: as every op does by itself. Of several ops each then
    rounds, where they did once together."""
    if not isinstance(node, Call) or not is_call(node, "to", 2) or not isinstance(node.args[1], Dtype):
        return None
    half = dtypes.BY_NAME[node.args[1].name]
    if half not in dtypes.HALVES:
        return None
    return _lowered(node.args[0], node.args[1], know)


def _lowered(root: Expr, half: Dtype, know: Facts) -> Expr | None:
    """The same in half precision; None where something else than raised halves goes in."""
    inner = root.children[0] if is_call(root, "to", 2) else None
    if inner is not None and know.dtype(inner) == dtypes.BY_NAME[half.name]:
        return inner
    if not isinstance(root, Call) or root.op == "to":
        return None
    args = tuple(_argument(arg, half, know) for arg in root.args)
    return Call(root.op, tuple(arg for arg in args if arg is not None), root.kwargs) if None not in args else None


def _argument(arg: Expr, half: Dtype, know: Facts) -> Expr | None:
    """A single tensor in half precision by a cast of its own; what is no floating tensor as it is."""
    dtype = know.dtype(arg)
    if dtype is None or not dtypes.is_differentiable(dtype):
        return arg
    return Call("to", (arg, half))


def operand_by_itself(node: Expr, know: Facts) -> Expr | None:
    """An operand of `where` and its like that is expanded to what the others make of it anyway."""
    entry = lookup(node.op) if isinstance(node, Call) else None
    if not isinstance(node, Call) or entry is None or not entry.elementwise or node.kwargs or len(node.args) < 2:
        return None
    for index, arg in enumerate(node.args):
        simpler = bare(arg, know)
        if simpler is None:
            continue
        rest: Expr = Literal(1) if simpler[0] is None else simpler[0]
        again = Call(node.op, (*node.args[:index], rest, *node.args[index + 1 :]))
        if know.alike(node, know.pool.intern(again)):
            return again
    return None


def expansion_outwards(node: Expr, know: Facts) -> Expr | None:
    """`f(expand(x, s))` is `expand(f(x), s)`: so whoever uses it can do without."""
    if isinstance(node, Call) and node.op in _SINGLE and node.args:
        inner = node.args[0]
        if isinstance(inner, Call) and is_call(inner, "expand", 2):
            return Call("expand", (Call(node.op, (inner.args[0], *node.args[1:]), node.kwargs), inner.args[1]))
    return None


Rule = Callable[[Expr, Facts], Expr | None]
