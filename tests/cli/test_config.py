"""`[tool.gradcheck]`: found upwards, checked, and never a traceback; commands take their defaults from it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from gradcheck import project_links
from gradcheck.checks.isolation.time_limit import deadline
from gradcheck.cli.config import ConfiguredCommand, load_configuration, option_keys
from gradcheck.cli.group import run_command
from gradcheck.cli.supervisor import CommandProcess
from gradcheck.errors import UsageError


def read_config(start: Path | None = None) -> dict[str, Any]:
    """The values alone, by the names of parameters."""
    return {name: one.value for name, one in load_configuration(start).settings.items()}


def write(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text)


def test_values_are_those_of_the_options(folder: Path) -> None:
    write(
        folder,
        '[tool.gradcheck]\npaths = ["a", "b"]\nengine = ["core"]\nrtol = 1\nseed = 7\noutput-format = "concise"\n',
    )
    assert read_config() == {
        "paths": ("a", "b"), "engines": ("core",), "rtol": 1.0, "seed": 7, "output_format": "concise",
    }  # fmt: skip


def test_it_is_found_upwards_and_its_paths_start_where_it_stands(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, '[tool.gradcheck]\npaths = "proofs"\nengine = "core"\n')
    (folder / "sub").mkdir()
    write(folder / "sub", "[project]\nname = 'another'\n")
    monkeypatch.chdir(folder / "sub")
    assert read_config() == {"paths": (str(Path("..", "proofs")),), "engines": ("core",)}


def test_without_any_there_is_nothing(folder: Path) -> None:
    write(folder, "[tool.ruff]\n")
    assert read_config() == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.gradcheck]\nrtol = 'x'\n", "pyproject.toml:2:1: rtol cannot be 'x'; it must be a number"),
        ("[tool.gradcheck]\n\n  seed = 1.5\n", "pyproject.toml:3:3: seed cannot be 1.5; it must be a whole number"),
        ("[tool.gradcheck]\nseed = true\n", "pyproject.toml:2:1: seed cannot be True; it must be a whole number"),
        ("[tool.gradcheck]\nrtol = -1\n", "pyproject.toml:2:1: rtol: -1.0 is not in the range x>=0"),
        ("[tool.gradcheck]\ndtype = 'float65'\n", "pyproject.toml:2:1: dtype: 'float65' is not one of"),
        ("[tool.gradcheck]\ndtype = 64\n", "pyproject.toml:2:1: dtype cannot be 64; it must be a text"),
        ("[tool.gradcheck]\nengine = [1]\n", "pyproject.toml:2:1: engine cannot be 1; it must be a text"),
        ("[tool.gradcheck]\ndtype = ['float32']\n", "pyproject.toml:2:1: dtype cannot be ['float32']"),
        ("[tool.gradcheck]\npaths = 3\n", "pyproject.toml:2:1: paths must be a list of texts, not 3"),
        ("[tool.gradcheck]\npaths = []\n", "pyproject.toml:2:1: paths must be a list of texts, not []"),
        ("[x]\nrtoll = 1\n[tool.gradcheck]\nrtoll = 1\n",
         "pyproject.toml:4:1: unknown key 'rtoll' in [tool.gradcheck]; did you mean 'rtol'?"),
        ("[tool]\ngradcheck = 3\n", "pyproject.toml: tool.gradcheck must be a table"),
        ("[tool.gradcheck\n", "pyproject.toml:1:16: "),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_their_line(folder: Path, text: str, message: str) -> None:
    write(folder, text)
    with pytest.raises(UsageError) as caught:
        read_config()
    assert str(caught.value).startswith(message)


def test_text_that_is_not_utf8_is_refused(folder: Path) -> None:
    (folder / "pyproject.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="is not UTF-8"):
        read_config()


def test_a_link_that_leads_nowhere_is_not_left_out_in_silence(folder: Path) -> None:
    (folder / "gradcheck.toml").symlink_to("nowhere.toml")
    with pytest.raises(UsageError, match=re.escape("gradcheck.toml: cannot be read: No such file")):
        load_configuration()


def test_a_folder_may_be_given(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    write(other, "[tool.gradcheck]\nseed = 3\n")
    assert read_config(other) == {"seed": 3}
    assert read_config(folder) == {}


def test_help_works_in_spite_of_a_broken_configuration(folder: Path, gradcheck: Any) -> None:
    (folder / "pyproject.toml").write_text("[tool.gradcheck]\nx = 1\n")
    assert gradcheck("run", "-h").code == 0
    outcome = gradcheck("run")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert outcome.err.startswith("gradcheck: pyproject.toml:2:1: unknown key 'x'")


def test_configured_paths_are_the_default_and_given_ones_win(cases: Path, folder: Path, gradcheck: Any) -> None:
    (folder / "pyproject.toml").write_text('[tool.gradcheck]\npaths = ["elsewhere"]\n')
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "one.yaml").write_text("inputs: {x: 1}\ngraph: {y: x + x}\n")
    assert gradcheck("list").out == "elsewhere/one.yaml::one\n"
    assert "squares" in gradcheck("list", "cases").out


# Every option, the environment, overrides ------------------------------------------------------------------

EVERY = {
    "keyword": ("'squares'", "squares"),
    "tag": ("['a', 'b']", "a, b"),
    "exitfirst": ("true", "yes"),
    "maxfail": ("3", "3"),
    "last-failed": ("true", "1"),
    "failed-first": ("false", "off"),
    "changed-since": ("'main'", "main"),
    "watch": ("true", "on"),
    "allow-code": ("true", "yes"),
    "shard": ("'1/2'", "1/2"),
    "jobs": ("2", "2"),
    "executor": ("'dask://a:1'", "dask://a:1"),
    "engine": ("'core'", "core"),
    "reference": ("'torch'", "torch"),
    "dtype": ("'float32'", "float32"),
    "rtol": ("1e-3", "1e-3"),
    "atol": ("0.5", "0.5"),
    "seed": ("7", "7"),
    "trials": ("2", "2"),
    "timeout": ("1.5", "1.5"),
    "memory": ("'2GB'", "2GB"),
    "oracle": ("'none'", "none"),
    "mode": ("'both'", "both"),
    "order": ("2", "2"),
    "device": ("'cuda:1'", "cuda:1"),
    "cache": ("false", "false"),
    "power": ("true", "true"),
    "coverage": ("true", "true"),
    "shrink": ("false", "no"),
    "fix": ("true", "true"),
    "baseline": ("'known.json'", "known.json"),
    "update-baseline": ("true", "true"),
    "fail-on-drift": ("true", "true"),
    "verbose": ("1", "1"),
    "durations": ("5", "5"),
    "quiet": ("1", "1"),
    "output-format": ("'json'", "json"),
    "output": ("'out.txt'", "out.txt"),
    "report": ("['json=a.json', 'junit=b.xml']", "json=a.json,junit=b.xml"),
    "color": ("'never'", "never"),
}


@pytest.mark.parametrize("key", option_keys())
def test_every_option_may_stand_in_the_file_and_in_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    toml, text = EVERY[key]
    name = str(option_keys()[key].name)
    (folder / "gradcheck.toml").write_text(f"{key} = {toml}\n")
    (from_file,) = load_configuration().settings.values()
    (folder / "gradcheck.toml").unlink()
    variable = f"GRADCHECK_{key.upper().replace('-', '_')}"
    monkeypatch.setenv(variable, text)
    known = load_configuration().settings
    assert known[name].value == from_file.value
    assert (from_file.where, known[name].where) == ("gradcheck.toml:1:1", variable)


def test_the_command_line_wins_then_the_environment_then_the_file(
    cases: Path, folder: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "[tool.gradcheck]\nseed = 1\noutput-format = 'json'\n")
    seeds = lambda *words: {case["seed"] for case in json.loads(gradcheck("run", *words).out)["cases"]}  # noqa: E731
    assert seeds() == {1}
    monkeypatch.setenv("GRADCHECK_SEED", "2")
    assert seeds() == {2}
    assert seeds("--seed", "3") == {3}


def test_gradcheck_toml_comes_before_pyproject(folder: Path) -> None:
    write(folder, "[tool.gradcheck]\nseed = 1\n")
    (folder / "gradcheck.toml").write_text("seed = 2\n")
    assert read_config() == {"seed": 2}


def test_files_are_looked_for_where_the_configuration_stands(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "mine.py").write_text("")
    write(
        folder, "[tool.gradcheck]\nengine = ['mine.py:Tensor', 'core']\nbaseline = 'k.json'\nreport = 'json=r.json'\n"
    )
    (folder / "sub").mkdir()
    monkeypatch.chdir(folder / "sub")
    up = Path("..")
    assert read_config() == {
        "engines": (f"{up / 'mine.py'}:Tensor", "core"),
        "baseline": up / "k.json",
        "reports": (("json", up / "r.json"),),
    }


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("GRADCHECK_JOSB", "2", "unknown setting GRADCHECK_JOSB; did you mean 'GRADCHECK_JOBS'?"),
        ("GRADCHECK_JOBS", "many", "GRADCHECK_JOBS: 'many' is neither a number nor 'auto'"),
        ("GRADCHECK_POWER", "perhaps", "GRADCHECK_POWER cannot be 'perhaps'; it must be true or false"),
        ("GRADCHECK_DTYPE", "float65", "GRADCHECK_DTYPE: 'float65' is not one of"),
    ],
)
def test_mistakes_in_the_environment_are_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, message: str
) -> None:
    monkeypatch.setenv(name, text)
    with pytest.raises(UsageError) as caught:
        load_configuration()
    assert str(caught.value).startswith(message)


OVERRIDES = """[tool.gradcheck]
trials = 1

