"""Each op of a graph alone: its rule in one engine against the reference's, with random incoming gradients.

A case's own backward pass often starts from a sum, that is from ones, which hides transposes, flips and centering; a
random, non-symmetric cotangent does not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import RAISED
from gradcheck.checks.claims.engines import place_of
from gradcheck.checks.closeness.compare import agree, compare
from gradcheck.checks.closeness.conditioning import Rounding, raise_array, sensitivity
from gradcheck.checks.closeness.rounding import judged
from gradcheck.checks.closeness.tolerance import epsilon, limits
from gradcheck.checks.result import Comparison
from gradcheck.engines.base import Application, Engine, Pullback
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.perturbation import Perturbation, perturbed
from gradcheck.engines.recording import arrays, rebuild
from gradcheck.language.case import Tolerance
from gradcheck.language.problem import Problem


@dataclass(frozen=True, slots=True)
class Node:
    """An application with the incoming gradients it is tried with, None for outputs that cannot have one."""

    application: Application
    cotangents: tuple[np.ndarray | None, ...]


@dataclass(frozen=True, slots=True)
class WrongNode:
    """A gradient of one op alone that is wrong: the op's place among the applications, and who says what."""

    number: int
    node: Node
    index: int  # of the gradient, among those of the op's tensors
    engine: Engine
    mine: Pullback
    theirs: Pullback
    comparison: Comparison


def nodes_of(applications: Sequence[Application], seed: int) -> list[Node]:
    """Each application with random incoming gradients."""
    source = _Normal(seed)
    return [
        Node(application, tuple([output and _cotangent(source, *output) for output in application.outputs]))
        for application in applications
    ]


class _Normal:
    """Standard normal numbers, in turn from one pool; making a generator would cost more than most cases' nodes."""

    _pool = np.random.Generator(np.random.PCG64(0)).standard_normal(1 << 14)
    _pool.flags.writeable = False

    def __init__(self, seed: int) -> None:
        self._seed, self._next = abs(seed), abs(seed) * 977 % len(self._pool)

    def draw(self, shape: tuple[int, ...]) -> np.ndarray:
        """An array of its own for large shapes, otherwise a view."""
        size = math.prod(shape)
        if size > len(self._pool) // 4:
            self._seed += 1
            return np.random.Generator(np.random.PCG64(self._seed)).standard_normal(shape)
        start = self._next if self._next + size <= len(self._pool) else 0
        self._next = start + size
        return self._pool[start : start + size].reshape(shape)


