"""Whatever stands in a case file, it costs that file alone: the other cases are listed, explained and checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gradcheck.language.loader import case_files
from tests.hostile import PLACES, VALUES, text_of

GOOD = "name: good\ninputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\n"


@pytest.fixture
def beside(folder: Path) -> Path:
    """A folder `cases` with one case that is good."""
    (folder / "cases").mkdir()
    (folder / "cases" / "good.yaml").write_text(GOOD)
    return folder / "cases"


@pytest.mark.parametrize("shift", [0, 29, 61])
def test_any_value_costs_its_own_file_alone(beside: Path, gradcheck: Any, shift: int) -> None:
    """In every place another value; what each value comes to in each place is seen by the loader's own tests."""
    values = list(VALUES)
    for number, place in enumerate(PLACES):
        value = values[(number + shift) % len(values)]
        (beside / f"{number:03}.yaml").write_bytes(text_of(place, value))
    outcome = gradcheck("run", "--output-format", "json")
    assert outcome.code == 2, outcome.err
    cases = {case["file"]: case for case in json.loads(outcome.out)["cases"]}
    assert len(cases) == len(PLACES) + 1
    assert cases["cases/good.yaml"]["status"] == "passed"
    wrong = [case["file"] for case in cases.values() if case["status"] == "crashed"]
    wrong += [c["file"] for c in cases.values() for error in c["errors"] if not error["line"] or not error["column"]]
    assert not wrong
    for words in (("validate",), ("list",), ("list", "-k", "good"), ("explain",), ("snapshot", "--check")):
        outcome = gradcheck(*words)
        assert outcome.code == 2, outcome.err
        assert "good" in outcome.out + outcome.err or words[0] in ("validate", "snapshot")
        assert "Traceback" not in outcome.err
        assert "its own fault" not in outcome.err
        assert "crashed" not in outcome.out + outcome.err