[[tool.gradcheck.overrides]]
paths = ["cases/wrong.yaml"]
rtol = 10.0

[[tool.gradcheck.overrides]]
paths = ["cases/g*.yaml", "else*"]
seed = 5
"""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_some_paths_have_settings_of_their_own(wrong: Path, folder: Path, gradcheck: Any, jobs: str) -> None:
    write(folder, OVERRIDES)
    found = json.loads(gradcheck("run", "--output-format", "json", "-j", jobs).out)["cases"]
    assert [(case["seed"], "--rtol" in case["reproduce"]) for case in found] == [(5, False), (5, False), (0, True)]
    assert json.loads(gradcheck("run", "--output-format", "json", "--seed", "6").out)["cases"][0]["seed"] == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("overrides = 3\n", "pyproject.toml:2:1: overrides must be tables; write each as [[tool.gradcheck.overrides]]"),
        ("[[tool.gradcheck.overrides]]\nrtol = 1\n", "pyproject.toml:2:1: an override names no paths"),
        (
            "[[tool.gradcheck.overrides]]\npaths = ['a*']\njobs = 2\n",
            "pyproject.toml:4:1: unknown key 'jobs' in [tool.gradcheck]; the keys are paths, engine, ",
        ),
        ("[[tool.gradcheck.overrides]]\npaths = ['a']\nseed = 2\n", "pyproject.toml:3:1: there is no 'a' to override"),
    ],
)
def test_mistakes_in_overrides_are_told(folder: Path, text: str, message: str) -> None:
    write(folder, f"[tool.gradcheck]\n{text}")
    with pytest.raises(UsageError) as caught:
        load_configuration()
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("below", "file", "pattern"),
    [
        ("we[ird]", "a.yaml", "cases/a.yaml"),
        (".", "a[1].yaml", "cases/a[1].yaml"),
        ("x*y", "a1.yaml", "cases/a[0-9].*"),
    ],
)
def test_letters_of_patterns_in_paths_are_letters(
    folder: Path, monkeypatch: pytest.MonkeyPatch, gradcheck: Any, below: str, file: str, pattern: str
) -> None:
    here = folder / below
    (here / "cases").mkdir(parents=True)
    (here / "linked").symlink_to("cases")
    (here / "cases" / file).write_text("inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nexpected: {x: [2, 4.0001]}\n")
    table = f"rtol = 1e-3\n[[overrides]]\npaths = ['{pattern}']\nrtol = 1e-12\n"
    (here / "gradcheck.toml").write_text(table)
    monkeypatch.chdir(here)
    assert [gradcheck("run", "-q", place).code for place in ("cases", "linked")] == [1, 1]


def test_overrides_are_looked_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each key of each of them, which would take time in proportion to the square of their number."""
    table = '[[tool.gradcheck.overrides]]\npaths = ["a*"]\n'
    write(folder, f"[tool.gradcheck]\nseed = 2\n{(table + 'seed = 1' + chr(10)) * 200}{table}odd = 1\n")
    looked: list[str] = []
    match = re.match

    def counted(pattern: str, text: str) -> re.Match[str] | None:
        looked.append(text)
        return match(pattern, text)

    monkeypatch.setattr(re, "match", counted)
    with pytest.raises(UsageError) as raised:
        load_configuration()
    assert str(raised.value).startswith("pyproject.toml:605:1: unknown key 'odd'")
    assert len(looked) < 2 * 605


