"""Rules about rearranging: what is undone again, what changes nothing, and what has a shorter name."""

from __future__ import annotations

from gradcheck.language.expr.nodes import Attribute, Call, Expr, Gradient, Literal, Name, Sequence, Slice
from gradcheck.language.symbolic.simplify.facts import Facts, Shapes
from gradcheck.language.symbolic.simplify.products import Product, is_call

_TRANSPOSES = ("T", "mT")
_RESHAPES = ("reshape", "view", "expand", "broadcast_to", "sum_to_size", "constant_pad_nd")


# Transposes ------------------------------------------------------------------------------------------


def double_transpose(node: Expr, know: Facts) -> Expr | None:
    """`x.T.T` is x."""
    if isinstance(node, Call) and node.op in _TRANSPOSES and is_call(node.args[0], node.op, 1):
        return node.args[0].children[0]
    return None


def transpose_by_name(node: Expr, know: Facts) -> Expr | None:
    """`transpose(x, 0, 1)` and `x.mT` of a matrix are `x.T`; of a batch, `transpose(x, -2, -1)` is `x.mT`."""
    if not isinstance(node, Call) or node.op not in ("transpose", "mT"):
        return None
    ndim = know.ndim(node.args[0])
    if ndim is None or ndim < 2:
        return None
    if node.op == "mT":
        return Call("T", node.args) if ndim == 2 else None
    dims = [arg.value for arg in node.args[1:] if isinstance(arg, Literal) and type(arg.value) is int]
    if len(dims) == 2 and {dim % ndim for dim in dims} == {ndim - 2, ndim - 1}:
        return Call("T" if ndim == 2 else "mT", node.args[:1])
    return None


def transposed_product(node: Expr, know: Facts) -> Expr | None:
    """`(a.T @ b).T` is `b.T @ a`, where that has fewer transposes."""
    if not isinstance(node, Call) or node.op not in _TRANSPOSES or not is_call(node.args[0], "matmul", 2):
        return None
    left, right = node.args[0].children
    if not any(is_call(part, node.op, 1) for part in (left, right)):
        return None
    if any((know.ndim(part) or 0) < 2 for part in (left, right)):
        return None
    return Call("matmul", tuple(_transposed(part, node.op) for part in (right, left)))


def _transposed(node: Expr, op: str) -> Expr:
    return node.children[0] if is_call(node, op, 1) else Call(op, (node,))


# Nothing changed, or undone --------------------------------------------------------------------------


def reshape_to_itself(node: Expr, know: Facts) -> Expr | None:
    """`reshape`, `expand` or `sum_to_size` to the shape that a tensor has already."""
    if isinstance(node, Call) and node.op in _RESHAPES and node.args:
        shapes = know.shapes(node)
        if shapes is not None and shapes == know.shapes(node.args[0]):
            return node.args[0]
    return None


def reshape_twice(node: Expr, know: Facts) -> Expr | None:
    """The inner of two reshapes, or of two expansions, goes."""
    if isinstance(node, Call) and node.op in ("reshape", "expand") and len(node.args) == 2:
        inner = node.args[0]
        if isinstance(inner, Call) and inner.op == node.op and len(inner.args) == 2:
            return Call(node.op, (inner.args[0], node.args[1]))
    return None


def rearranged_to_itself(node: Expr, know: Facts) -> Expr | None:
    """`movedim` and `permute` of a vector, `squeeze` of what `unsqueeze` made, a `flip` undone."""
    if not isinstance(node, Call) or not node.args:
        return None
    inner = node.args[0]
    if node.op in ("movedim", "permute", "transpose") and know.ndim(inner) == 1:
        return inner
    undone = {"squeeze": "unsqueeze", "flip": "flip"}.get(node.op)
    if undone and isinstance(inner, Call) and inner.op == undone and not (node.kwargs or inner.kwargs):
        same = len(node.args) == len(inner.args) == 2 and node.args[1] is inner.args[1]
        return inner.args[0] if same else None
    return None


