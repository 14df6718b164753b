"""The derivative of a linear map that is written as a formula.

A gradient formula is linear in the incoming gradient g. Each of its terms is a product of tensors whose dimensions
have letters, as in an einsum. From the leaves up, `p * (g - (g * p).sum())` becomes `diag(p) - outer(p, p)`.
"""

from __future__ import annotations

from collections.abc import Collection
from math import prod

from gradcheck.errors import Unsupported
from gradcheck.language.expr.nodes import OPPOSITES, Attribute, Call, Expr, Gradient, Literal, Name, Sequence, Slice
from gradcheck.language.expr.terms import split_sign, total_of
from gradcheck.language.expr.traverse import gradient_names
from gradcheck.language.symbolic.gradient_entries import entries_of
from gradcheck.language.symbolic.term_forms import FULL, Letters, ShapeOf, Term, squeezed, written

#: The most entries that are listed one by one.
_MOST_LISTED = 36


def matrix_of(formula: Expr, root: str, by: str, shape_of: ShapeOf, open_sizes: Collection[int] = ()) -> Expr:
    """Return the derivative of `root` by `by`, from the formula of a gradient.

    No list of entries has one of the `open_sizes`. Raises Unsupported for a form that is not known."""
    rows, columns = shape_of(Gradient(root)), shape_of(formula)
    is_small = len(rows) <= 1 == len(columns) and prod(rows + columns) <= _MOST_LISTED
    maps = _Terms(root, shape_of, may_list=is_small and not {*open_sizes} & {*rows, *columns})
    terms = maps.of(formula)
    if not terms:
        return Call("zeros", tuple(Literal(size) for size in rows + columns))
    if maps.may_list and any(term.selects for term in terms):
        return entries_of(terms, rows, columns, maps.counts, shape_of)
    named = [_size(Name(by), axis) for axis in range(len(columns))]
    return total_of((written(term, range(len(rows)), named, maps.sizes), term.sign) for term in terms)


def _size(of: Expr, axis: int) -> Expr:
    return Call("getitem", (Attribute(of, "shape"), Literal(axis)))


def _in_rolls(cross: Call, rank: int) -> Expr:
    """Return a vector product as a difference of products of rolled ones."""
    (one, other), dim = cross.args[:2], Literal(_whole(dict(cross.kwargs).get("dim", Literal(-1))) % rank)
    turned = [[Call("roll", (of, Literal(by), dim)) for of in (one, other)] for by in (-1, -2)]
    parts = [Call("mul", (turned[at][0], turned[1 - at][1])) for at in (0, 1)]
    return Call("sub", tuple(parts))


