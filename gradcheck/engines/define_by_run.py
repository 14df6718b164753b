"""The base of define-by-run engines: those that record a graph while they compute.

An engine whose tensors have `requires_grad`, `grad` and `retain_grad()`, as torch's do, is a subclass of a page.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from gradcheck.engines.base import Application, Cotangents, Evaluation, GradientBackend, Pullback
from gradcheck.engines.graph_run import GraphRun
from gradcheck.engines.op_run import OpRun
from gradcheck.engines.perturbation import Perturbation
from gradcheck.engines.recording import Recorder
from gradcheck.errors import GradcheckError, Unsupported
from gradcheck.language.problem import Problem


class DefineByRun(GradientBackend):
    """An `Engine` that records a graph while it computes; a subclass provides what a `GradientBackend` has."""

    @abstractmethod
    def session(self, dtype: np.dtype) -> AbstractContextManager[None]:
        """What must hold while a case of this dtype runs, restored afterwards."""

    def differentiate(self, roots: list[Any], leaves: list[Any], seeds: list[np.ndarray | None]) -> list[Any]:
        """The gradients that flow from all roots to these leaves, as tensors that can be differentiated again; None
        where none does. Raises TensorError; an engine that cannot do it says so."""
        raise Unsupported(f"{self.name} has no gradients of gradients")

    def evaluate(
        self, problem: Problem, perturbation: Perturbation | None = None, recorder: Recorder | None = None
    ) -> Evaluation:
        """Run the graph and every step, as any engine does.

        Besides: with a perturbation, the result of every op is moved at random, in double precision. A recorder, which
        only the core's tensors can have, is the host of the first evaluation of the graph.
        """
        with self.session(problem.dtype):
            return GraphRun(self, problem, perturbation, recorder).evaluation()

    def pull_back(
        self, applications: Sequence[Application], cotangents: Sequence[Cotangents], dtype: np.dtype
    ) -> list[Pullback]:
        """Run each op alone, on leaves of its own, and one backward pass over all of them together; where that raises,
        a pass over each."""
        with self.session(dtype):
            runs = [OpRun(self, *one) for one in zip(applications, cotangents, strict=True)]
            roots: list[Any] = []
            seeds: list[np.ndarray | None] = []
            for run in runs:
                roots += run.roots
                seeds += run.seeds
            if roots:
                try:
                    self.backward(roots, seeds, True)
                except GradcheckError:
                    for run in runs:
                        run.forget()
                        run.backward()
            return [run.pullback() for run in runs]
