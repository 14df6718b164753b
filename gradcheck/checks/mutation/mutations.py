"""Mutations of rules, accumulation and formulas, and a core with one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from gradcheck.autograd.backward import backward
from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.node import plain, walk
from gradcheck.autograd.op import Op
from gradcheck.autograd.sweep import Pull, count_pending
from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.closeness.tolerance import base
from gradcheck.engines.base import Application, Cotangents, Pullback
from gradcheck.engines.core import Core
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.facts import Fact, fact
from gradcheck.language.expr.nodes import Attribute, Call, Expr, Literal
from gradcheck.language.expr.traverse import with_children

#: A tensor's contributions: each creator with its gradient.
Shares = list[tuple[Tensor, np.ndarray]]
#: Returns the mutated `pull` of a sweep from these roots.
Wrap = Callable[[Sequence[Tensor], Pull], Pull]


@dataclass(frozen=True, slots=True)
class Mutation:
    """A planted mistake and its place; one of a rule shows in its `op` alone."""

    kind: Fact
    where: Fact
    wrap: Wrap = field(compare=False)
    op: Op | None = None


def positions(tensor: Tensor) -> list[int]:
    """Return the argument position of each share of a tensor."""
    op = tensor.creation_op
    found: list[int] = []
    for position, arg in enumerate(tensor.arguments):
        items = arg if op is not None and position == op.sequence else (arg,)
        found += [position for item in items if type(item) is Tensor and item.requires_grad]
    return found


#: `change(share, tensor, gradient, position)` returns the wrong cotangent in place of `share`: what the op's result
#: `tensor`, with `gradient`, contributes to the argument at `position`.
RuleChange = Callable[[np.ndarray, Tensor, np.ndarray, int], np.ndarray]

#: The smallest relative error that must be seen; a few times the tolerance where that is larger.
FACTOR, TOLERANCES = 1e-3, 10.0


def _one_off(share: np.ndarray, *_: object) -> np.ndarray:
    """Return the share with its last element off.

    By a hundredth of the largest element, or a few times the tolerance."""
    wrong = np.array(share)
    if wrong.size:
        step = max(10 * FACTOR, TOLERANCES * base(share.dtype).rtol)
        wrong.flat[-1] += wrong.dtype.type(step * float(np.max(np.abs(share)).astype(np.float64)))
    return wrong


def _unreduced(share: np.ndarray, tensor: Tensor, gradient: np.ndarray, position: int) -> np.ndarray:
    """Return the rule's result before broadcasting is summed up."""
    op = tensor.creation_op
    assert op is not None
    rule = op.rules[position] if position < len(op.rules) else None
    if rule is None or share.shape == tensor.data.shape or share.dtype.kind == "c":
        return share
    return np.asarray(rule(gradient, tensor.data, *plain(op, tensor.arguments))).astype(share.dtype)


def _mean_for_sum(share: np.ndarray, tensor: Tensor, *_: object) -> np.ndarray:
    """Return a mean's gradient for a sum, or a sum's for a mean."""
    assert tensor.creation_op is not None
    if not tensor.data.size or not share.size:
        return share
    number = share.size / tensor.data.size
    return _times(share, 1 / number if tensor.creation_op.name == "sum" else number)


def _times(share: np.ndarray, factor: float) -> np.ndarray:
    """Return the scaled share in its own dtype, rounded once."""
    return np.asarray(wide(share) * factor).astype(share.dtype)


#: By kind of fact.
RULE_MUTATIONS: dict[str, RuleChange] = {
    "rule_negated": lambda share, *_: -share,
    "rule_scaled": lambda share, *_: _times(share, 1 + max(FACTOR, TOLERANCES * base(share.dtype).rtol)),
    "rule_zeroed": lambda share, *_: np.zeros_like(share),
    "rule_transposed": lambda share, *_: np.swapaxes(share, -1, -2).reshape(share.shape) if share.ndim > 1 else share,
    "rule_one_element_off": _one_off,
    "rule_not_summed": _unreduced,
    "rule_mean_for_sum": _mean_for_sum,
}
#: The ops to which some mutations are limited.
_FITS: dict[str, Callable[[Op], bool]] = {
    "rule_not_summed": lambda op: op.elementwise,
    "rule_mean_for_sum": lambda op: op.name in ("sum", "mean"),
}


def rule_mutations(applied: Iterable[tuple[Op, int]]) -> Iterator[Mutation]:
    """Yield the mutations of rules, given as ops and argument positions."""
    for op, position in applied:
        argument = op.parameters[min(position, len(op.parameters) - 1)].name
        where = fact("in_rule", op=op.name, argument=argument)
        for kind, change in RULE_MUTATIONS.items():
            if kind not in _FITS or _FITS[kind](op):
                yield Mutation(fact(kind), where, _wrap_rule(op, position, change), op)


