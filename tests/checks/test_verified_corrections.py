"""What is written into case files: what a report proposes, once it is verified."""

from __future__ import annotations

from textwrap import dedent

import pytest

from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.checks.scheduling.run import run
from gradcheck.checks.verified_corrections import CorrectedFile, correct_file, proposed_corrections
from gradcheck.language.case import Loaded
from gradcheck.language.loader import load_text

FILE = "case.yaml"


def checked(text: str) -> list[CaseResult]:
    cases, errors = load_text(text, FILE)
    return list(run(Loaded(tuple(cases), tuple(errors))).cases)


def corrected(text: str, how: object = None) -> CorrectedFile | None:
    text = dedent(text)
    again = run if how is None else how
    return correct_file(FILE, text, checked(text), again)  # type: ignore[arg-type]


FORMULA = """\
    inputs: {x: [1.0, 2.0]}
    graph: {loss: (x * x).sum()}
    formulas:
      x: x        # by hand
    """
ORDER = """\
    dims: {n: 3, d: 4}
    inputs: {X: "randn(n, d)", w: randn(d)}
    graph:
      r: w @ X    # the wrong side
      loss: (r * r).sum()
    """


def test_a_formula_is_corrected_in_its_place() -> None:
    found = corrected(FORMULA)
    assert found is not None
    assert "  x: 2 * x        # by hand\n" in found.after


def test_an_entry_that_cannot_be_computed_is_corrected() -> None:
    found = corrected(ORDER)
    assert found is not None
    assert "  r: X @ w    # the wrong side\n" in found.after


def test_what_the_file_itself_tells_comes_first() -> None:
    found = corrected(FORMULA.replace("graph", "grpah"))
    assert found is not None
    assert "graph: {loss" in found.after
    assert "  x: x  " in found.after  # its turn comes when the case can be read


def test_what_makes_nothing_better_is_left() -> None:
    text = dedent(FORMULA)
    known = checked(text)
    assert list(proposed_corrections(known[0]))

    def no_better(selected: Loaded) -> RunResult:
        return RunResult(tuple(known), 0.0, {})

    assert corrected(FORMULA, no_better) is None


def test_an_error_that_makes_place_for_one_further_down_is_progress() -> None:
    found = corrected(
        """\
        inputs: {X: "randn(3, 4)", W: "randn(4, 5)", V: "randn(5, 2)"}
        graph:
          Z: X * W
          Y: V @ Z
          loss: Y.sum()
        """
    )
    assert found is not None
    assert "Z: X @ W\n" in found.after


def test_a_case_that_passes_proposes_nothing() -> None:
    assert corrected(FORMULA.replace("x: x ", "x: 2 * x ")) is None


def test_an_expected_failure_is_left_and_hinders_no_correction_beside_it() -> None:
    known = dedent(FORMULA).replace("x: x  ", "x: 3 * x") + "xfail: known\n"
    found = corrected(f"name: known\n{known}---\nname: wrong\n{dedent(FORMULA)}")
    assert found is not None
    assert [one for one in found.after.splitlines() if "by hand" in one] == [
        "  x: 3 * x      # by hand",
        "  x: 2 * x        # by hand",
    ]


def test_misspelt_keys_of_a_case_are_corrected() -> None:
    found = corrected("name: a\ninput: {x: [1, 2]}\ngraphs: {y: x * x, loss: y.sum()}\n")
    assert found is not None
    assert found.after == "name: a\ninputs: {x: [1, 2]}\ngraph: {y: x * x, loss: y.sum()}\n"


@pytest.mark.parametrize(
    "text",
    [
        "services: {web: {image: nginx}}\nvolumes: {}\n",
        "kind: Pod\nexpect: {x: 1}\n",
        "seed:4\nlr = 3\nname: a\n",
        "constant: {a: 1}\nstep: 100\n---\ninput: x\nvalue: 3\n",
        "name: action\ninputs: {paths: {default: x}}\nsource: a\ntag: b\n",
        "name: pipeline\ninput: data.csv\ngraph: out.png\n",
        "name: pipeline\ninput: [1, 2]\ngraphs: [a]\n",
        "name: jobs\ndescripton: mine\njobs:\n  inputs: 1\n  graph: 2\n",
        "name: text\ndescripton: mine\ntext: |\n  inputs: 1\n  graph: 2\n",
    ],
)
def test_the_file_of_another_tool_is_left_alone(text: str) -> None:
    """`run --fix .` reads every YAML file of a repository."""
    assert checked(text)[0].errors
    assert corrected(text) is None
