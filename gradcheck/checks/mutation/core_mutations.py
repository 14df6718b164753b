"""Mutations of the core, and the core with one: one thing wrong in a rule, or in how gradients add up, and no other."""

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

#: What a tensor hands down: for each use, whom to, and the gradient.
Shares = list[tuple[Tensor, np.ndarray]]
#: Given the roots and the sweep's `pull`, the wrong one.
Wrap = Callable[[Sequence[Tensor], Pull], Pull]


@dataclass(frozen=True, slots=True)
class Mutation:
    """What is made wrong, and where. One of a rule shows in its `op` alone too, wherever that is applied."""

    kind: Fact
    where: Fact
    wrap: Wrap = field(compare=False)
    op: Op | None = None


def positions(tensor: Tensor) -> list[int]:
    """Which argument of its op each of the shares that a tensor hands down belongs to."""
    op = tensor.creation_op
    found: list[int] = []
    for position, arg in enumerate(tensor.arguments):
        items = arg if op is not None and position == op.sequence else (arg,)
        found += [position for item in items if type(item) is Tensor and item.requires_grad]
    return found


# Of rules --------------------------------------------------------------------------------------------

#: `change(share, tensor, gradient, position)` gives the wrong cotangent of one argument of one op: in place of `share`,
#: which the op's result `tensor`, having received `gradient`, hands down to the argument at this position.
RuleChange = Callable[[np.ndarray, Tensor, np.ndarray, int], np.ndarray]

#: A factor this far from 1 must be seen, or a few times the tolerance where that is coarser.
FACTOR, TOLERANCES = 1e-3, 10.0


def _scaled(share: np.ndarray, *_: object) -> np.ndarray:
    return _times(share, 1 + max(FACTOR, TOLERANCES * base(share.dtype).rtol))


def _transposed(share: np.ndarray, *_: object) -> np.ndarray:
    """The numbers of the transpose; in the right shape, so that no shape gives it away."""
    return np.swapaxes(share, -1, -2).reshape(share.shape) if share.ndim > 1 else share


def _one_off(share: np.ndarray, *_: object) -> np.ndarray:
    """The last element, by a hundredth of the largest, or a few times the dtype's tolerance."""
    wrong = np.array(share)
    if wrong.size:
        step = max(10 * FACTOR, TOLERANCES * base(share.dtype).rtol)
        wrong.flat[-1] += wrong.dtype.type(step * float(np.max(np.abs(share)).astype(np.float64)))
    return wrong


def _unreduced(share: np.ndarray, tensor: Tensor, gradient: np.ndarray, position: int) -> np.ndarray:
    """What the rule gives, before what broadcasting repeated is summed up: of the result's shape."""
    op = tensor.creation_op
    assert op is not None
    rule = op.rules[position] if position < len(op.rules) else None
    if rule is None or share.shape == tensor.data.shape or share.dtype.kind == "c":
        return share
    return np.asarray(rule(gradient, tensor.data, *plain(op, tensor.arguments))).astype(share.dtype)


def _mean_for_sum(share: np.ndarray, tensor: Tensor, *_: object) -> np.ndarray:
    """A mean's gradient where a sum's is due, and the other way round."""
    assert tensor.creation_op is not None
    if not tensor.data.size or not share.size:
        return share
    number = share.size / tensor.data.size
    return _times(share, 1 / number if tensor.creation_op.name == "sum" else number)


def _times(share: np.ndarray, factor: float) -> np.ndarray:
    """In the share's own dtype, rounded once."""
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
#: To the rules of which ops those apply that do not make sense of all.
_FITS: dict[str, Callable[[Op], bool]] = {
    "rule_not_summed": lambda op: op.elementwise,
    "rule_mean_for_sum": lambda op: op.name in ("sum", "mean"),
}


def rule_mutations(applied: Iterable[tuple[Op, int]]) -> Iterator[Mutation]:
    """Every mutation of the rules that a sweep has used, each given as an op and an argument's position."""
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


# Of how gradients add up -------------------------------------------------------------------------------

#: In longer graphs only so many tensors that are used more than once lose, double or overwrite a use.
MAX_REUSED = 12

#: By kind of fact, what is contributed in place of a share, given whether it is the last: all but that one, that one
#: twice, that one alone.
SWEEP_MUTATIONS: dict[str, Callable[[np.ndarray, bool], np.ndarray]] = {
    "use_lost": lambda share, is_last: np.zeros_like(share) if is_last else share,
    "use_doubled": lambda share, is_last: share + share if is_last else share,
    "uses_overwritten": lambda share, is_last: share if is_last else np.zeros_like(share),
}


def _forget(roots: Sequence[Tensor], pull: Pull) -> Pull:
    for tensor in walk(roots):
        tensor.grad = None
    return pull


#: Between passes: the gradient of the second replaces that of the first.
PASSES_OVERWRITTEN = Mutation(fact("passes_overwritten"), fact("in_second_pass"), _forget)


@dataclass(frozen=True, slots=True)
class ReusedTensor:
    """A tensor that receives several contributions: its place in the order of `count_pending`, how many it receives,
    the op whose result it is (empty for a leaf), and its shape."""

    place: int
    count: int
    op: str
    shape: tuple[int, ...]


def reused_tensors(roots: Sequence[Tensor]) -> list[ReusedTensor]:
    """The first tensors below these roots that receive several contributions."""
    found = []
    for place, (tensor, count) in enumerate(count_pending(roots).items()):
        if count > 1:
            op = tensor.creation_op.name if tensor.creation_op else ""
            found.append(ReusedTensor(place, count, op, tensor.data.shape))
    return found[:MAX_REUSED]


def sweep_mutations(tensors: Iterable[ReusedTensor]) -> Iterator[Mutation]:
    """The mutations of tensors that are used several times."""
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


# The core --------------------------------------------------------------------------------------------


class MutantCore(Core):
    """Evaluates as the core does, but for one mutation."""

    def __init__(self, mutation: Mutation) -> None:
        super().__init__()
        self.mutation = mutation

    def backward(self, roots: list[Tensor], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        """One pass, with the mutation in it."""
        wrap = self.mutation.wrap
        backward(roots, seeds, retain_graph=retain_graph, watch=lambda roots, starts, pull: wrap(roots, pull))

    def pull_back(
        self, applications: Sequence[Application], cotangents: Sequence[Cotangents], dtype: np.dtype
    ) -> list[Pullback]:
        """Always by a sweep, which the mutation is in."""
        return DefineByRun.pull_back(self, applications, cotangents, dtype)


class CoverageCore(Core):
    """The core, noting which rules it uses (ops and positions of their arguments) and which tensors receive several
    contributions. Its name is no engine's of a run, so that evaluations are not mixed up."""

    name = "core, noting coverage"

    def __init__(self) -> None:
        super().__init__()
        self.applied: dict[tuple[Op, int], None] = {}
        self.reused_tensors: dict[ReusedTensor, None] = {}

    def backward(self, roots: list[Tensor], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        """One pass, as always."""

        def watch(roots: Sequence[Tensor], starts: Sequence[np.ndarray], pull: Pull) -> Pull:
            self.reused_tensors.update(dict.fromkeys(reused_tensors(roots)))

            def noting(tensor: Tensor, gradient: np.ndarray) -> Shares:
                op = tensor.creation_op
                assert op is not None
                self.applied.update(dict.fromkeys((op, position) for position in positions(tensor)))
                return list(pull(tensor, gradient))

            return noting

        backward(roots, seeds, retain_graph=retain_graph, watch=watch)
