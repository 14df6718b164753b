"""Gradients without the term that centres them."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.failures.diagnosis import centring
from gradcheck.facts import fact
from tests.checks.failures.diagnosis.evidence import fitting, guessed, of_rule, rule

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
    assert fitting(centring.softmax, of_rule(known, wrong)) == {name: fact("no_centring_term", op=name)}
    assert fitting(centring.softmax, of_rule(known, known.wants[0])) == {}


def test_another_op_says_nothing() -> None:
    known = rule(CASE % ("exp(x)", "randn(3, 4)"))
    for predict in (centring.softmax, centring.variance, centring.layer_norm):
        assert guessed(predict, of_rule(known)) == []


@pytest.mark.parametrize(
    ("text", "incoming", "dims"),
    [("x.var(dim=1)", "randn(3)", 1), ("x.std(dim=[0, 1])", "randn([])", (0, 1)), ("x.var()", "randn([])", (0, 1))],
)
def test_a_variance(text: str, incoming: str, dims: tuple[int, ...] | int) -> None:
    known = rule(CASE % (text, incoming))
    want, x = known.wants[0], known.tensor
    assert want is not None
    centred = x - x.mean(dims, keepdims=True)
    name = known.application.op.name
    found = fitting(centring.variance, of_rule(known, want / centred * x))
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
        return dict(fitting(centring.layer_norm, of_rule(known, got)))

    assert found(h / deviation) == {"both": fact("layer_norm_constants")}
    assert found((h - along) / deviation) == {"mean": fact("layer_norm_constant", statistic="mean")}
    assert found((h - mean) / deviation) == {"variance": fact("layer_norm_constant", statistic="variance")}
    assert found((h - mean - along) / deviation) == {}


def test_the_weight_of_layer_norm_has_no_such_term() -> None:
    assert guessed(centring.layer_norm, of_rule(rule(LAYER, 1))) == []