def _wrap_rule(op: Op, position: int, change: RuleChange) -> Wrap:
    def wrap(roots: Sequence[Tensor], pull: Pull) -> Pull:
        def wrong(tensor: Tensor, gradient: np.ndarray) -> Shares:
            shares = list(pull(tensor, gradient))
            if tensor.creation_op is not op:
                return shares
            return [
                (creator, np.asarray(change(np.asarray(share), tensor, gradient, at)) if at == position else share)
                for at, (creator, share) in zip(positions(tensor), shares, strict=True)
            ]

        return wrong

    return wrap


#: How many reused tensors are mutated.
MAX_REUSED = 12

#: By kind of fact, the contribution in place of a share, given whether it is the last one.
SWEEP_MUTATIONS: dict[str, Callable[[np.ndarray, bool], np.ndarray]] = {
    "use_lost": lambda share, is_last: np.zeros_like(share) if is_last else share,
    "use_doubled": lambda share, is_last: share + share if is_last else share,
    "uses_overwritten": lambda share, is_last: share if is_last else np.zeros_like(share),
}


def _forget(roots: Sequence[Tensor], pull: Pull) -> Pull:
    for tensor in walk(roots):
        tensor.grad = None
    return pull


#: The second pass overwrites the gradient of the first.
PASSES_OVERWRITTEN = Mutation(fact("passes_overwritten"), fact("in_second_pass"), _forget)


@dataclass(frozen=True, slots=True)
class ReusedTensor:
    """A tensor with several contributions."""

    place: int  # in the order of `count_pending`
    count: int
    op: str  # that created it, empty for a leaf
    shape: tuple[int, ...]


def reused_tensors(roots: Sequence[Tensor]) -> list[ReusedTensor]:
    """Return the first tensors below roots with several contributions."""
    found = []
    for place, (tensor, count) in enumerate(count_pending(roots).items()):
        if count > 1:
            op = tensor.creation_op.name if tensor.creation_op else ""
            found.append(ReusedTensor(place, count, op, tensor.data.shape))
    return found[:MAX_REUSED]


def sweep_mutations(tensors: Iterable[ReusedTensor]) -> Iterator[Mutation]:
    """Yield the mutations of the accumulation in these tensors."""
    for one in tensors:
        where = fact("in_uses", op=one.op, shape=one.shape, count=one.count)
        for kind, change in SWEEP_MUTATIONS.items():
            yield Mutation(fact(kind), where, _wrap_uses(one.place, change))


def _wrap_uses(place: int, change: Callable[[np.ndarray, bool], np.ndarray]) -> Wrap:
    def wrap(roots: Sequence[Tensor], pull: Pull) -> Pull:
        order = list(count_pending(roots).items())
        if place >= len(order):
            return pull
        target, count = order[place]
        seen = 0

        def wrong(tensor: Tensor, gradient: np.ndarray) -> Shares:
            nonlocal seen
            shares: Shares = []
            for creator, share in pull(tensor, gradient):
                if creator is target:
                    seen += 1
                    share = change(share, seen == count)
                shares.append((creator, share))
            return shares

        return wrong

    return wrap


