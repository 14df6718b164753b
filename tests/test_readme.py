"""What the documents show works: commands, snippets, cases."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gradcheck import load, run
from gradcheck.cli.config import OVERRIDABLE
from gradcheck.cli.group import COMMANDS
from gradcheck.cli.run_command import command
from gradcheck.engines.resolve import adapt
from gradcheck.engines.tensor_class import dialects
from gradcheck.errors import UsageError
from gradcheck.language.loader.model import Case as Model
from gradcheck.reports import Look
from tests.documents import blocks, gradcheck, without_time
from tests.from_text import case_of
from tests.paths import ROOT
from tests.processes import run_python

README = ROOT / "README.md"
CASE_FORMAT = ROOT / "docs" / "case-format.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"


def whole_cases(file: Path) -> list[str]:
    return [block for block in blocks(file, "yaml") if block.startswith("name:") and "\ngraph:" in block]


def python(code: str) -> subprocess.CompletedProcess[str]:
    return run_python("-c", f"import warnings; warnings.simplefilter('error')\n{code}", cwd=ROOT)


def test_two_commands_for_a_fresh_machine() -> None:
    commands = [block.strip() for block in blocks(README, "bash")]
    setup = "python -m venv .venv && . .venv/bin/activate && pip install -c constraints.txt "
    assert commands == [setup + ". && gradcheck run cases/", setup + "'.[dev]' && pytest"]


def test_the_snippet_runs() -> None:
    (snippet,) = blocks(README, "python")
    result = python(snippet)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[-3:-1] == ["tanh", "12.0"]
    found = re.fullmatch(r"(\d+) of (\d+) passed; 0 errors in files", lines[-1])
    assert found is not None
    assert found[1] == found[2] != "0"


CASES = [(file, text) for file in (README, CASE_FORMAT) for text in whole_cases(file)]


@pytest.mark.parametrize(
    ("file", "text"), CASES, ids=[f"{file.stem}-{number}" for number, (file, _) in enumerate(CASES)]
)
def test_the_cases_shown_pass(tmp_path: Path, file: Path, text: str) -> None:
    path = tmp_path / "shown.yaml"
    path.write_text(text, encoding="utf-8")
    cases, errors = load([str(path)])
    assert errors == ()
    assert [case.status for case in run(cases).cases] == ["passed"]


def test_every_document_shows_cases() -> None:
    assert len(whole_cases(README)) == 1
    assert len(whole_cases(CASE_FORMAT)) >= 4
    assert len(whole_cases(CONTRIBUTING)) == 1


def test_the_reports_shown_are_what_comes_out(tmp_path: Path) -> None:
    """The README's case fails as shown, and passes as shown once the suggested formula replaces the wrong one."""
    (text,) = [block for block in blocks(README, "yaml") if block.startswith("# derivation.yaml\n")]
    command = "$ gradcheck run derivation.yaml"
    failing, passing = [block for block in blocks(README, "text") if block.startswith(command)]
    right = text.replace("b: grad(d)", "b: grad(d) + grad(e)")
    for case, shown, status in ((text, failing, 1), (right, passing, 0)):
        (tmp_path / "derivation.yaml").write_text(case, encoding="utf-8")
        code, out = gradcheck(tmp_path, "run", "derivation.yaml")
        assert code == status
        assert without_time(out) == without_time(shown.removeprefix(command))


def test_every_key_is_documented() -> None:
    text = CASE_FORMAT.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?) \|", text.split("## Keys")[1].split("## Values")[0], re.MULTILINE)
    assert {key for row in rows for key in re.findall(r"`(\w+)`", row)} == set(Model.keys)


def test_every_command_and_option_is_documented() -> None:
    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    assert all(f"`gradcheck {name}" in text for name in COMMANDS)
    options = [max(param.opts, key=len) for param in command.params if param.param_type_name == "option"]
    missing = [option for option in options if not re.search(rf"`{option}[ `]", text)]
    assert not missing
    assert all(f"`{key}`" in text for key in OVERRIDABLE)


def example(part: str) -> str:
    """The contributors' guide's example with this in it."""
    (found,) = [block for block in blocks(CONTRIBUTING, "python") if part in block]
    return found


def test_the_op_of_the_contributors_guide_works(tmp_path: Path) -> None:
    """It stands in for the op itself in another process, where its family is not loaded: the table is everybody's."""
    entry = "from gradcheck.autograd.op import TABLE\nassert 'special.entr' not in TABLE\n" + example("@elementwise(")
    path = tmp_path / "entropy.yaml"
    path.write_text(whole_cases(CONTRIBUTING)[0], encoding="utf-8")
    result = python(f"{entry}\nfrom gradcheck import run\nassert run([{str(path)!r}]).count('passed') == 1\n")
    assert result.returncode == 0, result.stderr


def test_the_engine_of_the_contributors_guide_works() -> None:
    names: dict[str, Any] = {}
    exec(example("(DefineByRun)"), names)
    result = run(load([str(ROOT / "cases" / "reuse" / "twice.yaml")]).cases, engines=[names["Mine"]()])
    assert [case.status for case in result.cases] == ["passed", "passed"]


def test_the_dialect_of_the_contributors_guide_takes_one_word(monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, Any] = {}
    exec(example("def trickle("), names)
    with pytest.raises(UsageError, match="has no backward"):
        adapt(names["Tensor"], "mine")
    assert '"trickle"` in `BACKWARDS`' in CONTRIBUTING.read_text(encoding="utf-8")
    monkeypatch.setattr(dialects, "BACKWARDS", (*dialects.BACKWARDS, "trickle"))
    case = case_of("{inputs: {x: [1, 2]}, graph: {y: x * x, loss: (y * x).sum()}}")
    (found,) = run([case], engines=[adapt(names["Tensor"], "mine")]).cases
    assert found.status == "passed"


def test_the_oracle_of_the_contributors_guide_proves(capsys: pytest.CaptureFixture[str]) -> None:
    exec(example("import prove"), {})
    assert capsys.readouterr().out.strip() == str(["proved"] * 4)


def test_the_report_of_the_contributors_guide_works() -> None:
    names: dict[str, Any] = {}
    exec(example("def render("), names)
    result = run(load([str(ROOT / "cases" / "reuse" / "twice.yaml")]).cases)
    lines = names["render"](result, Look()).splitlines()
    assert [line.split()[0] for line in lines] == ["passed", "passed"]


PAGES = (README, CONTRIBUTING, ROOT / "ARCHITECTURE.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md")))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's titles, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"(?s)```.*?```", "", page.read_text(encoding="utf-8"))):
        if not target.startswith("https://"):
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            assert file.exists(), f"{page.name} links to {target}"
            assert not anchor or anchor in anchors(file), f"{page.name} links to {target}"


def test_the_reports_of_the_case_format_are_what_comes_out(tmp_path: Path) -> None:
    passing, failing = blocks(CASE_FORMAT, "text")
    (tmp_path / "layer.yaml").write_text(whole_cases(CASE_FORMAT)[1], encoding="utf-8")
    code, out = gradcheck(tmp_path, "run", "layer.yaml")
    assert code == 0
    assert without_time(out) == without_time(passing.partition("\n")[2])
    slips = "name: a layer\ninputs: {x: [1, 2]}\ngraph:\n  y: x.sum(keepdm=True)\nformula:\n  x: 1\n"
    (tmp_path / "typo.yaml").write_text(slips, encoding="utf-8")
    code, out = gradcheck(tmp_path, "validate", "typo.yaml")
    assert code == 2
    assert out.strip() == failing.partition("\n")[2].strip()
