"""The JSON document is the contract's, whatever numbers a run has found."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from gradcheck.checks.result import RunResult, Trial
from gradcheck.reports import render
from gradcheck.reports.formats.json import to_json

#: As the contract's example has them.
COMPARISON_KEYS = {
    *("what", "tensor", "step", "engine", "reference", "status", "line", "shape", "dtype", "max_abs", "max_rel"),
    *("cause", "consequence_of"),
    *("max_ulp", "mismatched", "elements", "worst_index", "got", "want", "atol", "rtol", "certificate", "diagnoses"),
}
CASE_KEYS = {"id", "file", "line", "name", "status", "seconds", "seed", "reproduce", "errors", "comparisons"}


def document(result: RunResult) -> Any:
    def refuse(text: str) -> None:
        raise AssertionError(f"{text} is not JSON")

    return json.loads(render(result, "json"), parse_constant=refuse)


def test_the_shape_is_the_contracts(everything: RunResult) -> None:
    top = document(everything)
    assert top["schema"] == 1
    assert top["environment"]["torch"] == "2.13.0+cpu"
    assert top["summary"] == {
        "cases": 8, "passed": 1, "failed": 1, "invalid": 1, "crashed": 1, "skipped": 1, "xfailed": 1, "xpassed": 1,
        "unsupported": 1, "reference_wrong": 0, "cached": 0, "seconds": 4.2,
    }  # fmt: skip
    case = top["cases"][1]
    assert set(case) >= {
        "id",
        "file",
        "line",
        "name",
        "status",
        "seconds",
        "seed",
        "reproduce",
        "errors",
        "comparisons",
    }
    gradient = case["comparisons"][2]
    assert set(gradient) >= COMPARISON_KEYS
    assert "formula" not in gradient
    assert (gradient["line"], gradient["shape"], gradient["worst_index"], gradient["got"]) == (
        12,
        [3, 2],
        [2, 0],
        -21900,
    )
    assert case["comparisons"][5]["formula"].startswith("x.sum")
    assert case["comparisons"][5]["diagnoses"] == [{"kind": "factor", "message": "off by the constant 1"}]
    assert top["cases"][2]["errors"][0] == {
        "kind": "invalid", "message": "unknown key 'reqires_grad'", "line": 5, "column": 21,
        "hint": "did you mean 'requires_grad'?", "details": "",
    }  # fmt: skip


def test_numbers_that_json_cannot_hold_are_texts(run: Any, case: Any, comparison: Any) -> None:
    odd = comparison(got=float("nan"), want=complex(1, float("-inf")), max_rel=float("inf"), max_abs=np.float32(0.5),
                     mismatched=np.int64(3), trial=Trial(np.int64(1), 7, {"n": np.int64(2)}))  # type: ignore[arg-type]  # fmt: skip
    found = document(run(case(comparisons=(odd,))))["cases"][0]["comparisons"][0]
    assert (found["got"], found["max_rel"], found["max_abs"], found["mismatched"]) == ("nan", "inf", 0.5, 3)
    assert found["want"] == {"real": 1.0, "imag": "-inf"}
    assert found["trial"] == {"trial": 1, "seed": 7, "sizes": {"n": 2}}


def test_a_run_of_nothing_is_a_document_too(run: Any) -> None:
    assert document(run())["cases"] == []


def test_it_is_ascii_a_line_a_case(run: Any, case: Any) -> None:
    text = render(run(case("梯度\ud800"), case("two")), "json")
    assert text.isascii()
    assert [json.loads(line.rstrip(","))["name"] for line in text.splitlines()[1:-1]] == ["梯度\ud800", "two"]


def test_what_json_has_no_word_for_is_a_bug_not_a_guess() -> None:
    with pytest.raises(TypeError, match="a object cannot stand"):
        to_json(object())
