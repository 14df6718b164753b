"""What may stand under `xfail`, and what is said of the rest."""

from __future__ import annotations

import pytest

from gradcheck.language.case import ExpectedFailure
from gradcheck.language.case_writer import write
from gradcheck.language.loader import load_text

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
