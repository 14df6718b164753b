"""Each mutation of the core does what it says, and nothing else; and what is used is noted."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd import Tensor, ops
from gradcheck.checks.mutation.mutations import (
    MAX_PARTS,
    MAX_REUSED,
    PASSES_OVERWRITTEN,
    RULE_MUTATIONS,
    SWEEP_MUTATIONS,
    CoverageCore,
    MutantCore,
    Mutation,
    ReusedTensor,
    mutations_of,
    positions,
    rule_mutations,
    sweep_mutations,
)
from gradcheck.engines.core import Core
from gradcheck.facts import fact
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from tests.checks.build import point_of
from tests.from_text import case_of


def leaf(*shape: int, requires_grad: bool = True) -> Tensor:
    return Tensor(np.ones(shape), requires_grad=requires_grad)


def test_those_that_want_a_gradient_have_a_position() -> None:
    assert positions(leaf(2) * leaf(2)) == [0, 1]
    assert positions(leaf(2, requires_grad=False) * leaf(2)) == [1]
    assert positions(leaf(2) * 3.0) == [0]


def test_all_items_of_a_sequence_share_one() -> None:
    assert positions(ops.cat([leaf(2), leaf(3, requires_grad=False), leaf(1)])) == [0, 0]


def mutations(problem: Problem) -> dict[tuple[str, str, str], Mutation]:
    """By kind, op and argument."""
    coverage = CoverageCore()
    coverage.evaluate(problem)
    found = rule_mutations(coverage.applied)
    return {(one.kind.kind, one.where["op"], one.where["argument"]): one for one in found}


def gradient(problem: Problem, tensor: str, mutation: Mutation | None = None) -> np.ndarray:
    engine = Core() if mutation is None else MutantCore(mutation)
    return np.asarray(engine.evaluate(problem).states[-1].gradients[tensor])


@pytest.fixture
def product() -> Problem:
    text = "{inputs: {x: 'randn(3, 3)', row: 'randn(3)'}, graph: {y: x * row}, backward: {y: 'randn(3, 3)'}}"
    return draw(case_of(text))


def test_signs_factors_zeros_and_transposes(product: Problem) -> None:
    found, right = mutations(product), gradient(product, "x")

    def mutant(kind: str) -> np.ndarray:
        return gradient(product, "x", found[kind, "mul", "input"])

    np.testing.assert_array_equal(mutant("rule_negated"), -right)
    np.testing.assert_array_equal(mutant("rule_zeroed"), np.zeros((3, 3)))
    np.testing.assert_array_equal(mutant("rule_transposed"), right.T)
    np.testing.assert_allclose(mutant("rule_scaled"), 1.001 * right, rtol=1e-14)
    assert np.count_nonzero(mutant("rule_one_element_off") != right) == 1


def test_the_other_argument_is_left_alone(product: Problem) -> None:
    found = mutations(product)
    wrong = gradient(product, "row", found["rule_negated", "mul", "input"])
    np.testing.assert_array_equal(wrong, gradient(product, "row"))


def test_an_unreduced_broadcast_has_the_shape_of_the_result() -> None:
    problem = draw(case_of("{inputs: {x: 'randn(2, 3)', row: 'randn(3)'}, graph: {y: x + row, loss: y.sum()}}"))
    wrong = mutations(problem)["rule_not_summed", "add", "other"]
    assert gradient(problem, "row", wrong).shape == (2, 3)


@pytest.mark.parametrize(("op", "expected"), [("sum", 1 / 6), ("mean", 1.0)])
def test_a_mean_for_a_sum_and_a_sum_for_a_mean(op: str, expected: float) -> None:
    problem = draw(case_of(f"{{inputs: {{x: 'randn(2, 3)'}}, graph: {{loss: x.{op}()}}}}"))
    wrong = mutations(problem)["rule_mean_for_sum", op, "input"]
    np.testing.assert_allclose(gradient(problem, "x", wrong), np.full((2, 3), expected))


def test_ops_have_the_mutations_that_fit_them() -> None:
    problem = draw(case_of("{inputs: {x: 'randn(2, 2)'}, graph: {y: x @ x, z: exp(y), loss: z.sum()}}"))
    by_op: dict[str, set[str]] = {}
    for kind, op, _ in mutations(problem):
        by_op.setdefault(op, set()).add(kind)
    assert RULE_MUTATIONS.keys() - by_op["matmul"] == {"rule_not_summed", "rule_mean_for_sum"}
    assert RULE_MUTATIONS.keys() - by_op["exp"] == {"rule_mean_for_sum"}
    assert RULE_MUTATIONS.keys() - by_op["sum"] == {"rule_not_summed"}


def reused_in(problem: Problem) -> list[ReusedTensor]:
    coverage = CoverageCore()
    coverage.evaluate(problem)
    return list(coverage.reused_tensors)


@pytest.fixture
def squared() -> Problem:
    """`z = y * y`, two uses of which each brings half of y's gradient."""
    text = "{inputs: {x: 'randn(3)'}, graph: {y: x * 2, z: y * y}, backward: {z: 'randn(3)'}}"
    return draw(case_of(text))


