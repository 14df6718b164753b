"""The conformance kit: it passes what is right, finds what is wrong, and calls lacking what cannot be asked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcheck.checks.conformance import engine_conformance
from gradcheck.checks.conformance.engine_conformance import conform, conformance_status
from gradcheck.checks.conformance.properties import PropertyFinding
from gradcheck.checks.result import CaseResult, Diagnosis
from gradcheck.engines.core import Core
from gradcheck.engines.resolve import adapt, resolve_engine
from gradcheck.facts import Fact, fact
from gradcheck.reports import Look
from gradcheck.reports.commands.conformance_report import as_json, render, verdict
from tests.conftest import WithRules
from tests.engines.dialects import diseases, sound
from tests.paths import wrong_engine

shallow = pytest.mark.usefixtures("shallow")


def wrong(name: str) -> Any:
    return resolve_engine(wrong_engine(name))


def test_the_core_conforms() -> None:
    found = conform(Core(), ops=["matmul", "softmax", "add", "max", "getitem"])
    assert found.holds
    assert found.ops == dict.fromkeys(("matmul", "softmax", "add", "max", "getitem"), "right")
    assert {one.status for one in found.properties} == {"holds"}
    assert verdict(found) == "core conforms in all that it can be asked"


@shallow
def test_a_wrong_rule_is_a_wrong_op(with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: g * (1 - y))
    found = conform(Core(), ops=["tanh", "exp"])
    assert found.ops == {"tanh": "wrong", "exp": "right"}
    assert not found.holds
    assert "is wrong in 1 op" in verdict(found)


@shallow
def test_what_cannot_be_asked_is_lacking_and_no_fault() -> None:
    found = conform(wrong("right"), ops=["softmax", "tanh"])
    assert found.ops == {"softmax": "lacking", "tanh": "right"}
    assert found.holds


@shallow
def test_an_engine_that_hands_back_too_little_fails_and_does_not_crash() -> None:
    class Short(Core):
        name = "short"

        def pull_back(self, *args: Any, **kwargs: Any) -> Any:
            return [replace(one, gradients=one.gradients[:-1]) for one in super().pull_back(*args, **kwargs)]

    found = conform(Short(), ops=["matmul"])
    assert found.ops == {"matmul": "wrong"}
    assert {case.status for case in found.op_results.cases} == {"failed"}


@shallow
def test_a_wrong_shape_fails_and_does_not_crash() -> None:
    class Flat(Core):
        name = "flat"

        def pull_back(self, *args: Any, **kwargs: Any) -> Any:
            return [
                replace(one, gradients=tuple(None if g is None else np.ravel(g) for g in one.gradients))
                for one in super().pull_back(*args, **kwargs)
            ]

    found = conform(Flat(), ops=["mul"])
    assert {case.status for case in found.op_results.cases} <= {"failed", "passed"}  # 0-d ones stay right
    assert found.ops == {"mul": "wrong"}


@shallow
def test_the_table_and_its_json(tmp_path: Path) -> None:
    file = tmp_path / "case.yaml"
    file.write_text("inputs: {x: [1, 2]}\ngraph: {y: x * x, z: y.sum()}\n")
    found = conform(wrong("overwrites"), [file], ops=["mul", "softmax"])
    text = render(found, Look(width=80, verbosity=1))
    assert "  cases       0 right, 1 wrong, 0 lacking" in text
    assert "1 lacking: softmax" in text
    assert "FAIL   repeated backward accumulates" in text
    lines = text.splitlines()
    table = lines[lines.index("  cases       0 right, 1 wrong, 0 lacking") :]
    assert max(len(line) for line in table if str(tmp_path) not in line) <= 80
    assert '"conforms": false' in as_json(found)


def test_standings() -> None:
    def of(status: Any) -> Any:
        return conformance_status(CaseResult("", "", "", status))

    assert (of("passed"), of("failed"), of("crashed"), of("unsupported")) == ("right", "wrong", "wrong", "lacking")
    assert of("skipped") is None


@shallow
def test_a_call_of_which_no_gradient_can_be_read_is_no_fault() -> None:
    """A call that gives the input back: the pass starts from that, and what it starts from has no gradient."""
    found = conform(adapt(Rootless, "mine"), ops=["double", "mul"])
    assert found.ops == {"double": "lacking", "mul": "right"}
    assert "no gradient was compared" not in render(found, Look())


class Rootless(sound.Tensor):
    def backward(self, gradient: Any = None) -> None:
        super().backward(gradient)
        self.grad = None


@shallow
def test_what_is_written_in_a_wrong_op_is_not_judged() -> None:
    """Its product passes on the left operand's gradient for matrices alone."""
    found = conform(adapt(Slanted, "mine"), ops=["matmul", "mv"])
    assert found.ops == {"matmul": "wrong", "mv": "lacking"}
    assert found.made_of == {"mv": ("matmul",)}
    assert "1 not judged, written in what is wrong: mv (of matmul)" in render(found, Look(width=100))


