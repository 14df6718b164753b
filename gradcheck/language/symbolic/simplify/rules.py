"""All the rules, in order: those that are said as patterns, and those that must look at shapes, dtypes or numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from gradcheck.language.expr.nodes import Expr, Name
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.traverse import rewrite
from gradcheck.language.symbolic.simplify import call_style, elementwise, products, rearranging
from gradcheck.language.symbolic.simplify.facts import Facts

Rule: TypeAlias = Callable[[Expr, Facts], Expr | None]

#: What is written so can be written so: a letter stands for any part, twice the same letter for the same part.
PATTERNS = (
    ("x.T.T", "x"),
    ("x.mT.mT", "x"),
    ("-(-x)", "x"),
    ("conj(conj(x))", "x"),
    ("flip(flip(x, d), d)", "x"),
    ("squeeze(unsqueeze(x, d), d)", "x"),
    ("reshape(reshape(x, s), t)", "reshape(x, t)"),
    ("expand(expand(x, s), t)", "expand(x, t)"),
    ("x ** 1", "x"),
    ("x ** 1.0", "x"),
    ("x ** 0", "ones_like(x)"),  # even where x is 0 or not a number
    ("x ** 0.0", "ones_like(x)"),
    ("x[i,]", "x[i]"),
    ("x[:]", "x"),
    # One number all along a diagonal of zeros is a multiple of the identity matrix.
    ("diagonal_scatter(zeros_like(x), ones_like(y))", "eye(x.shape[0], x.shape[1])"),
    ("diagonal_scatter(zeros_like(x), expand(y, s))", "y * eye(x.shape[0], x.shape[1])"),
    # Whoever uses an expansion can often do without; so it goes outwards.
    ("to(expand(x, s), d)", "expand(to(x, d), s)"),
    ("conj(expand(x, s))", "expand(conj(x), s)"),
    ("-expand(x, s)", "expand(-x, s)"),
    ("exp(expand(x, s))", "expand(exp(x), s)"),
    ("tanh(expand(x, s))", "expand(tanh(x), s)"),
    ("sigmoid(expand(x, s))", "expand(sigmoid(x), s)"),
    ("sin(expand(x, s))", "expand(sin(x), s)"),
    ("cos(expand(x, s))", "expand(cos(x), s)"),
)
_READ = [(parse(before), parse(after)) for before, after in PATTERNS]


def by_pattern(node: Expr, know: Facts) -> Expr | None:
    """The first of `PATTERNS` that fits."""
    for before, after in _READ:
        found: dict[str, Expr] = {}
        if before.label == node.label and _fits(before, node, found):
            return _filled(after, found)
    return None


def _fits(pattern: Expr, node: Expr, found: dict[str, Expr]) -> bool:
    """Whether an interned expression is of this form; what each letter stands for is put into `found`."""
    if isinstance(pattern, Name):
        return found.setdefault(pattern.name, node) is node
    if type(pattern) is not type(node) or pattern.label != node.label:
        return False
    return all(_fits(below, child, found) for below, child in zip(pattern.children, node.children, strict=True))


def _filled(pattern: Expr, found: dict[str, Expr]) -> Expr:
    """The pattern with what its letters stand for."""
    return rewrite(pattern, lambda part: found[part.name] if isinstance(part, Name) else part)


#: In this order; the first that applies decides, and what it makes is simplified in turn.
RULES: tuple[Rule, ...] = (
    rearranging.gradient_of_a_root,
    rearranging.shape_of_a_gradient,
    rearranging.shape_by_name,
    rearranging.like_by_name,
    rearranging.size_by_name,
    rearranging.reshape_to_itself,
    by_pattern,
    rearranging.vector_rearranged,
    rearranging.kept_and_squeezed,
    rearranging.identity_product,
    rearranging.transpose_by_name,
    rearranging.transposed_product,
    rearranging.sum_over_dims,
    rearranging.open_slice,
    elementwise.conjugate_of_a_real,
    elementwise.conjugate_inwards,
    elementwise.cast_to_itself,
    elementwise.cast_of_a_half,
    elementwise.operand_by_itself,
    products.expanded_one,
    products.all_sizes,
    products.lift_expand,
    products.number_outwards,
    products.outer_product,
    products.normal_product,
    call_style.dims_by_keyword,
    call_style.lone_dim,
    call_style.tensors_one_by_one,
)
