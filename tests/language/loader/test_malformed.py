"""Hostile and careless files: each a clear error at the right place, in no time and without growing memory."""

from __future__ import annotations

import random
import re
import time
import tracemalloc
from pathlib import Path

import pytest

from gradcheck.language.loader import load, load_text
from tests.paths import ROOT, THEMES
from tests.sampling import evenly_spread

CORPUS = sorted((Path(__file__).parent / "malformed").glob("*.yaml"))
VALID = "inputs:\n  x: [1, 2, 3]\ngraph:\n  y: x * 2\n  z: y.sum()\n"


def told(path: Path) -> list[tuple[int, int, str]]:
    """The errors that a file of the corpus announces in its first lines: `# LINE:COLUMN MESSAGE`."""
    found = re.findall(r"^# (\d+):(\d+) (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return [(int(line), int(column), message) for line, column, message in found]


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_corpus(path: Path) -> None:
    expected = told(path)
    errors = load(path).errors
    assert [(e.place.line, e.place.column, e.message) for e in errors] == expected
    assert expected
    assert all(e.place.file == path.as_posix() for e in errors)


def errors_of(data: bytes | str, tmp_path: Path) -> list[tuple[int, int, str]]:
    path = tmp_path / "case.yaml"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    loaded = load(path)
    assert not loaded.cases
    return [(e.place.line, e.place.column, e.message) for e in loaded.errors]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", (1, 1, "the file holds no case")),
        (b"# nothing\n\n---\n# here\n", (1, 1, "the file holds no case")),
        (b"inputs: {x: 1\0}\n", (1, 14, "a NUL byte is not allowed")),
        (b"inputs:\n  x: 1 \x07\n", (2, 8, "the character U+0007 is not allowed")),
        ("inputs:\n  x: 1 # \u2028graph: {}\n".encode(), (2, 10, "the character U+2028 is not allowed")),
        ("# caf\xe9\n".encode("latin-1"), (1, 6, "the byte 0xe9 is not UTF-8")),
        (b"inputs:\r\n  x: \xff\r\n", (2, 6, "the byte 0xff is not UTF-8")),
        (b"# \xed\xa0\x80 half of a pair\n", (1, 3, "the byte 0xed is not UTF-8")),
        (VALID.encode("utf-16"), (1, 1, "the file is in UTF-16")),
        (VALID.encode("utf-32"), (1, 1, "the file is in UTF-32")),
        (VALID.encode("utf-16-le"), (1, 2, "a NUL byte is not allowed")),
        (b"%YAML 3.0\n---\n" + VALID.encode(), (1, 1, "this is not valid YAML: found incompatible YAML document")),
        (b"%TAG ! tag:a,2000:\n---\n" + VALID.encode(), (1, 1, "tags are not allowed, found %TAG")),
        (VALID.replace("\n", "\r\n").encode() + b"wibble: 1\r\n", (6, 1, "unknown key 'wibble'")),
        (b"\xef\xbb\xbfwibble: 1\n" + VALID.encode(), (1, 1, "unknown key 'wibble'")),
    ],
)
def test_bytes(data: bytes, expected: tuple[int, int, str], tmp_path: Path) -> None:
    assert errors_of(data, tmp_path) == [expected]


