"""A checked document becomes a case: what is said comes out, with a place for everything."""

from __future__ import annotations

import tracemalloc

import pytest

from gradcheck.errors import Place
from gradcheck.language.case import ExpectedFailure, Generalize, StatedTolerance
from gradcheck.language.case_writer import write
from gradcheck.language.expr.printer import to_text
from gradcheck.language.loader import load_text
from tests.language.loader.cases import VALID, one, with_x, wrong

CHAIN = """\
name: chain of four matrices
source: hand derivation, notebook 2
inputs:
  x: [[2, 3], [1, 4]]
  y: [[3, 4], [5, 6], [7, 8]]
graph:
  p: y @ x
  loss: p.sum()
expected:
  x: [[15, 15], [18, 18]]
formulas:
  x: (torch.ones([x.shape[1], 1]) @ y.sum(dim=0, keepdim=True)).T
wrong_formulas:
  y: [x, 'y * 2']
shapes:
  x: [c, d]
  y: [b, c]
"""


def test_the_chain() -> None:
    case = one(CHAIN, "cases/chain.yaml")
    assert case.id == "cases/chain.yaml::chain of four matrices"
    assert case.place == Place("cases/chain.yaml", 1, 1)
    assert list(case.inputs) == ["x", "y"]
    assert case.inputs["y"].array.tolist() == [[3, 4], [5, 6], [7, 8]]
    assert case.inputs["y"].place == Place("cases/chain.yaml", 5, 6)
    assert [to_text(claim.expr) for claim in case.graph.values()] == ["y @ x", "sum(p)"]
    assert case.graph["loss"].place == Place("cases/chain.yaml", 8, 9)
    (step,) = case.steps
    assert step.action == "backward"
    assert step.roots == {"loss": None}
    assert [claim.text for claim in case.wrong_formulas["y"]] == ["x", "y * 2"]
    assert case.wrong_formulas["y"][1].place == Place("cases/chain.yaml", 14, 11)
    assert case.shapes == {"x": ("c", "d"), "y": ("b", "c")}
    assert case.symbol_sizes == {"b": 3, "c": 2, "d": 2}
    assert case.generalize == Generalize()
    assert case.places["expected.x"] == Place("cases/chain.yaml", 10, 3)
    assert case.places["formulas"] == Place("cases/chain.yaml", 11, 1)


def test_defaults() -> None:
    case = one(VALID, "some/where/stem.yaml")
    assert (case.name, case.id, case.dtype, case.seed) == ("stem", "some/where/stem.yaml::stem", "float64", 0)
    assert (case.tags, case.only, case.skip, case.xfail, case.generalize) == ((), (), None, None, None)
    assert case.steps[0].roots == {"z": None}


def test_steps() -> None:
    text = """\
steps:
  - backward: z
    raises: non_scalar_backward
  - backward: {z: [1, 2], y: randn_like(y)}
    retain_graph: false
    expected: {x: null}
    checks: [x == x]
  - zero_grad: all
  - zero_grad: [x, y]
  - forward: {x: [3, 4, 5]}
  - forward: {}
"""
    steps = one(VALID + text).steps
    assert [step.action for step in steps] == ["backward", "backward", *["zero_grad"] * 2, "forward", "forward"]
    assert steps[0].raises == "non_scalar_backward"
    assert [step.retain_graph for step in steps[:2]] == [True, False]
    assert list(steps[1].roots) == ["z", "y"]
    assert steps[1].expected == {"x": None}
    assert [step.names for step in steps[2:4]] == [(), ("x", "y")]
    assert steps[4].inputs["x"].array.tolist() == [3, 4, 5]
    assert steps[3].place == Place("f.yaml", 14, 5)
    assert one(VALID + text).generalize == Generalize()


def test_settings() -> None:
    case = with_x(
        tags="[a, b]", dtype="float32", seed="7", dims="{n: 3}", only="[core]", skip="because", xfail="known",
        generalize="{trials: 5, dims: {n: [2, 4]}}", tolerance="{rtol: 1e-3, x: {atol: 1}, engines: {rtol: 0.5}}",
    )  # fmt: skip
    assert (case.tags, case.dtype, case.seed, case.dims, case.only) == (("a", "b"), "float32", 7, {"n": 3}, ("core",))
    assert (case.skip, case.xfail) == ("because", ExpectedFailure("known"))
    assert case.generalize == Generalize(5, {"n": (2, 4)})
    assert case.tolerance == {"": StatedTolerance(rtol=1e-3), "x": StatedTolerance(atol=1.0)}
    assert case.engine_tolerance == StatedTolerance(rtol=0.5)


def test_generalize_is_for_claims_unless_said_otherwise() -> None:
    assert with_x(checks="[x == x]").generalize == Generalize()
    assert with_x(checks="[x == x]", generalize="false").generalize is None
    assert with_x(generalize="true").generalize == Generalize()


def test_parts_of_a_graph_entry() -> None:
    case = one(
        "inputs: {x: [[1, 2], [4, 3]]}\ngraph: {m: 'max(x, dim=1)', s: 'm[0].sum()'}\nbackward: {'m[0]': [1, 1]}\n"
        "values: {'m[1]': [1, 0]}\nformulas: {'m[0]': ones(2)}\nlet: {g: 'grad(m[0]) * 2'}\n"
    )
    assert list(case.steps[0].roots) == ["m[0]"]
    assert list(case.formulas) == ["m[0]"]