class MutantCore(Core):
    """The core with one mutation."""

    def __init__(self, mutation: Mutation) -> None:
        super().__init__()
        self.mutation = mutation

    def backward(self, roots: list[Tensor], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        wrap = self.mutation.wrap
        backward(roots, seeds, retain_graph=retain_graph, watch=lambda roots, starts, pull: wrap(roots, pull))

    def pull_back(
        self, applications: Sequence[Application], cotangents: Sequence[Cotangents], dtype: np.dtype
    ) -> list[Pullback]:
        """Always use a sweep, which contains the mutation."""
        return DefineByRun.pull_back(self, applications, cotangents, dtype)


class CoverageCore(Core):
    """The core, recording used rules, under a name of its own."""

    name = "core, noting coverage"

    def __init__(self) -> None:
        super().__init__()
        self.applied: dict[tuple[Op, int], None] = {}
        self.reused_tensors: dict[ReusedTensor, None] = {}

    def backward(self, roots: list[Tensor], seeds: list[np.ndarray | None], retain_graph: bool) -> None:

        def watch(roots: Sequence[Tensor], starts: Sequence[np.ndarray], pull: Pull) -> Pull:
            self.reused_tensors.update(dict.fromkeys(reused_tensors(roots)))

            def noting(tensor: Tensor, gradient: np.ndarray) -> Shares:
                op = tensor.creation_op
                assert op is not None
                self.applied.update(dict.fromkeys((op, position) for position in positions(tensor)))
                return list(pull(tensor, gradient))

            return noting

        backward(roots, seeds, retain_graph=retain_graph, watch=watch)


#: How many parts of a long formula are mutated, evenly spread.
MAX_PARTS = 24

_PAIRS = (("add", "sub"), ("mul", "div"), ("sum", "mean"), ("sin", "cos"), ("tril", "triu"), ("maximum", "minimum"))
_SWAPPED = {**dict(_PAIRS), **{second: first for first, second in _PAIRS}}
_REDUCTIONS = frozenset({"amax", "amin", "logsumexp", "mean", "prod", "std", "sum", "var"})
_TAKES_DIM = _REDUCTIONS | {"cumprod", "cumsum", "log_softmax", "softmax", "squeeze", "unsqueeze"}


def mutations_of(formula: Expr, factor: float = 1.001) -> Iterator[tuple[Fact, Expr]]:
    """Yield wrong formulas; `factor` is the smallest that must be seen."""
    yield fact("sign_changed"), Call("neg", (formula,))
    yield fact("factor_added", factor=2.0), Call("mul", (Literal(2), formula))
    yield fact("factor_added", factor=factor), Call("mul", (Literal(factor), formula))
    yield fact("transpose_added"), Call("mT", (formula,))
    parts = list(formula.walk())
    step = max(1, -(-len(parts) // MAX_PARTS))
    seen: set[Expr] = set()
    for index in range(0, len(parts), step):
        for kind, part in _part_mutations(parts[index]):
            made = _replaced(formula, index, part)
            if made not in seen and made != formula:
                seen.add(made)
                yield kind, made


def _part_mutations(node: Expr) -> Iterator[tuple[Fact, Expr]]:
    if not isinstance(node, Call):
        return
    if node.op in _SWAPPED and not _is_same_swapped(node):
        other = _SWAPPED[node.op]
        yield fact("op_swapped", old=node.op, new=other), Call(other, node.args, node.kwargs)
    if node.op in ("add", "sub") and len(node.args) == 2 and not node.kwargs:
        left, right = node.args
        yield fact("term_dropped"), left
        yield fact("term_dropped"), right if node.op == "add" else Call("neg", (right,))
    if node.op == "matmul":
        left, right = node.args
        yield fact("factors_exchanged"), Call("matmul", (right, left))
        yield fact("transpose_added"), Call("matmul", (Call("mT", (left,)), right))
        yield fact("transpose_added"), Call("matmul", (left, Call("mT", (right,))))
    if node.op in ("T", "mT"):
        yield fact("transpose_removed"), node.args[0]
    if node.op == "pow" and isinstance(node.args[1], Literal) and type(node.args[1].value) is int:
        yield fact("power_changed"), Call("pow", (node.args[0], Literal(node.args[1].value + 1)))
    yield from _other_dims(node)


def _is_same_swapped(node: Call) -> bool:
    """Return whether it multiplies or divides by a sign: only 0 differs."""
    second = node.args[1] if node.op in ("mul", "div") else None
    return isinstance(second, Call) and second.op in ("sign", "sgn")


def _other_dims(node: Call) -> Iterator[tuple[Fact, Expr]]:
    """Yield the node with another dimension in a size or reduction."""
    if node.op == "getitem" and isinstance(node.args[0], Attribute) and node.args[0].name == "shape":
        other = _other(node.args[1])
        if other is not None:
            yield fact("size_changed"), Call("getitem", (node.args[0], other))
    if node.op not in _TAKES_DIM:
        return
    if len(node.args) > 1 and (other := _other(node.args[1])):
        yield fact("dimension_changed"), Call(node.op, (node.args[0], other, *node.args[2:]), node.kwargs)
    for index, (name, value) in enumerate(node.kwargs):
        other = _other(value) if name == "dim" else None
        if other is not None:
            kwargs = (*node.kwargs[:index], (name, other), *node.kwargs[index + 1 :])
            yield fact("dimension_changed"), Call(node.op, node.args, kwargs)


def _other(dim: Expr) -> Literal | None:
    """Return another dimension than this literal; None if it is none."""
    if isinstance(dim, Call) and dim.op == "neg" and isinstance(dim.args[0], Literal):
        return Literal(0)
    if not isinstance(dim, Literal) or type(dim.value) is not int:
        return None
    return Literal(1 if dim.value == 0 else 0)


def _replaced(root: Expr, index: int, new: Expr) -> Expr:
    """Return the expression with one part replaced, by `walk`'s index."""
    parts = list(root.walk())
    made: list[Expr] = []
    for at in range(len(parts) - 1, -1, -1):  # parts stand before what is below them
        node = parts[at]
        children = [made.pop() for _ in node.children]
        made.append(new if at == index else with_children(node, children) if children else node)
    return made[0]