BOMB = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(20)
)
HOSTILE = {
    "deep lists": ("inputs:\n  x: " + "[" * 10_000 + "]" * 10_000 + "\n", "nested more than 100 deep"),
    "deep lists, open": ("inputs:\n  x: " + "[" * 1_000_000, "nested more than 100 deep"),
    "deep mappings": ("inputs: " + "{a: " * 10_000, "nested more than 100 deep"),
    "deep blocks": ("".join(" " * i + "a:\n" for i in range(2_000)), "nested more than 100 deep"),
    "deep dashes": ("inputs:\n  x: \n    " + "- " * 10_000 + "1\n", "nested more than 100 deep"),
    "many brackets in text": (VALID + "let:\n  q: " + "(" * 9_000 + "\n", "nested more than 100 levels deep"),
    "alias bomb": (BOMB + VALID, "aliases are not allowed"),
    "long expression": (VALID + "let:\n  q: " + "x + " * 250_000 + "x\n", "an expression of 1,000,001 characters"),
    "long name": ("inputs:\n  " + "x" * 1_000_000 + ": 1\n", ""),
    "long key": (VALID + "formula" * 140 + ": 1\n", "unknown key 'formulaformula"),
    "longer key": (VALID + "formula" * 100_000 + ": 1\n", "could not find expected"),
    "long number": (
        "inputs:\n  x: " + "9" * 1_000_000 + "\ngraph: {y: x}\n",
        "the number 99999999999999999999… has 1,000,000 digits",
    ),
    "many numbers": ("inputs:\n  x: [" + "1, " * 300_000 + "1]\ngraph: {y: x}\n", "more than 100,000 values"),
    "many keys": ("inputs:\n" + "".join(f"  x{i}: 1\n" for i in range(200_000)), "more than 100,000 values"),
    "many lists": ("inputs:\n  x: [" + "[], " * 200_000 + "]\n", "more than 100,000 values"),
    "many documents": ("---\na: 1\n" * 2_000, "unknown key 'a'"),
    "many markers": ("---\n" * 500_000, "the file holds no case"),
    "many unknown keys": ("".join(f"k{i}: 1\n" for i in range(50_000)), "unknown key 'k0'"),
    "many unknown names": (VALID + "let:\n" + "".join(f"  q{i}: x{i}\n" for i in range(8_000)), "unknown"),
    "many references": ("inputs: {x: 1}\ngraph:\n" + "".join(f"  q{i}: q{i + 1}\n" for i in range(20_000)), "below"),
    "many anchors": ("inputs:\n  x: [" + "&a 1, " * 90_000 + "1]\n", "anchors are not allowed, found '&a'"),
    "many duplicates": ("inputs:\n" + "  x: 1\n" * 90_000, "the key 'x' stands here twice"),
    "large file": ("# " + "x" * 10_000_001, "the file is larger than 10,000,000 bytes"),
    "large comment": ("# " + "x" * 9_000_000 + "\n", "the file holds no case"),
    "huge shape": ("inputs:\n  x: randn(100000, 100000)\ngraph: {y: x}\n", "10,000,000,000 elements"),
    "huge power": ("inputs:\n  x: zeros(9 ** 9 ** 9)\ngraph: {y: x}\n", "does not fit in 64 bits"),
    "huge literal": ("inputs:\n  x: {shape: [100000, 100000], values: [1]}\ngraph: {y: x}\n", "100,000,000 elements"),
    "huge size": ("dims: {n: 1000000000000}\ninputs:\n  x: zeros(n)\ngraph: {y: x}\n", "up to 100,000,000"),
    "many dimensions": ("inputs:\n  x: " + "[" * 70 + "1" + "]" * 70 + "\ngraph: {y: x}\n", "more than 32 dimensions"),
    "quadratic ragged": ("inputs:\n  x: [" + "[1], " * 45_000 + "[1, 2]]\ngraph: {y: x}\n", "the list is ragged"),
    "comments only": ("#\n" * 1_000_000, "the file holds no case"),
    "long line of blanks": ("inputs:" + " " * 5_000_000 + "\n", "'inputs' has no value"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name: str, tmp_path: Path) -> None:
    text, message = HOSTILE[name]
    path = tmp_path / "case.yaml"
    path.write_text(text, encoding="utf-8")
    load(tmp_path / "nothing.yaml")  # so that what is set up once is not counted
    start = time.process_time()
    errors = load(path).errors
    seconds = time.process_time() - start
    assert any(message in error.message for error in errors)
    assert len(errors) <= 101
    assert all(len(str(error)) < 1_000 for error in errors)
    assert seconds < (6.0 if len(text) < 2_000_000 else 12.0)


def test_memory_stays_within_a_multiple_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "case.yaml"
    for name in ("alias bomb", "deep lists, open", "huge shape", "huge power", "many numbers"):
        path.write_text(HOSTILE[name][0], encoding="utf-8")
        load(path)
        tracemalloc.start()
        load(path)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 5_000_000 + 100 * path.stat().st_size, name


# Files that somebody slipped on ------------------------------------------------------------------

SHIPPED = [path for theme in THEMES for path in sorted((ROOT / theme).rglob("*.yaml"))]
SLIPS = ": |- |[|]|{|}|\"|'|&a |*a |!t |<<: |---\n|...\n|#|>|\n|  |\t|~|null|1e400|.nan|True|grad(x)|randn(3)|? |,|(|)"


def slipped(text: str, generator: random.Random) -> str:
    """A text with some characters lost, doubled or replaced, or two lines exchanged."""
    for _ in range(generator.choice([1, 1, 2, 4])):
        at, kind = generator.randrange(len(text) + 1), generator.random()
        if kind < 0.7:
            lost = generator.choice([0, 0, 1, 6])
            text = text[:at] + generator.choice([*SLIPS.split("|"), "|", "@", "θ", "\\"]) + text[at + lost :]
        else:
            lines = text.split("\n")
            one, other = generator.randrange(len(lines)), generator.randrange(len(lines))
            lines[one], lines[other] = lines[other], lines[one]
            text = "\n".join(lines)
    return text


@pytest.mark.parametrize("seed", evenly_spread(list(range(20)), 8))
def test_slips_in_shipped_cases_are_told_within_the_file_or_harmless(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(20):
        text = slipped(generator.choice(SHIPPED).read_text(encoding="utf-8"), generator)
        _, errors = load_text(text, "f.yaml")
        lines = [*text.split("\n"), ""]
        for error in errors:
            place = error.place
            assert 1 <= place.line <= len(lines), str(error)
            assert 1 <= place.column <= len(lines[place.line - 1]) + 2, str(error)