def test_no_gradient_of_a_constant_may_be_said() -> None:
    assert with_x(constants="{c: 1}", expected="{c: null}").expected == {"c": None}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph: {y: 1}\n", "a case needs 'inputs'"),
        ("inputs: {x: 1}\ngraph: {}\n", "'graph' is empty"),
        (VALID + "backward: z\nsteps: [{backward: z}]\n", "a case has either 'backward' or 'steps'"),
        (VALID + "steps: [{backward: z, zero_grad: all}]\n", "found 'backward' and 'zero_grad'"),
        (VALID + "steps: [{zero_grad: all, retain_graph: false}]\n", "'retain_graph' belongs to a backward pass"),
        (VALID + "formulas: {x: []}\n", "'formulas.x' is an empty list"),
        (VALID + "name: ' a '\n", "the name cannot be used on a command line"),
        (VALID + "generalize: {dims: {q: [3, 2]}}\n", "the size 'q' is unknown"),
    ],
)
def test_what_does_not_go_together(text: str, message: str) -> None:
    assert any(message in found for found, _ in wrong(text))


def test_a_section_that_was_probably_meant_is_not_missed() -> None:
    """Told by what validation suggested, and not by its words."""
    messages = [message for message, _ in wrong("input: {x: 1}\ngraph: {y: x}\n")]
    assert "unknown key 'input'" in messages
    assert "a case needs 'inputs'" not in messages


def test_a_case_of_very_many_errors_is_read_no_further() -> None:
    lines = ["inputs: {x: [1, 2]}", "graph:", *(f"  y{i}: x\n    * q{i}" for i in range(1200))]
    cases, errors = load_text("\n".join(lines), "f.yaml")
    assert not cases
    assert errors[0].place == Place("f.yaml", 4, 7)
    assert str(errors[-1]) == "f.yaml: and 900 more errors in this file"


@pytest.mark.parametrize("section", ["implementations", "let"])
def test_memory_is_in_proportion_to_the_entries(section: str) -> None:
    """Not to their square: ten megabytes of a file would take more than there is."""
    count = 1500
    lines = ["inputs: {x: [1, 2]}", "graph:", *(f"  y{i}: x * {i}" for i in range(count)), f"{section}:"]
    lines += [f"  y{i}: a.py:f" for i in range(count)] if section == "implementations" else ["  d0: grad(y0)"]
    lines += [f"  d{i}: d{i - 1} + grad(y{i})" for i in range(1, count)] if section == "let" else []
    text = "\n".join([*lines, *(["formulas: {x: d9}"] if section == "let" else [])])
    tracemalloc.start()
    try:
        cases, _ = load_text(text, "f.yaml")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert cases
    assert peak < 25e6


CASE = "inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum(), m: 'x.max(0)'}\nformulas: {x: 2 * x}\nchecks: [grad(y) == 1]\n"


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("a bug", ExpectedFailure("a bug")),
        ("{reason: a bug, until: 2028-02-29}", ExpectedFailure("a bug", until="2028-02-29")),
        (
            "{reason: 'a, b', only: [x, formula  of x, wrong formula of x, 'm[0]', check, '2 * x', grad(y) == 1]}",
            ExpectedFailure(
                "a, b", ("x", "formula of x", "wrong formula of x", "m[0]", "check", "2 * x", "grad(y) == 1")
            ),
        ),
    ],
)
def test_it_is_read_and_written(said: str, read: ExpectedFailure) -> None:
    ((case,), errors) = load_text(f"{CASE}xfail: {said}\n", "a.yaml")
    assert (case.xfail, errors) == (read, [])
    ((again,), _) = load_text(write(case), "a.yaml")
    assert again.xfail == read


@pytest.mark.parametrize(
    ("said", "place", "told"),
    [
        ("{until: 2027-01-31}", "5:1", "'xfail' needs a 'reason'; it begins with reason: …"),
        ("{reason: a, untl: 2027-01-31}", "5:20", "unknown key 'untl'; did you mean 'until'?"),
        ("{reason: a, until: 31.1.2027}", "5:27", "'xfail.until' takes a date, not the text '31.1.2027'; write it"),
        ("{reason: a, until: 2027}", "5:27", "'xfail.until' takes a date, not the number 2027; write it as 2027-01-31"),
        ("{reason: a, until: 2027-02-29}", "5:27", "there is no day 2027-02-29"),
        ("{reason: a, only: x}", "5:26", "'xfail.only' takes a list, not the text 'x'; write [x]"),
        ("{reason: a, only: []}", "5:26", "'xfail.only' takes at least one entry, not 0"),
        ("{reason: a, only: [X]}", "5:27", "the tensor 'X' is unknown; did you mean 'x'?"),
        ("{reason: a, only: [formula of X]}", "5:27", "the tensor 'X' is unknown; did you mean 'x'?"),
        ("{reason: a, only: [formla of x]}", "5:27", "no claim is called 'formla'; did you mean 'formula'?"),
        ("[x]", "5:8", "'xfail' takes text or a mapping, not a list; say why, as in 'xfail: det is wrong at a "),
    ],
)  # fmt: skip
def test_what_is_wrong_with_it_is_told_where_it_stands(said: str, place: str, told: str) -> None:
    cases, errors = load_text(f"{CASE}xfail: {said}\n", "a.yaml")
    assert list(cases) == []
    assert any(str(error).startswith(f"a.yaml:{place}: {told}") for error in errors), [str(error) for error in errors]