def test_a_tensor_that_is_used_twice_is_told(squared: Problem) -> None:
    (found,) = reused_in(squared)
    assert (found.op, found.shape, found.count) == ("mul", (3,), 2)


def test_a_leaf_has_no_op() -> None:
    problem = draw(case_of("{inputs: {x: [1, 2]}, graph: {y: x * x * x, loss: y.sum()}}"))
    assert [(one.op, one.count) for one in reused_in(problem)] == [("", 3)]


def test_of_many_only_the_first_are_taken() -> None:
    graph = ", ".join(f"y{n}: {'x' if n == 0 else f'y{n - 1}'} * {'x' if n == 0 else f'y{n - 1}'}" for n in range(20))
    problem = draw(case_of(f"{{inputs: {{x: 1}}, graph: {{{graph}}}}}"))
    assert len(reused_in(problem)) == MAX_REUSED


@pytest.mark.parametrize(("kind", "share"), [("use_lost", 0.5), ("use_doubled", 1.5), ("uses_overwritten", 0.5)])
def test_the_last_use_goes_wrong(squared: Problem, kind: str, share: float) -> None:
    found = {one.kind.kind: one for one in sweep_mutations(reused_in(squared))}
    assert found.keys() == SWEEP_MUTATIONS.keys()
    right = np.asarray(Core().evaluate(squared).states[-1].gradients["y"])
    wrong = np.asarray(MutantCore(found[kind]).evaluate(squared).states[-1].gradients["y"])
    np.testing.assert_allclose(wrong, share * right)


def test_three_uses_tell_lost_from_overwritten() -> None:
    problem = draw(case_of("{inputs: {x: [2]}, graph: {y: x * 1, z: y + y + y, loss: z.sum()}}"))
    found = {one.kind.kind: one for one in sweep_mutations(reused_in(problem))}

    def gradient(kind: str) -> float:
        gradients = MutantCore(found[kind]).evaluate(problem).states[-1].gradients
        return float(np.asarray(gradients["y"])[0])

    assert (gradient("use_lost"), gradient("use_doubled"), gradient("uses_overwritten")) == (2, 4, 1)


def test_passes_that_overwrite() -> None:
    text = "{inputs: {x: [1, 2]}, graph: {y: (3 * x).sum()}, steps: [{backward: y}, {backward: y}]}"
    problem = draw(case_of(text))
    assert list(np.asarray(Core().evaluate(problem).states[-1].gradients["x"])) == [6, 6]
    assert list(np.asarray(MutantCore(PASSES_OVERWRITTEN).evaluate(problem).states[-1].gradients["x"])) == [3, 3]


CHAIN = "{inputs: {x: 'randn(3)', c: 'randn(3)'}, graph: {y: tanh(x) * c, dead: exp(x), loss: y.sum()}}"


def gradients(engine: Core, problem: Problem) -> dict[str, np.ndarray | None]:
    return dict(engine.evaluate(problem).states[-1].gradients)


def test_what_is_used_is_noted() -> None:
    coverage = CoverageCore()
    coverage.evaluate(draw(case_of(CHAIN)))
    assert {(op.name, position) for op, position in coverage.applied} == {
        ("sum", 0), ("mul", 0), ("mul", 1), ("tanh", 0),
    }  # fmt: skip
    assert list(coverage.reused_tensors) == []


