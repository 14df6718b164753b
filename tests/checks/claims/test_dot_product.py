"""`<u, J v> = <J.T u, v>`: of engines that have both modes, or one of them."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.checks.claims.dot_product import check_dot_product
from gradcheck.checks.claims.jvp_points import JvpPoint
from gradcheck.checks.result import Comparison
from gradcheck.reports.phrases.comparison_text import headline
from tests.checks.build import point_of
from tests.conftest import WithRules


def dot_product(text: str) -> Comparison | None:
    """The core's."""
    point = point_of(text)
    with np.errstate(all="ignore"):
        return next(check_dot_product(JvpPoint(point, None, uses_oracle=True), point.engines.tested[0]), None)


def test_both_sides_are_the_same_number() -> None:
    found = dot_product("{inputs: {x: [1.0, 2.0], w: [3.0, -1.0]}, graph: {y: x * w}, backward: {y: [2, 5]}}")
    assert found is not None
    assert found.status == "passed"
    assert found.elements == 1


def test_of_several_passes_the_last_counts_and_of_several_roots_all() -> None:
    found = dot_product(
        "{inputs: {x: [1.0, 2.0]}, graph: {y: x * x, z: exp(x)}, "
        "steps: [backward: {y: [1, 1]}, backward: {y: [2, 3], z: [1, -1]}]}"
    )
    assert found is not None
    assert found.status == "passed"


def test_a_pass_that_raises_has_none() -> None:
    text = "{inputs: {x: [1, 2]}, graph: {z: x * x}, steps: [{backward: z, raises: non_scalar_backward}]}"
    assert dot_product(text) is None


def test_what_is_not_finite_has_none() -> None:
    assert dot_product("{inputs: {x: [0.0, 2.0]}, graph: {z: 1 / x}, backward: {z: [1, 1]}}") is None


def test_a_mode_that_contradicts_the_other_is_found(with_rules: WithRules) -> None:
    with_rules("exp", lambda g, y, x: TABLE["detach"](g) * y)
    found = dot_product("{inputs: {x: [1.0, 2.0]}, graph: {y: exp(x)}, backward: {y: [2, 5]}}")
    assert found is not None
    assert found.status == "failed"
    assert headline(found).endswith("<J.T u, v> by core's gradients is not <u, J v> by core's tangents")
    assert found.verdict is not None
    assert found.verdict.kind == "oracle_sides_with"
    assert found.verdict["got"].kind == "reverse_mode_of"


def test_a_bias_before_a_batch_norm_is_rounding_alone() -> None:
    found = dot_product(
        "{inputs: {b: 'randn(3)'}, constants: {x: 'randn(5, 3)'}, backward: {y: 'randn(5, 3)'}, "
        "graph: {y: 'batch_norm(x + b, None, None, training=True)'}}"
    )
    assert found is not None
    assert found.status == "passed"


def test_in_half_precision_sums_that_stall_are_no_failure() -> None:
    found = dot_product("{dtype: bfloat16, inputs: {x: [1.0]}, graph: {y: 'x.expand(1000)', loss: y.sum()}}")
    assert found is None or found.status == "passed"
