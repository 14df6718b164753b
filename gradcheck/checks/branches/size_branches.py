"""Branches on sizes or drawn integers in claims, and unseen outcomes.

Claims compare, round, choose and divide by sizes: `n == m + 1`, `n % 3`, `min(n, 7)`, `x.shape[0] > 9`, `n - 7`. Many
sizes are evaluated, the smallest first: all literals beside them, and their neighbours. Claims also branch on labels,
indices and masks alone (`c.all()`, `t == t[0]`, `t.max() > 3`). Proofs take integers and booleans as constants, so
drawn ones are varied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from gradcheck.errors import GradcheckError
from gradcheck.language.array_structures import STRUCTURES, Structure
from gradcheck.language.case import Case
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Attribute, Call, Expr, Gradient, Literal, Name, Named
from gradcheck.language.expr.traverse import free_names, ops_in, postorder
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import stream
from gradcheck.language.sampling import draw, drawn_leaves, graph_values
from gradcheck.language.trial_draws import size_bounds, symbolic_sizes

Sizes = Mapping[str, int]

#: Sizes besides those near literals, a bound of such literals, and the most combinations.
_PLAIN, _LARGEST, _MOST = range(1, 13), 65, 3000
#: Sizes that one word takes while others stay, a bound of sizes beside literals, and of elements that are tried.
_FAR, _FARTHEST, _AFFORDABLE = (*range(13, 65), 80, 120, 180, 270, 400, 600, 900), 1_000_000, 3000
_MAKES = frozenset(("arange", "ones", "zeros", "full", "eye"))
#: Sizes for claims that choose among sizes, in the words' order.
_GENERIC_SIZES = ((7, 4, 9, 5), (5, 3, 8, 7), (9, 6, 4, 11))
#: Ops that choose nothing.
_SMOOTH = frozenset(
    (
        *("add", "sub", "mul", "div", "neg", "pow", "matmul", "sum", "mean", "sqrt", "exp", "log", "square"),
        *("reciprocal", "arange", "ones", "zeros", "full", "eye", "reshape", "getitem", "unsqueeze", "expand", "to"),
        *("T", "transpose"),
    )
)
#: Ops that are undefined where this argument is 0, or less.
_PARTIAL = {"div": 1, "reciprocal": 0, "sqrt": 0, "rsqrt": 0, "pow": 0, "log": 0, "log2": 0, "log10": 0}
_OF_TWO = frozenset(("max", "min", "maximum", "minimum"))


class SizeBranches:
    """The branches of a case's formulas, and the outcomes seen so far."""

    def __init__(self, case: Case) -> None:
        self.case, self.words = case, symbolic_sizes(case)
        claimed, words = formula_expressions(case) if self.words else [], {*self.words}
        self._choices = choice_nodes([*claimed, *(claim.expr for claim in case.graph.values())], words)
        self.nodes = [*self._choices, *zero_tests(claimed, words)]
        asks_shapes = any(isinstance(part, Attribute) for node in self.nodes for part in node.walk())
        self._shapes = LinearShapes(case) if asks_shapes else None
        named = {part.name for node in self.nodes for part in postorder(node) if isinstance(part, (Name, Gradient))}
        of_shapes = () if self._shapes is None else [w for w in self.words if self._shapes.depend_on(w, named)]
        self._relevant_words = named.intersection(self.words).union(of_shapes)
        self._seen: set[tuple[int, Any]] = set()

    def mark_seen(self, sizes: Sizes) -> bool:
        """Note the outcomes at some sizes; return whether any is new."""
        new = self._outcomes(sizes) - self._seen
        self._seen |= new
        return bool(new)

    def distinct_kinds(self, listed: Sequence[Sizes]) -> list[Sizes]:
        """Return the first sizes of each combination of outcomes."""
        kinds: dict[frozenset[tuple[int, Any]], Sizes] = {}
        for sizes in listed:
            kinds.setdefault(frozenset(self._outcomes(sizes)), sizes)
        return list(kinds.values())

    def unseen_sizes(self, own: Sizes, held: Collection[str]) -> Iterator[dict[str, int]]:
        """Yield sizes with unseen outcomes, the smallest first; `held` words stay."""
        for sizes in self._candidates(own, held) if self.nodes else ():
            if self._outcomes(sizes) - self._seen:
                yield sizes

    def unseen_nodes(self, sizes: Sizes) -> list[Expr]:
        return [self.nodes[number] for number, _ in self._outcomes(sizes) - self._seen]

    def is_too_large(self, sizes: Sizes, own: Sizes) -> bool:
        """Return whether a tensor has too many elements to be tried."""
        self._shapes = self._shapes or LinearShapes(self.case)
        here, there = ([math.prod(a.shape) for a in self._shapes.at(s).values()] for s in (own, sizes))
        return max(there, default=0) > max(_AFFORDABLE, *here)

    def generic_sizes(self, own: Sizes, held: Collection[str]) -> Iterator[dict[str, int]]:
        """Yield sizes unlike 1 and each other, but `held` ones."""
        stated = {} if self.case.generalize is None else self.case.generalize.dims
        for listed in _GENERIC_SIZES if self._choices else ():
            drawn = {word: listed[place % len(listed)] for place, word in enumerate(self.words)}
            fitting = {w: min(max(s, stated.get(w, (1, s))[0]), stated.get(w, (1, s))[1]) for w, s in drawn.items()}
            yield {**own, **{word: size for word, size in fitting.items() if word not in held}}

    def _outcomes(self, sizes: Sizes) -> set[tuple[int, Any]]:
        return node_outcomes(self.nodes, sizes, {} if self._shapes is None else self._shapes.at(sizes))

    def _candidates(self, own: Sizes, held: Collection[str]) -> list[dict[str, int]]:
        written = _literal_integers(self.nodes, _FARTHEST)
        beside = {size for v in written for size in (v - 1, v, v + 1, 2 * v, 3 * v)}
        listed, stated = sorted({*_PLAIN, *(s for s in beside if s < _LARGEST)}), size_bounds(self.case)
        choices = [
            _within(listed, *stated.get(word, (1, max(listed))))
            if word in self._relevant_words and word not in held
            else [own[word]]
            for word in self.words
        ]
        total = int(np.prod([len(choice) for choice in choices], dtype=float))
        generator = stream(0, "sizes of branches")
        drawn = ([int(generator.choice(choice)) for choice in choices] for _ in range(_MOST))
        chosen = product(*choices) if total <= _MOST else drawn
        found = [{**own, **dict(zip(self.words, one, strict=True))} for one in chosen]
        most = min(_FARTHEST ** (1 / _dimensions(node)) for node in self.nodes)
        for word, choice in zip(self.words, choices, strict=True):
            low, high = stated.get(word, (1, most)) if len(choice) > 1 else (1, 0)
            found += [{**own, word: size} for size in beside.union(_FAR) - {*listed} if low <= size <= min(high, most)]
        return sorted(found, key=lambda sizes: sum(sizes[word] for word in self.words))


