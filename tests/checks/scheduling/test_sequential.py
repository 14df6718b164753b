"""Cases one after another in this process."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gradcheck.checks.options import Options, Override, engines_of
from gradcheck.checks.scheduling.run import run
from gradcheck.checks.scheduling.sequential import engine_sessions, make_checker, run_sequentially
from gradcheck.errors import InvalidCase, Place
from tests.from_text import case_of

CASE_TEXT = "name: a\ninputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nformulas: {x: 2 * x}"
CASE = case_of(CASE_TEXT)
#: Arrays of 40 MB, which are given back at once when they are not needed any more.
LARGE = case_of("name: large\ninputs: {x: randn(5_000_000)}\ngraph: {y: (x * x).sum()}".replace("_", ""))


def test_cases_and_files_that_cannot_be_read_have_results_in_turn() -> None:
    options = Options()
    work = [[InvalidCase("no case", place=Place("a.yaml", 1, 1))], CASE]
    found = list(run_sequentially(work, options, engines_of(options)))
    assert [one.status for one in found] == ["invalid", "passed"]


def test_what_is_asked_for_besides_is_added() -> None:
    options = Options(power=True)
    engines = engines_of(options)
    with engine_sessions(options, engines):
        assert make_checker(options, engines)(CASE).power is not None


def test_engines_and_memory_may_differ_from_path_to_path(tmp_path: Path) -> None:
    others = [case_of(CASE_TEXT.replace("name: a", f"name: {name}")) for name in ("b", "c")]
    places = [replace(case, place=replace(case.place, file=str(tmp_path / name))) for case, name in zip(
        (CASE, *others), ("plain.yaml", "numpy.yaml", "both.yaml"), strict=True
    )]  # fmt: skip
    options = Options(
        overrides=(
            Override((str(tmp_path / "*m*.yaml"), str(tmp_path / "b*.yaml")), {"reference": "core"}),
            Override((str(tmp_path / "both.yaml"),), {"engines": ("torch",), "memory": 10**9, "timeout": 60.0}),
        )
    )
    for jobs in (1, 2):
        found = run(places, replace(options, jobs=jobs)).cases
        told = [{(c.engine, c.reference) for c in one.comparisons if c.what == "gradient"} for one in found]
        assert told == [{("core", "torch")}, {("core", "core")}, {("torch", "core")}]
    assert "--engine torch --reference core" in found[2].reproduce


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited on Linux alone")
def test_a_case_may_have_more_time_or_memory_than_others() -> None:
    where = "/x/large.yaml"
    large = replace(LARGE, place=replace(LARGE.place, file=where))
    small = Options(memory=20_000_000)
    wide = replace(small, overrides=(Override((where,), {"memory": 2_000_000_000}),))
    narrow = Options(overrides=(Override((where,), {"memory": 20_000_000}),))
    statuses = [run([large, CASE], chosen).cases for chosen in (small, wide, narrow)]
    assert [(a.status, b.status) for a, b in statuses] == [
        ("crashed", "passed"), ("passed", "passed"), ("crashed", "passed"),
    ]  # fmt: skip
