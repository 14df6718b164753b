"""validate, list, ops and schema; help, versions and mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gradcheck import __version__
from gradcheck.cli.commands import COMMANDS


@pytest.mark.parametrize("arguments", [(), *((name,) for name in COMMANDS)])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_every_command_has_help(gradcheck: Any, arguments: tuple[str, ...], option: str) -> None:
    outcome = gradcheck(*arguments, option)
    assert outcome.code == 0
    assert outcome.out.startswith("Usage: gradcheck")


def test_help_works_in_spite_of_a_broken_configuration(folder: Path, gradcheck: Any) -> None:
    (folder / "pyproject.toml").write_text("[tool.gradcheck]\nx = 1\n")
    assert gradcheck("run", "-h").code == 0
    outcome = gradcheck("run")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert outcome.err.startswith("gradcheck: pyproject.toml:2:1: unknown key 'x'")


def test_version(gradcheck: Any) -> None:
    assert gradcheck("--version").out == f"gradcheck {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("validat",), "did you mean 'validate'?"),
        (("frobnicate",), "the commands are run, validate, list, "),
        (("run", "--enigne", "core"), "Did you mean '--engine'?"),
        (("run", "--dtype", "float65"), "'float65' is not one of"),
        (("run", "--report", "json"), "'json' is not FORMAT=PATH"),
        (("run", "--report", "yaml=x"), "'yaml' is not a format; there are full, concise, json, junit, github"),
        (("run", "--report", "json=a", "-o", "a"), "two reports would go to the same file"),
        (("run", "--jobs", "2"), "No such option"),
        (("list", "-k", "a b"), "cannot understand -k 'a b'"),
        (("ops", "rellu"), "there is no op 'rellu'; did you mean 'relu'?"),
        (("list", "casse"), "casse: there is no such file or folder; did you mean 'cases'?"),
    ],
)
def test_a_mistake_is_exit_code_2_and_a_line(
    cases: Path, gradcheck: Any, arguments: tuple[str, ...], message: str
) -> None:
    outcome = gradcheck(*arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err


def test_list_shows_ids(cases: Path, gradcheck: Any) -> None:
    outcome = gradcheck("list")
    assert outcome.out == "cases/good.yaml::squares\ncases/good.yaml::a product\n"
    assert outcome.code == 0


@pytest.mark.parametrize(
    "arguments",
    [("-k", "squares"), ("-t", "easy"), ("cases/good.yaml::squares",), ("-k", "not product", "cases/good.yaml")],
)
def test_list_selects(cases: Path, gradcheck: Any, arguments: tuple[str, ...]) -> None:
    assert gradcheck("list", *arguments).out == "cases/good.yaml::squares\n"


def test_configured_paths_are_the_default_and_given_ones_win(cases: Path, folder: Path, gradcheck: Any) -> None:
    (folder / "pyproject.toml").write_text('[tool.gradcheck]\npaths = ["elsewhere"]\n')
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "one.yaml").write_text("inputs: {x: 1}\ngraph: {y: x + x}\n")
    assert gradcheck("list").out == "elsewhere/one.yaml::one\n"
    assert "squares" in gradcheck("list", "cases").out


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


def test_validate_counts_what_is_valid(cases: Path, gradcheck: Any) -> None:
    outcome = gradcheck("validate")
    assert (outcome.code, outcome.out) == (0, "2 valid cases\n")


def test_validate_shows_every_error_with_its_place(bad: Path, gradcheck: Any) -> None:
    outcome = gradcheck("validate")
    *errors, summary = outcome.out.splitlines()
    assert outcome.code == 2
    assert summary == "2 errors in 1 file, 2 valid cases"
    assert any(line.startswith("cases/bad.yaml:2:16: ") and "'z'" in line for line in errors)
    assert any(line.startswith("cases/bad.yaml:3:1: ") and "did you mean 'seed'?" in line for line in errors)


def test_errors_beside_a_named_case_are_not_its_business(cases: Path, gradcheck: Any) -> None:
    (cases / "mixed.yaml").write_text("name: fine\ninputs: {x: 1}\ngraph: {y: x + x}\n---\nname: broken\n")
    assert gradcheck("list", "cases/mixed.yaml::fine").code == 0
    assert gradcheck("list", "cases/mixed.yaml::broken").code == 2
    outcome = gradcheck("list", "cases/mixed.yaml")
    assert (outcome.code, outcome.out) == (2, "cases/mixed.yaml::fine\n")


def test_ops_lists_every_op_once(gradcheck: Any) -> None:
    from gradcheck.autograd.op import TABLE

    header, *lines = gradcheck("ops").out.splitlines()
    assert header.split() == ["SIGNATURE", "RULE", "ORACLES", "KINKS", "TORCH", "ALIASES", "DOMAIN", "DOC"]
    assert [line.split("(")[0] for line in lines] == sorted(TABLE)


def test_ops_of_a_name_tells_all_about_it(gradcheck: Any) -> None:
    for name in ("tanh", "torch.tanh", "F.tanh"):
        text = gradcheck("ops", name).out
        assert text.startswith("tanh(input)\n")
        assert "gradient rule: yes" in text
        assert "oracles:       exact, complex step" in text
        assert "torch:         torch.tanh" in text
        assert "  @op(lambda g, y, x: g * (1 - y * y)" in text


def test_schema_is_json_alone(gradcheck: Any) -> None:
    outcome = gradcheck("schema")
    assert json.loads(outcome.out)["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert outcome.err == ""


def test_files_and_names_may_hold_the_sign_between_them(tmp_path: Path, gradcheck: Any) -> None:
    file = tmp_path / "cases" / "a::b.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text("name: c::d\ninputs: {x: 1}\ngraph: {y: x * 2}\n")
    known = gradcheck("list", str(file)).out.strip()
    assert known.endswith("a::b.yaml::c::d")
    assert gradcheck("list", known).out.strip() == known
