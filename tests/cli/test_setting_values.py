"""Every option of `run` in a file of settings, in an override and in the environment: what is right means there what
the flag means, and what is wrong is told with its place, by exit code 2."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from gradcheck.cli.config import OVERRIDABLE, option_keys, overrides_of
from gradcheck.cli.options import RUN
from gradcheck.cli.run_command import command
from gradcheck.cli.setting_values import brief, kind_of, read_value, setting_text
from gradcheck.errors import UsageError
from tests.tables import try_each

#: Of every option what stands in a file, in the environment, and on the command line, all of which mean the same.
RIGHT: dict[str, tuple[str, str, list[str]]] = {
    "keyword": ("'squares'", "squares", ["-k", "squares"]),
    "tag": ("['a', 'b']", "a, b", ["-t", "a", "-t", "b"]),
    "exitfirst": ("true", "yes", ["-x"]),
    "maxfail": ("3", "3", ["--maxfail", "3"]),
    "last-failed": ("true", "1", ["--lf"]),
    "failed-first": ("true", "on", ["--ff"]),
    "changed-since": ("'main'", "main", ["--changed-since", "main"]),
    "watch": ("true", "on", ["--watch"]),
    "shard": ("'1/2'", "1/2", ["--shard", "1/2"]),
    "jobs": ("2", "2", ["-j", "2"]),
    "executor": ("'dask://a:1'", "dask://a:1", ["--executor", "dask://a:1"]),
    "engine": ("'torch'", "torch", ["--engine", "torch"]),
    "reference": ("'core'", "core", ["--reference", "core"]),
    "dtype": ("'float32'", "float32", ["--dtype", "float32"]),
    "rtol": ("1e-3", "1e-3", ["--rtol", "1e-3"]),
    "atol": ("1", "1", ["--atol", "1"]),
    "seed": ("-7", "-7", ["--seed", "-7"]),
    "trials": ("2", "2", ["--trials", "2"]),
    "timeout": ("1.5", "1.5", ["--timeout", "1.5"]),
    "memory": ("'2GB'", "2GB", ["--memory", "2GB"]),
    "oracle": ("'none'", "none", ["--oracle", "none"]),
    "mode": ("'both'", "both", ["--mode", "both"]),
    "order": ("2", "2", ["--order", "2"]),
    "cache": ("false", "false", ["--no-cache"]),
    "allow-code": ("true", "yes", ["--allow-code"]),
    "device": ("'cuda:1'", "cuda:1", ["--device", "cuda:1"]),
    "power": ("true", "true", ["--power"]),
    "coverage": ("true", "true", ["--coverage"]),
    "shrink": ("false", "no", ["--no-shrink"]),
    "fix": ("true", "true", ["--fix"]),
    "baseline": ("'known.json'", "known.json", ["--baseline", "known.json"]),
    "update-baseline": ("true", "true", ["--update-baseline"]),
    "fail-on-drift": ("true", "true", ["--fail-on-drift"]),
    "verbose": ("2", "2", ["-vv"]),
    "durations": ("5", "5", ["--durations", "5"]),
    "quiet": ("true", "yes", ["-q"]),
    "output-format": ("'json'", "json", ["--output-format", "json"]),
    "output": ("'out.txt'", "out.txt", ["-o", "out.txt"]),
    "report": (
        "['json=a.json', 'junit=b.xml']",
        "json=a.json,junit=b.xml",
        ["--report", "json=a.json", "--report", "junit=b.xml"],
    ),
    "color": ("'never'", "never", ["--color", "never"]),
}
#: Values that are wrong for most options.
WRONG = {
    "empty": "''",
    "blank": "' '",
    "word": "'surely not'",
    "nul": r'"a\u0000b"',
    "list": "['a']",
    "nested": "[['a']]",
    "long in a list": f"[[0x{'f' * 5000}]]",
    "table": "{a = 1}",
    "flag": "true",
    "zero": "0",
    "negative": "-1",
    "broken": "1.5",
    "long": "9" * 400,
    "longer": "9" * 5000,
    "longest": f"0x{'f' * 5000}",
    "too large": "1e400",
    "inf": "inf",
    "-inf": "-inf",
    "nan": "nan",
    "date": "2027-01-31",
}
FLAGS = (
    *("exitfirst", "last-failed", "failed-first", "watch", "cache", "allow-code", "power", "coverage", "shrink"),
    *("fix", "update-baseline", "fail-on-drift"),
)
#: Where they are right.
RIGHT_FOR = {
    "word": {"keyword", "tag", "changed-since", "executor", "engine", "reference", "device", "baseline", "output"}
    - {"keyword"},  # in which words are joined by `and` or `or`
    "list": {"tag", "engine"},
    "flag": {*FLAGS, "verbose", "quiet"},
    "zero": {"rtol", "atol", "seed", "trials", "verbose", "quiet", "durations"},
    "negative": {"seed"},
    "broken": {"rtol", "atol", "timeout"},
    "long": {"maxfail", "seed", "memory", "verbose", "quiet", "durations"},
}
#: The same in the environment.
WRONG_TEXTS = {
    "empty": "",
    "blank": "  ",
    "comma": ",",
    "word": "surely not",
    "list": "['a']",
    "zero": "0",
    "negative": "-1",
    "broken": "1.5",
    "long": "9" * 400,
    "longer": "9" * 5000,
    "too large": "1e400",
    "inf": "inf",
    "nan": "nan",
}
TEXTS = {"tag", "changed-since", "executor", "engine", "reference", "device", "baseline", "output"}
RIGHT_TEXTS = {
    "empty": {*FLAGS, "verbose", "quiet"},
    "comma": TEXTS - {"tag", "engine"} | {"keyword"},
    "word": TEXTS,
    "list": TEXTS - {"keyword"},
    "zero": {*TEXTS, *FLAGS, "keyword", "rtol", "atol", "seed", "trials", "verbose", "quiet", "durations"},
    "negative": {*TEXTS, "keyword", "seed"},
    "broken": {*TEXTS, "keyword", "rtol", "atol", "timeout", "memory"},
    "long": {*TEXTS, "keyword", "maxfail", "seed", "memory", "verbose", "quiet", "durations"},
    "longer": {*TEXTS, "keyword", "memory"},
    "too large": {*TEXTS, "keyword"},
    "inf": {*TEXTS, "keyword"},
    "nan": {*TEXTS, "keyword"},
}
Chosen = Callable[..., dict[str, Any]]


@pytest.fixture
def chosen(folder: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch) -> Chosen:
    """What reaches a run by these arguments; with `overridden`, what its overrides say."""
    (folder / "cases").mkdir()

    def call(*words: str, overridden: bool = False) -> dict[str, Any]:
        found: dict[str, Any] = {}

        def callback(**values: Any) -> int:
            overrides = dict(pair for _, some in overrides_of(click.get_current_context()) for pair in some.items())
            found.update(overrides if overridden else values)
            return 0

        with monkeypatch.context() as patched:
            patched.setattr(command, "callback", callback)
            outcome = gradcheck("run", *words)
        assert outcome.code == 0, outcome.err
        return found

    return call


def variable(key: str) -> str:
    return f"GRADCHECK_{key.upper().replace('-', '_')}"


def test_the_table_has_every_option() -> None:
    assert list(RIGHT) == [option.key for option in RUN]


@pytest.mark.parametrize("key", RIGHT)
def test_an_option_means_the_same_wherever_it_is_set(
    chosen: Chosen, folder: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    toml, text, words = RIGHT[key]
    unset, by_flag = chosen(), chosen(*words)
    assert by_flag != unset
    for file, above in (("pyproject.toml", "[tool.gradcheck]\n"), ("gradcheck.toml", "")):
        (folder / file).write_text(f"{above}{key} = {toml}\n")
        assert chosen() == by_flag
        (folder / file).unlink()
    monkeypatch.setenv(variable(key), text)
    assert chosen() == by_flag


@pytest.mark.parametrize("key", OVERRIDABLE)
def test_an_override_means_the_same(chosen: Chosen, folder: Path, key: str) -> None:
    toml, _, words = RIGHT[key]
    name = str(option_keys()[key].name)
    (folder / "gradcheck.toml").write_text(f"[[overrides]]\npaths = ['cases']\n{key} = {toml}\n")
    assert chosen(overridden=True) == {name: chosen(*words)[name]}
    assert chosen(*words, overridden=True) == {}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_value_in_a_file_is_told_with_its_line(folder: Path, gradcheck: Any, kind: str) -> None:
    def check(key: str) -> None:
        (folder / "gradcheck.toml").write_text(f"\n{key} = {WRONG[kind]}\n")
        outcome = gradcheck("config")
        if key in RIGHT_FOR.get(kind, ()):
            assert outcome.code == 0, outcome.err
        else:
            assert_told(outcome, "gradcheck: gradcheck.toml:2:1: ")

    try_each(RIGHT, check)


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_value_in_an_override_is_told_with_its_line(folder: Path, gradcheck: Any, kind: str) -> None:
    def check(key: str) -> None:
        first = f"[[tool.gradcheck.overrides]]\npaths = ['a*']\n{key} = {RIGHT[key][0]}\n"
        second = f"[[tool.gradcheck.overrides]]\npaths = ['b*']\n{key} = {WRONG[kind]}\n"
        (folder / "pyproject.toml").write_text(f"[tool.gradcheck]\n{key} = {RIGHT[key][0]}\n{first}{second}")
        outcome = gradcheck("config")
        if key in RIGHT_FOR.get(kind, ()):
            assert outcome.code == 0, outcome.err
        else:
            assert_told(outcome, "gradcheck: pyproject.toml:8:1: ")

    try_each(OVERRIDABLE, check)


@pytest.mark.parametrize("kind", WRONG_TEXTS)
def test_a_wrong_text_in_the_environment_is_told_with_its_variable(
    folder: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    right = RIGHT_TEXTS.get(kind, set())

    def check(key: str) -> None:
        with monkeypatch.context() as patched:
            patched.setenv(variable(key), WRONG_TEXTS[kind])
            outcome = gradcheck("config")
        if key in right or (key == "paths" and kind not in ("empty", "blank", "comma")):
            assert outcome.code == 0, outcome.err
        else:
            assert_told(outcome, f"gradcheck: {variable(key)}")

    try_each([*RIGHT, "paths"], check)


@pytest.mark.parametrize("value", [WRONG[kind] for kind in WRONG if kind not in ("word", "list")])
def test_wrong_paths_are_told_with_their_line(folder: Path, gradcheck: Any, value: str) -> None:
    (folder / "gradcheck.toml").write_text(f"paths = {value}\n")
    assert_told(gradcheck("list"), "gradcheck: gradcheck.toml:1:1: ")


def assert_told(outcome: Any, beginning: str) -> None:
    """One line that begins so, and exit code 2."""
    assert outcome.code == 2, outcome.err
    assert outcome.err.startswith(beginning)
    assert outcome.err.count("\n") == 1
    assert len(outcome.err) < 300


def conversions() -> Iterator[Any]:
    for key, (_, text, _) in RIGHT.items():
        option = option_keys()[key]
        if not option.is_flag and not option.count:
            yield pytest.param(option, text.split(",")[0] if option.multiple else text, id=key)


@pytest.mark.parametrize(("option", "text"), [*conversions()])
def test_a_value_that_is_converted_already_stays_as_it_is(option: click.Option, text: str) -> None:
    once = option.type.convert(text, option, None)
    assert option.type.convert(once, option, None) == once


@pytest.mark.parametrize("where", ["file", "environment"])
def test_reports_may_be_configured(
    cases: Path, folder: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    if where == "file":
        (folder / "pyproject.toml").write_text('[tool.gradcheck]\nreport = ["json=r.json"]\n')
    else:
        monkeypatch.setenv("GRADCHECK_REPORT", "json=r.json")
    assert gradcheck("run").code == 0
    assert json.loads((folder / "r.json").read_text())["summary"]["passed"] == 2


def test_what_a_value_is_and_how_it_is_shown() -> None:
    option = option_keys()["jobs"]
    assert read_value("3", "jobs", option) == 3
    assert kind_of(option) == ((int, str), "a whole number, or 'auto'")
    with pytest.raises(UsageError, match="MINE: 'x' is neither a number nor 'auto'"):
        read_value("x", "MINE", option)
    assert brief("x" * 100) == "'" + "x" * 58 + "…"
    assert brief([1 << 20_000]) == "a number of so many digits"
    assert setting_text([True, "a", 2]) == "true, a, 2"
