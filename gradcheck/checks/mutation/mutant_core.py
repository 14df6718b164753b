"""The core with one mutation, as an engine like any other; and the core noting what a case makes use of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradcheck.autograd.backward import Pull, backward
from gradcheck.autograd.node import walk
from gradcheck.autograd.op import Op
from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.mutation.core_mutations import Mutation, Reused, Shares, positions, reused
from gradcheck.engines.base import Application, Cotangents, Pullback
from gradcheck.engines.core import Core
from gradcheck.engines.define_by_run import DefineByRun


class MutantCore(Core):
    """Evaluates as the core does, but for one mutation."""

    def __init__(self, mutation: Mutation) -> None:
        super().__init__()
        self.mutation = mutation

    def backward(self, roots: list[Tensor], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        """One pass, with the mutation in it."""

        def watch(roots: Sequence[Tensor], starts: Sequence[np.ndarray], pull: Pull) -> Pull:
            if self.mutation.overwrites:
                for tensor in walk(roots):
                    tensor.grad = None
            return self.mutation.wrap(roots, pull)

        backward(roots, seeds, retain_graph=retain_graph, watch=watch)

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
        self.reused: dict[Reused, None] = {}

    def backward(self, roots: list[Tensor], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        """One pass, as always."""

        def watch(roots: Sequence[Tensor], starts: Sequence[np.ndarray], pull: Pull) -> Pull:
            self.reused.update(dict.fromkeys(reused(roots)))

            def noting(tensor: Tensor, gradient: np.ndarray) -> Shares:
                op = tensor.creation_op
                assert op is not None
                self.applied.update(dict.fromkeys((op, position) for position in positions(tensor)))
                return list(pull(tensor, gradient))

            return noting

        backward(roots, seeds, retain_graph=retain_graph, watch=watch)
