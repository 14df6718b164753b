"""Rules about rearrangement: inverse steps, no-ops, shorter spellings."""

from __future__ import annotations

from gradcheck.autograd.op import lookup
from gradcheck.language.expr.nodes import Attribute, Call, Expr, Gradient, Literal, Name, Sequence, Slice
from gradcheck.language.problem import split_name
from gradcheck.language.symbolic.simplify.elementwise_rules import size_of
from gradcheck.language.symbolic.simplify.part_properties import PartProperties, Shapes
from gradcheck.language.symbolic.simplify.product import Product, integer, is_call

_TRANSPOSES = ("T", "mT")
_RESHAPES = ("reshape", "view", "expand", "broadcast_to", "sum_to_size", "constant_pad_nd")


def transpose_by_name(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `transpose(x, 0, 1)` and `x.mT` as `x.T`, or `x.mT` of a batch."""
    if not isinstance(node, Call) or node.op not in ("transpose", "mT"):
        return None
    ndim = know.ndim(node.args[0])
    if ndim is None or ndim < 2:
        return None
    if node.op == "mT":
        return Call("T", node.args) if ndim == 2 else None
    dims = [dim % ndim for dim in map(integer, node.args[1:]) if dim is not None]
    if len(dims) == 2 and set(dims) == {ndim - 2, ndim - 1}:
        return Call("T" if ndim == 2 else "mT", node.args[:1])
    return None


def transposed_product(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `(a.T @ b).T` as `b.T @ a`, if that has fewer transposes."""
    if not isinstance(node, Call) or node.op not in _TRANSPOSES or not is_call(node.args[0], "matmul", 2):
        return None
    left, right = node.args[0].args
    is_less = is_call(left, node.op, 1) or is_call(right, node.op, 1)
    if not is_less or any((know.ndim(part) or 0) < 2 for part in (left, right)):
        return None
    return Call("matmul", (_transposed(right, node.op), _transposed(left, node.op)))


def _transposed(node: Expr, op: str) -> Expr:
    return node.args[0] if is_call(node, op, 1) else Call(op, (node,))


def diagonal_of_a_matrix(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `diagonal(A.T, dim1=-2, dim2=-1)` as `diagonal(A)`."""
    if not isinstance(node, Call) or node.op != "diagonal" or know.ndim(node.args[0]) != 2:
        return None
    inner = node.args[0]
    kept = tuple(pair for pair in node.kwargs if pair[0] not in ("dim1", "dim2"))
    turned = is_call(inner, "T", 1) and not kept and len(node.args) == 1
    if not turned and len(kept) == len(node.kwargs):
        return None
    return Call("diagonal", (inner.children[0] if turned else inner, *node.args[1:]), kept)


def diagonal_of_a_number(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite a constant diagonal as a multiple of `eye`, or as `diag(v)`.

    Before, it is `diagonal_scatter(zeros_like(x), -2 * ones_like(v))`.
    """
    if not is_call(node, "diagonal_scatter", 2) or not is_call(node.args[0], "zeros_like", 1):
        return None
    owner, product = node.args[0].args[0], Product.of(node.args[1])
    below = [divisor for divisor, _ in product.divisors.values()]
    if Product(product.number, product.factors).is_ones() and all(map(know.is_number, below)):
        shape = Attribute(owner, "shape")
        sizes = tuple(Call("getitem", (shape, Literal(dim))) for dim in (0, 1))
        return Product(product.number, Product.of(Call("eye", sizes)).factors, product.divisors).render()
    return Call("diag", (node.args[1],)) if know.ndim(node.args[1]) == 1 else None


def reshape_to_itself(node: Expr, know: PartProperties) -> Expr | None:
    """Drop `reshape`, `expand` or `sum_to_size` to the tensor's own shape."""
    if isinstance(node, Call) and node.op in _RESHAPES and node.args:
        shapes = know.shapes(node)
        if shapes is not None and shapes == know.shapes(node.args[0]):
            return node.args[0]
    return None


def vector_rearranged(node: Expr, know: PartProperties) -> Expr | None:
    """Drop `movedim` and `permute` of a vector."""
    if isinstance(node, Call) and node.op in ("movedim", "permute", "transpose") and know.ndim(node.args[0]) == 1:
        return node.args[0]
    return None


def squeezed_reduction(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `squeeze(sum(x, dim=1, keepdim=True), dim=1)` without keepdim."""
    if not isinstance(node, Call) or node.op not in ("squeeze", "reshape", "sum") or not isinstance(node.args[0], Call):
        return None
    inner = node.args[0]
    rest = tuple((name, value) for name, value in inner.kwargs if name != "keepdim")
    if inner.op != "sum" or len(inner.args) != 1 or len(rest) == len(inner.kwargs):
        return None
    return Call("sum", inner.args, rest) if node.op != "sum" or node.kwargs == rest else None


def adjoint_of_added_dim(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite the adjoint of `x[:, None]` as `sum(u, dim=1)`."""
    if not is_call(node, "index_adjoint", 3):
        return None
    items = _items(node.args[1])
    added = [place for place, item in enumerate(items) if item == Literal(None)]
    if len(added) != 1 or any(item != Slice() for item in items if item != Literal(None)):
        return None
    return Call("sum", node.args[:1], (("dim", Literal(added[0])),))


def adjoint_of_slice(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite the adjoint of `x[1:]` as `pad(u, [1, 0])`."""
    if not is_call(node, "index_adjoint", 3):
        return None
    items, ndim = _items(node.args[1]), know.ndim(node)
    cut = [place for place, item in enumerate(items) if item != Slice()]
    found = items[cut[0]] if len(cut) == 1 else None
    if not isinstance(found, Slice) or found.step is not None or ndim is None:
        return None
    start, stop = (0 if bound is None else integer(bound) for bound in (found.start, found.stop))
    if start is None or stop is None or start < 0 or stop > 0 or (found.stop is not None and not stop):
        return None
    amounts = (*(0, 0) * (ndim - 1 - cut[0]), start, -stop)
    return Call("pad", (node.args[0], Sequence(tuple(map(Literal, amounts)), False)))


def _items(index: Expr) -> tuple[Expr, ...]:
    return index.items if isinstance(index, Sequence) and index.is_tuple else (index,)


def identity_product(node: Expr, know: PartProperties) -> Expr | None:
    """Drop the identity from a matrix product."""
    if not is_call(node, "matmul", 2):
        return None
    left, right = node.args
    if isinstance(left, Call) and left.op == "eye":
        return right
    return left if isinstance(right, Call) and right.op == "eye" else None


def gradient_of_a_root(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite the gradient of a one-element root as ones."""
    if isinstance(node, Gradient) and node.name in know.ones:
        return Call("ones_like", (Name(node.name),))
    return None


def shape_of_a_gradient(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `grad(x).shape` as `x.shape`."""
    if not isinstance(node, Attribute) or node.name != "shape" or not isinstance(node.value, Gradient):
        return None
    entry, indices = split_name(node.value.name)
    owner: Expr = Name(entry)
    for index in indices:
        owner = Call("getitem", (owner, Literal(index)))
    return Attribute(owner, "shape")


def shape_by_name(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite the shape of an expression as that of a tensor of the case."""
    if not isinstance(node, Attribute) or node.name != "shape" or isinstance(node.value, Name):
        return None
    name = know.tensor_of_same_shape(node.value)
    return None if name is None else Attribute(name, "shape")


def like_by_name(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `zeros_like` of an expression as that of a tensor of the case."""
    if not isinstance(node, Call) or node.op not in ("ones_like", "zeros_like") or isinstance(node.args[0], Name):
        return None
    name = know.tensor_of_same_shape(node.args[0])
    return None if name is None else Call(node.op, (name,), node.kwargs)


def size_by_name(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `(q @ k.T).shape[0]` as `q.shape[0]`, or as a named size."""
    size = size_of(node)
    found = None if size is None else know.size_expr(node)
    return None if found is None or (size and isinstance(size[0], Name) and not isinstance(found, Name)) else found


def sum_over_dims(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `sum_to_size(g, bias.shape)` as `sum(g, dim=0)` by the shapes."""
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
    """Return the dimensions of the smaller tensor that were stretched from 1."""
    count = len(after[0])
    return [d for d in range(count) if any(b[leading + d] != a[d] for b, a in zip(before, after, strict=True))]


def _sum(tensor: Expr, dims: list[int], keepdim: bool) -> Expr:
    dim = Literal(dims[0]) if len(dims) == 1 else Sequence(tuple(map(Literal, dims)), True)
    kept = (("keepdim", Literal(True)),) if keepdim else ()
    return Call("sum", (tensor,), (("dim", dim), *kept))


def open_slice(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `x[0:n]` as `x[:n]`, and `x[1:x.shape[0]]` as `x[1:]`."""
    if not is_call(node, "getitem", 2):
        return None
    index = node.args[1]
    items = _items(index)
    if not all(isinstance(item, Slice) or integer(item) is not None for item in items):
        return None  # `None` and `...` shift the dimensions
    shapes = know.shapes(node.args[0])
    if shapes is None or any(len(shape) < len(items) for shape in shapes):
        return None
    opened = tuple(_opened(item, tuple(shape[i] for shape in shapes), know) for i, item in enumerate(items))
    if all(new is old for new, old in zip(opened, items, strict=True)):
        return None
    return Call("getitem", (node.args[0], Sequence(opened, True) if len(items) > 1 else opened[0]))


def _opened(item: Expr, lengths: tuple[int, ...], know: PartProperties) -> Expr:
    if not isinstance(item, Slice) or item.step is not None:
        return item
    start = None if item.start is None or integer(item.start) == 0 else item.start
    stop = None if item.stop is None or know.values(item.stop) == lengths else item.stop
    return item if start is item.start and stop is item.stop else Slice(start, stop)


_BY_KEYWORD = frozenset({"dim", "keepdim"})


def dims_by_keyword(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `sum(x, -1, True)` as `sum(x, dim=-1, keepdim=True)`."""
    entry = lookup(node.op) if isinstance(node, Call) else None
    if not isinstance(node, Call) or entry is None or len(node.args) < 2 or entry.variadic is not None:
        return None
    names = [parameter.name for parameter in entry.parameters[: len(node.args)]]
    count = next((i for i, name in enumerate(names) if name in _BY_KEYWORD), len(names))
    if count == 0 or count == len(names) or not _BY_KEYWORD.issuperset(names[count:]):
        return None
    moved = tuple(zip(names[count:], node.args[count:], strict=True))
    return Call(node.op, node.args[:count], (*moved, *node.kwargs))


def single_dim(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `mean(x, dim=(-1,))` with `dim=-1`, and drop `dim=None`."""
    dims = dict(node.kwargs).get("dim") if isinstance(node, Call) else None
    if isinstance(node, Call) and dims == Literal(None) and len(node.kwargs) == 1:
        return Call(node.op, node.args)
    if not isinstance(node, Call) or not isinstance(dims, Sequence) or len(dims.items) != 1:
        return None
    if not isinstance(dims.items[0], Literal):
        return None
    return Call(node.op, node.args, tuple((n, dims.items[0] if n == "dim" else v) for n, v in node.kwargs))


def einsum_operands(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `einsum('ij,j->i', (a, b))` as `einsum('ij,j->i', a, b)`."""
    entry = lookup(node.op) if isinstance(node, Call) else None
    if not isinstance(node, Call) or entry is None or entry.variadic is None or entry.sequence is None:
        return None
    *before, last = node.args
    if isinstance(last, Sequence) and entry.parameters[len(before)].name == entry.variadic:
        return Call(node.op, (*before, *last.items), node.kwargs)
    return None
