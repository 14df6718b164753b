"""`--baseline` and `--update-baseline`, from run to run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gradcheck.checks.isolation.time_limit import deadline

QUICK = ("--output-format", "json", "--baseline", "known.json")


def statuses(outcome: Any) -> list[str]:
    return [case["status"] for case in json.loads(outcome.out)["cases"]]


def test_what_fails_now_is_known_until_it_is_mended(wrong: Path, bad: Path, gradcheck: Any) -> None:
    outcome = gradcheck("run", *QUICK, "--update-baseline")
    assert (outcome.code, outcome.err) == (0, "wrote 3 known failures to known.json\n")
    written = Path("known.json").read_text()
    assert len(written.splitlines()) == 9
    assert '"what": "formula", "tensor": "x", "engine": "case", "formula": "3 * x"}' in written
    outcome = gradcheck("run", *QUICK, "-x")
    assert (outcome.code, statuses(outcome)) == (0, ["xfailed", "passed", "passed", "xfailed"])
    wrong.write_text(wrong.read_text().replace("3 * x", "2 * x"))
    outcome = gradcheck("run", *QUICK)
    assert (outcome.code, statuses(outcome)) == (1, ["xfailed", "passed", "passed", "xpassed"])
    assert json.loads(outcome.out)["cases"][3]["known"].startswith("formula of x fails no more, and known.json still")
    bad.unlink()
    assert gradcheck("run", *QUICK, "--update-baseline").code == 0
    assert Path("known.json").read_text().startswith('{"gradcheck-baseline": 1, "failures": [\nnull], "agreement": [\n')


def test_a_path_that_is_not_there_is_no_known_failure(cases: Path, gradcheck: Any) -> None:
    outcome = gradcheck("run", *QUICK, "--update-baseline", "cases", "caes")
    assert outcome.code == 2
    assert "caes: there is no such file or folder" in outcome.err
    assert not Path("known.json").exists()


def test_a_file_that_can_be_read_again_must_leave(bad: Path, gradcheck: Any) -> None:
    gradcheck("run", *QUICK, "--update-baseline")
    bad.write_text("inputs: {x: 1}\ngraph: {y: x + x}\n")
    outcome = gradcheck("run", *QUICK)
    assert (outcome.code, statuses(outcome)) == (1, ["passed"] * 3)
    assert outcome.err == "known.json: 'cases/bad.yaml' fails no more or is no more; run --update-baseline\n"
    assert gradcheck("run", *QUICK, "-k", "bad").code == 0


def test_what_is_not_selected_stays(wrong: Path, gradcheck: Any) -> None:
    wrong.write_text(f"{wrong.read_text()}---\n{wrong.read_text().replace('a wrong', 'another')}")
    gradcheck("run", *QUICK, "--update-baseline")
    before = Path("known.json").read_text()
    gradcheck("run", *QUICK, "--update-baseline", "-k", "another")
    assert Path("known.json").read_text() == before
    wrong.write_text(wrong.read_text().replace("name: another derivation", "name: the third"))
    gradcheck("run", *QUICK, "--update-baseline")
    after = Path("known.json").read_text()
    assert ("another" in after, "the third" in after, after.count("\n")) == (False, True, before.count("\n"))


def test_it_is_the_same_wherever_the_run_begins(wrong: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gradcheck("run", *QUICK, "--update-baseline")
    before = Path("known.json").read_text()
    monkeypatch.chdir("cases")
    words = ("run", ".", "--output-format", "json", "--baseline", "../known.json")
    outcome = gradcheck(*words)
    assert (outcome.code, "xfailed" in statuses(outcome), outcome.err) == (0, True, "")
    gradcheck(*words, "--update-baseline")
    assert Path("../known.json").read_text() == before


def test_two_branches_that_add_lines_can_be_merged(wrong: Path, gradcheck: Any) -> None:
    """As `git merge-file --union` does, which is what `merge=union` in .gitattributes asks for; and without conflict
    where lines stand apart, since every line ends alike."""
    gradcheck("run", *QUICK, "--update-baseline")
    lines = Path("known.json").read_text().splitlines(keepends=True)
    end = lines.index('null], "agreement": [\n')
    assert all(line.endswith("},\n") for line in lines[1:end])
    doubled = [*lines[:end], *lines[1:end], *lines[end:]]
    Path("known.json").write_text("".join(doubled))
    assert gradcheck("run", *QUICK).code == 0
    Path("known.json").write_text("<<<<<<< HEAD\n" + "".join(lines))
    outcome = gradcheck("run", *QUICK)
    assert (outcome.code, outcome.err.startswith("gradcheck: the baseline 'known.json' has the marks of a merge")) == (
        2, True,
    )  # fmt: skip


def test_drift_is_told_and_fails_where_that_is_asked(cases: Path, gradcheck: Any) -> None:
    gradcheck("run", *QUICK, "--update-baseline")
    text = Path("known.json").read_text()
    Path("known.json").write_text(text.replace("1e-14", "1e-19"))
    outcome = gradcheck("run", *QUICK)
    assert (outcome.code, {"passed"}) == (0, set(statuses(outcome)))
    assert '"drift": [{"claim": "' in outcome.out
    outcome = gradcheck("run", *QUICK, "--fail-on-drift")
    assert (outcome.code, {"failed"}) == (1, set(statuses(outcome)))
    assert gradcheck("run", "--fail-on-drift").err == (
        "gradcheck: --fail-on-drift needs to know where; name the file: --baseline FILE\n"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no baseline 'known.json'; --update-baseline writes it"),
        ("{", "cannot read the baseline 'known.json'"),
        ("[]", "'known.json' is no baseline of gradcheck"),
        ('{"gradcheck-baseline": 2, "failures": []}', "'known.json' is no baseline"),
        ('{"gradcheck-baseline": 1, "failures": [{"case": "a", "colour": 1}]}', "'known.json' is no baseline"),
    ],
)
def test_what_is_no_baseline_is_told(cases: Path, gradcheck: Any, text: str | None, message: str) -> None:
    if text is not None:
        Path("known.json").write_text(text)
    outcome = gradcheck("run", *QUICK)
    assert outcome.code == 2
    assert outcome.err.startswith(f"gradcheck: {message}")


def test_a_pipe_is_told_and_not_waited_for(cases: Path, gradcheck: Any) -> None:
    os.mkfifo("known.json")
    with deadline(60):
        outcome = gradcheck("run", *QUICK)
    assert outcome.code == 2
    assert outcome.err == (
        "gradcheck: cannot read the baseline 'known.json': not a regular file; "
        "name the file that --update-baseline has written\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000 + "]" * 100_000,
        f'{{"gradcheck-baseline": 1, "failures": [], "agreement": [{{"case": "a", "to": {{"b": {"9" * 400}}}}}]}}',
        f'{{"gradcheck-baseline": {"9" * 5000}}}',
        '{"gradcheck-baseline": 1, "failures": [{"case": "cases/good.yaml::squares", "what": [], "step": "x"}]}',
        '{"gradcheck-baseline": 1, "failures": [{"case": "cases/good.yaml::squares", "what": "a", "step": Infinity}]}',
    ],
)
def test_nothing_that_a_baseline_holds_is_a_crash(cases: Path, gradcheck: Any, text: str) -> None:
    Path("known.json").write_text(text)
    outcome = gradcheck("run", *QUICK)
    assert outcome.code == 2
    assert outcome.err.startswith(("gradcheck: cannot read the baseline", "gradcheck: 'known.json' is no baseline"))


def test_a_baseline_without_agreement_shows_no_drift(cases: Path, gradcheck: Any) -> None:
    Path("known.json").write_text('{"gradcheck-baseline": 1, "failures": [null]}\n')
    outcome = gradcheck("run", *QUICK, "--fail-on-drift")
    assert (outcome.code, outcome.err) == (
        2,
        "gradcheck: --fail-on-drift: known.json records no agreement; run --update-baseline first\n",
    )


def test_many_claims_of_one_case_take_time_in_proportion(cases: Path, gradcheck: Any) -> None:
    Path("elsewhere.yaml").touch()
    claims = [{"case": "elsewhere.yaml::a", "what": str(number)} for number in range(100_000)]
    Path("known.json").write_text(json.dumps({"gradcheck-baseline": 1, "failures": claims}))
    with deadline(60):
        assert gradcheck("run", *QUICK).code == 0


def test_a_baseline_of_more_bytes_than_anybody_writes_is_not_read(cases: Path, gradcheck: Any) -> None:
    with open("known.json", "wb") as file:
        file.truncate(70_000_000)
    outcome = gradcheck("run", *QUICK)
    assert outcome.code == 2
    assert "cannot read the baseline 'known.json': the file is larger than 64,000,000 bytes" in outcome.err


def test_a_claim_of_other_types_is_one_that_fails_no_more(cases: Path, gradcheck: Any) -> None:
    claims = [{"case": "cases/good.yaml::squares", "what": what} for what in (1, "a", None, [2])]
    Path("known.json").write_text(json.dumps({"gradcheck-baseline": 1, "failures": claims}))
    assert gradcheck("run", *QUICK).code == 1


def test_it_must_be_known_where_to_write(cases: Path, gradcheck: Any) -> None:
    outcome = gradcheck("run", "--update-baseline")
    assert (outcome.code, "name the file: --baseline FILE" in outcome.err) == (2, True)
