"""Mutations of gradient rules and accumulation, and a core with one."""

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


def _scaled(share: np.ndarray, *_: object) -> np.ndarray:
    return _times(share, 1 + max(FACTOR, TOLERANCES * base(share.dtype).rtol))


def _transposed(share: np.ndarray, *_: object) -> np.ndarray:
    return np.swapaxes(share, -1, -2).reshape(share.shape) if share.ndim > 1 else share


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
    "rule_scaled": _scaled,
    "rule_zeroed": lambda share, *_: np.zeros_like(share),
    "rule_transposed": _transposed,
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
