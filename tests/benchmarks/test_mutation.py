"""Single changes to the source of the ops: which there are, and what each makes of its file."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from difflib import unified_diff
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmarks.mutation import BY_DIFFERENCES, BY_FAMILY, OF_TRAITS, PLAIN, QUICK, TESTS, Outcome, drawn, equivalents
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
        ["True becomes False", "2.5 becomes 5.0", "and becomes or", "Lt becomes LtE", "Lt becomes GtE", "2 becomes 3",
         "2 becomes 1", "Not is left out", "Add becomes Sub", "Mult becomes Div", "USub is left out", "3 becomes 4",
         "3 becomes 2", "the first condition is left out", "the last condition is left out", "the condition is negated",
         "the statement is left out", "the right side of Add is left out", "the left side of Add is left out",
         "the right side of Mult is left out", "the left side of Mult is left out", "analytic= is left out",
         "arguments 1 and 2 of zip change places"]
    )  # fmt: skip


#: What is written, and all that it may become.
BECOMES = {
    "def f(x, dim=None, how='a'):\n    return x": {
        "def f(x, dim=1, how='a'):\n    return x", "def f(x, dim=None, how='a?'):\n    return x",
        "def f(x, dim=None, how='a'):\n    return how",
    },
    "def f(x):\n    x = x.T\n    check(x)\n    return x": {
        "def f(x):\n    pass\n    check(x)\n    return x", "def f(x):\n    x = x.T\n    pass\n    return x",
    },
    "y = max(x, dim=0)": {"y = min(x, dim=0)", "y = max(x, dim=1)", "y = max(x, dim=-1)", "y = max(x)"},
    "y = where(c, a, b)": {"y = where(a, c, b)", "y = where(c, b, a)"},
    "y = one_dtype(a, b)": set(),
    "y = [a for a in b if a]": {"y = [a for a in b]"},
    "f = lambda g, x: (g, x)": {"f = lambda g, x: (x, x)", "f = lambda g, x: (g, g)"},
    "y = a if b else c": {"y = a if not b else c"},
    "y = a and b or c": {
        "y = (a or b) or c", "y = b or c", "y = a or c", "y = (a and b) and c", "y = c", "y = a and b",
    },
    "y = a == 'x'": {"y = a != 'x'", "y = a == 'x?'"},
    "y = a in 'bi'": {"y = a not in 'bi'", "y = a in 'b'"},
    "y = f'{1} is not {2}'": set(),
    "y -= x": {"y += x", "pass"},
}  # fmt: skip


@pytest.mark.parametrize("text", BECOMES)
def test_each_kind_of_change(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "ROOT", tmp_path)
    monkeypatch.setattr(listing, "OPS", tmp_path)
    path = tmp_path / "some.py"
    path.write_text(text)
    found = [ast.unparse(listing.changed(change)) for change in listing.changes_of(path)]
    assert len(found) == len(set(found))
    assert set(found) == {ast.unparse(ast.parse(other)) for other in BECOMES[text]}


def test_the_tests_that_are_asked_are_there() -> None:
    """One that is not ends pytest with an error, which would count as noticed."""
    for test in (*QUICK, *TESTS, *OF_TRAITS, BY_DIFFERENCES, *(f"tests/autograd/{test}" for test in BY_FAMILY)):
        path, _, name = test.partition("::")
        assert (ROOT / path).exists(), test
        assert not name or f"def {name}(" in (ROOT / path).read_text(), test


def test_the_change_that_tests_must_notice_is_there() -> None:
    assert [change.title for change in changes()].count(PLAIN) == 1


def test_each_change_is_one_and_no_other(file: Path) -> None:
    plain = ast.unparse(ast.parse(SOURCE))
    texts = [ast.unparse(listing.changed(change)) for change in listing.changes_of(file)]
    assert len({plain, *texts}) == len(texts) + 1
    for text in texts:
        lines = list(unified_diff(plain.splitlines(), text.splitlines(), n=0, lineterm=""))[2:]
        assert sum(line.startswith("@@") for line in lines) == 1, lines


FUNCTIONS = """\
def f(x, by=2):
    inner = [(lambda y: y * 3)(one) for one in x]
    return max(inner) + by


table = {"g": lambda x: x - 5}
"""


@pytest.fixture
def _few_objects() -> Iterator[None]:
    """Hide all objects but new ones from `gc.get_objects`: each change looks through them."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("_few_objects")
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
        is_inside = not what.startswith("2 becomes")
        assert in_place.is_in_functions(change) == is_inside
        if is_inside:
            assert in_place.put_in(change)
            found[what] = space["f"]([4]), space["table"]["g"](9)
    in_place.functions.cache_clear()
    assert found == {
        "Mult becomes Div": (4 / 3 + 2, 4), "3 becomes 4": (18, 4), "3 becomes 2": (10, 4),
        "Add becomes Sub": (10, 4), "Sub becomes Add": (14, 14), "5 becomes 6": (14, 3), "5 becomes 4": (14, 5),
        "the right side of Mult is left out": (6, 4), "the left side of Mult is left out": (5, 4),
        "the right side of Add is left out": (12, 4), "the right side of Sub is left out": (14, 9),
        "the left side of Sub is left out": (14, 5), "the left side of Add is left out": (2, 4),
        "max becomes min": (14, 4),
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
