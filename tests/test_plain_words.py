"""Names and docstrings stay in plain words: numbers that only fall, and whoever raises one says why in its line."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.paths import ROOT

PACKAGE = ROOT / "gradcheck"
#: Lines of the package, and of its largest room.
#: Raised from 84,000 and 26,300 with code of one's own (arguments, precision, layers), what is told of Tensor classes,
#: causes that corrections give, Jacobians and Hessians, forwards in high precision, and LaTeX as in papers; lowered
#: from 97,300 and 31,800 as small modules went to their importers. The second rose from 30,350 with conditions of sizes
#: that are not linear, further steps of roundings, and overflow, on both sides of which formulas are tried.
MOST_LINES = 95_425
MOST_LINES_OF_CHECKS = 30_480
#: Names that more than one module, or more than one class, has.
MOST_SHARED_MODULE_NAMES = 20
MOST_SHARED_CLASS_NAMES = 12
#: A docstring's subject is a thing of the code.
RIDDLES = ("What", "Those", "How", "Who", "The same", "Whether")
MOST_RIDDLES = 0
LONGEST_FIRST_LINE = 72
MOST_LONG_FIRST_LINES = 0
#: Metaphors, moods and adverbs, as words of a name.
BANNED = {
    *("ahead", "agreed", "borne", "disease", "doubts", "ear", "glimpse", "glimpses", "heard", "hopeless", "pencil"),
    *("recalled", "remembered", "settled", "shown", "told", "untold", "warned", "witness"),
}
BANNED_PAIRS = ("in_turn", "letting_go", "let_go", "others_rules", "two_ways", "own_dtype_of", "bears_out")


@cache
def modules() -> dict[Path, ast.Module]:
    """Return the syntax of each module, when the first test asks: pytest imports this file in each of its processes."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def defined_names() -> Iterator[tuple[str, str]]:
    """Yield each name that the package defines, with where it stands."""
    for path, tree in modules().items():
        place = path.relative_to(PACKAGE).as_posix()
        yield path.stem, place
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield node.name, f"{place}:{node.lineno}"


def words_of(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def docstrings() -> Iterator[tuple[str, str]]:
    """Yield the first line of each docstring, with where it stands."""
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                text = ast.get_docstring(node)
                if text:
                    yield text.splitlines()[0], f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"


def lines_below(folder: Path) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in folder.rglob("*.py"))


def shared(names: Iterator[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)


def test_the_package_does_not_grow() -> None:
    assert lines_below(PACKAGE) <= MOST_LINES
    assert lines_below(PACKAGE / "checks") <= MOST_LINES_OF_CHECKS


def test_few_modules_have_one_name() -> None:
    found = shared(path.stem for path in modules() if path.name != "__init__.py")
    assert len(found) <= MOST_SHARED_MODULE_NAMES, found


def test_few_classes_have_one_name() -> None:
    classes = (node.name for tree in modules().values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    found = shared(classes)
    assert len(found) <= MOST_SHARED_CLASS_NAMES, found


def test_no_name_has_a_banned_word() -> None:
    found = [
        f"{place}: {name}"
        for name, place in defined_names()
        if words_of(name) & BANNED or any(pair in name for pair in BANNED_PAIRS)
    ]
    assert found == []


def test_few_docstrings_open_with_a_riddle() -> None:
    found = [f"{place}: {line}" for line, place in docstrings() if line.startswith(RIDDLES)]
    assert len(found) <= MOST_RIDDLES, found


def test_first_lines_of_docstrings_are_short() -> None:
    found = [f"{place}: {line}" for line, place in docstrings() if len(line) > LONGEST_FIRST_LINE]
    assert len(found) <= MOST_LONG_FIRST_LINES, found
