"""A traced case: its tensors by the case's names, its steps, and the same gradients as without."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd.trace import PassedOn
from gradcheck.engines.core import Core
from gradcheck.engines.traced_case import Label, TracedCase, trace_case
from gradcheck.language.sampling import draw
from tests.claims import shipped_cases
from tests.from_text import traced_from


def order(found: TracedCase, step: int = 0) -> list[str]:
    one = found.steps[step]
    assert one.trace is not None
    return [one.labels[tensor].text for tensor in one.trace.order]


def test_names_and_expressions() -> None:
    found = traced_from("""
        inputs: {x: [1, 2]}
        constants: {c: [3.0, 4.0]}
        graph:
          y: x + x + c
          z: (y * y).sum()
        """)
    assert order(found) == ["z", "`y * y` inside z", "y", "`x + x` inside y", "x"]


def test_parts_that_are_written_alike_are_numbered() -> None:
    found = traced_from("""
        inputs: {x: [1, 2]}
        graph: {y: (exp(x) * exp(x)).sum()}
        """)
    assert order(found) == ["y", "`exp(x) * exp(x)` inside y", "`exp(x)` (2) inside y", "`exp(x)` inside y", "x"]


def test_steps() -> None:
    found = traced_from("""
        inputs: {x: [1, 2]}
        graph: {y: exp(x).sum()}
        steps:
          - {backward: y, retain_graph: false}
          - {backward: y, raises: backward_twice}
          - forward: {x: [3, 4]}
          - backward: y
        """)
    assert [one.step.action for one in found.steps] == ["backward", "backward", "forward", "backward"]
    assert [one.error and one.error.kind for one in found.steps] == [None, "backward_twice", None, None]
    assert not any(one.is_unexpected for one in found.steps)
    second = found.steps[1]
    assert second.trace is not None
    assert second.trace.freed is not None
    assert second.labels[second.trace.freed].text == "y"
    assert order(found, 3) == ["y", "`exp(x)` inside y", "x"]


def test_an_error_that_nobody_asked_for_ends_it() -> None:
    found = traced_from("""
        inputs: {x: [1, 2]}
        graph: {y: exp(x)}
        steps: [{backward: y}, {backward: y}]
        """)
    assert [one.is_unexpected for one in found.steps] == [True]


def test_a_graph_that_breaks() -> None:
    found = traced_from("""
        inputs: {x: [1, 2]}
        graph: {y: x + 1, z: "y @ ones(3, 3)"}
        """)
    assert found.error is not None
    assert (found.error.kind, found.failed_at, found.steps) == ("shape_mismatch", "z", ())


def test_deep_expressions_are_cut() -> None:
    found = traced_from(f"""
        inputs: {{x: [1, 2]}}
        graph: {{y: (x{" * 2" * 500}).sum()}}
        """)
    assert max(len(label.text) for label in found.steps[0].labels.values()) < 80


def test_every_shipped_case_is_traced_to_the_same_gradients() -> None:
    cases, errors = shipped_cases()
    assert errors == ()
    for case in cases:
        problem = draw(case)
        found, states = trace_case(problem), Core().evaluate(problem).states
        assert len(found.steps) == len(states), case.id
        last = [one for one in found.steps if one.trace is not None and one.trace.error is None]
        for one in last[-1:]:
            assert one.trace is not None
            assert all(one.labels[e.tensor].op for e in one.trace.events if isinstance(e, PassedOn)), case.id
            for kept in one.trace.kept:
                name = one.labels[kept.tensor].name
                state = states[one.index].gradients[name]
                if kept.now.array is not None and state is not None:
                    np.testing.assert_array_equal(kept.now.array, state, err_msg=case.id)


def test_labels_say_how_a_tensor_was_made() -> None:
    found = traced_from("""
        inputs: {x: [1, 2]}
        constants: {c: [3.0, 4.0]}
        graph: {y: (x * c * 2).sum()}
        """)
    labels = {label.text: label for label in found.steps[0].labels.values()}
    assert set(labels) == {"y", "`x * c * 2` inside y", "`x * c` inside y", "x"}
    assert [(labels[text].name, labels[text].op) for text in ("y", "x", "`x * c` inside y")] == [
        ("y", "sum"),
        ("x", ""),
        ("", "mul"),
    ]
    assert labels["y"].expression == "sum(x * c * 2)"


def test_a_part_without_names_is_a_constant() -> None:
    assert Label("").text == "`a constant`"
