"""What an engine does in a small graph of single numbers is named; what is right there is nothing."""

from __future__ import annotations

from typing import Any

import pytest

from gradcheck import run
from gradcheck.checks.failures.gradient_flow import GradientFlow
from gradcheck.checks.failures.traversal_faults import (
    AS_WRITTEN,
    REVERSED,
    TRAVERSAL_FAULTS,
    Traversal,
    TraversalFault,
    TraversedGraph,
)
from gradcheck.checks.failures.traversal_probe import (
    diagnose_small_graphs,
    is_right_on_small_graph,
    separate_by_small_graphs,
)
from gradcheck.checks.result import CaseResult, Diagnosis
from gradcheck.engines.base import Evaluation, State
from gradcheck.engines.core import Core
from gradcheck.engines.resolve import adapt
from gradcheck.facts import fact
from gradcheck.language.loader import load_text
from tests.checks.mutants import WrongSweep
from tests.engines.dialects import arrays, bare, diseases, figures, sound

_LAYER = (
    "inputs: {x: [[1, 2], [3, 4]], w: [[0.5, -1], [2, 1.5]], b: [0.1, 0.2]}\n"
    "graph: {z: x @ w, h: z + b, l: h * h, loss: l.sum()}\n"
)
_REUSE = "inputs: {a: 1.5, b: -2.0}\ngraph: {c: a * b, d: c * a, e: d + c, f: d * e}\nbackward: f\n"
_PLAIN = "inputs: {a: [1, 2]}\ngraph: {y: a * a}\nbackward: {y: [1, 2]}\n"


def asked(kind: Any, passes: int = 1) -> str:
    found = diagnose_small_graphs(adapt(kind, "mine"), passes)
    return "" if found is None else found.kind


@pytest.mark.parametrize(
    ("disease", "kind"),
    [
        ("Overwrites", "overwritten"),
        ("PassesOnEarly", "passed_on_early"),
        ("CountsTwice", "passed_on_early"),
        ("SharesArrays", "mutated"),
    ],
)
def test_every_disease_of_a_pass_is_named(disease: str, kind: str) -> None:
    sick = type("Sick", (getattr(diseases, disease), sound.Tensor), {})
    assert asked(sick) == kind
    assert not is_right_on_small_graph(adapt(sick, "mine"))


def test_what_is_left_over_shows_in_a_second_pass() -> None:
    sick = type("Sick", (diseases.KeepsStale, sound.Tensor), {})
    assert (asked(sick), asked(sick, 2)) == ("", "stale")


class Going:
    """An engine that goes through graphs in one way, by the core's rules."""

    name = "going"

    def __init__(self, way: Traversal, order: int) -> None:
        self.way, self.order = way, order

    def evaluate(self, problem: Any) -> Evaluation:
        flow = GradientFlow(problem, 0)
        numbers = {tensor: number for number, tensor in enumerate(flow.owners)}
        totals = self.way(TraversedGraph(*flow.roots_and_seeds(), (), numbers, self.order)) or {}
        values = {name: tensor.data for name, tensor in flow.tensors.items()}
        gradients = {name: totals.get(tensor) for name, tensor in flow.tensors.items()}
        return Evaluation(self.name, (State(values, gradients),))


#: What gives the same whatever the graph: by recursion, the first to arrive is the last the other way round. What takes
#: paths from a stack, and keeps the last to arrive, keeps the first in the order of recursion.
ALIKE = {
    ("passed_on_early", 0, AS_WRITTEN, False),
    ("passed_on_early", 0, REVERSED, False),
    ("overwritten", 1, REVERSED, True),
    ("overwritten", 2, REVERSED, True),
}


@pytest.mark.parametrize("order", [AS_WRITTEN, REVERSED])
@pytest.mark.parametrize("wrong", [w for w in TRAVERSAL_FAULTS if w.kind != "stale"], ids=lambda w: w.message.kind)
def test_every_way_of_going_wrong_has_numbers_of_its_own(wrong: TraversalFault, order: int) -> None:
    for number, way in enumerate(wrong.traversals):
        found = diagnose_small_graphs(Going(way, order))  # type: ignore[arg-type]
        if (wrong.kind, number, order, wrong.in_any_order) not in ALIKE:
            assert found is not None and found.kind == wrong.kind, number  # noqa: PT018


def test_who_takes_matrices_alone_is_asked_for_matrices() -> None:
    class Matrices(Going):
        def evaluate(self, problem: Any) -> Evaluation:
            if any(array.ndim != 2 for array in problem.inputs.values()):
                return Evaluation(self.name, ())
            return super().evaluate(problem)

    (latest, *_) = next(wrong.traversals for wrong in TRAVERSAL_FAULTS if wrong.kind == "overwritten")
    found = diagnose_small_graphs(Matrices(latest, AS_WRITTEN))  # type: ignore[arg-type]
    assert found is not None
    assert found.kind == "overwritten"


