"""Whatever has failed is heard once more, with witnesses: the numeric oracle, other engines, what the file knows.

A verdict then says who stands alone. Where the function has no derivative, one-sided derivatives decide: two engines
that both stay between them differ in convention, which is no failure; a value outside is one. Nothing here costs a
case that passes anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.claims.operations import WrongNode, positions
from gradcheck.checks.closeness.compare import wide
from gradcheck.checks.closeness.conditioning import Noise, raise_array, raise_precision
from gradcheck.checks.failures.subgradients import Room, Witness, sentence
from gradcheck.checks.result import Comparison
from gradcheck.engines.arguments import arrays, rebuild
from gradcheck.engines.base import Evaluation
from gradcheck.errors import GradcheckError
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NUMPY
from gradcheck.language.problem import Problem
from gradcheck.oracles.numeric.audit import within
from gradcheck.oracles.numeric.gradient import Estimate, NumericGradient, numeric_gradient
from gradcheck.oracles.numeric.objective import OpObjective, WideHost
from gradcheck.oracles.numeric.work import Budget

#: How many failures of one case are heard, and how many elements of each: the worst, or all where one has a kink.
MOST, ELEMENTS, KINKS = 12, 6, 256
#: The numeric oracle's work for one tensor. A gradient of a large graph is judged by fewer elements.
WORK = 1_000_000_000
#: Its work for all of them; what is left then has no verdict.
ALL_WORK = 3_000_000_000

_GRADIENTS = frozenset({"gradient", "formula", "expected"})
_VALUES = frozenset({"value", "expected_value"})
#: Conventions may differ between engines, and in a formula; what a file expects, it asks for.
_FREE = frozenset({"gradient", "formula", "node"})
_CANNOT = (GradcheckError, ValueError, TypeError, ArithmeticError, LookupError)


def appeal(
    problem: Problem,
    comparisons: Sequence[Comparison],
    evaluations: Mapping[str, Evaluation],
    noise: Noise,
    wrong: list[WrongNode] | None = None,
    *,
    numeric: bool = True,
) -> list[Comparison]:
    """The comparisons of one problem, those that failed with a verdict, or as what they are: a kink.

    `evaluations` are those of all engines, the reference's too. Ops that are wrong alone (`wrong`) are heard as well;
    those that only have another convention are taken from the list. Comparisons of other problems stay as they are.
    """
    if all(comparison.status != "failed" for comparison in comparisons):
        return list(comparisons)
    court = _Appeal(problem, comparisons, evaluations, noise, numeric)
    with using_default_dtype(dtypes.real_of(raise_precision(problem).dtype)), np.errstate(all="ignore"):
        return court.hear(wrong if wrong is not None else [])


@dataclass(slots=True)
class _Appeal:
    """One problem's failures."""

    problem: Problem
    comparisons: Sequence[Comparison]
    evaluations: Mapping[str, Evaluation]
    noise: Noise
    numeric: bool
    _raised: Problem | None = None
    _oracles: dict[tuple[str, int], NumericGradient | None] = field(default_factory=dict)
    _budget: Budget = field(default_factory=lambda: Budget(ALL_WORK))

    def hear(self, wrong: list[WrongNode]) -> list[Comparison]:
        found: list[Comparison] = []
        heard = 0
        nodes = {id(one.comparison): one for one in wrong}
        for comparison in self.comparisons:
            mine = (comparison.trial is None) == (self.problem.drawn.trial is None)
            mine = mine and comparison.tensor not in self.problem.case.constants  # no gradient is wanted there
            mine = mine and comparison.status == "failed" and comparison.what != "wrong_formula"
            if mine and heard < MOST and not self._budget.is_spent:
                node = nodes.get(id(comparison))
                again = self._again(comparison, node)
                heard += again is not comparison
                if node is not None:
                    self._settle(wrong, node, again)
                comparison = again
            found.append(comparison)
        return found

    def _settle(self, wrong: list[WrongNode], node: WrongNode, again: Comparison) -> None:
        place = next(index for index, one in enumerate(wrong) if one is node)
        if again.status == "failed":
            wrong[place] = replace(node, comparison=again)
        else:
            del wrong[place]

    def _again(self, c: Comparison, node: WrongNode | None) -> Comparison:
        pair = _disputed(c)
        if pair is None:
            return c
        dispute = _Dispute(c, *pair)
        if c.what in _VALUES:
            return dispute.told(sentence(*dispute.parties(), list(self._value_witnesses(dispute)), dispute.room()))
        if c.what not in _GRADIENTS and node is None:
            return c
        oracle = self._oracle(c, node)
        estimate = self._partials(oracle, dispute.indices[:ELEMENTS])
        if estimate is not None and np.any(estimate.kinked):
            estimate = self._partials(oracle, dispute.indices[:KINKS])
        slack = self._slack(c)
        if estimate is not None:
            dispute = dispute.first(len(estimate.value))
            kinked = dispute.at_a_kink(estimate, len(pair[2]))
            if kinked is not None:
                return kinked
        others = list(self._gradient_witnesses(dispute, node))
        if estimate is not None:
            others.append(Witness(estimate.method, estimate.value, estimate.error, independent=True))
        return dispute.told(sentence(*dispute.parties(), others, dispute.room(slack)))

    # Witnesses -----------------------------------------------------------------------------------

    def _oracle(self, c: Comparison, node: WrongNode | None) -> NumericGradient | None:
        if not self.numeric:
            return None
        try:
            if node is not None:
                return _of_node(node)
            key = (c.tensor, c.step)
            if key not in self._oracles:
                self._oracles[key] = None
                self._raised = self._raised or raise_precision(self.problem)
                self._oracles[key] = numeric_gradient(self._raised, *key)
            return self._oracles[key]
        except _CANNOT:  # a graph that only other engines can evaluate
            return None

    def _partials(self, oracle: NumericGradient | None, indices: np.ndarray) -> Estimate | None:
        if oracle is None:
            return None
        try:
            return oracle.partials([int(index) for index in indices], Budget(WORK, within=self._budget))
        except _CANNOT:
            return None

    def _slack(self, c: Comparison) -> np.ndarray | None:
        what = "value" if c.what in _VALUES else "gradient"
        return self.noise.slack(what, c.step, c.tensor) if c.what != "node" else None

    def _gradient_witnesses(self, dispute: _Dispute, node: WrongNode | None) -> Iterator[Witness]:
        c = dispute.comparison
        if node is not None:
            return
        for name, evaluation in self.evaluations.items():
            if name in (c.engine, c.reference) or c.step >= len(evaluation.states):
                continue
            gradient = evaluation.states[c.step].gradients.get(c.tensor)
            yield from dispute.witness(name, gradient)
        yield from self._file(dispute, "formula", "the formula")
        yield from self._file(dispute, "expected", "the file")

    def _value_witnesses(self, dispute: _Dispute) -> Iterator[Witness]:
        c = dispute.comparison
        for name, evaluation in self.evaluations.items():
            if name in (c.engine, c.reference) or c.step >= len(evaluation.states):
                continue
            yield from dispute.witness(name, evaluation.states[c.step].values.get(c.tensor))
        yield from self._file(dispute, "expected_value", "the file")
        if "core" not in self.evaluations:
            yield from dispute.witness("NumPy", self._forward(c.tensor))

    def _file(self, dispute: _Dispute, what: str, name: str) -> Iterator[Witness]:
        """A claim of the file that passed says what the engine says that it was compared with."""
        c = dispute.comparison
        if c.what == what:
            return
        about = [o for o in self.comparisons if (o.what, o.tensor, o.step) == (what, c.tensor, c.step)]
        about = [o for o in about if (o.trial is None) == (c.trial is None) and o.status == "passed"]
        for other in about[:1]:
            side = other.reference if what == "formula" else other.engine
            for party in dispute.parties():
                if party.name == side:
                    proved = other.certificate is not None
                    yield replace(party, name=f"{name} (proved)" if proved else name, independent=proved)

    def _forward(self, tensor: str) -> np.ndarray | None:
        """The value by NumPy's forwards, where the core has not been asked."""
        names = self.problem.environment()
        try:
            for name, claim in self.problem.case.graph.items():
                names[name] = evaluate(claim.expr, names, NUMPY)
        except _CANNOT:
            return None
        found = names.get(tensor)
        return found if isinstance(found, np.ndarray) else None