def _cotangent(source: _Normal, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    drawn = source.draw(shape)
    if dtype.kind == "c":
        drawn = np.asarray(drawn + 1j * source.draw(shape))  # a sum of 0-d arrays is a NumPy scalar, which is no array
    return drawn.astype(dtype, copy=False)


def check_nodes(
    problem: Problem,
    applications: Sequence[Application],
    engines: Sequence[Engine],
    reference: Engine,
    override: Tolerance | None = None,
    into: list[WrongNode] | None = None,
) -> list[Comparison]:
    """For each engine a comparison a graph entry whose ops all agree, and one for each gradient that does not.

    What is wrong is also added to `into`, with all that is known of it.
    """
    if not applications:
        return []
    nodes = nodes_of(applications, problem.seed)
    cotangents = [node.cotangents for node in nodes]
    want = reference.pull_back(applications, cotangents, problem.dtype)
    found: list[Comparison] = []
    for engine in engines:
        got = engine.pull_back(applications, cotangents, problem.dtype)
        wrong: dict[str, list[Comparison]] = {node.application.owner: [] for node in nodes}
        judge = _Judge(problem, engine, reference, override)
        for number, (node, mine, theirs) in enumerate(zip(nodes, got, want, strict=True)):
            for index, comparison in judge.compare(node, mine, theirs):
                wrong[node.application.owner].append(comparison)
                if into is not None and comparison.status == "failed":
                    into.append(WrongNode(number, node, index, engine, mine, theirs, comparison))
        for owner, failed in wrong.items():
            found += failed or [_fine(problem, engine, reference, owner)]
    return found


def _fine(problem: Problem, engine: Engine, reference: Engine, owner: str) -> Comparison:
    return Comparison(
        what="node",
        tensor=owner,
        status="passed",
        engine=engine.name,
        reference=reference.name,
        place=place_of(problem.case, owner),
    )


@dataclass(frozen=True, slots=True)
class _Judge:
    """Compares one op's gradients."""

    problem: Problem
    engine: Engine
    reference: Engine
    override: Tolerance | None

    def compare(self, node: Node, mine: Pullback, theirs: Pullback) -> list[tuple[int, Comparison]]:
        """What is wrong, or worth a note, with the gradient's index; nothing where all agree."""
        if mine.error or theirs.error:
            return [(0, comparison) for comparison in self._raised(node, mine, theirs)]
        if len(mine.gradients) != len(theirs.gradients):
            counts = f"{self.engine.name} gives {len(mine.gradients)} gradients, expected {len(theirs.gradients)}"
            text = f"{node.application.op.name} alone: {counts}"
            return [(0, Comparison(status="failed", message=text, **self._about(node)))]
        found: list[tuple[int, Comparison]] = []
        for index, (got, want) in enumerate(zip(mine.gradients, theirs.gradients, strict=True)):
            if got is not None and want is not None and got.shape == want.shape and got.dtype == want.dtype:
                allowed = limits(want.dtype, self.problem.case.engine_tolerance, self.override)
                if agree(got, want, allowed):
                    continue
            found += [(index, comparison) for comparison in self._look(node, index, got, want)]
        return found

    def _look(self, node: Node, index: int, got: np.ndarray | None, want: np.ndarray | None) -> Iterator[Comparison]:
        judge = want if want is not None else got
        if judge is None:
            return
        allowed = limits(judge.dtype, self.problem.case.engine_tolerance, self.override)
        found = compare(got, want, allowed, **self._about(node))
        if found.status == "failed" and found.mask is not None:
            found = self._with_noise(found, node, index, want)
        if found.status != "passed":
            text = f"the gradient of {_argument(node.application, index)}, for a random incoming gradient"
            yield replace(found, message=f"{text}: {found.message}" if found.message else text)

    def _raised(self, node: Node, mine: Pullback, theirs: Pullback) -> Iterator[Comparison]:
        kinds = [error.kind if (error := side.error) else "" for side in (mine, theirs)]
        if kinds[0] == kinds[1]:
            return
        told = "; ".join(
            f"{who.name} {f'raised {side.error.kind}: {side.error}' if side.error else 'raised nothing'}"
            for who, side in ((self.engine, mine), (self.reference, theirs))
        )
        status: Any = "unsupported" if "unsupported" in kinds else "failed"
        yield Comparison(
            status=status,
            message=f"{node.application.op.name} alone: {told}",
            lacks=mine.error.lacks if mine.error else "",
            **self._about(node),
        )

    def _about(self, node: Node) -> dict[str, Any]:
        owner = node.application.owner
        return {
            "what": "node",
            "tensor": owner,
            "engine": self.engine.name,
            "reference": self.reference.name,
            "place": place_of(self.problem.case, owner),
            "formula": "",
        }

    def _with_noise(self, failed: Comparison, node: Node, index: int, want: np.ndarray | None) -> Comparison:
        """The same with what rounding explains, by the reference on perturbed arguments in double precision."""
        application = node.application
        flat = list(arrays(application.args, application.kwargs))
        raised = [raise_array(array) for array in flat]
        incoming = [None if c is None else raise_array(c) for c in node.cotangents]
        wide = np.dtype(np.float64)
        answers: list[list[np.ndarray | None]] = []  # the first is that of no perturbation

        def run(perturbation: Perturbation) -> list[np.ndarray | None]:
            def moved(array: np.ndarray) -> np.ndarray:
                # A product of 0-d arrays is a NumPy scalar, which is no array.
                return np.asarray(array * perturbation.factors(array.shape)) if array.dtype.kind in "fc" else array

            again = replace(application, recorded=None, **_replaced(application, [moved(array) for array in raised]))
            cotangents = [None if c is None else moved(c) for c in incoming]
            reference = self.reference
            if isinstance(reference, DefineByRun):
                reference = perturbed(reference, perturbation)
            answers.append(list(reference.pull_back([again], [cotangents], wide)[0].gradients))
            return answers[-1]

        moved = sensitivity(run, self.problem.seed)
        unit = max([epsilon(array.dtype) for array in flat] + [epsilon(self.problem.dtype)])
        largest = max((float(np.max(np.abs(c), initial=0.0)) for c in (*incoming, want) if c is not None), default=0.0)
        known = moved[index] if index < len(moved) else None
        truth = answers[0][index] if index < len(answers[0]) else None
        return judged(failed, Rounding(unit, largest, primitive=not application.op.composite), known, truth)


def _replaced(application: Application, flat: list[np.ndarray]) -> dict[str, Any]:
    position = iter(flat)
    args, kwargs = rebuild(application.args, application.kwargs, lambda array: next(position), _raised_dtype)
    return {"args": args, "kwargs": kwargs}


def _raised_dtype(name: str) -> np.dtype:
    return dtypes.BY_NAME[RAISED.get(name, name)]


def _argument(application: Application, index: int) -> str:
    """Which array the index-th gradient belongs to, for people: `mul's argument 2`."""
    return f"{application.op.name}'s tensor {positions(application)[index] + 1}"


def positions(application: Application) -> list[int]:
    """Where, among the arrays of its arguments, those stand that get a gradient, in order."""
    tracked = application.tracked or (True,) * sum(1 for _ in arrays(application.args, application.kwargs))
    return [
        position
        for position, array in enumerate(arrays(application.args, application.kwargs))
        if tracked[position] and dtypes.is_differentiable(array.dtype)
    ]