class Doubles(sound.Tensor):
    """Everything that arrives is added twice."""

    def fit(self, gradient: Any, shape: Any) -> Any:
        return 2 * super().fit(gradient, shape)


def test_what_is_added_twice_is_counted_twice() -> None:
    assert asked(Doubles) == "counted_twice"


@pytest.mark.parametrize("kind", [sound.Tensor, figures.Value, figures.Shuffled], ids=lambda kind: kind.__name__)
def test_what_is_right_is_no_disease(kind: type) -> None:
    assert asked(kind) == ""
    assert diagnose_small_graphs(Core()) is None


def test_of_what_cannot_be_asked_nothing_is_said() -> None:
    assert asked(bare.Overwriting) == ""
    assert is_right_on_small_graph(adapt(bare.Overwriting, "mine"))


BOTH = tuple(Diagnosis(kind, fact("said", text=kind), "possible") for kind in ("overwritten", "use_dropped"))


def test_a_right_engine_refutes_neither() -> None:
    assert separate_by_small_graphs(BOTH, Core()) == BOTH


def test_one_kind_alone_is_not_separated() -> None:
    assert separate_by_small_graphs(BOTH[:1], WrongSweep("overwritten")) == BOTH[:1]


@pytest.mark.parametrize(("fault", "kind"), [("overwritten", "overwritten"), ("a use dropped", "use_dropped")])
def test_three_uses_separate_the_two(fault: str, kind: str) -> None:
    (found,) = separate_by_small_graphs(BOTH, WrongSweep(fault))
    assert (found.kind, found.confidence) == (kind, "confirmed")
    assert found.evidence is not None
    assert found.evidence.kind == "small_graph_shows"


def judged(kind: Any, text: str) -> CaseResult:
    cases, errors = load_text(text, "case.yaml")
    assert not errors
    return run(cases, engines=[adapt(kind, "mine")], trials=1, oracle="none").cases[0]


def kinds(found: CaseResult) -> list[str]:
    return [diagnosis.kind for c in found.comparisons for diagnosis in c.diagnoses]


class AfterAdding(figures.Value):
    """Recursion: a value is passed on again on each arrival, with all that has come by then."""

    def backward(self, first: bool = True) -> None:
        if first:
            self.grad = 1.0
        self.step()
        for child in self.previous:
            child.backward(first=False)


@pytest.mark.parametrize("text", [_REUSE, _LAYER], ids=["reuse", "layer"])
def test_one_disease_has_one_name_and_one_cause(text: str) -> None:
    found = judged(AfterAdding, text)
    assert found.status == "failed"
    assert kinds(found) == ["passed_on_early"]
    assert len([c for c in found.comparisons if c.cause]) == 1


class Stacked(figures.Value):
    """A stack of values and what arrives at them: inputs keep what arrives last."""

    def backward(self) -> None:
        waiting = [(self, 1.0)]
        while waiting:
            value, gradient = waiting.pop()
            value.grad = gradient
            value.step_alone(waiting)

    def step_alone(self, waiting: list[Any]) -> None:
        before = [child.grad for child in self.previous]
        for child in self.previous:
            child.grad = 0.0
        self.step()
        waiting += [(child, child.grad) for child in dict.fromkeys(self.previous)]
        for child, gradient in zip(self.previous, before, strict=True):
            child.grad = gradient


def test_inputs_that_keep_what_arrives_last_along_each_path_are_overwritten() -> None:
    assert kinds(judged(Stacked, _REUSE)) == ["overwritten"]


@pytest.mark.parametrize("disease", ["Overwrites", "PassesOnEarly", "CountsTwice"])
def test_classes_that_keep_no_gradients_of_intermediates_show_as_much(disease: str) -> None:
    kind = type(disease, (getattr(diseases, disease), arrays.LeavesOnly), {})
    assert set(kinds(judged(kind, _REUSE))) == {"overwritten" if disease == "Overwrites" else "passed_on_early"}


def test_what_is_wrong_at_a_single_tensor_is_no_way_through_the_graph() -> None:
    class Doubles(sound.Tensor):
        def receive(self, gradient: Any) -> None:
            super().receive(gradient * (1 if self.parents else 3))

    found = judged(Doubles, _PLAIN)
    assert found.status == "failed"
    assert not {"passed_on_early", "mutated", "stale"} & set(kinds(found))


def test_left_over_gradients_of_numbers_that_no_name_has_are_told_by_a_small_graph() -> None:
    class Stale(figures.Value):
        pass

    steps = "steps: [{backward: s}, {backward: s}, {backward: s}]\n"
    found = judged(Stale, f"inputs: {{x: [1, 2, 3], y: [4, 5, 6]}}\ngraph: {{s: (x + y).sum()}}\n{steps}")
    assert (found.status, kinds(found)) == ("failed", ["stale"])
