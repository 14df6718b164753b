"""Rules about elementwise ops: conjugates, casts, and operands that broadcast by themselves."""

from __future__ import annotations

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import lookup
from gradcheck.language.expr.nodes import Call, Dtype, Expr, Literal
from gradcheck.language.symbolic.simplify.facts import Facts
from gradcheck.language.symbolic.simplify.product import bare, is_call

#: Ops that `conj` can be moved through, into every tensor among the arguments.
_CONJUGABLE = frozenset(
    {"add", "sub", "mul", "div", "neg", "matmul", "T", "mT", "sum", "expand", "unsqueeze", "squeeze"}
)


def conjugate_of_a_real(node: Expr, know: Facts) -> Expr | None:
    """`conj(x)` is x where x is real, or was until it was cast."""
    if not is_call(node, "conj", 1):
        return None
    inner = node.args[0]
    dtype = know.dtype(inner.children[0] if is_call(inner, "to", 2) else inner)
    return inner if dtype is not None and dtype.kind != "c" else None


def conjugate_inwards(node: Expr, know: Facts) -> Expr | None:
    """`conj(conj(g) @ b.T)` is `g @ conj(b).T`, where a conjugate inside is undone by it."""
    if not is_call(node, "conj", 1):
        return None
    inner = node.args[0]
    if not isinstance(inner, Call) or inner.op not in _CONJUGABLE or inner.kwargs or not _has_conjugate(inner):
        return None
    args = (Call("conj", (arg,)) if know.dtype(arg) is not None else arg for arg in inner.args)
    return Call(inner.op, tuple(args))


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


def cast_to_itself(node: Expr, know: Facts) -> Expr | None:
    """`x.to(torch.float32)` of a float32 tensor is x."""
    if not is_call(node, "to", 2) or not isinstance(node.args[1], Dtype):
        return None
    return node.args[0] if know.dtype(node.args[0]) == dtypes.BY_NAME[node.args[1].name] else None


def cast_of_a_half(node: Expr, know: Facts) -> Expr | None:
    """Half precision raised to single, computed and rounded: as every op does by itself. Of several ops each then
    rounds, where they did once together."""
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


def _rounded(arg: Expr, half: Dtype, know: Facts) -> Expr:
    """A floating tensor in half precision, by a cast of its own; anything else as it is."""
    dtype = know.dtype(arg)
    return Call("to", (arg, half)) if dtype is not None and dtypes.is_differentiable(dtype) else arg


def operand_by_itself(node: Expr, know: Facts) -> Expr | None:
    """An operand of `where` and its like that is expanded to what the others make of it anyway."""
    entry = lookup(node.op) if isinstance(node, Call) else None
    if not isinstance(node, Call) or entry is None or not entry.elementwise or node.kwargs or len(node.args) < 2:
        return None
    for index, arg in enumerate(node.args):
        simpler = bare(arg, know)
        if simpler is None:
            continue
        again = Call(node.op, (*node.args[:index], simpler[0] or Literal(1), *node.args[index + 1 :]))
        if know.alike(node, know.pool.intern(again)):
            return again
    return None
