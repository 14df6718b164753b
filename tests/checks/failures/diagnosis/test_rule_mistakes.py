"""Hypotheses about one op's rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.checks.failures.diagnosis import rule_mistakes
from gradcheck.checks.failures.diagnosis.catalogue import Evidence, Predict, Rule
from gradcheck.facts import Fact, fact
from tests.checks.failures.diagnosis.evidence import fitting, guessed, of_rule, rule
from tests.checks.failures.test_composed_ops import causes, checked


def case(inputs: str, out: str, shape: str, dtype: str = "float64") -> str:
    return f"{{dtype: {dtype}, inputs: {{{inputs}}}, graph: {{out: '{out}'}}, backward: {{out: 'randn({shape})'}}}}"


EXP = rule(case("x: 'randn(3)'", "exp(x)", "3"))
MATMUL = rule(case("x: 'randn(3, 3)', y: 'randn(3, 3)'", "x @ y", "3, 3"))
SUB = rule(case("x: 'randn(2, 3)', y: 'randn(3)'", "x - y", "2, 3"))
DIV = rule(case("x: 'uniform(1, 2, [3])', y: 'uniform(1, 2, [3])'", "x / y", "3"))
G, (X,), Y = EXP.cotangents[0], EXP.tensors, EXP.output
MG, (A, B) = MATMUL.cotangents[0], MATMUL.tensors
DG, (P, Q) = DIV.cotangents[0], DIV.tensors


@pytest.mark.parametrize(
    ("predict", "known", "got", "key", "found"),
    [
        (
            rule_mistakes.ones_for_incoming,
            EXP,
            np.exp(X),
            "ones",
            fact("incoming_is_ignored", instead=fact("ones_in_its_place")),
        ),
        (rule_mistakes.incoming_passed_on, EXP, G, "incoming", fact("incoming_is_passed_on")),
        (rule_mistakes.incoming_passed_on, SUB, SUB.cotangents[0], "incoming", fact("incoming_is_passed_on")),
        (rule_mistakes.forward_value, DIV, DG * (P / Q), "value", fact("value_for_derivative", op="div")),
        (rule_mistakes.forward_value, DIV, P / Q, "alone", fact("value_alone", op="div")),
        (
            rule_mistakes.swapped_gradients,
            MATMUL,
            A.T @ MG,
            ("gradient", 1),
            fact("gradient_of_other_tensor", got=1, want=0),
        ),
        (
            rule_mistakes.swapped_operands,
            DIV,
            DG / P,
            ("operands", 1),
            fact("arguments_swapped", one=1, other=0, gradients=False),
        ),
        (
            rule_mistakes.swapped_operands,
            DIV,
            -DG * Q / P**2,
            ("both", 1),
            fact("arguments_swapped", one=1, other=0, gradients=True),
        ),
        (rule_mistakes.transposed_operand, MATMUL, MG @ B, 1, fact("tensor_transposed", position=1)),
        (rule_mistakes.transposed_operand, MATMUL, MG.T @ B.T, "incoming", fact("incoming_transposed")),
        (rule_mistakes.transposed_operand, MATMUL, B.T @ MG, ("order", 1, 1), fact("factors_in_wrong_order")),
        (rule_mistakes.saved_value, EXP, G * np.exp(Y), ("output", 0), fact("result_for_tensor", position=0)),
        (rule_mistakes.saved_value, EXP, G * np.exp(G), ("incoming", 0), fact("incoming_for_tensor", position=0)),
        (rule_mistakes.saved_value, EXP, G, ("zeros", 0), fact("zeros_for_tensor", position=0)),
    ],
)
def test_mistakes_of_a_rule(predict: Predict, known: Rule, got: np.ndarray, key: Any, found: Fact) -> None:
    assert fitting(predict, of_rule(known, got))[key] == found
    right = fitting(predict, of_rule(known, known.right_gradients[known.index]))
    assert key not in right or predict is rule_mistakes.incoming_passed_on  # x - y passes its incoming gradient on


@pytest.mark.parametrize(
    ("made", "found"),
    [("g", "incoming_is_passed_on"), ("np.broadcast_to(g, self.data.shape).copy()", "incoming_is_spread")],
)
def test_a_maximum_whose_gradient_goes_to_every_element(made: str, found: str) -> None:
    """It is not the sum over an axis of the right one, though that has these numbers, too."""
    maximum = f"    def max(self):\n        return type(self)(self.data.max(), [(self, lambda g: {made})])\n\n"
    case = checked(
        "{inputs: {x: [1.0, 5.0, 0.3]}, graph: {y: x.amax()}}", ("    def __neg__(", f"{maximum}    def __neg__(")
    )
    (cause,) = causes(case)
    assert [(one.kind, one.message) for one in cause.diagnoses] == [("incoming_passed_on", fact(found))]


def test_a_single_one_may_stand_for_all_of_them() -> None:
    added = rule(case("x: 'randn(3)', y: 'randn(3)'", "x + y", "3"))
    found = fact("incoming_is_ignored", instead=fact("ones_in_its_place"))
    assert fitting(rule_mistakes.ones_for_incoming, of_rule(added, np.array(1.0)))["one"] == found


def test_ones_elsewhere_in_the_graph() -> None:
    instead = fact("ones_for", tensor="y")
    evidence = Evidence(np.ones(2), np.zeros(2), reseeded={instead: np.ones(2)})
    assert fitting(rule_mistakes.ones_for_incoming, evidence) == {instead: fact("incoming_is_ignored", instead=instead)}


def test_without_a_rule_nothing_is_known_of_arguments() -> None:
    for predict in (
        rule_mistakes.incoming_passed_on,
        rule_mistakes.swapped_gradients,
        rule_mistakes.swapped_operands,
        rule_mistakes.saved_value,
    ):
        assert guessed(predict, Evidence(np.ones(2), np.zeros(2))) == []


def test_conjugates() -> None:
    known = rule(case("z: 'randn(3)', w: 'randn(3)'", "z * w", "3", "complex128"))
    g, w = known.cotangents[0], known.tensors[1]
    found = fitting(rule_mistakes.conjugate, of_rule(known, np.conj(known.right_gradients[0])))
    assert found["conj"] == fact("is_conjugate")
    assert fitting(rule_mistakes.conjugate, of_rule(known, g * w)) == {"incoming": fact("derivative_not_conjugated")}
    assert guessed(rule_mistakes.conjugate, of_rule(EXP, G)) == []


@pytest.mark.parametrize(("step", "start"), [(1, 2), (-1, 0)])
def test_an_index_that_is_off_by_one(step: int, start: int) -> None:
    known = rule(case("x: 'randn(5)'", "x[1:3]", "2"))
    got = np.zeros(5)
    got[start : start + 2] = known.cotangents[0]
    found = fitting(rule_mistakes.index_off_by_one, of_rule(known, got))
    assert list(found.values()) == [fact("index_off_by_one", argument=1, step=step)]


def test_texts_and_booleans_are_no_indices() -> None:
    known = rule(case("x: 'randn(3)', y: 'randn(3)'", 'einsum("i,i->i", x, y)', "3"))
    assert guessed(rule_mistakes.index_off_by_one, of_rule(known)) == []


CASE = "{inputs: {x: 'randn(3, 4)'}, graph: {out: '%s'}, backward: {out: '%s'}}"
LAYER = """
    inputs: {x: 'randn(3, 4)', w: 'randn(4)', b: 'randn(4)'}
    graph: {out: 'nn.functional.layer_norm(x, [4], w, b)'}
    backward: {out: 'randn(3, 4)'}
