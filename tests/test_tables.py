"""Many entries in one test: all are tried, and those that fail are named."""

from __future__ import annotations

import pytest

from tests.tables import for_each, for_each_by_family, try_each


def odd(number: int) -> None:
    """Odd numbers."""
    tried.append(number)
    assert number % 2 == 1, f"{number} is even"


tried: list[int] = []


def test_all_are_tried_and_what_fails_is_named() -> None:
    tried.clear()
    with pytest.raises(AssertionError, match=r"2 fail:\n2: AssertionError: 2 is even\n(.*\n)*4: "):
        try_each([1, 2, 3, 4, 5], odd)
    assert tried == [1, 2, 3, 4, 5]
    try_each([1, 3], odd)


def test_what_raises_fails() -> None:
    with pytest.raises(AssertionError, match="0: ZeroDivisionError"):
        try_each([1, 0], lambda number: print(1 / number))


def test_they_bear_the_names_of_their_checks() -> None:
    whole = for_each([2])(odd)
    assert (whole.__name__, whole.__doc__) == ("odd", "Odd numbers.")
    with pytest.raises(AssertionError, match="2 is even"):
        whole()


@for_each_by_family(["tanh", "exp", "sum"])
def test_families_are_files(name: str) -> None:
    assert name in ("tanh", "exp", "sum")


def test_every_family_has_its_entries() -> None:
    (mark,) = test_families_are_files.pytestmark  # type: ignore[attr-defined]
    assert set(mark.args[1]) == {"trigonometric", "exp_log_pow", "reductions"}
    assert mark.args[1]["reductions"] == ["sum"]
