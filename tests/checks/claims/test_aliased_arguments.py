"""Ops of which two arguments are one tensor."""

from __future__ import annotations

from gradcheck.checks.claims.aliased_arguments import wrong_where_aliased
from gradcheck.checks.claims.cotangents import operations_of
from gradcheck.checks.options import Options, engines_of
from tests.checks.build import point_of
from tests.checks.conftest import Check
from tests.paths import wrong_engine

SHARED = "{inputs: {a: [1.0, 2.0]}, graph: {c: a + 1, d: c * c, e: d - d, loss: (e + c).sum()}}"


def found(engine: str) -> list[tuple[str, str]]:
    point = point_of(SHARED)
    applications = point.applications
    cotangents = [operation.cotangents for operation in operations_of(applications, 0)]
    apart = point.engines.reference.pull_back(applications, cotangents, point.problem.dtype)
    (tested,) = engines_of(Options(engines=[engine])).tested
    wrong = wrong_where_aliased(applications, cotangents, apart, (tested, point.problem.dtype))
    return [(owner, applications[number].op.name) for owner, number in wrong]


def test_engines_that_are_right_are() -> None:
    assert found("core") == []
    assert found("torch") == []
    assert found(wrong_engine("right")) == []


def test_an_engine_that_is_wrong_there_alone_is_found_out() -> None:
    assert found(wrong_engine("forgets_itself")) == [("d", "mul")]


def test_it_is_told_as_a_cause_with_its_consequences(check: Check) -> None:
    case = check(SHARED, engines=[wrong_engine("forgets_itself")])
    (node,) = [c for c in case.comparisons if c.what == "node" and c.status == "failed"]
    assert node.mismatch is not None
    assert (node.mismatch.kind, node.mismatch["op"]) == ("wrong_where_shared", "mul")
    assert node.cause is not None
    assert node.cause.what.kind == "shared_argument"


def test_rounding_noise_is_no_lost_use(check: Check) -> None:
    """The gradient of a tensor's cosine with itself is zero, and what engines return is noise."""
    for seed in range(5):
        case = check("{inputs: {b: 'randn(4, 3)'}, graph: {y: 'F.cosine_similarity(b, b)', z: y.sum()}}", seed=seed)
        assert case.status == "passed", [c for c in case.comparisons if c.status != "passed"]