"""


@pytest.mark.parametrize("name", ["softmax", "softmin", "log_softmax"])
def test_softmax(name: str) -> None:
    known = rule(CASE % (f"nn.functional.{name}(x, 1)", "randn(3, 4)"))
    g, y = known.incoming, known.output
    assert g is not None
    assert y is not None
    wrong = {"softmax": y * g, "softmin": -y * g, "log_softmax": g}[name]
    assert fitting(rule_mistakes.softmax, of_rule(known, wrong)) == {name: fact("no_centring_term", op=name)}
    assert fitting(rule_mistakes.softmax, of_rule(known, known.right_gradients[0])) == {}


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_the_diagonal_of_a_softmax(name: str) -> None:
    known = rule(CASE % (f"nn.functional.{name}(x, 1)", "randn(3, 4)"))
    g, y = known.incoming, known.output
    assert g is not None
    assert y is not None
    wrong = g * y * (1 - y) if name == "softmax" else g * (1 - np.exp(y))
    found = {"diagonal": fact("softmax_diagonal", op=name)}
    assert fitting(rule_mistakes.softmax_diagonal, of_rule(known, wrong)) == found
    assert fitting(rule_mistakes.softmax_diagonal, of_rule(known, known.right_gradients[0])) == {}


def test_another_op_says_nothing() -> None:
    known = rule(CASE % ("exp(x)", "randn(3, 4)"))
    for predict in (
        rule_mistakes.softmax,
        rule_mistakes.softmax_diagonal,
        rule_mistakes.variance,
        rule_mistakes.layer_norm,
    ):
        assert guessed(predict, of_rule(known)) == []


@pytest.mark.parametrize(
    ("text", "incoming", "dims"),
    [("x.var(dim=1)", "randn(3)", 1), ("x.std(dim=[0, 1])", "randn([])", (0, 1)), ("x.var()", "randn([])", (0, 1))],
)
def test_a_variance(text: str, incoming: str, dims: tuple[int, ...] | int) -> None:
    known = rule(CASE % (text, incoming))
    want, x = known.right_gradients[0], known.tensor
    assert want is not None
    centred = x - x.mean(dims, keepdims=True)
    name = known.application.op.name
    found = fitting(rule_mistakes.variance, of_rule(known, want / centred * x))
    assert found == {"variance": fact("no_centring_term", op=name)}


def test_layer_norm_as_if_its_statistics_were_constants() -> None:
    known = rule(LAYER)
    x, w, _ = known.tensors
    assert known.incoming is not None
    centred = x - x.mean(1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
    h, normal = known.incoming * w, centred / deviation
    mean, along = h.mean(1, keepdims=True), normal * (h * normal).mean(1, keepdims=True)

    def found(got: np.ndarray) -> dict[object, object]:
        return dict(fitting(rule_mistakes.layer_norm, of_rule(known, got)))

    assert found(h / deviation) == {"both": fact("layer_norm_constants")}
    assert found((h - along) / deviation) == {"mean": fact("layer_norm_constant", statistic="mean")}
    assert found((h - mean) / deviation) == {"variance": fact("layer_norm_constant", statistic="variance")}
    assert found((h - mean - along) / deviation) == {}


def test_the_weight_of_layer_norm_has_no_such_term() -> None:
    assert guessed(rule_mistakes.layer_norm, of_rule(rule(LAYER, 1))) == []


def test_of_one_tensor_in_both_places_the_other_gradient_is_no_proof() -> None:
    """Of x @ x, the first one's gradient is that of the second with its factors in the wrong order."""
    square = rule(case("x: 'randn(3, 3)'", "x @ x", "3, 3"))
    given = Evidence(np.zeros((3, 3)), np.ones((3, 3)), rule=square)
    assert [guess.is_proof for guess in rule_mistakes.swapped_gradients(given)] == [False]
    given = Evidence(np.zeros((3, 3)), np.ones((3, 3)), rule=MATMUL)
    assert [guess.is_proof for guess in rule_mistakes.swapped_gradients(given)] == [True]