def test_noting_changes_nothing() -> None:
    problem = draw(case_of(CHAIN))
    for name, gradient in gradients(Core(), problem).items():
        other = gradients(CoverageCore(), problem)[name]
        assert (gradient is None) == (other is None)
        if gradient is not None:
            np.testing.assert_array_equal(gradient, np.asarray(other))


def test_an_op_alone_has_the_mutation_too() -> None:
    point = point_of(CHAIN)
    coverage = CoverageCore()
    coverage.evaluate(point.problem)
    (tanh,) = [one for one in point.applications if one.op.name == "tanh"]
    mutation = next(m for m in rule_mutations(coverage.applied) if m.op is tanh.op and m.kind.kind == "rule_negated")
    (right,) = Core().pull_back([tanh], [[np.ones(3)]], point.problem.dtype)
    (wrong,) = MutantCore(mutation).pull_back([tanh], [[np.ones(3)]], point.problem.dtype)
    np.testing.assert_array_equal(np.asarray(wrong.gradients[0]), -np.asarray(right.gradients[0]))


@pytest.mark.parametrize(
    ("formula", "mutant", "kind"),
    [
        ("x + y", "x - y", fact("op_swapped", old="add", new="sub")),
        ("x + y", "x", fact("term_dropped")),
        ("x + y", "y", fact("term_dropped")),
        ("x - y", "-y", fact("term_dropped")),
        ("x * y", "x / y", fact("op_swapped", old="mul", new="div")),
        ("x / y", "x * y", fact("op_swapped", old="div", new="mul")),
        ("a @ b.T", "a @ b", fact("transpose_removed")),
        ("a @ b", "b @ a", fact("factors_exchanged")),
        ("a @ b", "a.mT @ b", fact("transpose_added")),
        ("a @ b", "a @ b.mT", fact("transpose_added")),
        ("x.sum(dim=0)", "sum(x, dim=1)", fact("dimension_changed")),
        ("x.sum(dim=1)", "mean(x, dim=1)", fact("op_swapped", old="sum", new="mean")),
        ("x.mean()", "sum(x)", fact("op_swapped", old="mean", new="sum")),
        ("sum(x, -1)", "sum(x, 0)", fact("dimension_changed")),
        ("softmax(x, dim=1)", "softmax(x, dim=0)", fact("dimension_changed")),
        ("x ** 2", "x ** 3", fact("power_changed")),
        ("ones(x.shape[0])", "ones(x.shape[1])", fact("size_changed")),
        ("x", "-x", fact("sign_changed")),
        ("x", "2 * x", fact("factor_added", factor=2.0)),
        ("x", "1.001 * x", fact("factor_added", factor=1.001)),
        ("x", "x.mT", fact("transpose_added")),
        ("(x + y) * (x + y)", "(x + y) * (x - y)", fact("op_swapped", old="add", new="sub")),
    ],
)
def test_a_mutation_is_among_them(formula: str, mutant: str, kind: object) -> None:
    assert (kind, mutant) in [(kind, to_text(wrong)) for kind, wrong in mutations_of(parse(formula))]


def test_no_mutant_is_the_formula_itself_or_another_one_again() -> None:
    formula = parse("((z @ y @ x).sum(dim=1, keepdim=True) @ torch.ones([1, n.shape[0]])).T")
    found = [to_text(wrong) for _, wrong in mutations_of(formula)]
    assert len(found) == len(set(found))
    assert to_text(formula) not in found


def test_long_formulas_get_a_sample() -> None:
    formula = parse(" + ".join(f"x{i} * y{i}" for i in range(200)))
    assert MAX_PARTS < len(list(mutations_of(formula))) < 5 * MAX_PARTS


def test_dividing_by_a_sign_is_no_mistake() -> None:
    mutants = [to_text(wrong) for _, wrong in mutations_of(parse("x * sign(y)"))]
    assert "x / sign(y)" not in mutants
    assert "x / y" in [to_text(wrong) for _, wrong in mutations_of(parse("x * y"))]
