"""What is left to do at other points comes to what evaluating all of it does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck import load
from gradcheck.autograd.op import lookup
from gradcheck.errors import ArgumentError, GradcheckError, Unsupported
from gradcheck.language.case import Case
from gradcheck.language.evaluation import host as hosts
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse
from gradcheck.language.sampling import draw
from gradcheck.oracles.exact import ops  # noqa: F401 - enters the rules
from gradcheck.oracles.exact import partial_evaluation as evaluations
from gradcheck.oracles.exact.dependencies import Dependencies
from gradcheck.oracles.exact.dual_numbers import DivisionByZero, Dual
from gradcheck.oracles.exact.field_point import FieldPoint
from gradcheck.oracles.exact.graph_at_point import GraphAtPoint, PointSettings
from gradcheck.oracles.exact.modular_arithmetic import PRIMES
from gradcheck.oracles.exact.partial_evaluation import DualHost, PointEvaluator, evaluate_partially, run_residual
from gradcheck.oracles.exact.prove import unsupported
from tests.paths import CASES

POINTS = [FieldPoint(prime, 3) for prime in PRIMES[:3]]
POINT = FieldPoint(PRIMES[0], 3)


def dual(point: FieldPoint, *shape: int) -> Dual:
    generator = np.random.default_rng(0)
    return Dual(point, point.random(generator, shape), point.random(generator, shape))


def same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, (tuple, list)):
        return type(found) is type(wanted) and all(map(same, found, wanted))
    if not isinstance(wanted, Dual):
        return bool(np.array_equal(found, wanted))
    moved = (found.tangent is None) == (wanted.tangent is None)
    is_equal = np.array_equal(found.value, wanted.value) and moved and found.degree == wanted.degree
    return is_equal and (wanted.tangent is None or np.array_equal(found.tangent, wanted.tangent))


EXPRESSIONS = """
x @ x * 2.0 + torch.ones([2, x.shape[0]]).T
x.sum(dim=1, keepdim=True) / n - 0.5 * x
2 * (3 * (x - 1) + n * x)
torch.cat([x, torch.eye(2), x], dim=n)
x[0, 1:][None].expand(2, 1) * x
x[torch.tensor([1, 0])] @ x.reshape(2, 2).mm(x)
x[torch.argsort(mask)] * mask
torch.outer(x[0], x[1]).diag().diag()
(x > 0).to(torch.float64) * (x == x) + x.detach()
torch.where(mask, x, x.T) ** (x.ndim + n)
torch.logical_and(x == x, x > 0) * x
torch.zeros_like(x) + torch.full([2, 2], 0.1) + pi * x
x.var(dim=0, unbiased=False)
torch.zeros(2, 2)
x
n
x.shape
"""


@pytest.mark.parametrize("text", EXPRESSIONS.strip().splitlines())
def test_it_is_what_evaluating_gives(text: str) -> None:
    expr, evaluation = parse(text), PointEvaluator()
    for point in POINTS:
        names = {"x": dual(point, 2, 2), "n": 1, "mask": np.array([True, False])}
        found = evaluation.of(expr, names, DualHost(point))
        assert same(found, evaluate(expr, names, DualHost(FieldPoint(point.prime, point.salt))))


def test_what_is_made_of_shapes_and_numbers_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made, step = [], evaluations.run_instruction

    def counted(*args: Any, **settings: Any) -> Any:
        made.append(args[0])
        return step(*args, **settings)

    monkeypatch.setattr(evaluations, "run_instruction", counted)
    evaluation, expr = PointEvaluator(), parse("2 * (x @ torch.ones([x.shape[1], 3 - 2])).sum(dim=0)")
    evaluation.of(expr, {"x": dual(POINTS[0], 2, 3)}, DualHost(POINTS[0]))
    assert made
    made.clear()
    evaluation.of(expr, {"x": dual(POINTS[1], 2, 3)}, DualHost(POINTS[1]))
    assert not made


def test_arguments_are_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    check = hosts.result_size.check
    monkeypatch.setattr(hosts.result_size, "check", lambda op, *rest: (asked.append(op.name), check(op, *rest)))
    evaluation, expr = PointEvaluator(), parse("(x @ x).sum(dim=0)")
    names = {"x": dual(POINTS[0], 2, 2)}
    results = [evaluation.of(expr, names, DualHost(POINTS[0])).value for _ in range(3)]
    results.append(evaluation.of(parse("(x @ x).sum(dim=0)"), names, DualHost(POINTS[0])).value)
    assert asked == ["matmul", "sum"]
    assert all(np.array_equal(result, results[0]) for result in results)


def test_other_kinds_of_arguments_are_asked_about_again() -> None:
    """1 is `True`, and no flag."""
    evaluation, names = PointEvaluator(), {"x": dual(POINTS[0], 2, 2)}
    evaluation.of(parse("x.sum(dim=0, keepdim=True)"), names, DualHost(POINTS[0]))
    with pytest.raises(ArgumentError):
        evaluation.of(parse("x.sum(dim=0, keepdim=1)"), names, DualHost(POINTS[0]))


def test_what_is_refused_stays_so() -> None:
    evaluation, expr = PointEvaluator(), parse("x.sum(dim='a')")
    for _ in range(2):
        with pytest.raises(ArgumentError):
            evaluation.of(expr, {"x": dual(POINTS[0], 2, 2)}, DualHost(POINTS[0]))


def test_errors_are_told_in_words_at_every_point() -> None:
    evaluation, expr = PointEvaluator(), parse("1 / x")
    evaluation.of(expr, {"x": dual(POINTS[0], 2)}, DualHost(POINTS[0]))
    zero = Dual(POINTS[1], np.zeros(2, dtype=np.int64))
    with pytest.raises(DivisionByZero, match="div: 0 has no inverse at this point"):
        evaluation.of(expr, {"x": zero}, DualHost(POINTS[1]))


def test_numbers_that_are_no_whole_ones_stay() -> None:
    expr = parse("x * 0.5 + 1e300")
    _, left = evaluate_partially(expr, {"x": dual(POINTS[0], 2)}, DualHost(POINTS[0]), None, set())
    assert [value for one in left[1:] for value in one.given if isinstance(value, float)] == [0.5, 1e300]
    names, host = {"x": dual(POINTS[1], 2)}, DualHost(POINTS[1])
    assert same(run_residual(left, names, host, None), evaluate(expr, names, host))


def proved_exactly() -> list[Case]:
    cases, errors = load([CASES])
    assert not errors
    return [case for case in cases if case.formulas and unsupported(case) is None]


def test_every_formula_of_the_cases() -> None:
    """At the second point it is what it is at a second point that is looked at first."""
    compared = 0
    for case in proved_exactly():
        problem = draw(case)
        known = Dependencies(problem)
        at_point(problem, known, PointSettings(number=0))
        found = at_point(problem, known, PointSettings(number=1))
        wanted = at_point(problem, Dependencies(problem), PointSettings(number=1))
        assert found.keys() == wanted.keys(), case.id
        assert all(same(found[key], wanted[key]) for key in wanted), case.id
        compared += len(wanted)
    assert compared > 500


def at_point(problem: Any, dependencies: Dependencies, setting: PointSettings) -> dict[Any, Any]:
    """What each formula comes to, or the kind of its error."""
    found: dict[Any, Any] = {}
    graph = GraphAtPoint(dependencies, setting)
    try:
        graph.derivative(())
    except GradcheckError as error:
        return {"graph": error.message}
    for tensor, claims in problem.case.formulas.items():
        for number, claim in enumerate(claims):
            try:
                found[tensor, number] = graph.claimed_value(tensor, claim.expr)
            except GradcheckError as error:
                found[tensor, number] = error.message
    return found


def dual_of(*shape: int) -> Dual:
    generator = np.random.default_rng(0)
    return Dual(POINT, POINT.random(generator, shape), POINT.random(generator, shape))


CALLS = {
    "matmul": ((dual_of(2, 3), dual_of(3, 2)), {}),
    "mul": ((dual_of(2, 3), 3), {}),
    "sum": ((dual_of(2, 3),), {"dim": 1, "keepdim": True}),
    "permute": ((dual_of(2, 3), (1, 0)), {}),  # a tuple
    "cat": (([dual_of(2, 3), dual_of(1, 3)],), {}),  # a list of them
    "outer": ((dual_of(2), dual_of(3)), {}),  # a composite
    "where": ((np.array([True, False, True]), dual_of(2, 3), 0), {}),
}


def test_what_it_calls_is_what_the_op_gives() -> None:
    host = DualHost(POINT)
    for name, (args, kwargs) in CALLS.items():
        op = lookup(name)
        found, wanted = host.call(op, args, kwargs), op(*args, **kwargs)
        assert np.array_equal(found.value, wanted.value), name
        assert np.array_equal(found.tangent, wanted.tangent), name
        assert found.degree == wanted.degree, name


def test_casts_to_integers_are_refused_as_ever() -> None:
    with pytest.raises(Unsupported):
        DualHost(POINT).call(lookup("sum"), (dual_of(2, 3),), {"dtype": np.dtype(np.int64)})


def test_lists_of_dual_numbers_are_one_without_a_gradient() -> None:
    """As `torch.tensor` detaches."""
    one = dual_of()
    found = DualHost(POINT).call(lookup("tensor"), ([[1, one], [0.5, -2]],), {})
    assert found.tangent is None
    assert found.value.shape == (2, 2)
    assert found.value[0].tolist() == [1, int(one.value)]
    assert int(found.value[1, 0]) * 2 % POINT.prime == 1
    assert int(found.value[1, 1]) == POINT.prime - 2


def test_lists_of_dual_numbers_in_integers_are_refused() -> None:
    """What is cut off would be proved."""
    make, one = lookup("tensor"), dual_of()
    with pytest.raises(Unsupported):
        DualHost(POINT).call(make, ([one, 2],), {"dtype": np.dtype(np.int64)})
    assert DualHost(POINT).call(make, ([one, 2],), {"dtype": np.dtype(np.float32)}).shape == (2,)