def _of_node(one: WrongNode) -> NumericGradient:
    """The oracle of one op alone, in double precision."""
    application = one.node.application
    held = [raise_array(array) for array in arrays(application.args, application.kwargs)]
    place = positions(application)[one.index]
    host = WideHost()

    def call(value: object) -> object:
        position = iter(range(len(held)))

        def chosen(_: np.ndarray) -> object:
            at = next(position)
            return value if at == place else held[at].copy()

        args, kwargs = rebuild(application.args, application.kwargs, chosen, host.dtype)
        return host.call(application.op, args, kwargs)

    return NumericGradient([OpObjective(held[place], call, one.node.cotangents)])


# One dispute ---------------------------------------------------------------------------------------


def _disputed(c: Comparison) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Both answers in double precision, and the flat indices of the elements that differ, the worst first; none
    where shapes differ. Where no gradient arrived it counts as zeros."""
    judge = c.want_array if c.want_array is not None else c.got_array
    if judge is None or c.mask is None:
        return None
    got, want = (np.zeros(judge.shape) if one is None else wide(one) for one in (c.got_array, c.want_array))
    if got.shape != want.shape:
        return None
    indices = np.flatnonzero(c.mask)
    excess = np.nan_to_num(np.abs(got - want).ravel()[indices], nan=np.inf)
    return got.ravel(), want.ravel(), indices[np.argsort(-excess, kind="stable")]


@dataclass(frozen=True, slots=True)
class _Dispute:
    """Two answers and where they differ."""

    comparison: Comparison
    got: np.ndarray
    want: np.ndarray
    indices: np.ndarray

    def first(self, count: int) -> _Dispute:
        """The same about so many elements only."""
        return replace(self, indices=self.indices[:count])

    def parties(self) -> tuple[Witness, Witness]:
        """The two who differ."""
        c = self.comparison
        ours = {"formula": "the formula"}.get(c.what, c.engine)
        theirs = "the file" if c.reference == "case" else c.reference
        return Witness(ours, self.got[self.indices]), Witness(theirs, self.want[self.indices])

    def witness(self, name: str, array: np.ndarray | None) -> Iterator[Witness]:
        """Another one, if it speaks of the same tensor."""
        answer = np.zeros(self.got.shape) if array is None else wide(array).ravel()
        if answer.shape == self.got.shape:
            yield Witness(name, answer[self.indices])

    def room(self, slack: np.ndarray | None = None) -> Room:
        """What two who agree may differ by."""
        absolute = np.full(self.indices.shape, self.comparison.atol or 0.0)
        if slack is not None and slack.size == self.want.size:
            absolute += slack.ravel()[self.indices]
        return Room(absolute, self.comparison.rtol or 0.0)

    def told(self, verdict: str) -> Comparison:
        """The comparison with its verdict."""
        return replace(self.comparison, verdict=verdict) if verdict else self.comparison

    def at_a_kink(self, estimate: Estimate, disputed: int) -> Comparison | None:
        """What becomes of it where there is no derivative; None where there is one, somewhere in dispute."""
        if not np.any(estimate.kinked):
            return None
        got, want = self.parties()
        allowed = self.room().around(got.answer, want.answer)
        inside = [within(estimate, one.answer, allowed) | ~estimate.kinked for one in (got, want)]
        for one, mask in zip((got, want), inside, strict=True):
            if not np.all(mask):
                at = int(np.flatnonzero(~mask)[0])
                text = f"no derivative there, and {one.name} ({_number(one.answer[at])}) is outside of the subgradients"
                return self.told(f"{one.name} is wrong: {text}, {_interval(estimate, at)}")
        if not np.all(estimate.kinked) or len(estimate.value) < disputed:
            return None
        text = f"no derivative there, and any of {_interval(estimate, 0)} is a subgradient"
        if np.isinf(estimate.right[0]):
            text = "no derivative there, for the function jumps"
        text += f": {got.name} takes "
        text += f"{_number(got.answer[0])}, {want.name} {_number(want.answer[0])}"
        if self.comparison.what not in _FREE:
            return self.told(f"another convention at a kink: {text}")
        low, high = sorted((float(estimate.left[0].real), float(estimate.right[0].real)))
        return replace(
            self.comparison,
            status="not_differentiable",
            verdict=f"a difference of convention, not a failure: {text}",
            certificate={"method": estimate.method, "subgradients": [low, high]},
        )


def _interval(estimate: Estimate, at: int) -> str:
    low, high = sorted((estimate.left[at], estimate.right[at]), key=lambda number: (number.real, number.imag))
    return f"[{_number(low)}, {_number(high)}]"


def _number(value: complex) -> str:
    number = complex(value)
    return f"{number:.6g}" if number.imag else f"{number.real:.6g}"
