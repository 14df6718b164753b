"""The same verdicts, reasons and suggestions under every seed: of a few cases here, of all by `benchmarks steady`."""

from __future__ import annotations

from benchmarks.steady import WRONG, differences, told
from gradcheck import load, run
from tests.from_text import case_of

PLAIN = "{dims: {n: 3}, inputs: {x: randn(n)}, graph: {y: x * x}, backward: {y: randn(n)}, formulas: {x: %s}}"


def test_a_few_wrong_formulas() -> None:
    few = [case for case in load([WRONG]).cases if case.name in ("abs square", "relu6", "mean for sum", "mlp steps")]
    assert len(few) == 4
    found = [told(run(few, seed=seed).cases) for seed in (0, 9)]
    assert differences([one["verdict"] for one in found]) == []
    assert differences([one["told"] for one in found]) == []
    assert len(found[0]["told"]) >= 6


def test_what_differs_is_noticed() -> None:
    right, wrong = (told(run([case_of(PLAIN % text)]).cases) for text in ("2 * x * grad(y)", "3 * x * grad(y)"))
    assert differences([right["verdict"], right["verdict"]]) == []
    assert differences([right["verdict"], wrong["verdict"]])
    assert differences([right["told"], wrong["told"]])
    assert ", proved" in "".join(right["verdict"].values())


def test_a_wrong_formula_is_refuted_at_whatever_point() -> None:
    """At the case's own numbers this one is right; at a trial it is not."""
    text = "{inputs: {x: [2.0, 2.0]}, graph: {y: (x * x).sum()}, wrong_formulas: {x: [x + 2, x]}, shapes: {x: [n]}}"
    verdicts = told(run([case_of(text)]).cases)["verdict"]
    assert [said for key, said in verdicts.items() if "wrong_formula" in key] == ["passed", "passed"]


def test_every_case_is_of_wrong_formulas_and_loads() -> None:
    loaded = load([WRONG])
    assert not loaded.errors
    assert all(case.formulas for case in loaded.cases)