def kept_and_squeezed(node: Expr, know: Facts) -> Expr | None:
    """`squeeze(sum(x, dim=1, keepdim=True), dim=1)` is `sum(x, dim=1)`; and so if it is reshaped to that."""
    if not isinstance(node, Call) or node.op not in ("squeeze", "reshape") or not isinstance(node.args[0], Call):
        return None
    inner = node.args[0]
    rest = tuple((name, value) for name, value in inner.kwargs if name != "keepdim")
    if inner.op != "sum" or len(inner.args) != 1 or len(rest) == len(inner.kwargs):
        return None
    return Call("sum", inner.args, rest)


def diagonal_of_one_number(node: Expr, know: Facts) -> Expr | None:
    """One number all along a diagonal of zeros: a multiple of the identity matrix."""
    if not isinstance(node, Call) or not is_call(node, "diagonal_scatter", 2):
        return None
    zeros, along = node.args
    if not (isinstance(zeros, Call) and is_call(zeros, "zeros_like", 1) and isinstance(along, Call)):
        return None
    sizes = tuple(Call("getitem", (Attribute(zeros.args[0], "shape"), Literal(dim))) for dim in (0, 1))
    identity = Call("eye", sizes)
    if is_call(along, "ones_like", 1):
        return identity
    return Call("mul", (along.args[0], identity)) if is_call(along, "expand", 2) else None


def identity_product(node: Expr, know: Facts) -> Expr | None:
    """A matrix times the identity."""
    if not isinstance(node, Call) or not is_call(node, "matmul", 2):
        return None
    left, right = node.args
    if isinstance(left, Call) and left.op == "eye":
        return right
    return left if isinstance(right, Call) and right.op == "eye" else None


# Ones and shapes -------------------------------------------------------------------------------------


def expanded_one(node: Expr, know: Facts) -> Expr | None:
    """A number, given as so many times one, expanded to the shape of x: `10 * ones_like(x)`."""
    if not isinstance(node, Call) or node.op != "expand" or len(node.args) != 2:
        return None
    size = node.args[1]
    number = Product.of(node.args[0])
    if not isinstance(size, Attribute) or size.name != "shape" or not number.is_ones():
        return None
    ones = Call("ones_like", (size.value,))
    return Product(number.number, {id(ones): (ones, 1)}).render()


def gradient_of_a_root(node: Expr, know: Facts) -> Expr | None:
    """Where a backward pass starts from one element, the gradient is 1."""
    if isinstance(node, Gradient) and node.name in know.ones:
        return Call("ones_like", (Name(node.name),))
    return None


def shape_of_a_gradient(node: Expr, know: Facts) -> Expr | None:
    """`grad(x).shape` is `x.shape`."""
    if isinstance(node, Attribute) and node.name == "shape" and isinstance(node.value, Gradient):
        name, bracket, index = node.value.name.partition("[")
        owner: Expr = Name(name)
        if bracket:
            owner = Call("getitem", (owner, Literal(int(index[:-1]))))
        return Attribute(owner, "shape")
    return None


def shape_by_name(node: Expr, know: Facts) -> Expr | None:
    """The shape of an expression as that of a tensor of the case, if there is one that has it at every point."""
    if not isinstance(node, Attribute) or node.name != "shape" or isinstance(node.value, Name):
        return None
    shapes = know.shapes(node.value)
    name = None if shapes is None else know.named(shapes)
    return None if name is None else Attribute(name, "shape")


def like_by_name(node: Expr, know: Facts) -> Expr | None:
    """`zeros_like` of an expression as that of a tensor of the case."""
    if not isinstance(node, Call) or node.op not in ("ones_like", "zeros_like") or isinstance(node.args[0], Name):
        return None
    shapes = know.shapes(node.args[0])
    name = None if shapes is None else know.named(shapes)
    return None if name is None else Call(node.op, (name,), node.kwargs)


def size_by_name(node: Expr, know: Facts) -> Expr | None:
    """One size of an expression as one of a tensor of the case: `q.shape[0]` for `(q @ k.T).shape[0]`."""
    if not isinstance(node, Call) or not is_call(node, "getitem", 2) or not isinstance(node.args[0], Attribute):
        return None
    shape = node.args[0]
    if shape.name != "shape" or isinstance(shape.value, Name):
        return None
    sizes = know.values(node)
    found = None if sizes is None else know.sized(sizes)
    return None if found is None else Call("getitem", (Attribute(found[0], "shape"), Literal(found[1])))


