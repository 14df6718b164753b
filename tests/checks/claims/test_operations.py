"""Each op alone: random cotangents, and what is known of a gradient that is wrong."""

from __future__ import annotations

from gradcheck.autograd.op import TABLE
from gradcheck.checks.claims.operations import applies, check_operations, gradient_positions
from gradcheck.facts import fact
from tests.checks.build import context_of, point_of
from tests.conftest import WithRules

CHAIN = (
    "{inputs: {x: [[1.0, 2.0], [3.0, 4.0]], w: [[2.0, 0.0], [1.0, 1.0]]}, graph: {y: x @ w, h: tanh(y), loss: h.sum()}}"
)


def test_ops_that_agree_are_a_comparison_an_entry() -> None:
    point = point_of(CHAIN)
    found = list(check_operations(point, point.engines.tested))
    assert [(c.tensor, c.status) for c in found] == [("y", "passed"), ("h", "passed"), ("loss", "passed")]


def test_a_wrong_gradient_comes_with_the_operation(with_rules: WithRules) -> None:
    with_rules(
        "matmul", lambda g, y, a, b: TABLE["matmul"](g, b), lambda g, y, a, b: TABLE["matmul"](TABLE["mT"](a), g)
    )
    point = point_of(CHAIN)
    (wrong,) = [c for c in check_operations(point, point.engines.tested) if c.status == "failed"]
    assert wrong.tensor == "y"
    assert wrong.mismatch == fact("gradient_of_op", op="matmul", number=1, mismatch=None, ones=False)
    assert wrong.operation is not None
    assert (wrong.operation.number, wrong.operation.index, wrong.operation.application.op.name) == (0, 0, "matmul")


def test_a_rule_that_raises_fails_with_both_outcomes(with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: TABLE["reshape"](g, (7,)))
    point = point_of(CHAIN)
    (wrong,) = [c for c in check_operations(point, point.engines.tested) if c.status == "failed"]
    assert wrong.mismatch is not None
    assert (wrong.mismatch.kind, wrong.mismatch["op"]) == ("op_alone", "tanh")
    assert wrong.mismatch["what"]["want_outcome"] == fact("raised_nothing")


def test_positions_are_those_of_the_arrays_that_get_a_gradient() -> None:
    (application,) = point_of("{inputs: {x: [1.0, 2.0]}, constants: {i: [0, 1]}, graph: {y: 'x[i]'}}").applications
    assert gradient_positions(application) == [0]
    (where,) = point_of("{inputs: {x: [1.0]}, constants: {c: [true]}, graph: {y: 'where(c, 2.0, x)'}}").applications
    assert len(gradient_positions(where)) == 1


def test_nothing_is_looked_at_where_the_graph_cannot_be_evaluated() -> None:
    assert not applies(context_of("{inputs: {x: [1.0, 2.0]}, graph: {y: 'x.reshape(3)'}}"))


def test_what_is_chosen_is_asked_of_no_op_alone() -> None:
    """A random cotangent of eigenvectors depends on their phases, which torch refuses."""
    text = "{inputs: {x: [[1.0, 2.0], [3.0, 0.5]]}, graph: {y: linalg.eig(x)}, backward: {'y[0]': [1.0, 2.0]}}"
    point = point_of(text)
    assert [c.status for c in check_operations(point, point.engines.tested)] == ["passed"]
