"""What is printed is kept, up to a limit, until it is taken."""

from __future__ import annotations

import sys

import pytest

from gradcheck.engines.tensor_class.output import LIMIT, Output


def test_both_streams_are_kept_until_they_are_taken(capfd: pytest.CaptureFixture[str]) -> None:
    output = Output()
    with output.capturing():
        print("one")
        print("two", file=sys.stderr)
    print("not this")
    assert output.take() == "one\ntwo\n"
    assert output.take() == ""
    assert capfd.readouterr() == ("not this\n", "")


def test_the_beginning_is_kept_of_much() -> None:
    output = Output()
    for _ in range(3):
        assert output.write("x" * LIMIT) == LIMIT
    assert output.take() == "x" * LIMIT + "\n…\n"
    output.write("and again")
    assert output.take() == "and again"
