"""Lists of numbers that are read at once come to what the parser makes of them, item by item, place by place."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gradcheck.language.loader import compose, load_text
from gradcheck.language.loader.number_lists import find_lists, quoted
from gradcheck.language.loader.yaml_document import Document, Limits
from gradcheck.language.loader.yaml_text import documents

FILES = [
    *sorted((Path(__file__).parents[3] / "cases").rglob("*.yaml")),
    *sorted((Path(__file__).parent / "malformed").glob("*.yaml")),
]
#: Lists, and what looks like them, in every surrounding that YAML has.
TEXTS = (
    "x: [1, 2.5, -3]\n",
    "x: [[1, 2],\n    [3, 4]]\ny: 5\n",
    "x: [[1, 2],\n[3, 4]]  # a comment\ny: [5]\n",
    "a:\n  x: [ 1 ,\n 2 ]\n  y: {values: [1, 2], dtype: int64}\n",
    "a: {x: [[1], [2]], y: [3, 4]}\nb: [1, [2, 3], {c: [4, 5]}]\n",
    "a: >-\n  text\n  x: [1, 2]\nx: [3]\n",
    "a: |\n  x: [1, 2]\nx: [3]\n",
    "# x: [1, 2]\nx: [3, 4]\n",
    "a: 'x: [1, 2]'\nx: [3]\n",
    'a: "x: [1, 2]"\nx: [3]\n',
    'x: [1, "2"]\ny: [1, a]\n',
    "x: [1, 2]: 3\n",
    "? x: [1, 2]\n: 3\n",
    "x: [1, 2] y\n",
    "x: [1, 2\n",
    "x: [1, 2,]\ny: [1,\n  # two\n  2]\n",
    "x: [1, [], 2]\ny: []\nz: [ ]\nw: [[]]\n",
    "x: [01, 1., .5, +1, 0x1f, 1_000, 1e3, -0, -0.0]\ny: [1e5, 1E-3, 2.5e+2]\n",
    "x: [1e999]\ny: [1e308, 1e-400]\n",
    f"x: [{'1' * 400}.0]\n",
    f"x: [{'1' * 5000}, 2]\n",
    f"x: [{'9' * 40}, -{'9' * 19}]\n",
    "x: [true, null, .inf, NaN, -Infinity]\ny: [NaN, 1]\n",
    "x: &a [1, 2]\ny: *a\n",
    "x: !!seq [1, 2]\n",
    "x: [1, 2]\nx: [3, 4]\n",
    "x:  [1, 2]\ny:\n  [1, 2]\nz:\t[1, 2]\nw: [1,\t2]\n",
    "formulas: {x: [1, 2]}\nchecks: [1, 2]\nsteps: [3]\n",
    "x: " + "[" * 120 + "1" + "]" * 120 + "\n",
    "x: " + "[" * 100_000 + "1\n",
    "x: [[1, [2]], [[3], 4]]\n",
    "ä: [1, 2]\nb: ü [3, 4]\nc: [5]\n",
    "x: [1, 2] # y: [3, 4]\nz: [5]\n",
    "x: [1 2, 3]\n",
    "x: [1, -, 2]\ny: [- 1]\n",
    "x: [1, 2]}\n",
    "- x: [1, 2]\n- [3]\n",
    "x: [1,\n---\n2]\n",
)


def told(text: str, limits: Limits) -> list[Any]:
    """All that comes of a text: data, errors, and where everything is."""
    composer, found = compose.Composer("f.yaml", limits), []
    for piece, first in documents(text):
        composer.errors = []
        try:
            document = composer.compose(piece, first)
        except compose.InvalidCase as error:
            found.append(str(error))
        else:
            found.append(None if document is None else (repr(document.data), list(places(document)), document.broken))
        found += [str(error) for error in composer.errors]
    return [*found, composer.values]


def places(document: Document) -> Iterator[tuple[Any, ...]]:
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), document.data)]
    while stack:
        path, data = stack.pop()
        yield path, document.place(path), document.key_place(path) if path else None
        items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
        stack += [((*path, key), value) for key, value in items]


def agree(text: str, monkeypatch: pytest.MonkeyPatch, limits: Limits) -> None:
    quickly = told(text, limits)
    with monkeypatch.context() as patch:
        patch.setattr(compose, "find_lists", lambda text: {})
        assert quickly == told(text, limits)


@pytest.mark.parametrize("limits", [Limits(), Limits(depth=2, numbers=6)])
def test_texts_come_to_the_same(monkeypatch: pytest.MonkeyPatch, limits: Limits) -> None:
    for text in TEXTS:
        agree(text, monkeypatch, limits)


def test_files_come_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for file in FILES:
        agree(file.read_text(encoding="utf-8", errors="replace"), monkeypatch, Limits())


def test_texts_put_together_at_random_come_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = random.Random(0)
    pieces = ["x", "y", ": ", ": [", "[1, 2]", "[[1, 2], [3, 4]]", "]", ", ", "\n", "\n  ", "'", '"', "# ", "- ", "{",
              "}", "1", "-2.5", "1e3", "|\n  ", "x: [1, 2]\n", "y: [3]\n", "é"]  # fmt: skip
    for _ in range(2_000):
        agree("".join(generator.choices(pieces, k=generator.randint(3, 14))), monkeypatch, Limits(numbers=12))


def test_most_lists_are_found() -> None:
    text = "x: [[1, 2], [3, 4]]\ny: {values: [5.5], dtype: int64}\n"
    assert [one.data for one in find_lists(text).values()] == [[[1, 2], [3, 4]], [5.5]]
    assert quoted(text, find_lists(text)) == 'x: "[1, 2], [3, 4]"\ny: {values: "5.5", dtype: int64}\n'
    assert find_lists(f"x: [{'1' * 200}]\ny: [1e300]\nz: [1e+999]\n") == {}


def test_a_wrong_item_has_its_place() -> None:
    text = "inputs: {x: [[1, 2],\n [3]]}\ngraph: {y: x.sum()}\n"
    _, (error,) = load_text(text, "f.yaml")
    assert str(error).startswith("f.yaml:2:2: ")


def test_numbers_are_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = random.Random(1)
    numbers = [repr(generator.uniform(-1, 1) * 10 ** generator.uniform(-300, 300)) for _ in range(500)]
    short = [number for number in numbers if "e" not in number]
    agree(f"x: [{', '.join(numbers)}]\ny: [{', '.join(short)}]\n", monkeypatch, Limits())
    assert all(map(math.isfinite, map(float, numbers)))