def _dimensions(node: Expr) -> int:
    """Return the most dimensions of arrays that the node makes, or 1."""
    ops, names = ops_in(node), sum(isinstance(part, Name) for part in node.walk())
    return 1 if _MAKES.isdisjoint(ops) else max(1, names + ops.get("eye", 0))


def _literal_integers(nodes: Sequence[Expr], below: int) -> set[int]:
    parts = [part for node in nodes for part in postorder(node) if isinstance(part, Literal)]
    return {int(p.value) for p in parts if isinstance(p.value, (int, float)) and 1 < p.value < below}


def _within(listed: Sequence[int], low: int, high: int) -> list[int]:
    return [size for size in listed if low <= size <= high] or [low]


def formula_expressions(case: Case) -> list[Expr]:
    """Return the formulas after the steps that they use."""
    listed = [claims for section in (case.formulas, case.wrong_formulas) for claims in section.values()]
    exprs = [claim.expr for claims in listed for claim in claims]
    steps = dict.fromkeys(step for expr in exprs for step in case.let_steps_of(expr))
    return [*(case.let[step].expr for step in steps), *exprs]


def choice_nodes(exprs: Sequence[Expr], words: Collection[str]) -> list[Expr]:
    """Return the parts that choose, made of sizes, shapes and words alone."""
    chooses: dict[int, bool] = {}
    found: dict[Expr, None] = {}
    for node, is_static in _parts(exprs, words):
        is_choice = isinstance(node, Call) and node.op not in _SMOOTH
        chooses[id(node)] = not isinstance(node, Attribute) and (
            is_choice or any(chooses[id(child)] for child in node.children)
        )
        if is_static and chooses[id(node)] and isinstance(node, Call) and _varies(node, words):
            found[node] = None
    return list(found)


