"""Real engines that nobody here wrote: what they are known to get right, to get wrong and to lack."""

from __future__ import annotations

import pytest

from gradcheck import run
from gradcheck.checks.result import RunResult
from gradcheck.engines.resolve import resolve_engine
from gradcheck.language.loader import load_text
from tests.claims import engines_alone
from tests.paths import CASES
from tests.sampling import sample

THEMES = [CASES / theme for theme in ("reuse", "matmul", "nn", "reduction", "elementwise")]
#: Cases that the tests below name.
NAMED = {
    "attention, step by step", "both factors of a matrix product", "a thousand uses by a thousand children", "ties",
    "the larger of two, and ties", "the product of a row with zeros", "exponential and logarithm",
}  # fmt: skip
NAMES = {"mygrad": "mygrad:tensor", "autograd": "hips", "micrograd": "micrograd.engine:Value"}


def results_of(package: str) -> RunResult:
    pytest.importorskip(package)
    cases = engines_alone(THEMES)
    chosen = {case.id for case in sample(cases, 6, lambda case: case.name)}
    some = [case for case in cases if case.id in chosen or case.name in NAMED]
    engines = [resolve_engine(NAMES[package])]
    return run(some, engines=engines, trials=1, oracle="none", timeout=1_000, explained=False)


@pytest.fixture(scope="module")
def mygrad() -> RunResult:
    return results_of("mygrad")


@pytest.fixture(scope="module")
def hips() -> RunResult:
    return results_of("autograd")


@pytest.fixture(scope="module")
def micrograd() -> RunResult:
    return results_of("micrograd")


def statuses(result: RunResult) -> dict[str, str]:
    return {case.name: case.status for case in result.cases}


def lacks(result: RunResult) -> set[str]:
    return {c.lacks for case in result.cases for c in case.comparisons if c.lacks}


def test_mygrad_needs_no_adapter(mygrad: RunResult) -> None:
    assert mygrad.count("passed") > len(mygrad.cases) / 3
    assert mygrad.count("crashed") == 0
    assert statuses(mygrad)["attention, step by step"] == "passed"
    assert not {"exp", "matmul"} & lacks(mygrad)


def test_mygrad_shares_gradients_at_ties_otherwise(mygrad: RunResult) -> None:
    """And it raises where a single number is summed along its dimension 0 (mygrad 2.5)."""
    assert {name for name, status in statuses(mygrad).items() if status == "failed"} <= {
        "ties", "the larger of two, and ties", "kept dimensions and other precisions of reductions",
        "reductions, at their edges, 1", "reductions, at their edges, 2",
    }  # fmt: skip


def test_hips_autograd_is_wrong_about_products_with_zeros(hips: RunResult) -> None:
    """It divides by the factors (autograd 1.8)."""
    assert hips.count("passed") > len(hips.cases) / 3
    assert hips.count("crashed") == 0
    assert statuses(hips)["the product of a row with zeros"] == "failed"


def test_micrograd_runs_number_by_number(micrograd: RunResult) -> None:
    assert micrograd.count("passed") > len(micrograd.cases) / 5
    assert micrograd.count("crashed") == 0
    assert {"exp", "softmax"} <= lacks(micrograd)
    assert statuses(micrograd)["both factors of a matrix product"] == "passed"


def test_micrograd_recurses(micrograd: RunResult) -> None:
    (deep,) = [case for case in micrograd.cases if case.name == "a thousand uses by a thousand children"]
    assert [error.kind for error in deep.errors] == ["recursion"]


STEPS = "inputs: {x: [3, 5]}\ngraph: {y: x * x, z: y.sum()}\nsteps: [backward: z, backward: z]\n"


def test_micrograd_keeps_stale_gradients() -> None:
    pytest.importorskip("micrograd")
    cases, _ = load_text(STEPS, "case.yaml")
    (found,) = run(cases, engines=[resolve_engine(NAMES["micrograd"])]).cases
    assert found.status == "failed"


def test_mygrad_keeps_no_graph() -> None:
    pytest.importorskip("mygrad")
    cases, _ = load_text(STEPS, "case.yaml")
    (found,) = run(cases, engines=[resolve_engine(NAMES["mygrad"])]).cases
    assert found.status == "unsupported"
    assert "second passes over a graph" in {c.lacks for c in found.comparisons}


def test_hips_accumulates_by_its_adapter() -> None:
    pytest.importorskip("autograd")
    cases, _ = load_text(STEPS + "expected: {x: [12, 20]}\n", "case.yaml")
    (found,) = run(cases, engines=[resolve_engine(NAMES["autograd"])]).cases
    assert found.status == "passed"


def test_tinygrad_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The current release, whose flag for gradients is gone, and older ones; on its own interpreter, which needs no
    compiler and is asked for in the one way or the other."""
    monkeypatch.setenv("DEV", "PYTHON")
    monkeypatch.setenv("PYTHON", "1")
    pytest.importorskip("tinygrad")
    text = "inputs: {a: [1, 2], b: [3, -1]}\ngraph: {c: a * b, d: c * a, loss: d.sum()}\n"
    cases, _ = load_text(text, "case.yaml")
    (found,) = run(cases, engines=[resolve_engine("tinygrad")], trials=1, oracle="none").cases
    assert found.status == "passed"
