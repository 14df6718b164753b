"""Textbook gradients: what is stated is right, and what is explained is as short, or nearly."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import textbook
from benchmarks.textbook import FOLDER, MOST_BEYOND, Compared, cases, compared, operations, rows, written
from gradcheck.autograd.modes import quiet
from gradcheck.checks.claims.formulas import check_formulas
from gradcheck.checks.claims.stated_claims import StepClaims
from gradcheck.checks.options import Engines
from gradcheck.checks.points.point import Point
from gradcheck.engines.core import Core
from gradcheck.language.case import Case
from gradcheck.language.expr.parser import parse
from gradcheck.language.sampling import draw
from gradcheck.oracles.exact.prove import prove

CASES = cases()
KINDS = sorted(path.stem for path in Path(FOLDER).glob("*.yaml"))


@pytest.fixture(scope="module")
def found() -> dict[str, Compared]:
    return {case.id: compared(case) for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_what_a_textbook_states_is_right(case: Case) -> None:
    with quiet():
        point = Point(draw(case), Engines((), Core()))
        assert {c.status for c in check_formulas(StepClaims(point, point.last_step))} == {"passed"}
    claims = [(name, claim) for name, listed in case.formulas.items() for claim in listed]
    assert "refuted" not in {proof.status for proof in prove(draw(case), claims)}


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_gradients_are_as_short_or_nearly(case: Case, found: dict[str, Compared]) -> None:
    one = found[case.id]
    assert one.derived <= one.stated + MOST_BEYOND, (one.texts, one.stated_texts)


@pytest.mark.parametrize("kind", KINDS)
def test_nine_in_ten_are_as_short(kind: str, found: dict[str, Compared]) -> None:
    listed = [one for one in found.values() if f"{kind}.yaml" in one.case.id]
    longer = [one.case.name for one in listed if one.derived > one.stated]
    assert len(longer) <= len(listed) / 10, longer


def test_operations_are_counted_as_they_are_written() -> None:
    assert operations(parse("2 * A.T @ (A @ x - y) / x.shape[0]")) == 6
    assert operations(parse("-2 * x")) == 1
    steps = {"t": parse("x + y"), "u": parse("t * t"), "v": parse("x ** 3")}
    assert written([parse("u + u")], steps) == 3


def test_the_rows_of_the_benchmark(found: dict[str, Compared], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textbook, "compared", lambda case: found[case.id])
    first, second = rows()
    assert first.kept
    assert second.kept