# Broadcasting undone ---------------------------------------------------------------------------------


def sum_over_dims(node: Expr, know: Facts) -> Expr | None:
    """`sum_to_size(g, bias.shape)` as `sum(g, dim=0)`: which dimensions broadcasting had made, told by the shapes."""
    if not isinstance(node, Call) or node.op != "sum_to_size" or not node.args:
        return None
    before, after = know.shapes(node.args[0]), know.shapes(node)
    if before is None or after is None:
        return None
    if all(shape == () for shape in after):
        return Call("sum", node.args[:1])
    ranks = {(len(b), len(a)) for b, a in zip(before, after, strict=True)}
    if len(ranks) != 1:
        return None
    ((high, low),) = ranks
    kept = _stretched(before, after, high - low)
    found = node.args[0]
    if high > low:
        found = _sum(found, list(range(high - low)), False)
    return _sum(found, kept, True) if kept else found


def _stretched(before: Shapes, after: Shapes, leading: int) -> list[int]:
    """The dimensions of the smaller tensor that were stretched from 1."""
    count = len(after[0])
    return [d for d in range(count) if any(b[leading + d] != a[d] for b, a in zip(before, after, strict=True))]


def _sum(tensor: Expr, dims: list[int], keepdim: bool) -> Expr:
    dim = Literal(dims[0]) if len(dims) == 1 else Sequence(tuple(map(Literal, dims)), True)
    kept = (("keepdim", Literal(True)),) if keepdim else ()
    return Call("sum", (tensor,), (("dim", dim), *kept))


# Indices ---------------------------------------------------------------------------------------------


def index_of_one(node: Expr, know: Facts) -> Expr | None:
    """`x[i,]` is `x[i]`."""
    if isinstance(node, Call) and is_call(node, "getitem", 2):
        index = node.args[1]
        if isinstance(index, Sequence) and index.is_tuple and len(index.items) == 1:
            return Call("getitem", (node.args[0], index.items[0]))
    return None


def open_slice(node: Expr, know: Facts) -> Expr | None:
    """`x[0:n]` is `x[:n]`, and `x[1:x.shape[0]]` is `x[1:]`."""
    if not isinstance(node, Call) or not is_call(node, "getitem", 2):
        return None
    index = node.args[1]
    items = index.items if isinstance(index, Sequence) and index.is_tuple else (index,)
    if not any(isinstance(item, Slice) for item in items) or not all(_keeps_place(item) for item in items):
        return None
    shapes = know.shapes(node.args[0])
    if shapes is None or any(len(shape) < len(items) for shape in shapes):
        return None
    lengths = [[shape[i] for shape in shapes] for i in range(len(items))]
    opened = tuple(_opened(item, length, know) for item, length in zip(items, lengths, strict=True))
    if all(new is old for new, old in zip(opened, items, strict=True)):
        return None
    return Call("getitem", (node.args[0], Sequence(opened, True) if len(items) > 1 else opened[0]))


def _keeps_place(item: Expr) -> bool:
    """Whether it is about the dimension at its own position: `None` and `...` are about others."""
    return isinstance(item, Slice) or (isinstance(item, Literal) and type(item.value) is int)


def _opened(item: Expr, lengths: list[int], know: Facts) -> Expr:
    if not isinstance(item, Slice) or item.step is not None:
        return item
    start, stop = item.start, item.stop
    if isinstance(start, Literal) and start.value == 0:
        start = None
    if stop is not None and know.values(stop) == tuple(lengths):
        stop = None
    return item if start is item.start and stop is item.stop else Slice(start, stop)


def whole_slice(node: Expr, know: Facts) -> Expr | None:
    """`x[:]` is x."""
    if isinstance(node, Call) and is_call(node, "getitem", 2) and isinstance(node.args[1], Slice):
        return node.args[0] if not node.args[1].children else None
    return None
