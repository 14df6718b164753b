"""Which cases a command is about, and what is said where that is none; `-k` with and, or, not and brackets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcheck.cli.group import NothingToDo
from gradcheck.cli.select import compile_keywords, select, select_one
from gradcheck.errors import InvalidCase, UsageError

_WRONG = "inputs: {x: [1, 2]}\ngraph: {y: x * x, loss: y.sum()}\nexpected: {x: [1, 1]}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("-k", "nothing"),
            "none of 2 cases in cases is selected; gradcheck list shows their ids; their tags are easy",
        ),
        (("-t", "hard"), "none of 2 cases in cases is selected"),
        (("cases/good.yaml::square",), "no case is named 'square' in good.yaml; did you mean 'squares'?"),
        (("cases/good.yaml::zzz",), "no case is named 'zzz' in good.yaml; it has 'squares', 'a product'"),
        (("empty",), "no case was found in empty; a case file ends in .yaml or .yml"),
    ],
)
@pytest.mark.parametrize("command", ["list", "run"])
def test_nothing_selected_is_exit_code_5_and_help(
    cases: Path, folder: Path, gradcheck: Any, command: str, arguments: tuple[str, ...], message: str
) -> None:
    (folder / "empty").mkdir()
    outcome = gradcheck(command, *arguments)
    assert (outcome.code, outcome.out) == (5, "")
    assert message in outcome.err


def test_no_cases_folder_is_exit_code_5(folder: Path, gradcheck: Any) -> None:
    outcome = gradcheck("validate")
    assert outcome.code == 5
    assert "there is no folder 'cases' here" in outcome.err


def test_errors_beside_a_named_case_are_not_its_business(cases: Path, gradcheck: Any) -> None:
    (cases / "mixed.yaml").write_text("name: fine\ninputs: {x: 1}\ngraph: {y: x + x}\n---\nname: broken\n")
    assert gradcheck("list", "cases/mixed.yaml::fine").code == 0
    assert gradcheck("list", "cases/mixed.yaml::broken").code == 2
    outcome = gradcheck("list", "cases/mixed.yaml")
    assert (outcome.code, outcome.out) == (2, "cases/mixed.yaml::fine\n")


def test_of_two_cases_with_one_name_neither_runs(cases: Path, gradcheck: Any) -> None:
    case = "name: one\ninputs: {x: 1}\ngraph: {y: x + x}\n"
    (cases / "same.yaml").write_text(f"{case}---\n{case}expected: {{x: 7}}\n---\n{case.replace('one', 'other')}")
    assert gradcheck("run", "cases/same.yaml::one").code == 2
    assert gradcheck("run", "cases/same.yaml::other").code == 0
    outcome = gradcheck("list", "cases/same.yaml")
    assert (outcome.code, outcome.out) == (2, "cases/same.yaml::other\n")


def test_a_name_may_hold_the_sign_that_ends_the_file(tmp_path: Path, gradcheck: Any) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("name: c::d\ninputs: {x: [1, 2]}\ngraph: {y: x * x, loss: y.sum()}\n")
    assert gradcheck("run", f"{path}::c::d", "--output-format", "concise").out.startswith("1 passed")
    assert gradcheck("list", str(path)).out == f"{path}::c::d\n"


def test_a_case_that_another_files_name_imitates_is_not_lost(tmp_path: Path, gradcheck: Any) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.yaml").write_text(f"name: 'b.yaml::c'\n{_WRONG}")
    (tmp_path / "d" / "a.yaml::b.yaml").write_text("name: c\ninputs: {x: [1, 2]}\ngraph: {y: x * x, loss: y.sum()}\n")
    outcome = gradcheck("run", "--isolated", "d", "--output-format", "concise")
    assert outcome.code == 2
    assert "1 failed, 1 invalid" in outcome.out
    assert gradcheck("validate", "d").code == 2
    assert gradcheck("list", "d").out == "d/a.yaml::b.yaml::c\n"


def test_links_in_a_folder_are_run_beside_a_named_case(cases: Path, folder: Path, gradcheck: Any) -> None:
    (folder / "other.yaml").write_text(f"name: linked\n{_WRONG}")
    (folder / "more").mkdir()
    (folder / "more" / "link.yaml").symlink_to("../other.yaml")
    outcome = gradcheck("run", "more", "cases/good.yaml::squares", "--output-format", "concise")
    assert outcome.code == 1
    assert "1 failed, 1 passed" in outcome.out


def test_one_case_is_one(cases: Path) -> None:
    assert select_one("cases/good.yaml::squares").name == "squares"
    with pytest.raises(UsageError, match=r"holds 2 cases, and this is about one; name it: 'cases/good.yaml::squares'"):
        select_one("cases/good.yaml")


def test_one_case_that_is_none_is_its_error(bad: Path) -> None:
    with pytest.raises(InvalidCase, match="'z'"):
        select_one("cases/bad.yaml")


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("mlp", True),
        ("MLP", True),
        ("cases/nn", True),
        ("deep", False),
        ("not deep", True),
        ("not not mlp", True),
        ("mlp and deep", False),
        ("mlp or deep", True),
        ("deep or mlp and layers", True),
        ("(deep or mlp) and not layers", False),
        ("not deep and not shallow", True),
        ("not (mlp and layers)", False),
        ("'two layers'", True),
        ('"two  layers"', False),
        ("((mlp))", True),
        ("'and'", False),
        ("notmlp or ands", False),
    ],
)
def test_which_ids_match(expression: str, holds: bool) -> None:
    assert compile_keywords(expression)("cases/nn/mlp.yaml::Two layers") is holds


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("", "it is empty"),
        ("   ", "it is empty"),
        ("a b", "'b' stands where 'and' or 'or' is expected"),
        ("a and", "it ends where a word is expected"),
        ("and a", "'and' stands where a word is expected"),
        ("not", "it ends where a word is expected"),
        ("a not b", "'not' stands where 'and' or 'or' is expected"),
        ("(a", "a '(' has no ')'"),
        ("a)", "a ')' has no '('"),
        ("()", "')' stands where a word is expected"),
        ("a (b)", "'(' stands where 'and' or 'or' is expected"),
        ("'a", "a quotation mark is not closed"),
    ],
)
def test_what_cannot_be_understood(expression: str, reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        compile_keywords(expression)
    assert reason in caught.value.message


def test_depth_is_no_limit() -> None:
    assert compile_keywords("(" * 50_000 + "not " * 50_001 + "a" + ")" * 50_000)("b")


WORDS = st.recursive(
    st.sampled_from(["red", "green", "blue"]),
    lambda inner: st.one_of(
        inner.map(lambda e: f"not {e}"),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"({' '.join(t)})"),
    ),
)


@given(expression=WORDS, colors=st.sets(st.sampled_from(["red", "green", "blue"])))
def test_it_agrees_with_pythons_own_logic(expression: str, colors: set[str]) -> None:
    truth = {color: color in colors for color in ("red", "green", "blue")}
    assert compile_keywords(expression)(" ".join(colors)) is bool(eval(expression, {}, truth))


def test_keywords_look_into_files_and_names_but_not_into_suffixes(cases: Path) -> None:
    assert [case.name for case in select(["cases"], "good and squares").cases] == ["squares"]
    with pytest.raises(NothingToDo):
        select(["cases"], "yaml")


@pytest.mark.parametrize("command", ["list", "validate", "run"])
def test_links_that_lead_in_a_circle_are_no_crash(folder: Path, gradcheck: Any, command: str) -> None:
    (folder / "a.yaml").symlink_to("a.yaml")
    outcome = gradcheck(command, "a.yaml", "a.yaml::a")
    assert outcome.code == 2
    assert "too many levels of symbolic links" in outcome.out + outcome.err