@pytest.fixture
def crashing(beside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file on which gradcheck crashes, with a case that it can read beside the one that it cannot."""
    build = case_files.build_case

    def crashes(document: Any, *rest: Any) -> Any:
        if "boom" in document.text:
            raise RecursionError("maximum recursion depth exceeded")
        return build(document, *rest)

    monkeypatch.setattr(case_files, "build_case", crashes)
    second = GOOD.replace("good", "boom")
    (beside / "bad.yaml").write_text(f"{GOOD.replace('good', 'readable')}---\n{second}")


@pytest.mark.usefixtures("crashing")
@pytest.mark.parametrize(
    "words",
    [
        ("run",),
        ("run", "-j", "2"),
        ("run", "-k", "good or readable"),
        ("run", "-q", "--output-format", "concise"),
        ("validate",),
        ("list",),
        ("explain",),
        ("snapshot", "--check"),
    ],
)
def test_a_crash_over_one_case_costs_that_case_alone(gradcheck: Any, words: tuple[str, ...]) -> None:
    outcome = gradcheck(*words)
    assert outcome.code == 3
    told = " ".join((outcome.out + outcome.err).split())
    assert "gradcheck crashed while reading this case: RecursionError: maximum recursion depth exceeded" in told
    assert "gradcheck/language/loader/case_files.py:" in told
    assert "please report it" in told
    assert "cases/bad.yaml:5:1" in told
    assert "Traceback" not in outcome.err
    if words[0] == "run":
        assert "1 crashed" in told
        assert "2 passed" in told
    elif words[0] == "validate":
        assert "2 valid cases" in told
    elif words[0] == "list":
        assert outcome.out == "cases/bad.yaml::readable\ncases/good.yaml::good\n"


@pytest.mark.usefixtures("crashing")
def test_a_crash_is_the_highest_code_and_has_its_details(beside: Path, gradcheck: Any) -> None:
    (beside / "invalid.yaml").write_text("inputs: {x: 1}\n")
    outcome = gradcheck("run", "--output-format", "json")
    cases = {case["file"]: case for case in json.loads(outcome.out)["cases"] if case["status"] != "passed"}
    assert outcome.code == 3
    assert [case["status"] for case in cases.values()] == ["crashed", "invalid"]
    (error,) = cases["cases/bad.yaml"]["errors"]
    assert error["kind"] == "crash"
    assert "in crashes\n" in error["details"]


@pytest.mark.parametrize("target", ["Composer.compose", "documents", "_first_errors", "decode"])
def test_a_crash_anywhere_in_reading_costs_one_file(
    beside: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    owner, _, name = target.rpartition(".")
    whole = getattr(case_files, owner) if owner else case_files
    before = getattr(whole, name)

    def crashes(*given: Any) -> Any:
        if any("boom" in str(one) for one in given):
            raise MemoryError if target == "decode" else ZeroDivisionError("by zero")
        return before(*given)

    monkeypatch.setattr(whole, name, crashes)
    (beside / "bad.yaml").write_text("boom: 1\n")
    outcome = gradcheck("run", "--output-format", "json")
    statuses = {case["file"]: case["status"] for case in json.loads(outcome.out)["cases"]}
    assert (outcome.code, statuses) == (3, {"cases/bad.yaml": "crashed", "cases/good.yaml": "passed"})


def test_a_case_that_cannot_be_explained_costs_itself_alone(
    beside: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (beside / "a.yaml").write_text("inputs: {x: 'zeros(-1)'}\ngraph: {y: x.sum()}\n")
    outcome = gradcheck("explain")
    assert outcome.code == 2
    assert "cases/good.yaml::good" in outcome.out
    assert outcome.err.startswith("cases/a.yaml:1:14: ")
    (beside / "b.yaml").write_text(GOOD.replace("x", "boom"))
    from gradcheck.checks import derivation

    before = derivation.explain

    def crashes(case: Any, *rest: Any, **further: Any) -> Any:
        if "boom" in case.inputs:
            raise KeyError("boom")
        return before(case, *rest, **further)

    monkeypatch.setattr(derivation, "explain", crashes)
    outcome = gradcheck("explain")
    assert outcome.code == 3
    assert "cases/good.yaml::good" in outcome.out
    assert "cases/b.yaml:1:1: gradcheck crashed while explaining this case: KeyError: 'boom'" in outcome.err


_LARGEST = '["1.7e308-1.7e308j", "1.7e308+1.7e308j", "1j"]'


@pytest.mark.parametrize("words", [("-v",), ("--oracle", "numeric"), ("--order", "2", "--output-format", "html")])
def test_complex_numbers_whose_size_no_float_holds_are_no_crash(beside: Path, gradcheck: Any, words: Any) -> None:
    """`abs` of such a number raises an error in Python."""
    (beside / "large.yaml").write_text(
        f"name: large\ndtype: complex128\ninputs: {{x: {_LARGEST}, z: {_LARGEST}}}\ngraph: {{y: x * 1, w: z * 1}}\n"
        f"backward: {{y: {_LARGEST}, w: {_LARGEST}}}\nexpected: {{x: [1, 2, 3]}}\nvalues: {{y: [1, 2, 3]}}\n"
        "formulas: {x: z * 1, z: -x * (1.7e308+1.7e308j)}\nchecks: [x == z, grad(x) == z * 2]\n"
    )
    outcome = gradcheck("run", *words)
    assert outcome.code == 1, outcome.err
    assert "this is a bug" not in outcome.out


_ONE_NAME = (
    "inputs: {x: [[1, 2], [3, 4]]}\nconstants: {b: [1.5, 2.5]}\ngraph: {z: x * b, loss: z.sum()}\n"
    "formulas: {x: ones_like(x) * b}\nshapes: {x: [a, b]}\n"
)
_LONG_LONG = "inputs: {x: [1, 2]}\ngraph: {z: x * 3, k: 2**63}\n"
_SCALARS = "inputs: {x: [1e+308, 1e-308]}\ngraph: {y: 'norm(x, p=-1)', loss: y.norm()}\n"


@pytest.mark.parametrize("text", [_ONE_NAME, _LONG_LONG, _SCALARS])
@pytest.mark.parametrize("command", ["run", "explain"])
def test_odd_cases_are_no_crash(beside: Path, gradcheck: Any, command: str, text: str) -> None:
    """A size named like a tensor, an integer of C's `long long`, and a scalar of NumPy where a tensor is cut off."""
    (beside / "odd.yaml").write_text(f"name: odd\n{text}")
    outcome = gradcheck(command)
    assert outcome.code < 3, outcome.err
    assert "bug in" not in outcome.out + outcome.err