def zero_tests(exprs: Sequence[Expr], words: Collection[str]) -> list[Expr]:
    """Return tests for 0 or less of sizes that divide or have a domain."""
    static: dict[int, bool] = {}
    found: dict[Expr, None] = {}
    for node, is_static in _parts(exprs, words):
        static[id(node)] = is_static
        place = _PARTIAL.get(node.op) if isinstance(node, Call) else None
        if isinstance(node, Call) and place is not None and place < len(node.args):
            part = node.args[place]
            if (
                static[id(part)]
                and _varies(part, words)
                and any(isinstance(n, Call) and n.op in ("sub", "neg") for n in part.walk())
            ):
                found |= dict.fromkeys(Call(op, (part, Literal(0))) for op in ("eq", "lt"))
    return list(found)


def _parts(exprs: Sequence[Expr], words: Collection[str]) -> Iterator[tuple[Expr, bool]]:
    """Yield parts bottom up, and whether they are made of sizes alone."""
    static: dict[int, bool] = {}
    for expr in exprs:
        for node in postorder(expr):
            is_leaf = node.name in words if isinstance(node, Named) else not node.children
            static[id(node)] = (
                is_leaf
                or isinstance(node, Attribute)
                or (bool(node.children) and all(static[id(child)] for child in node.children))
            )
            yield node, static[id(node)]


def _varies(node: Expr, words: Collection[str]) -> bool:
    return any(isinstance(part, Attribute) or (isinstance(part, Name) and part.name in words) for part in node.walk())


def node_outcomes(
    nodes: Sequence[Expr], names: Mapping[str, Any], gradients: Mapping[str, Any] | None = None
) -> set[tuple[int, Any]]:
    """Return each node's outcome; with `gradients`, names have shapes alone."""
    found = set()
    scope, gradients = {**(gradients or {}), **names}, gradients or {}
    for number, node in enumerate(nodes):
        try:
            value = evaluate(node, scope, gradients=gradients)
            found.add((number, (_outcome(value), _chosen_arguments(node, value, scope))))
        except (GradcheckError, TypeError, ValueError, ArithmeticError):
            continue
    return found


class LinearShapes:
    """The shapes of a case's tensors at any sizes, if linear in them."""

    def __init__(self, case: Case) -> None:
        own = {**case.symbol_sizes, **case.dims}
        self._own, self._words = own, symbolic_sizes(case)
        self._base = _shapes_at(case, own)
        self._slopes: dict[str, dict[str, np.ndarray]] = {}
        for word in self._words:
            moved = _shapes_at(case, {**own, word: own[word] + 1})
            self._slopes[word] = {
                n: moved[n] - s for n, s in self._base.items() if n in moved and moved[n].shape == s.shape
            }
        for by in (2, 3):
            sizes = {**own, **{word: own[word] + by for word in self._words}}
            there, here = _shapes_at(case, sizes), self._at(sizes)
            self._base = {n: s for n, s in self._base.items() if n not in there or np.array_equal(there[n], here[n])}

    def depend_on(self, word: str, names: Collection[str]) -> bool:
        """Return whether the shape of one of these tensors depends on a word."""
        return any(self._slopes[word][n].any() if n in self._slopes[word] else n not in self._words for n in names)

    def at(self, sizes: Sizes) -> dict[str, np.ndarray]:
        """Return a tensor of zeros, without memory, for each name."""
        shapes = {name: tuple(map(int, shape)) for name, shape in self._at(sizes).items()}
        return {name: np.broadcast_to(0.0, shape) for name, shape in shapes.items() if min(shape, default=0) >= 0}

    def _at(self, sizes: Sizes) -> dict[str, np.ndarray]:
        zero = np.zeros((), dtype=int)
        return {
            name: sum((self._slopes[w].get(name, zero) * (sizes[w] - self._own[w]) for w in self._words), shape)
            for name, shape in self._base.items()
        }


