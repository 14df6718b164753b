"""The matrix of a linear map that is written as a formula.

A gradient formula is linear in the incoming gradient g. As a sum of terms `diag(c)`, `outer(u, w)` and matrices, its
matrix is built from the leaves up: of `p * (g - (g * p).sum())` it is `diag(p) - outer(p, p)`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from math import prod
from typing import NamedTuple, TypeAlias

from gradcheck.errors import Unsupported
from gradcheck.language.expr.nodes import Attribute, Call, Expr, Gradient, Literal, Name, Sequence, Slice
from gradcheck.language.expr.traverse import gradient_names

#: What holds where a comparison does not.
_OPPOSITES = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
#: The most entries that are written one by one.
_MOST_ENTRIES = 36
#: The shape of an expression.
ShapeOf: TypeAlias = Callable[[Expr], tuple[int, ...]]


class Term(NamedTuple):
    """A term of the matrix, which has a row for each element of g.

    `diag`: `left` is the diagonal, None for ones. `outer`: of the vectors `left` and `right`, None for ones. `row`, of
    a map to a number, and `matrix`: `left`. It is negative if `sign` is -1, and times `scale`, over `divisor`.
    """

    kind: str
    left: Expr | None = None
    right: Expr | None = None
    sign: int = 1
    scale: tuple[Expr, ...] = ()
    divisor: tuple[Expr, ...] = ()


def matrix_of(formula: Expr, root: str, by: str, shape_of: ShapeOf, open_sizes: Collection[int] = ()) -> Expr:
    """Return the matrix: the shape of `grad(root)`, then that of the formula.

    The latter is that of `by`. Both have at most one dimension. No list of entries has one of the `open_sizes`. Raises
    Unsupported for a form that is not known."""
    rows, columns = shape_of(Gradient(root)), shape_of(formula)
    if len(rows) > 1 or len(columns) > 1:
        raise Unsupported("a derivative of tensors of several dimensions has no short form here")
    terms = _Terms(root, shape_of).of(formula)
    if not terms:
        return Call("zeros", tuple(Literal(size) for size in rows + columns))
    by_entries = _written_by_entries(terms, rows + columns)
    if by_entries is not None and not {*open_sizes} & {*rows, *columns}:
        return by_entries
    terms = sorted(terms, key=lambda term: term.sign, reverse=True)
    sizes = [Call("getitem", (Attribute(of, "shape"), Literal(0))) for of in (Gradient(root), Name(by))]
    total = _written(terms[0], *sizes)
    total = Call("neg", (total,)) if terms[0].sign < 0 else total
    for term in terms[1:]:
        total = Call("sub" if term.sign < 0 else "add", (total, _written(term, *sizes)))
    return total


def _written(term: Term, length: Expr, width: Expr) -> Expr:
    """Return a term without its sign, of so many rows and columns."""
    left, right = term.left, term.right
    if term.kind == "diag":
        found: Expr = Call("eye", (length,)) if left is None else Call("diag", (left,))
    elif term.kind == "outer":
        found = Call("outer", (left or Call("ones", (length,)), right or Call("ones", (width,))))
    else:
        found = left if left is not None else Call("ones", (length,))
    return _scaled(found, term)


def _scaled(found: Expr | None, term: Term) -> Expr:
    """Return it, or 1, with the factors and divisors of a term."""
    for factor in term.scale:
        found = factor if found is None else Call("mul", (factor, found))
    for part in term.divisor:
        found = Call("div", (found or Literal(1.0), part))
    return found or Literal(1.0)


def _written_by_entries(terms: Iterable[Term], shape: tuple[int, ...]) -> Expr | None:
    """Return a tensor of a few entries; None if a term is no entry."""
    if len(shape) != 2 or prod(shape) > _MOST_ENTRIES:
        return None
    found: dict[tuple[int, ...], Expr] = {}
    for term in terms:
        sides = [_place_of_unit(side) for side in (term.left, term.right)]
        if term.kind != "outer" or None in sides:
            return None
        place = tuple(side % size for side, size in zip(sides, shape, strict=True) if side is not None)
        entry = _scaled(None, term)
        if place in found:
            entry = Call("sub" if term.sign < 0 else "add", (found[place], entry))
        elif term.sign < 0:
            entry = negative(entry)
        found[place] = entry
    rows = (Sequence(tuple(found.get((i, j), Literal(0.0)) for j in range(shape[1]))) for i in range(shape[0]))
    return Call("tensor", (Sequence(tuple(rows)),))


def negative(expr: Expr) -> Expr:
    """Return a product or quotient with its first factor negated."""
    match expr:
        case Call("mul" | "div", (first, *others)):
            return Call(expr.op, (negative(first), *others))
        case Literal(int() | float() as number):
            return Literal(-number)
        case _:
            return Call("neg", (expr,))


def _place_of_unit(side: Expr | None) -> int | None:
    """Return the place of the 1 in a unit vector; None for other vectors."""
    match side:
        case Call("getitem", (Call("eye"), Literal(int(place)))):
            return place
    return None


class _Terms:
    """The terms of the parts of one formula."""

    def __init__(self, root: str, shape_of: ShapeOf) -> None:
        self.root, self.shape_of = root, shape_of

    def of(self, expr: Expr) -> list[Term]:
        """Return the terms. Raises Unsupported."""
        if isinstance(expr, Gradient) and expr.name == self.root:
            return [Term("diag" if self.shape_of(expr) else "row")]
        if not isinstance(expr, Call) or (expr.kwargs and expr.op != "sum"):
            raise Unsupported(f"a matrix through {expr.op if isinstance(expr, Call) else 'it'} is not derived")
        reads = [self.root in gradient_names(arg) for arg in expr.args]
        match expr.op, reads:
            case "neg", [True]:
                return [term._replace(sign=-term.sign) for term in self.of(expr.args[0])]
            case (("add" | "sub"), [True, True]):
                left, right = self.of(expr.args[0]), self.of(expr.args[1])
                shapes = [self.shape_of(arg) for arg in expr.args]
                if shapes[0] != shapes[1]:
                    left, right = (self._broadcast(t, s) for t, s in zip((left, right), shapes, strict=True))
                return left + [t._replace(sign=-t.sign) if expr.op == "sub" else t for t in right]
            case "mul", [True, False] | [False, True]:
                linear, factor = expr.args if reads[0] else expr.args[::-1]
                return [self._times(term, factor, self.shape_of(linear)) for term in self.of(linear)]
            case "div", [True, False]:
                return [self._over(t, expr.args[1], self.shape_of(expr.args[0])) for t in self.of(expr.args[0])]
            case (("matmul" | "mv" | "mm" | "dot"), [False, True]):
                return [self._product(t, _transposed(expr.args[0], self.shape_of)) for t in self.of(expr.args[1])]
            case (("matmul" | "mv" | "mm" | "dot"), [True, False]):
                return [self._product(term, expr.args[1]) for term in self.of(expr.args[0])]
            case "linalg.solve", [False, True]:
                inverse = Call("linalg.inv", (expr.args[0],))
                return [self._product(term, Call("T", (inverse,))) for term in self.of(expr.args[1])]
            case "sum", [True]:
                return [self._summed(term, self.shape_of(expr.args[0])) for term in self.of(expr.args[0])]
            case "mean", [True]:
                count: Expr = Attribute(expr.args[0], "numel")
                return [
                    self._over(self._summed(t, self.shape_of(expr.args[0])), count, ()) for t in self.of(expr.args[0])
                ]
            case "where", [False, *_]:
                return self._chosen(expr, reads)
            case "getitem", [True, False] if expr.args[0] == Gradient(self.root) and not self.shape_of(expr):
                return [Term("row", self._unit(Attribute(expr.args[0], "shape"), expr.args[1]))]
            case "index_adjoint", [True, False, False] if not self.shape_of(expr.args[0]):
                unit = self._unit(expr.args[2], expr.args[1])
                return [term._replace(kind="outer", right=unit) for term in self.of(expr.args[0])]
            case "index_adjoint", [True, False, False] if len(self.shape_of(expr)) == 1 and isinstance(
                expr.args[1], Slice
            ):
                return [self._product(term, _rows(expr.args[2], expr.args[1])) for term in self.of(expr.args[0])]
            case "getitem", [True, False] if expr.args[0] == Gradient(self.root) and isinstance(expr.args[1], Slice):
                return [Term("matrix", Call("T", (_rows(Attribute(expr.args[0], "shape"), expr.args[1]),)))]
            case "expand", [True, False]:
                return self._broadcast(self.of(expr.args[0]), self.shape_of(expr.args[0]))
            case _:
                raise Unsupported(f"a matrix through {expr.op} is not derived")

    def _unit(self, size: Expr, place: Expr) -> Expr:
        """Return the unit vector of one place."""
        if not isinstance(place, Literal) or type(place.value) is not int:
            raise Unsupported("a matrix through an index is not derived")
        return Call("getitem", (Call("eye", (Call("getitem", (size, Literal(0))),)), place))

    def _chosen(self, expr: Call, reads: list[bool]) -> list[Term]:
        """Return the terms of a `where`, of which each side is linear or 0."""
        condition, sides = expr.args[0], expr.args[1:]
        if sides[0] == Literal(0) and isinstance(condition, Call) and condition.op == "eq":
            return self.of(sides[1])  # a guard, outside of which it holds
        found = []
        for where, side, linear in zip((condition, _negated(condition)), sides, reads[1:], strict=True):
            if linear and self.shape_of(side) == self.shape_of(expr):
                found += [self._where(term, where) for term in self.of(side)]
            elif side != Literal(0):
                raise Unsupported("a matrix through where is not derived")
        return found

    def _where(self, term: Term, condition: Expr) -> Term:
        """Return a term whose columns are 0 unless a condition holds."""

        def masked(known: Expr | None) -> Expr:
            return Call("where", (condition, known or Literal(1.0), Literal(0.0)))

        if not self.shape_of(condition):
            return term._replace(scale=(masked(None), *term.scale))
        return self._by_columns(term, masked)

    def _broadcast(self, terms: list[Term], shape: tuple[int, ...]) -> list[Term]:
        """Return terms of a map to a number as those to equal elements."""
        return [t if shape else t._replace(kind="outer", right=None) for t in terms]

    def _times(self, term: Term, factor: Expr, shape: tuple[int, ...]) -> Term:
        if not self.shape_of(factor):
            return term._replace(scale=(factor, *term.scale))
        if not shape:
            return term._replace(kind="outer", right=factor)
        return self._by_columns(term, lambda known: factor if known is None else Call("mul", (known, factor)))

    def _over(self, term: Term, divisor: Expr, shape: tuple[int, ...]) -> Term:
        if not self.shape_of(divisor):
            return term._replace(divisor=(*term.divisor, divisor))
        inverse = Call("div", (Literal(1), divisor))
        if not shape:
            return term._replace(kind="outer", right=inverse)
        return self._by_columns(term, lambda known: inverse if known is None else Call("div", (known, divisor)))

    def _by_columns(self, term: Term, change: Callable[[Expr | None], Expr]) -> Term:
        """Return the term with each column changed by a vector's element."""
        if term.kind == "outer":
            return term._replace(right=change(term.right))
        if term.kind != "matrix" or term.left is None:
            return term._replace(left=change(term.left))
        match term.left:
            case Call("matmul", (before, Call("diag", (known,)))):
                return term._replace(left=_by_diagonal(before, change(known)))
        return term._replace(left=_by_diagonal(term.left, change(None)))

    def _product(self, term: Term, right: Expr) -> Term:
        """Return the term times a matrix, or a vector, on its right."""
        is_vector = len(self.shape_of(right)) == 1
        if term.kind == "outer":
            rows: tuple[tuple[str, Expr], ...] = () if is_vector else (("dim", Literal(0)),)
            inner = Call("sum", (right,), rows) if term.right is None else Call("matmul", (term.right, right))
            scale = (inner, *term.scale) if is_vector else term.scale
            return term._replace(kind="row" if is_vector else "outer", right=None if is_vector else inner, scale=scale)
        left = term.left
        if left is None:
            product: Expr = right
        elif term.kind == "diag" and is_vector:
            product = Call("mul", (left, right))
        else:
            product = Call("matmul", (Call("diag", (left,)) if term.kind == "diag" else left, right))
        return term._replace(kind="row" if is_vector else "matrix", left=product)

    def _summed(self, term: Term, shape: tuple[int, ...]) -> Term:
        if not shape:
            return term
        if term.kind == "diag":
            return term._replace(kind="row")
        if term.kind == "outer":
            count: Expr = Call("getitem", (Attribute(Gradient(self.root), "shape"), Literal(0)))
            inner = Call("sum", (term.right,)) if term.right is not None else count
            return term._replace(kind="row", right=None, scale=(inner, *term.scale))
        assert term.left is not None
        return term._replace(kind="row", left=Call("sum", (term.left,), (("dim", Literal(1)),)))


def _rows(size: Expr, place: Expr) -> Expr:
    """Return the rows of the identity that a slice takes."""
    return Call("getitem", (Call("eye", (Call("getitem", (size, Literal(0))),)), place))


def _negated(condition: Expr) -> Expr:
    if isinstance(condition, Call) and condition.op in _OPPOSITES:
        return Call(_OPPOSITES[condition.op], condition.args)
    return Call("logical_not", (condition,))


def _by_diagonal(matrix: Expr, diagonal: Expr) -> Expr:
    return Call("matmul", (matrix, Call("diag", (diagonal,))))


def _transposed(expr: Expr, shape_of: ShapeOf) -> Expr:
    """Return the transpose of a matrix, of the parts of a sum or a multiple."""
    if len(shape_of(expr)) < 2:
        return expr
    if isinstance(expr, Call) and expr.op in ("T", "mT", "t"):
        return expr.args[0]
    if isinstance(expr, Call) and expr.op in ("add", "sub", "mul", "div", "neg") and not expr.kwargs:
        return Call(expr.op, tuple(_transposed(arg, shape_of) for arg in expr.args))
    return Call("T", (expr,))