@pytest.mark.parametrize(
    "key", ["a" + ".a" * 150, "[a" + " . 'a'" * 150 + "]\nb", '"a"' + '."a"' * 150, "a" + r'."\""' * 150]
)
def test_a_key_of_very_many_parts_is_refused(folder: Path, key: str) -> None:
    write(folder, f"x = 1\n{key} = 1\n")
    with pytest.raises(UsageError) as raised:
        load_configuration()
    assert str(raised.value) == "pyproject.toml:2:1: a key of more than 100 parts, which cannot be read"


def test_long_numbers_are_looked_for_in_time_in_proportion(folder: Path) -> None:
    """Each number is nearly too long to be read; the array is nested too deeply."""
    write(folder, f"x = {'[' * 5_000} # {('1' * 3_999 + ' ') * 240}\n")
    with deadline(20), pytest.raises(UsageError) as raised:
        load_configuration()
    assert str(raised.value) == "pyproject.toml: nested too deeply to be read"


_PLANTED = "open('ran', 'w').close()\nfrom gradcheck.engines.core import Core as Tensor\n"


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"GRADCHECK_ENGINE": "planted:Tensor"}, ()),
        ({"GRADCHECK_ENGINE": "planted:Tensor"}, ("--isolated",)),
        ({"GRADCHECK_REFERENCE": "planted:Tensor"}, ()),
        ({"GRADCHECK_EXECUTOR": "planted:Tensor"}, ()),
        ({}, ("--isolated", "--engine", "planted:Tensor")),
        ({}, ("--isolated", "--executor", "planted:Tensor")),
    ],
)
def test_a_module_of_the_folder_is_not_the_package_that_the_environment_names(
    cases: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], words: tuple[str, ...]
) -> None:
    Path("planted.py").write_text(_PLANTED)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    outcome = gradcheck("run", "-j2" if "executor" in str((variables, words)).lower() else "-q", *words)
    assert outcome.code == 2
    assert "No module named 'planted'" in outcome.err
    assert not Path("ran").exists()