class _Terms:
    """The terms of the parts of one formula, and the size of each letter."""

    def __init__(self, root: str, shape_of: ShapeOf, may_list: bool) -> None:
        self.root, self.shape_of, self.may_list, self.rank = root, shape_of, may_list, len(shape_of(Gradient(root)))
        self.sizes = {axis: _size(Gradient(root), axis) for axis in range(self.rank)}
        self.counts: dict[int | None, int] = dict(enumerate(shape_of(Gradient(root))))

    def of(self, expr: Expr) -> list[Term]:
        """Return the terms. Raises Unsupported."""
        if isinstance(expr, Gradient) and expr.name == self.root:
            return [Term(tuple(axis if size != 1 else None for axis, size in enumerate(self.shape_of(expr))))]
        name = expr.op if isinstance(expr, Call) else "it"
        reads = [self.root in gradient_names(child) for child in expr.children]
        if isinstance(expr, Call) and name in ("add", "sub") and len(reads) == 2 and all(reads):
            left, right = ([self._as_wide(t, expr) for t in self.of(side)] for side in expr.args)
            return left + [t._replace(sign=-t.sign) if name == "sub" else t for t in right]
        if isinstance(expr, Call) and name == "where" and not reads[0]:
            return self._chosen(expr, reads)
        if isinstance(expr, Call) and name.endswith("cross"):
            return self.of(_in_rolls(expr, len(self.shape_of(expr))))
        if not isinstance(expr, Call) or sum(reads) != 1:
            raise Unsupported(f"a matrix through {name} is not derived")
        at = reads.index(True)
        return [self._through(expr, at, term) for term in self.of(expr.children[at])]

    def _through(self, expr: Call, at: int, term: Term) -> Term:
        """Return a term of the operand `at` after an op. Raises Unsupported."""
        linear, other = expr.args[at], next((arg for place, arg in enumerate(expr.args) if place != at), Literal(None))
        match expr.op:
            case "neg":
                return term._replace(sign=-term.sign)
            case "mul":
                return self._times(*self._split(term, other), expr)
            case "div" if at == 0:
                return self._times(term, other, expr, "div")
            case "matmul" | "mv" | "mm" | "dot":
                return self._product(*self._split(term, other), is_left=at == 1)
            case "linalg.solve" if at == 1:
                return self._product(term, Call("linalg.inv", (other,)), is_left=True)
            case "outer":
                term, other = self._split(term, other)
                letter = self._new(other, 0)
                return _with_factor(term, (letter,), other, out=(*term.out, letter) if at == 0 else (letter, *term.out))
            case "sum" | "mean":
                return self._summed(term, expr, linear)
            case "expand":
                return self._as_wide(term, expr)
            case "T" | "mT" | "t":
                return term._replace(out=(*term.out[:-2], *term.out[-2:][::-1]))
            case "unsqueeze":
                place = _whole(dict(expr.kwargs).get("dim", other)) % (len(term.out) + 1)
                return term._replace(out=(*term.out[:place], None, *term.out[place:]))
            case "squeeze":
                place = _whole(dict(expr.kwargs).get("dim", other)) % len(term.out)
                return term._replace(out=(*term.out[:place], *term.out[place + 1 :]))
            case "getitem" if at == 0:
                return self._indexed(term, other, Attribute(linear, "shape"), is_placed=False)
            case "index_adjoint" if at == 0:
                return self._indexed(term, other, expr.args[2], is_placed=True)
            case "roll" | "flip" | "cumsum" | "pad" if len(term.out) == 1 and (self.may_list or expr.op == "pad"):
                moved = Call(expr.op, (Call("eye", (_size(linear, 0),)), *expr.args[1:]), expr.kwargs)
                new, is_pad = self._new(expr, 0), expr.op == "pad"
                letters = (*term.out, new) if is_pad else (new, *term.out)
                return _with_factor(term, letters, moved, out=(new,))._replace(selects=True)
        raise Unsupported(f"a matrix through {expr.op} is not derived")

    def _new(self, of: Expr, axis: int) -> int | None:
        """Return a letter for a dimension, None for one of size 1."""
        if self.shape_of(of)[axis] == 1:
            return None
        self.counts[len(self.sizes)] = self.shape_of(of)[axis]
        self.sizes[len(self.sizes)] = _size(of, axis)
        return len(self.sizes) - 1

    def _split(self, term: Term, factor: Expr) -> tuple[Term, Expr]:
        """Return the term times the numbers of a product, and its tensor."""
        match factor:
            case Call("mul", (number, rest)) | Call("mul", (rest, number)) if not self.shape_of(number):
                return self._split(term._replace(scale=(*term.scale, number)), rest)
            case Call("div", (rest, number)) if self.shape_of(rest) and not self.shape_of(number):
                return self._split(term._replace(divisor=(*term.divisor, number)), rest)
        return term, factor

    def _times(self, term: Term, factor: Expr, whole: Expr, op: str = "mul") -> Term:
        """Return the term times a factor, or over it, or where it holds."""
        shape = self.shape_of(factor)
        if not shape and op == "div":
            return term._replace(divisor=(*term.divisor, factor))
        out = [*(None,) * (len(self.shape_of(whole)) - len(term.out)), *term.out]
        start = len(out) - len(shape)
        for axis, size in enumerate(shape):
            if size != 1 and out[start + axis] is None:
                out[start + axis] = self._new(factor, axis)
        letters = tuple(one if size != 1 else None for one, size in zip(out[start:], shape, strict=True))
        return _with_factor(term, letters, factor, op, tuple(out))

    def _product(self, term: Term, factor: Expr, is_left: bool) -> Term:
        """Return the term times a matrix or a vector, left or right of it."""
        rank, out = len(self.shape_of(factor)), term.out
        if rank > 2 or len(out) > 2:
            raise Unsupported("a matrix through a batch of matrices is not derived")
        *kept, inner = out[::-1] if is_left else out
        new = [self._new(factor, 0 if is_left else 1)] if rank == 2 else []
        letters = (*new, inner) if is_left else (inner, *new)
        return _with_factor(term, letters, factor, out=(*new, *kept) if is_left else (*kept, *new))

    def _summed(self, term: Term, expr: Call, linear: Expr) -> Term:
        """Return the sum or the mean over dimensions."""
        given, rank = dict(expr.kwargs), len(term.out)
        dim = given.get("dim", expr.args[1] if len(expr.args) > 1 else Sequence(tuple(map(Literal, range(rank)))))
        axes = sorted(_whole(one) % rank for one in (dim.children if isinstance(dim, Sequence) else (dim,)))
        used = {letter for letters, _ in term.factors for letter in letters}
        lost = [one for one in (term.out[axis] for axis in axes) if one is not None]
        keeps = given.get("keepdim") == Literal(True)
        out = tuple(None if at in axes else one for at, one in enumerate(term.out) if keeps or at not in axes)
        scale = (self.sizes[one] for one in lost if one not in used and one >= self.rank)
        counts = [Attribute(linear, "numel")] if len(axes) == rank else [_size(linear, axis) for axis in axes]
        divisor = term.divisor if expr.op == "sum" else (*term.divisor, *counts)
        return term._replace(out=out, scale=(*scale, *term.scale), divisor=divisor)

    def _as_wide(self, term: Term, whole: Expr) -> Term:
        """Return a term with all dimensions of the whole."""
        known = (None,) * (len(self.shape_of(whole)) - len(term.out)) + term.out
        return term._replace(out=tuple(self._new(whole, at) if one is None else one for at, one in enumerate(known)))

    def _indexed(self, term: Term, index: Expr, shape: Expr, is_placed: bool) -> Term:
        """Return the term at an index, or placed there in zeros of the shape."""
        left, out, axis = [*term.out], list[int | None](), 0
        for one in index.items if isinstance(index, Sequence) and index.is_tuple else (index,):
            is_number = isinstance(one, Literal) and type(one.value) is int
            if one == Literal(None):
                out += [left.pop(0)][:0] if is_placed else [None]
                continue
            if one in FULL:
                out.append(left.pop(0))
            elif is_number or isinstance(one, Slice):
                unit = Call("getitem", (Call("eye", (Call("getitem", (shape, Literal(axis))),)), one))
                old = [] if is_placed and is_number else [left.pop(0)]
                new = [] if not is_placed and is_number else [self._new(unit, -1 if is_placed else 0)]
                term = _with_factor(term, (*old, *new) if is_placed else (*new, *old), unit)._replace(selects=True)
                out += new
            else:
                raise Unsupported("a matrix through an index is not derived")
            axis += 1
        return term._replace(out=(*out, *left))

    def _chosen(self, expr: Call, reads: list[bool]) -> list[Term]:
        """Return the terms of a `where`, of which each side is linear or 0."""
        condition, *sides = expr.args
        opposite = Call("logical_not", (condition,))
        if isinstance(condition, Call) and condition.op in OPPOSITES:
            opposite = Call(OPPOSITES[condition.op], condition.args)
        if sides[0] == Literal(0) and opposite.op == "ne":
            return self.of(sides[1])  # a guard, outside of which it holds
        found = list[Term]()
        for where, side, is_linear in zip((condition, opposite), sides, reads[1:], strict=True):
            if is_linear and self.shape_of(side) == self.shape_of(expr):
                found += [self._times(term, where, expr, "where") for term in self.of(side)]
            elif side != Literal(0):
                raise Unsupported("a matrix through where is not derived")
        return found


def _with_factor(term: Term, letters: Letters, factor: Expr, op: str = "mul", out: Letters | None = None) -> Term:
    """Return the term times a factor, over it, or where it holds."""
    for axis in reversed([axis for axis, letter in enumerate(letters) if letter is None]):
        factor, letters = squeezed(factor, axis, len(letters)), letters[:axis] + letters[axis + 1 :]
    sign, factor = split_sign(factor) if op == "mul" else (1, factor)
    known = dict(term.factors)
    have = known.get(letters)
    if op == "where":
        factor = Call("where", (factor, have or Literal(1.0), Literal(0.0)))
    elif op == "div" or have is not None:
        factor = Call(op, (have or Literal(1), factor))
    term = term._replace(sign=term.sign * sign, out=term.out if out is None else out)
    if not letters:
        return term._replace(scale=(factor, *term.scale))
    return term._replace(factors=tuple({**known, letters: factor}.items()))


def _whole(expr: Expr) -> int:
    """Return an integer that is written out. Raises Unsupported."""
    sign, expr = split_sign(expr)
    if not isinstance(expr, Literal) or type(expr.value) is not int:
        raise Unsupported("a matrix through an open dimension is not derived")
    return sign * expr.value