class Slanted(sound.Tensor):
    def left_of_matmul(self, gradient: Any, other: Any) -> Any:
        return 2 * super().left_of_matmul(gradient, other)


@shallow
def test_a_wrong_backward_pass_is_one_cause_and_blames_no_op() -> None:
    """A square is a product of one tensor with itself, in which what is overwritten shows."""
    sick: Any = type("Sick", (diseases.Overwrites, sound.Tensor), {})
    found = conform(adapt(sick, "mine"), ops=["mul", "square"])
    assert found.backward_pass is not None
    assert (found.backward_pass.kind, found.ops["mul"], found.ops["square"]) == ("overwritten", "right", "lacking")
    assert found.ops_not_judged == ("square",)
    assert not found.holds
    lines = render(found, Look(width=100)).splitlines()
    assert lines[0].startswith("mine is wrong in its backward pass")
    assert any("1 not judged, the backward pass is wrong in them: square" in line for line in lines)
    told = json.loads(as_json(found))
    assert (told["backward_pass"]["kind"], told["not_judged"]) == ("overwritten", ["square"])


@shallow
def test_what_is_left_over_from_an_earlier_pass_is_named_where_passes_do_not_add_up() -> None:
    sick: Any = type("Sick", (diseases.KeepsStale, sound.Tensor), {})
    found = conform(adapt(sick, "mine"), ops=["mul"])
    assert found.backward_pass is not None
    assert found.backward_pass.kind == "stale"


@shallow
def test_what_is_not_forgotten_is_named() -> None:
    sick: Any = type("Sick", (diseases.ClearsNothing, sound.Tensor), {})
    found = conform(adapt(sick, "mine"), ops=["mul"])
    assert found.backward_pass is not None
    assert (found.backward_pass.kind, found.backward_pass.message.kind) == ("stale", "stale_after_zeroing")
    assert not found.holds
    assert found.ops["mul"] == "right"


@shallow
def test_another_subgradient_is_a_convention(tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text(
        "inputs: {a: [1, 0]}\ngraph: {y: relu(a)}\nbackward: {y: [1, 2]}\n", encoding="utf-8"
    )
    sick: Any = type("Sick", (diseases.OpensAtZero, sound.Tensor), {})
    found = conform(adapt(sick, "mine"), [tmp_path], ops=["mul"])
    assert [(one.kind, one["op"]) for one in found.conventions] == [("takes_another_subgradient", "relu")]
    assert found.holds


@shallow
def test_cases_about_code_say_nothing_of_an_engine(tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text(
        "inputs: {x: [1, 2]}\ngraph: {y: x * x}\nbackward: {y: [1, 1]}\nimplementations: {y: code.py:f}\n"
    )
    found = conform(Core(), [tmp_path / "case.yaml"], ops=["mul"])
    assert found.cases is not None
    assert found.cases.cases == ()


def test_a_pass_that_never_returns_is_not_one_that_forgets_nothing() -> None:
    def fault(why: Fact) -> Diagnosis | None:
        return engine_conformance._backward_pass_fault(Core(), [PropertyFinding("zeroing forgets", "fails", why)])

    assert fault(fact("ran_out_of_time", seconds=1.0)) is None
    assert getattr(fault(fact("property_numbers_differ", what=fact("a"), got=2.0, want=1.0)), "kind", "") == "stale"