def _shapes_at(case: Case, sizes: Sizes) -> dict[str, np.ndarray]:
    try:
        values = graph_values(case, draw(case, None, 0, attempt=1, sizes=sizes).environment())
    except GradcheckError:
        return {}
    return {name: np.array(v.shape, dtype=int) for name, v in values.items() if isinstance(v, np.ndarray)}


def _chosen_arguments(node: Expr, value: Any, scope: Mapping[str, Any]) -> tuple[bool, ...]:
    """Return which of two numbers a maximum or minimum is."""
    if not isinstance(node, Call) or node.op not in _OF_TWO or len(node.args) != 2 or np.size(value) != 1:
        return ()
    return tuple(bool(np.all(np.equal(evaluate(arg, scope), value))) for arg in node.args)


def _outcome(value: Any) -> Any:
    """Return a value's outcome: any and all of booleans, small whole numbers."""
    array = np.asarray(value)
    if array.dtype.kind == "b":
        return bool(array.any()), bool(array.all())
    if array.size != 1:
        return array.dtype.kind
    number = float(array.ravel()[0])
    return number if number in range(6) else "another"


#: Draws a problem of some sizes, with a structure or without, in an attempt; None for none.
Draw: TypeAlias = Callable[[Mapping[str, int], Structure | None, int], Problem | None]

#: The sizes, the draws without structure at each, and the largest size.
_SIZES, _UNSTRUCTURED, _LARGEST_DRAWN = 6, 24, 40


class ConstantBranches:
    """The branches of a case's formulas, and the outcomes seen so far."""

    def __init__(self, problem: Problem) -> None:
        self.case, self._own = problem.case, problem.sizes
        self.words = symbolic_sizes(self.case)
        drawn = drawn_integers(problem)
        nodes = choice_nodes(formula_expressions(self.case), {*self.words, *drawn}) if drawn else []
        self.nodes = [node for node in nodes if not drawn.isdisjoint(free_names(node))]
        self._seen: set[tuple[int, Any]] = set()
        self._uninformative: set[tuple[int, Any]] = set()

    def mark_seen(self, problem: Problem, tells: bool = True) -> None:
        """Note outcomes; those without gradients only at the second time."""
        found = self._outcomes(problem)
        self._seen |= found if tells else found & self._uninformative
        self._uninformative |= found

    def unseen_problems(self, visited: Sequence[Problem], draw: Draw) -> Iterator[Problem]:
        for sizes in self._sizes(visited) if self.nodes else ():
            for structure, attempt in _draws():
                found = draw(sizes, structure, attempt)
                if found is not None and self._outcomes(found) - self._seen:
                    yield found

    def _outcomes(self, problem: Problem) -> set[tuple[int, Any]]:
        return node_outcomes(self.nodes, {**problem.sizes, **problem.constants})

    def _sizes(self, visited: Sequence[Problem]) -> list[Mapping[str, int]]:
        """Return the case's sizes, small ones, the trials', and beyond literals."""
        stated = {} if self.case.generalize is None else self.case.generalize.dims
        small = [{word: max(size, stated.get(word, (1, 0))[0]) for word in self.words} for size in (2, 1)]
        found: list[Mapping[str, int]] = [self._own, *({**self._own, **sizes} for sizes in small)]
        found += [problem.sizes for problem in visited]
        for number in sorted(_literal_integers(self.nodes, _LARGEST_DRAWN)):
            low_high = {word: stated.get(word, (1, _LARGEST_DRAWN)) for word in self.words}
            found.append({**self._own, **{w: min(max(number + 2, low), high) for w, (low, high) in low_high.items()}})
        unlike = [sizes for i, sizes in enumerate(found) if sizes not in found[:i]]
        return unlike[: _SIZES + 3]


def _draws() -> Iterator[tuple[Structure | None, int]]:
    """Yield structures and attempts; equal numbers recur, for any value."""
    yield from ((structure, 1) for structure in STRUCTURES)
    for number in range(_UNSTRUCTURED):
        yield None, 2 * number + 1
        yield "equal", 2 * number + 3


def drawn_integers(problem: Problem) -> set[str]:
    """Return the constants of integers or booleans that are drawn."""
    random = drawn_leaves(problem.case)
    return {n for n, array in problem.constants.items() if n in random and np.asarray(array).dtype.kind in "biu"}
