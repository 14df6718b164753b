"""Patterns, all rules in order, and the Simplifier, which applies them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TypeAlias

from gradcheck.language.expr.nodes import Attribute, Call, Expr, Gradient, Name
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.terms import is_sum, signed_terms
from gradcheck.language.expr.traverse import distinct_nodes, fold, rewrite, use_counts, with_children
from gradcheck.language.symbolic.simplify import (
    class_labels,
    einsums,
    elementwise_rules,
    factoring,
    guards,
    matrix_chains,
    named_functions,
    normalization_layers,
    rearrangement,
    sums,
)
from gradcheck.language.symbolic.simplify.part_properties import PartProperties
from gradcheck.language.symbolic.simplify.product import Product, is_product

#: Patterns and replacements: a letter stands for any part, the same letter for the same part.
PATTERNS = (
    ("x.T.T", "x"),
    ("x.mT.mT", "x"),
    ("outer(x, y).T", "outer(y, x)"),
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
    ("linalg.inv(linalg.inv(x))", "x"),
    ("linalg.inv(x.T)", "linalg.inv(x).T"),
    ("sqrt(x) ** 2", "x"),
    ("2 ** log2(x)", "x"),
    ("exp(log_softmax(x, dim=d))", "softmax(x, dim=d)"),
    ("unsqueeze(ones_like(x), dim=d)", "ones_like(unsqueeze(x, dim=d))"),
    ("sgn(x)", "sign(x)"),  # of a real x
    ("sign(x) * abs(x)", "x"),
    ("abs(x) * sign(x)", "x"),
    ("sign(x) / abs(x)", "1 / x"),
    ("-sign(x) / abs(x)", "-1 / x"),
    # Expansions move outwards, where they can often be dropped.
    ("to(expand(x, s), d)", "expand(to(x, d), s)"),
    ("-expand(x, s)", "expand(-x, s)"),
    *((f"{op}(expand(x, s))", f"expand({op}(x), s)") for op in ("conj", "exp", "tanh", "sigmoid", "sin", "cos")),
)
#: By the label of the pattern.
_READ: dict[object, list[tuple[Expr, Expr]]] = {}
for _before, _after in PATTERNS:
    _READ.setdefault(parse(_before).label, []).append((parse(_before), parse(_after)))


def by_pattern(node: Expr, know: PartProperties) -> Expr | None:
    """Apply the first of `PATTERNS` that fits."""
    for before, after in _READ.get(node.label, ()):
        found: dict[str, Expr] = {}
        if _fits(before, node, found):
            return _filled(after, found)
    return None


def _fits(pattern: Expr, node: Expr, found: dict[str, Expr]) -> bool:
    """Return whether a node fits, and store the parts of the letters."""
    if isinstance(pattern, Name):
        return found.setdefault(pattern.name, node) is node
    if type(pattern) is not type(node) or pattern.label != node.label:
        return False
    return all(_fits(below, child, found) for below, child in zip(pattern.children, node.children, strict=True))


def _filled(pattern: Expr, found: dict[str, Expr]) -> Expr:
    return rewrite(pattern, lambda part: found[part.name] if isinstance(part, Name) else part)


Rule: TypeAlias = Callable[[Expr, PartProperties], Expr | None]

#: The first rule that applies decides, and its result is simplified in turn.
RULES: tuple[Rule, ...] = (
    rearrangement.gradient_of_a_root,
    rearrangement.shape_of_a_gradient,
    rearrangement.shape_by_name,
    rearrangement.like_by_name,
    rearrangement.size_by_name,
    rearrangement.reshape_to_itself,
    by_pattern,
    rearrangement.vector_rearranged,
    rearrangement.squeezed_reduction,
    rearrangement.adjoint_of_added_dim,
    rearrangement.adjoint_of_slice,
    rearrangement.identity_product,
    rearrangement.transpose_by_name,
    rearrangement.diagonal_of_a_matrix,
    rearrangement.diagonal_of_a_number,
    rearrangement.transposed_product,
    rearrangement.sum_over_dims,
    rearrangement.open_slice,
    einsums.without_ones,
    einsums.products_by_name,
    elementwise_rules.conjugate_of_a_real,
    elementwise_rules.push_conjugate_in,
    elementwise_rules.cast_to_itself,
    elementwise_rules.cast_of_a_half,
    elementwise_rules.drop_operand_expansion,
    elementwise_rules.drop_promoting_cast,
    elementwise_rules.expanded_one,
    elementwise_rules.sizes_as_numel,
    elementwise_rules.counted_ones,
    elementwise_rules.lift_expand,
    elementwise_rules.pull_number_out,
    elementwise_rules.pull_scalar_out,
    elementwise_rules.outer_product,
    guards.guard_in_a_guard,
    guards.divided_in_a_guard,
    guards.bound_in_a_guard,
    guards.clamp_in_a_bound,
    guards.guard_times_its_value,
    guards.guard_of_a_factor,
    guards.guard_of_a_relu,
    guards.clamp_within_bounds,
    guards.negative_in_a_guard,
    guards.product_in_a_guard,
    guards.compared_with_zero,
    class_labels.drop_ignored_label,
    class_labels.number_of_labels,
    class_labels.scatter_as_one_hot,
    class_labels.gather_as_one_hot,
    class_labels.sum_of_a_row,
    class_labels.spread_number,
    class_labels.empty_shape,
    named_functions.norm_by_name,
    named_functions.kept_dim,
    named_functions.softmax_by_name,
    named_functions.logistic,
    named_functions.exp_times_logistic,
    named_functions.quotient_by_name,
    named_functions.mean_by_name,
    normalization_layers.dim_from_the_front,
    normalization_layers.variance,
    normalization_layers.normalization_by_name,
    named_functions.known_product,
    named_functions.dot_by_name,
    normalization_layers.drop_centred_terms,
    normalization_layers.power_of_a_root,
    named_functions.factors_out_of_a_sum,
    matrix_chains.outer_in_a_product,
    matrix_chains.vectors_multiplied,
    matrix_chains.cofactors_over_determinant,
    matrix_chains.cofactors_undone,
    matrix_chains.inverse_undone,
    matrix_chains.normal_chain,
    factoring.multiplied_out,
    factoring.common_transpose,
    factoring.common_matrix,
    factoring.common_factor,
    factoring.sigmoid_complement,
    elementwise_rules.normal_product,
    rearrangement.dims_by_keyword,
    rearrangement.single_dim,
    rearrangement.einsum_operands,
)

#: Rules that keep the terms of a sum.
RULES_WITHIN_TERMS = tuple(rule for rule in RULES if rule.__module__ != factoring.__name__)

#: More rewrites per part mean a cycle among the rules; the results so far are kept.
_REWRITES_PER_PART = 60


#: Longer products stay unchanged: they are unreadable, and each of n gradients has n - 1 factors.
_MAX_FACTORS = 32
_PRODUCTS = frozenset(("mul", "div", "neg", "matmul"))

_MAX_NAMED_PRODUCTS = 16


class Simplifier:
    """Simplifies formulas by the rules; properties confirm each step."""

    def __init__(self, know: PartProperties, rules: tuple[Rule, ...] = RULES) -> None:
        self.properties, self._rules = know, rules
        self._done: dict[int, Expr] = {}
        self._uses: Counter[int] = Counter()
        self._lengths: dict[int, tuple[Expr, int]] = {}
        self._rewrites_left = 0

    def define(self, named: Mapping[str, Expr]) -> None:
        """Define names: from now on, their expressions are called by them."""
        for name, expr in named.items():
            node = self.properties.pool.intern(Name(name))
            if self.properties.shapes(node) is None:
                continue
            given = self.properties.pool.intern(expr)
            self._count([given])
            simple = self._simplified(given)
            for part in distinct_nodes(given):
                for divisor in _nonzero_operands(part):
                    simpler = self._done.get(id(divisor), divisor)
                    below = Product.of(simpler).factors.values()
                    self.properties.nonzero_in_graph.update((id(factor), factor) for factor, _ in below)
            if isinstance(simple, Call) and self.properties.are_equal(node, simple):
                self.properties.definitions[id(node)] = simple
                self.properties.names[id(simple)] = node
                if is_product(simple) and len(self.properties.products) < _MAX_NAMED_PRODUCTS:
                    self.properties.products.append((node, Product.of(simple)))
                self._done[id(given)] = self._done[id(simple)] = node

    def simplify(self, formulas: Mapping[str, Expr]) -> dict[str, Expr]:
        """Return the formulas, each shorter or unchanged."""
        roots = {name: self.properties.pool.intern(formula) for name, formula in formulas.items()}
        self._count(list(roots.values()))
        return {name: _root(self._simplified(root), self.properties) for name, root in roots.items()}

    def _count(self, roots: list[Expr]) -> None:
        found = use_counts(roots)
        self._uses.update(found)
        self._rewrites_left += _REWRITES_PER_PART * len(found)

    def _is_shared(self, node: Expr) -> bool:
        return self._uses[id(node)] > 1

    def _simplified(self, root: Expr) -> Expr:
        """Return the normal form of an interned expression, parts first."""
        done = self._done
        stack = [root]
        while stack:
            node = stack[-1]
            if id(node) in done:
                stack.pop()
                continue
            is_total = is_sum(node)
            parts = [*signed_terms(node, self._is_shared)] if is_total else [(child, 1) for child in node.children]
            missing = [part for part, _ in parts if id(part) not in done]
            if missing:
                stack.extend(reversed(missing))
                continue
            ready = [(done[id(part)], sign) for part, sign in parts]
            new = self._sum(node, ready) if is_total else self._rewritten(node, [part for part, _ in ready])
            if new is node:
                done[id(node)] = node
            elif id(new) in done:
                done[id(node)] = done[id(new)]
            else:
                stack.append(new)
        return done[id(root)]

    def _sum(self, node: Expr, parts: list[tuple[Expr, int]]) -> Expr:
        total = self.properties.shapes(node)
        if self._rewrites_left <= 0 or (total is None and not self.properties.is_number(node)):
            return self._rewritten(node, [self._done.get(id(child), child) for child in node.children])
        return self._accepted(node, sums.normal_sum(parts, total, self.properties)) or self._by_rules(node)

    def _rewritten(self, node: Expr, children: list[Expr]) -> Expr:
        """Return one step: simplified parts, or else the first rule that applies."""
        rebuilt = self.properties.pool.intern(with_children(node, children))
        if rebuilt is not node or self._rewrites_left <= 0:
            return rebuilt
        return self._by_rules(node)

    def _by_rules(self, node: Expr) -> Expr:
        """Return the result of the first rule that applies, or the node itself."""
        if not isinstance(node, (Call, Attribute, Gradient)) or fold(node, _factors, self._lengths) > _MAX_FACTORS:
            return node
        for rule in self._rules:
            made = rule(node, self.properties)
            new = None if made is None else self._accepted(node, made)
            if new is not None:
                return new
        return node

    def _accepted(self, node: Expr, made: Expr) -> Expr | None:
        new = self.properties.pool.intern(made)
        if new is node or not self.properties.are_equal(node, new):
            return None
        self._rewrites_left -= 1
        return new


def _factors(node: Expr, parts: list[int]) -> int:
    """Return the number of factors and divisors of a product; else 1."""
    return sum(parts) if isinstance(node, Call) and node.op in _PRODUCTS and not node.kwargs else 1


def _nonzero_operands(node: Expr) -> tuple[Expr, ...]:
    """Return operands that are nonzero wherever this node is defined."""
    if not isinstance(node, Call):
        return ()
    if node.op in ("log", "log2", "log10", "rsqrt", "reciprocal"):
        return node.args[:1]
    return node.args[1:2] if node.op == "div" else ()


def _root(formula: Expr, know: PartProperties) -> Expr:
    """Return a whole formula, which may be the number 1 for `ones_like(loss)`."""
    number = Product.of(formula)
    if number.is_ones() and know.ndim(formula) == 0:
        return Product(number.number).render()
    return formula
