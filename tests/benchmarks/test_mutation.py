"""Single changes to the source of the ops: which there are, and what each makes of its file."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmarks.mutation import BY_FAMILY, OF_TRAITS, QUICK, TESTS, Outcome, drawn, equivalents
from benchmarks.mutation.changes import ROOT, changes
from benchmarks.mutation.trying import cases_through

listing: Any = import_module("benchmarks.mutation.changes")
in_place: Any = import_module("benchmarks.mutation.in_place")
SOURCE = '''\
"""1 + 1"""

from x import y


@composite(samples="f(1)", analytic=True)
def f(input, *, alpha: float = 2.5):
    """Not -1."""
    if input.ndim < 2 and not alpha:
        raise ValueError(f"{1 + 1}")
    return -input * 3 + len(zip(input, y, strict=True))
'''


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(listing, "ROOT", tmp_path)
    monkeypatch.setattr(listing, "OPS", tmp_path)
    path = tmp_path / "some.py"
    path.write_text(SOURCE)
    return path


def test_what_is_computed_with_is_changed(file: Path) -> None:
    found = [change.title.rpartition(": ")[2] for change in listing.changes_of(file)]
    assert sorted(found) == sorted(
        ["True becomes False", "2.5 becomes 5.0", "and becomes or", "Lt becomes LtE", "2 becomes 3", "Not is left out",
         "Add becomes Sub", "Mult becomes Div", "USub is left out", "3 becomes 4"]
    )  # fmt: skip


def test_the_tests_that_are_asked_are_there() -> None:
    """One that is not ends pytest with an error, which would count as noticed."""
    for test in (*QUICK, *TESTS, *OF_TRAITS, *(f"tests/autograd/{test}" for test in BY_FAMILY)):
        path, _, name = test.partition("::")
        assert (ROOT / path).exists(), test
        assert not name or f"def {name}(" in (ROOT / path).read_text(), test


def test_each_change_is_one_and_no_other(file: Path) -> None:
    plain = ast.unparse(ast.parse(SOURCE))
    texts = [ast.unparse(listing.changed(change)) for change in listing.changes_of(file)]
    assert len({plain, *texts}) == len(texts) + 1
    for text in texts:
        assert sum(a != b for a, b in zip(text.splitlines(), plain.splitlines(), strict=True)) == 1


FUNCTIONS = """\
def f(x, by=2):
    inner = [(lambda y: y * 3)(one) for one in x]
    return sum(inner) + by


table = {"g": lambda x: x - 5}
"""


def test_a_change_is_put_into_functions_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "some.py"
    path.write_text(FUNCTIONS)
    for module, name in ((listing, "ROOT"), (listing, "OPS"), (in_place, "ROOT"), (in_place, "OPS")):
        monkeypatch.setattr(module, name, tmp_path)
    found = {}
    for change in listing.changes_of(path):
        in_place.functions.cache_clear()
        space: Any = {}
        exec(compile(FUNCTIONS, str(path), "exec"), space)
        what = change.title.rpartition(": ")[2]
        assert in_place.put_in(change) == in_place.is_in_functions(change) == (what != "2 becomes 3")
        found[what] = space["f"]([4]), space["table"]["g"](9)
    in_place.functions.cache_clear()
    assert found == {
        "2 becomes 3": (14, 4), "Mult becomes Div": (4 / 3 + 2, 4), "3 becomes 4": (18, 4),
        "Add becomes Sub": (10, 4), "Sub becomes Add": (14, 14), "5 becomes 6": (14, 3),
    }  # fmt: skip


def test_cases_are_those_that_come_through_the_statement(file: Path) -> None:
    (change, *_) = listing.changes_of(file)
    passed = {"a": (2.0, {("some.py", 6)}), "b": (1.0, {("some.py", 7)}), "c": (1.0, {("other.py", 6)})}
    assert cases_through(change, passed) == ["b", "a"]
    assert cases_through(change, {"d": (1.0, {("some.py", 99)})}) == ["d"]


def test_those_that_change_nothing_are_there_and_have_reasons() -> None:
    known = {change.title for change in changes()}
    assert [title for title in equivalents() if title not in known] == []
    assert all(len(reason.split()) > 3 for reason in equivalents().values())


def test_a_seed_draws_the_same_ones() -> None:
    first, again, other = (drawn(20, seed, "", Outcome()) for seed in (1, 1, 2))
    assert first == again != other
