"""Contributions to gradients in a problem's graph, by the core's rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import largest_finite, wide
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.autograd.pullback import pull_arrays
from gradcheck.autograd.sweep import sweep
from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.failures.diagnosis.catalogue import Use, contribution_origin
from gradcheck.engines.core import CoreHost
from gradcheck.facts import Fact, fact
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.problem import Problem, named_parts

#: Larger graphs are not record: every contribution is kept.
MOST_NUMBERS = 20_000_000
#: The most uses of a tensor whose partial gradients are tried.
_MOST_PARTS = 12


@dataclass(frozen=True, slots=True)
class Contribution:
    """A share from argument `argument` of `child`, or of a seed without child."""

    child: Tensor | None
    argument: int
    share: np.ndarray


@dataclass(slots=True)
class BackwardRecord:
    """One backward pass; `expected` is each named tensor's gradient."""

    expected: dict[str, np.ndarray] = field(default_factory=dict)
    received: dict[Tensor, list[Contribution]] = field(default_factory=dict)

    def scale(self, tensor: Tensor) -> float:
        """Return the largest magnitude among the contributions."""
        return max((largest_finite(c.share) for c in self.received.get(tensor, ())), default=0.0)


class GradientFlow:
    """A problem's graph at one step, recorded by the core."""

    def __init__(self, problem: Problem, step: int) -> None:
        self.problem, self.step = problem, step
        self.tensors: dict[str, Tensor] = {}
        self.names: dict[Tensor, str] = {}
        self.owners: dict[Tensor, str] = {}
        self._consumers: dict[Tensor, list[Tensor]] = {}
        with using_default_dtype(dtypes.real_of(problem.dtype)), np.errstate(all="ignore"):
            self._record()

    def _record(self) -> None:
        problem, host = self.problem, CoreHost()
        arrays = {**problem.inputs, **problem.constants}
        for changed in problem.forwards[: self.step + 1]:
            arrays |= changed
        scope: dict[str, Any] = dict(problem.sizes)
        for name, array in arrays.items():
            scope[name] = leaf = Tensor.wrap(array.copy())
            leaf.requires_grad = name in problem.inputs and dtypes.is_differentiable(array.dtype)
            self.tensors[name] = leaf
            self.names[leaf] = name
        for name, claim in problem.case.graph.items():
            scope[name] = evaluate(claim.expr, scope, host)
            for part, tensor in named_parts(name, scope[name]):
                if isinstance(tensor, Tensor):
                    self.tensors[part] = tensor
                    self.names.setdefault(tensor, part)
                    self._assign_owner(tensor, name)

    def _assign_owner(self, result: Tensor, entry: str) -> None:
        """Assign to an entry all tensors below its result that have no owner yet."""
        stack = [result]
        while stack:
            tensor = stack.pop()
            if tensor.creation_op is not None and tensor not in self.owners:
                self.owners[tensor] = entry
                for creator in tensor.creators:
                    self._consumers.setdefault(creator, []).append(tensor)
                    stack.append(creator)

    @property
    def is_small(self) -> bool:
        """True if the graph can be record."""
        return sum(tensor.data.size for tensor in self.owners) <= MOST_NUMBERS

    def run_backward(
        self, held: Mapping[str, np.ndarray] | None = None, cut: tuple[str, str] | None = None
    ) -> BackwardRecord:
        """Run one backward pass.

        Args:
                held: gradients that tensors pass on instead of their own.
                cut: a tensor and an entry whose uses of it contribute nothing; contributions are then not recorded.
        """
        found, held = BackwardRecord(), held or {}

        def observed(tensor: Tensor, gradient: np.ndarray) -> list[tuple[Tensor, np.ndarray]]:
            name = self.names.get(tensor)
            if name is not None:
                found.expected[name] = gradient
                known = held.get(name)
                if known is not None and known.shape == gradient.shape:
                    gradient = known.astype(gradient.dtype, copy=False)
            shares = pull_arrays(tensor, gradient)
            if cut is None:
                for argument, (creator, share) in enumerate(shares):
                    found.received.setdefault(creator, []).append(Contribution(tensor, argument, share))
            elif self.owners.get(tensor, "") == cut[1]:
                shares = [(c, np.zeros_like(s) if self.names.get(c) == cut[0] else s) for c, s in shares]
            return shares

        roots, seeds = self.roots_and_seeds()
        for root, seed in zip(roots, seeds, strict=True):
            found.received.setdefault(root, []).append(Contribution(None, 0, seed))
        with np.errstate(all="ignore"):
            leaves = sweep(roots, seeds, observed)
        for leaf, gradient in leaves.items():
            if leaf in self.names:
                found.expected[self.names[leaf]] = gradient
        return found

    def roots_and_seeds(self) -> tuple[list[Tensor], list[np.ndarray]]:
        seeds = self.problem.seeds[self.step]
        roots = [self.tensors[name] for name in seeds]
        arrays = [
            np.ones_like(root.data) if seed is None else seed.astype(root.dtype)
            for root, seed in zip(roots, seeds.values(), strict=True)
        ]
        return roots, arrays

    def uses(self, record: BackwardRecord, tensor: Tensor) -> tuple[Use, ...]:
        """Return a tensor's uses, with the shares of results passed on early."""
        return tuple(
            Use(*self._use(c), c.argument, c.share, tuple(self._early_shares(record, c)))
            for c in record.received.get(tensor, ())
        )

    def _use(self, c: Contribution) -> tuple[str, str]:
        """Return the op and its entry; "" for a root's incoming gradient."""
        if c.child is None or c.child.creation_op is None:
            return "", ""
        return c.child.creation_op.name, self.owners.get(c.child, "")

    def _early_shares(self, record: BackwardRecord, use: Contribution) -> Iterator[tuple[Fact, np.ndarray]]:
        """Yield the shares if the op's result had passed on early, in each order."""
        child = use.child
        received = record.received.get(child, []) if child is not None else []
        if child is None or not 2 <= len(received) <= _MOST_PARTS:
            return
        op, owner = self._use(use)
        name: str | Fact = self.names.get(child) or fact("result_of", op=op, entry=owner)
        for order in (received, received[::-1]):
            running = np.cumsum([wide(c.share) for c in order], axis=0)
            reported = tuple(contribution_origin(*self._use(c)) for c in order)
            for count in range(1, len(order)):
                early = fact("passed_on_when", name=name, reported=reported[:count])
                yield early, _share(use, child, running[count - 1])
            early = fact("passed_on_each_time", name=name, first=reported[0])
            yield early, _share(use, child, running.sum(0))

    def tensors_of(self, *entries: str) -> list[str]:
        """Return the named tensors of some entries: `h`, or `h[0]` and `h[1]`."""
        return [name for name in self.tensors if name.partition("[")[0] in entries]

    def behind(self, *entries: str) -> set[str]:
        """Return the named tensors that the gradients of some entries reach."""
        return self.ancestors(*self.tensors_of(*entries))

    def ancestors(self, *names: str) -> set[str]:
        """Return the named tensors that a gradient reaches from these."""
        return self._named(names, lambda tensor: tensor.creators)

    def descendants(self, *names: str) -> set[str]:
        """Return the named tensors that are computed from these."""
        return self._named(names, lambda tensor: self._consumers.get(tensor, ()))

    def _named(self, names: Iterable[str], step: Callable[[Tensor], Iterable[Tensor]]) -> set[str]:
        seen: set[Tensor] = set()
        stack = [other for name in names if name in self.tensors for other in step(self.tensors[name])]
        while stack:
            tensor = stack.pop()
            if tensor not in seen:
                seen.add(tensor)
                stack.extend(step(tensor))
        return {self.names[tensor] for tensor in seen if tensor in self.names}

    def children(self, name: str) -> set[str]:
        return {self.owners[result] for result in self._consumers.get(self.tensors[name], ())}


def _share(use: Contribution, child: Tensor, gradient: np.ndarray) -> np.ndarray:
    return pull_arrays(child, gradient.astype(child.dtype))[use.argument][1]
