"""The cookbook's index is made of the cases as they are now."""

from __future__ import annotations

import pytest

from benchmarks.cookbook import entry_of, proved_in, said
from gradcheck import load, run
from gradcheck.language.cookbook.cookbook_entries import entries
from gradcheck.reports.phrases import say
from tests.paths import CASES, ROOT
from tests.sampling import evenly_spread

FILES = sorted(path.stem for path in (CASES / "cookbook").glob("*.yaml"))
AGAIN = "run `python -m benchmarks.cookbook`"


@pytest.mark.parametrize("theme", FILES)
def test_the_index_is_current(theme: str) -> None:
    """What the file says; that cases pass, and that what is said to be proved is, if not more; a few of each theme."""
    cases, errors = load([f"cases/cookbook/{theme}.yaml"])
    assert errors == ()
    known = {entry.name: entry for entry in entries() if entry.theme == theme}
    assert [case.name for case in cases] == list(known), AGAIN
    some = evenly_spread(list(cases), 4)
    made = [entry_of(case, known[case.name]) for case in some]
    assert [one.name for one in made if (said(one), one.keys) != (said(known[one.name]), known[one.name].keys)] == [], (
        AGAIN
    )
    results = run(some).cases
    failed = [(r.id, [say(e.message) for e in r.errors]) for r in results if r.status != "passed"]
    assert failed == []
    assert [r.name for r in results if not set(known[r.name].proved) <= set(proved_in(r))] == [], AGAIN


def test_what_is_printed_wrong_has_its_numbers() -> None:
    errata = [entry for entry in entries() if entry.theme == "errata"]
    assert len(errata) >= 5
    assert all(mistake.counterexample for entry in errata for mistake in entry.wrong)


def test_nearly_all_are_proved() -> None:
    proved = [entry for entry in entries() if set(entry.proved) == set(entry.formulas)]
    assert len(proved) >= 0.85 * len(entries())


def test_the_page_is_current() -> None:
    from gradcheck.reports.commands.cookbook_text import render_page

    assert (ROOT / "docs" / "cookbook.md").read_text(encoding="utf-8") == render_page(entries()), AGAIN
