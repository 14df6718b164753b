"""`gradcheck run` from the options to the exit code, with the engines that ship."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from gradcheck.checks.scheduling import run as running
from gradcheck.checks.scheduling import sequential
from tests.paths import ROOT


def test_all_right_is_exit_code_0(cases: Path, gradcheck: Any) -> None:
    outcome = gradcheck("run")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0] == "cases/good.yaml"
    assert [line.split()[0] for line in lines[1:3]] == ["ok", "ok"]
    assert re.fullmatch(r"2 passed in [\d.]+s", lines[-1])


def test_a_wrong_derivation_is_exit_code_1_and_shown(wrong: Path, gradcheck: Any) -> None:
    outcome = gradcheck("run")
    assert outcome.code == 1
    for line in (
        "  the formula of x is wrong",
        "    cases/wrong.yaml:7:6",
        "    7 |   x: 3 * x",
        "      |      ^ did you mean 2 ?",
        "      3   6   9       2   4   6",
        "  reproduce: gradcheck run 'cases/wrong.yaml::a wrong derivation' --seed 0",
    ):
        assert line in outcome.out.splitlines()
    assert outcome.out.splitlines()[-1].startswith("1 failed, 2 passed in ")


def test_the_reproduce_command_reproduces(wrong: Path, gradcheck: Any) -> None:
    outcome = gradcheck("run", "cases/wrong.yaml::a wrong derivation", "--seed", "0")
    assert outcome.code == 1
    assert outcome.out.splitlines()[-1].startswith("1 failed in ")


def test_an_invalid_file_is_exit_code_2_and_the_others_still_run(bad: Path, wrong: Path, gradcheck: Any) -> None:
    outcome = gradcheck("run", "--output-format", "concise")
    assert outcome.code == 2
    *problems, summary = outcome.out.splitlines()
    assert sum(line.startswith("cases/bad.yaml:") for line in problems) == 2
    assert any(line.startswith("cases/wrong.yaml:7:6: a wrong derivation: formula for") for line in problems)
    assert summary.startswith("1 failed, 2 passed, 1 invalid in ")


def test_a_crash_is_exit_code_3_and_the_others_still_run(
    wrong: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = sequential.check_case

    def crashing(case: Any, *arguments: Any) -> Any:
        if case.name == "squares":
            raise ZeroDivisionError("planted")
        return honest(case, *arguments)

    monkeypatch.setattr(sequential, "check_case", crashing)
    outcome = gradcheck("run")
    assert outcome.code == 3
    assert "ZeroDivisionError: planted" in outcome.out
    assert "Traceback" not in outcome.out + outcome.err
    assert outcome.out.splitlines()[-1].startswith("1 failed, 1 crashed, 1 passed in ")
    assert "Traceback" in gradcheck("run", "-v").out


def test_an_interrupt_is_exit_code_130_and_reports_what_had_finished(
    wrong: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = sequential.check_case

    def interrupted(case: Any, *arguments: Any) -> Any:
        if case.name == "a product":
            signal.raise_signal(signal.SIGINT)
        return honest(case, *arguments)

    monkeypatch.setattr(sequential, "check_case", interrupted)
    outcome = gradcheck("run")
    assert outcome.code == 130
    assert "  ok      squares" in outcome.out
    assert outcome.out.splitlines()[-1].startswith("interrupted: 1 of 3 ran: 1 passed in ")


@pytest.mark.parametrize("option", [("-x",), ("--maxfail", "1")])
def test_stopping_early_is_said(wrong: Path, gradcheck: Any, option: tuple[str, ...]) -> None:
    outcome = gradcheck("run", "cases/wrong.yaml", "cases/good.yaml", *option)
    assert outcome.code == 1
    assert outcome.out.splitlines()[-1].startswith("1 failed in ")
    assert outcome.err == "stopped early: 2 cases not run\n"


def test_what_is_for_machines_is_alone_on_stdout(wrong: Path, gradcheck: Any) -> None:
    outcome = gradcheck("run", "--output-format", "json")
    document = json.loads(outcome.out)
    assert (outcome.code, outcome.err) == (1, "")
    assert document["summary"]["failed"] == 1
    assert {c["what"] for c in document["cases"][0]["comparisons"]} >= {"value", "gradient", "expected"}
    junit = gradcheck("run", "--output-format", "junit").out
    assert ElementTree.fromstring(junit).get("failures") == "1"
    assert gradcheck("run", "--output-format", "github").out.startswith("::error file=cases/wrong.yaml,line=7,col=6,")


def test_one_run_writes_several_reports(wrong: Path, folder: Path, gradcheck: Any) -> None:
    outcome = gradcheck(
        "run", "--report", "junit=out/a/junit.xml", "--report", "json=out/run.json", "-o", "out/full.txt"
    )
    assert (outcome.code, outcome.out, outcome.err) == (1, "", "")
    assert ElementTree.parse(folder / "out/a/junit.xml").getroot().get("tests") == "3"
    assert json.loads((folder / "out/run.json").read_text())["summary"]["cases"] == 3
    assert (folder / "out/full.txt").read_text().splitlines()[-1].startswith("1 failed, 2 passed")


def test_a_dash_is_stdout(cases: Path, gradcheck: Any) -> None:
    assert gradcheck("run", "-o", "-", "--output-format", "concise").out.startswith("2 passed in ")


@pytest.mark.parametrize("value", ["inf", "nan", "0", "-1", "1e300"])
def test_a_timeout_is_a_sensible_number(cases: Path, gradcheck: Any, value: str) -> None:
    outcome = gradcheck("run", "--timeout", value)
    assert (outcome.code, outcome.out) == (2, "")


def test_a_report_that_cannot_be_written_is_refused_before_the_run(
    cases: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "run", None)
    outcome = gradcheck("run", "--report", "json=cases/good.yaml/x.json")
    assert outcome.code == 2
    assert outcome.err.startswith("gradcheck: cannot write 'cases/good.yaml/x.json': ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--engine", "tensorflux"),
            "there is no engine 'tensorflux'; there are core, torch, hips, jax, mygrad, micrograd, dezero, tinygrad, "
            "chainer, and any Tensor class: FILE.py:CLASS or PACKAGE.MODULE:CLASS",
        ),
        (("--reference", "troch"), "there is no engine 'troch'; did you mean 'torch'?"),
    ],
)
def test_an_unknown_engine_is_a_mistake(cases: Path, gradcheck: Any, arguments: tuple[str, ...], message: str) -> None:
    outcome = gradcheck("run", *arguments)
    assert (outcome.code, outcome.err) == (2, f"gradcheck: {message}\n")


def test_options_reach_the_run(cases: Path, gradcheck: Any) -> None:
    outcome = gradcheck("run", "--dtype", "float32", "--seed", "5", "--output-format", "json", "-k", "squares")
    (case,) = json.loads(outcome.out)["cases"]
    assert case["seed"] == 5
    assert {c["dtype"] for c in case["comparisons"] if c["dtype"]} == {"float32"}
    assert gradcheck("run", "-q").out.count("\n") == 1
    assert "gradient" in gradcheck("run", "-v", "-k", "squares").out


def test_configuration_reaches_the_run_and_options_win(wrong: Path, folder: Path, gradcheck: Any) -> None:
    (folder / "pyproject.toml").write_text('[tool.gradcheck]\noutput-format = "concise"\nrtol = 1.0\nmaxfail = 9\n')
    outcome = gradcheck("run")
    assert outcome.code == 0
    assert outcome.out.startswith("3 passed in ")
    assert gradcheck("run", "--rtol", "1e-9").code == 1
    assert gradcheck("run", "--output-format", "full").out.startswith("cases/good.yaml\n")


def test_colour_follows_the_option(wrong: Path, gradcheck: Any) -> None:
    assert "\x1b[" not in gradcheck("run").out
    assert "\x1b[" in gradcheck("run", "--color", "always").out


def test_on_a_terminal_there_is_colour_and_nothing_is_wider(wrong: Path) -> None:
    leader, follower = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "60", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "gradcheck", "run"], stdout=follower, stderr=follower, env=environment
    )
    os.close(follower)
    chunks = []
    while True:
        try:
            chunk = os.read(leader, 65536)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(leader)
    assert process.wait(timeout=200) == 1
    text = b"".join(chunks).decode()
    assert "\x1b[1;31mFAIL" in text
    final = text[text.rindex("\x1b[2K") + 4 :] if "\x1b[2K" in text else text
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", final).splitlines()
    assert [line for line in lines if len(line) > 60 and "reproduce" not in line] == []


def test_power_is_measured_on_demand(gradcheck: Any, cases: Path) -> None:
    shown = gradcheck("run", "cases", "--power")
    assert shown.code == 0
    assert "planted faults caught (100.0%); in 3 of " in shown.out
    assert " rules of the table\n2 passed in" in shown.out
    document = json.loads(gradcheck("run", "cases", "--power", "--output-format", "json").out)
    for case in document["cases"]:
        power = case["power"]
        assert power["planted"] == power["caught"] > 5
        assert set(power["smallest"]) == {comparison["tensor"] for comparison in case["comparisons"]
                                          if comparison["what"] == "gradient"}  # fmt: skip
    assert "power" not in json.loads(gradcheck("run", "cases", "--output-format", "json").out)["cases"][0]


def test_the_standard_input_is_read_where_a_path_is_a_dash(
    folder: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments, said in (
        (("run", "-", "--output-format", "concise"), "1 passed in "),
        (("list", "-"), "-::stdin\n"),
        (("validate", "-"), "1 valid case\n"),
        (("-", "-q"), "1 passed in "),
    ):
        text = b"inputs: {x: [1, 2]}\ngraph: {y: x.sum()}\n"
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
        outcome = gradcheck(*arguments)
        assert outcome.code == 0
        assert outcome.out.startswith(said)


def test_what_fails_from_the_standard_input_is_reproduced_from_there(
    folder: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = b"inputs: {x: [1.0, 2.0]}\ngraph: {y: x.sum()}\nexpected: {x: [1, 2]}\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert "reproduce: gradcheck run - --seed 0\n" in gradcheck("run", "-").out


def test_a_warning_is_told_with_its_case(folder: Path, gradcheck: Any) -> None:
    (folder / "a.yaml").write_text("inputs: {x: 'randn(1, 3)'}\ngraph: {y: x.var(dim=0).sum()}\n")
    outcome = gradcheck("run", "a.yaml")
    assert "torch warns: var(): degrees of freedom is <= 0\n" in outcome.out
    assert outcome.err == ""


def test_the_engines_own_words_are_for_those_who_ask(folder: Path, gradcheck: Any) -> None:
    (folder / "a.yaml").write_text("inputs: {x: 'randn(2, 3)', w: 'randn(4, 3)'}\ngraph: {y: (x @ w).sum()}\n")
    assert "mat1" not in gradcheck("run", "a.yaml").out
    assert "torch itself says: mat1 and mat2 shapes" in " ".join(gradcheck("run", "-v", "a.yaml").out.split())


def test_coverage_comes_after_the_report(cases: Path, gradcheck: Any) -> None:
    outcome = gradcheck("run", "cases/good.yaml", "--coverage", "--output-format", "concise")
    assert outcome.code == 0
    assert "passed" in outcome.out
    assert outcome.out.splitlines()[1].startswith("coverage: ")
    outcome = gradcheck("run", "cases/good.yaml", "--coverage", "--output-format", "json")
    assert json.loads(outcome.out)["summary"]["passed"] == 2
    assert "coverage: " in outcome.err