@pytest.mark.parametrize("path", ["../profile", "a/../../x.json", "/etc/x.json", ".hg/hgrc", "a/.GIT/x", ".git"])
@pytest.mark.parametrize("key", ["output = {!r}", "baseline = {!r}", "report = ['full={}']"])
def test_a_file_of_settings_names_no_file_elsewhere(folder: Path, gradcheck: Any, key: str, path: str) -> None:
    """A shell or Python may read a report there as code."""
    (folder / "gradcheck.toml").write_text(f"{key.format(path)}\n")
    outcome = gradcheck("config")
    told = f"'{path}' is hidden or not of the project of gradcheck.toml; name it as an option"
    assert (outcome.code, outcome.err) == (2, f"gradcheck: gradcheck.toml:1:1: {told}\n")


@pytest.mark.parametrize("key", ["output = {!r}", "baseline = {!r}", "report = ['full={}']"])
@pytest.mark.parametrize("marker", ["pyvenv.cfg", ".git", "pyproject.toml"])
def test_a_file_of_settings_names_no_file_of_an_environment_or_another_project(
    folder: Path, gradcheck: Any, key: str, marker: str
) -> None:
    """Python runs lines of `.pth` files in an environment, and make those of a `GNUmakefile` in a project."""
    (folder / "other" / "lib").mkdir(parents=True)
    (folder / "other" / marker).write_text("")
    (folder / "gradcheck.toml").write_text(f"{key.format('other/lib/x.pth')}\n")
    outcome = gradcheck("config")
    told = "gradcheck: gradcheck.toml:1:1: 'other/lib/x.pth' is hidden or not of the project of gradcheck.toml; "
    assert (outcome.code, outcome.err) == (2, f"{told}name it as an option\n")


def test_processes_of_an_isolated_run_look_in_no_working_directory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    command = ConfiguredCommand("nothing", callback=lambda **_: None)
    for words, own in (([], CommandProcess()), (["--isolated"], None)):
        assert run_command(command, words, own) == 0
        assert "PYTHONSAFEPATH" not in os.environ
    assert run_command(command, ["--isolated"], CommandProcess()) == 0
    assert os.environ.pop("PYTHONSAFEPATH") == "1"


def test_conform_takes_no_module_of_an_isolated_folder(folder: Path, gradcheck: Any) -> None:
    Path("planted.py").write_text(_PLANTED)
    assert "No module named 'planted'" in gradcheck("conform", "--isolated", "planted:Tensor").err
    assert not Path("ran").exists()


def test_the_command_that_reproduces_an_isolated_run_is_isolated(
    wrong: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it, the command that is pasted would run what the folder's configuration names."""
    assert "--isolated" not in gradcheck("run", "-q").out
    assert "::a wrong derivation' --seed 0 --isolated\n" in gradcheck("run", "-q", "--isolated").out
    monkeypatch.setenv("GRADCHECK_ISOLATED", "1")
    assert "::a wrong derivation' --seed 0 --isolated\n" in gradcheck("run", "-q").out


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
@pytest.mark.parametrize("sub", [".", "mine"])
def test_a_file_of_another_user_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch, sub: str) -> None:
    """As in `/tmp`, where anybody can put one, for all who work there or below."""
    write(folder, '[tool.gradcheck]\nengine = "evil.py:X"\n')
    (folder / "mine").mkdir(exist_ok=True)
    monkeypatch.chdir(folder / sub)
    others = {folder / "pyproject.toml": {4711}}
    monkeypatch.setattr(project_links, "_owners", lambda path: others.get(path, {0}))
    with pytest.raises(UsageError, match=r"pyproject.toml' belongs to another user.*--isolated"):
        read_config()
    assert load_configuration(isolated=True).settings == {}
    write(folder, "[tool.ruff]\n")
    assert read_config() == {}
    write(folder, "[tool.gradcheck]\nseed = 7\n")
    others[folder / sub] = {4711}  # a project of theirs
    assert read_config() == {"seed": 7}
