"""Annotations stand at the line at fault, escaped, the worst first, and never more than GitHub shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcheck.checks.result import RunResult
from gradcheck.errors import Place
from gradcheck.reports import render

COMMAND = re.compile(r"^::error ((?:[a-zA-Z]+=[^,:\r\n]*)(?:,[a-zA-Z]+=[^,:\r\n]*)*)::(.*)$")
WANT = np.full((2, 2), 4.0)


def annotations(result: RunResult) -> list[tuple[dict[str, str], str]]:
    found = []
    for line in render(result, "github").splitlines():
        if line.startswith("::"):
            match = COMMAND.match(line)
            assert match, line
            found.append((dict(pair.split("=", 1) for pair in match[1].split(",")), match[2]))
    return found


def test_the_worst_comes_first_and_lands_on_its_line(everything: RunResult) -> None:
    found = annotations(everything)
    assert [(p["file"], p["line"]) for p, _ in found[:4]] == [
        ("cases/chain.yaml", "1"),
        ("cases/bad.yaml", "5"),
        ("cases/bad.yaml", "1"),
        ("cases/chain.yaml", "12"),
    ]
    assert found[3][0]["title"] == "chain of four matrices"
    assert found[3][0]["col"] == "3"
    assert render(everything, "github").splitlines()[-1].startswith("1 failed, 1 crashed")


def test_larger_relative_errors_come_first(run: Any, case: Any, failed: Any) -> None:
    wrong = case(
        status="failed", comparisons=tuple(failed(WANT * f, WANT, tensor=t) for t, f in (("a", 1.1), ("b", 9)))
    )
    assert [message[:13] for _, message in annotations(run(wrong))] == ["gradient of b", "gradient of a"]


def test_data_and_properties_are_escaped(run: Any, case: Any, error: Any) -> None:
    crash = case("50%: a, b\n::warning::", "crashed", file="a,b:c%.yaml",
                 errors=(error("crash", "100% wrong: a, b"),))  # fmt: skip
    assert annotations(run(crash)) == [
        (
            {"file": "a%2Cb%3Ac%25.yaml", "line": "1", "col": "1", "title": "50%25%3A a%2C b\\n%3A%3Awarning%3A%3A"},
            "100%25 wrong: a, b",
        )
    ]


@pytest.mark.parametrize(
    ("total", "shown", "more"), [(10, 10, ""), (11, 10, "and 2 more problems"), (30, 10, "and 21")]
)
def test_at_most_ten_and_the_last_says_how_many_more(
    run: Any, case: Any, failed: Any, total: int, shown: int, more: str
) -> None:
    wrong = case(status="failed", comparisons=tuple(failed(WANT + 1, WANT, tensor=f"t{i}") for i in range(total)))
    found = annotations(run(wrong))
    assert len(found) == shown
    assert ("more problems" in found[-1][1]) is bool(more)
    assert more in found[-1][1]
    assert sum("gradient of t" in line for line in render(run(wrong), "github").splitlines()) == total


def test_only_annotations_are_commands(run: Any, case: Any, error: Any) -> None:
    errors = tuple(error("crash", f"##[warning]{i}") for i in range(30))
    lines = render(run(case("a", "crashed", file="::add-mask::a/b.yaml", errors=errors)), "github").splitlines()
    others = [line for line in lines if not line.startswith("::error ")]
    assert len(others) == 22
    assert not any(line.startswith("::") or "##[" in line for line in others)


def test_paths_start_at_the_repositorys_root(
    run: Any, case: Any, error: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    crash = case("x", "crashed", place=Place("c.yaml", 3, 1), errors=(error("crash", "boom"),))
    assert annotations(run(crash))[0][0]["file"] == "sub/c.yaml"


def test_the_root_is_found_where_nothing_names_it(
    run: Any, case: Any, error: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a folder inside, and for a file beside it."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    for file, path in (("c.yaml", "a/b/c.yaml"), ("../c.yaml", "a/c.yaml"), (str(tmp_path / "c.yaml"), "c.yaml")):
        crash = case("x", "crashed", place=Place(file, 3, 1), errors=(error("crash", "boom"),))
        assert annotations(run(crash))[0][0]["file"] == path


def test_a_run_that_is_right_has_only_its_summary(run: Any, case: Any) -> None:
    assert render(run(case()), "github") == "1 passed in 4.2s\n"
