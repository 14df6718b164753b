"""Every fact has words, and no code reads them: with other words, everything but the words stays as it is."""

from __future__ import annotations

import ast
import json
import re
import string
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from gradcheck import load, run
from gradcheck.checks.mutation.mutations import RULE_MUTATIONS, SWEEP_MUTATIONS
from gradcheck.checks.options import ShrinkEffort
from gradcheck.checks.result import RunResult
from gradcheck.language.case import Loaded
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports import render
from gradcheck.reports.causes import findings
from gradcheck.reports.phrases import PHRASES
from gradcheck.reports.phrases.phrase_table import CONDITIONS, FORMATTERS, Phrase
from tests.paths import ROOT, wrong_engine

PACKAGE = ROOT / "gradcheck"
PHRASE_MODULES = sorted((PACKAGE / "reports" / "phrases").glob("*.py"))
#: Kinds that stand in a table of the code, and not where the fact is made.
IN_TABLES = {*RULE_MUTATIONS, *SWEEP_MUTATIONS}
#: Fields that are about what is wrong in words.
TEXTS = ("mismatch", "message", "notes", "verdict", "cause", "consequence_of", "evidence")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def modules_below_reports() -> list[Path]:
    above = ("reports", "cli", "testing", "pytest_plugin.py", "__main__.py")
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path.relative_to(PACKAGE).parts[0] not in above]


def calls_of_fact() -> Iterator[tuple[str, ast.Call]]:
    """Where, and the call."""
    for path in modules_below_reports():
        if path.name != "facts.py":
            for node in ast.walk(tree(path)):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("fact", "Fact"):
                    yield f"{path.relative_to(PACKAGE)}:{node.lineno}", node


def kinds_of(call: ast.Call) -> list[str]:
    """A literal, or one of two; a name stands for the kinds of a table."""
    first = call.args[0]
    options = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
    return [option.value for option in options if isinstance(option, ast.Constant) and isinstance(option.value, str)]


# Facts and phrases -----------------------------------------------------------------------------------------


def test_every_fact_has_a_phrase() -> None:
    for place, call in calls_of_fact():
        kinds = kinds_of(call)
        assert kinds or isinstance(call.args[0], ast.Name), place
        assert set(kinds) <= set(PHRASES), place
    assert set(PHRASES) >= IN_TABLES


def test_every_phrase_is_of_some_fact() -> None:
    made = {kind for _, call in calls_of_fact() for kind in kinds_of(call)}
    assert set(PHRASES) - made - IN_TABLES == set()


def test_phrases_use_no_data_that_a_fact_lacks() -> None:
    used = {kind: names for path in PHRASE_MODULES for kind, names in data_used(path).items()}
    assert set(used) == set(PHRASES)
    for place, call in calls_of_fact():
        given = {keyword.arg for keyword in call.keywords}
        assert None not in given, f"{place}: the data is hidden in a mapping"
        for kind in kinds_of(call):
            assert used[kind] <= given, f"{place}: {kind} says {used[kind] - given}"


def data_used(path: Path) -> dict[str, set[str]]:
    """By kind of fact the names of the data that its phrase uses, from the tables of one module."""
    functions = {node.name: node for node in tree(path).body if isinstance(node, ast.FunctionDef)}
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "add_phrases":
            (table,) = node.args
            assert isinstance(table, ast.Dict)
            for key, phrase in zip(table.keys, table.values, strict=True):
                assert isinstance(key, ast.Constant)
                found[key.value] = _names(phrase, functions)
    return found


def _names(phrase: ast.expr, functions: dict[str, ast.FunctionDef]) -> set[str]:
    if isinstance(phrase, ast.Constant):
        return {re.split(r"[.\[]", name)[0] for name, _ in _fields(phrase.value)}
    function = functions[phrase.id] if isinstance(phrase, ast.Name) else phrase
    assert isinstance(function, ast.Lambda | ast.FunctionDef)
    return _used_in(function, 0, functions)


def _fields(template: str) -> Iterator[tuple[str, str]]:
    """Names and specs, also of templates inside."""
    for _, name, spec, _ in string.Formatter().parse(template):
        if name is not None:
            yield name, spec or ""
            yield from _fields(spec or "")


def test_templates_use_forms_that_there_are() -> None:
    """Those of the table, or a format of numbers."""
    for kind, phrase in PHRASES.items():
        for _, spec in _fields(phrase) if isinstance(phrase, str) else ():
            form = spec.partition(" ")[0]
            assert form in FORMATTERS or form in CONDITIONS or re.fullmatch(r",|(\.\d)?[efg]|", spec), kind


def _used_in(function: ast.Lambda | ast.FunctionDef, position: int, functions: dict[str, ast.FunctionDef]) -> set[str]:
    """What a function takes out of its argument that is a fact, and what those take that it is passed on to."""
    parameter = function.args.args[position].arg
    used: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and is_name(node.value, parameter):
            assert isinstance(node.slice, ast.Constant), ast.unparse(node)
            used.add(node.slice.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
            for index, argument in enumerate(node.args):
                if is_name(argument, parameter):
                    used |= _used_in(functions[node.func.id], index, functions)
    return used


def is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


# No code reads words ---------------------------------------------------------------------------------------


def test_nothing_below_reports_imports_them() -> None:
    for path in modules_below_reports():
        for node in ast.walk(tree(path)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.startswith("gradcheck.reports")], path


@pytest.mark.parametrize("folder", ["checks", "oracles", "engines"])
def test_no_code_takes_a_sentence_apart(folder: str) -> None:
    """Neither by a method of texts nor by a pattern."""
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        for node in ast.walk(tree(path)):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            owner = node.func.value
            asked = owner if node.func.attr in dir(str) else None
            read = [asked, *node.args] if is_name(owner, "re") else [asked]
            texts = [one for one in read if isinstance(one, ast.Attribute) and one.attr in TEXTS]
            assert not texts, f"{path.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)}"


# Other words -----------------------------------------------------------------------------------------------

CASES = dedent("""\
    name: formulas and checks, right and wrong
    dims: {n: 2}
    inputs: {x: 'randn(n, 3)', w: 'randn(3, 2)'}
    graph: {y: x @ w, z: y * y, loss: z.sum()}
    generalize: {trials: 1}
    formulas:
      w: x.T @ grad(y)
      x: ['grad(y) @ w.T', 'grad(y) @ w']
      y: ['2 * y', 'y']
    wrong_formulas: {z: [ones_like(z), 2 * ones_like(z)]}
    checks: ['loss == z.sum()', 'loss == y.sum()', 'x > 0']
    ---
    name: Jacobians and Hessians, right and wrong
    dims: {n: 2}
    inputs: {x: 'randn(n)', A: 'randn(n, n)'}
    graph: {y: A @ x, f: x @ y}
    generalize: {trials: 1}
    jacobians: {y: {x: [A, A.T, 2 * A]}}
    wrong_jacobians: {y: {x: [A, A.T]}}
    hessians: {f: {x: [A + A.T, A]}}
    wrong_hessians: {f: {x: [A + A.T, A]}}
    ---
    name: right at these numbers only
    inputs: {x: [2, 2]}
    graph: {y: (x * x).sum()}
    generalize: {trials: 1}
    formulas: {x: 'x + 2'}
    ---
    name: known numbers
    inputs: {x: [1, 2], y: [3, 4]}
    graph: {p: x * y, loss: p.sum()}
    values: {p: [3, 9]}
    expected: {x: [3, 4], y: [1, 3]}
    ---
    name: an error that was not asked for
    inputs: {x: [1, 2], y: [1, 2, 3]}
    graph: {z: x + y}
    expected: {x: [1, 1]}
    formulas: {x: ones_like(x)}
    ---
    name: an error asked for in vain
    inputs: {x: [1, 2]}
    graph: {loss: x.sum()}
    steps: [{backward: loss, raises: backward_twice}]
    ---
    name: steps
    inputs: {x: [1, 2]}
    graph: {y: x * x, loss: y.sum()}
    steps:
      - {backward: loss, retain_graph: true, expected: {x: [2, 4]}}
      - {backward: loss, expected: {x: [4, 9]}}
    ---
    name: known to fail
    xfail: it is wrong
    inputs: {x: [1, 2]}
    graph: {loss: (x * x).sum()}
    formulas: {x: x}
    ---
    name: said to fail, and right
    xfail: it is wrong
    inputs: {x: [1, 2]}
    graph: {loss: (x * x).sum()}
    formulas: {x: 2 * x}
    ---
    name: a kink
    inputs: {x: [-1, 0, 2]}
    graph: {loss: x.relu().sum()}
    formulas: {x: 'to(x >= 0, float64)'}
    ---
    name: shared
    inputs: {x: [1, 2], y: [3, 4]}
    graph: {s: x + y, a: s * x, b: s * s, loss: (a + b).sum()}
    ---
    name: skipped
    skip: not today
    inputs: {x: [1, 2]}
    graph: {loss: x.sum()}
    ---
    name: unreadable
    inputs: {x: [1, 2]}
    graf: {loss: x.sum()}
""")
WRONG = ("overwrites", "changes_inputs")
SHRINK = ShrinkEffort(3, 20, 60, shrinks_claims=True)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("words") / "cases.yaml"
    path.write_text(CASES, encoding="utf-8")
    return path


def results(file: Path) -> list[RunResult]:
    """Runs in which as much as possible goes wrong, each in its own way."""
    overwrites, changes_inputs = map(wrong_engine, WRONG)
    loaded = load(file)
    of_engines = Loaded(tuple(case for case in loaded.cases if not case.states_derivatives), loaded.errors)
    return [
        run(file, shrink=SHRINK, order=2, mode="both", oracle="numeric", power=True, derived=True),
        run(of_engines, engines=[changes_inputs]),
        run(of_engines, engines=["core", overwrites], dtype="float32"),
    ]


@pytest.fixture(scope="module")
def said(file: Path) -> list[RunResult]:
    """Those runs, with the words that everybody reads."""
    return results(file)


def wordless(value: Any) -> Any:
    """The JSON without what is said in words, and without times. What a mutant is called are words too."""
    if isinstance(value, dict):
        dropped = {*TEXTS, "seconds", "details"} | ({"kind", "where"} if "where" in value else set())
        return {key: wordless(item) for key, item in value.items() if key not in dropped}
    return [wordless(item) for item in value] if isinstance(value, list) else value


def shape_of(result: RunResult) -> Any:
    """All that is found, without words: the JSON, and how failures are told together and in what order."""
    groups = [
        [(f.lead.subject, [c.subject for c in f.others], [c.subject for c in f.consequences]) for f in findings(case)]
        for case in result.cases
    ]
    return wordless(json.loads(render(result, "json"))), groups


def other_words(kind: str) -> Phrase:
    return f"⟨{kind}⟩"


def test_the_cases_are_wrong_in_many_ways(said: list[RunResult]) -> None:
    """Else the next test would say little."""
    comparisons = [c for result in said for case in result.cases for c in case.comparisons]
    assert {c.what for c in comparisons if c.status == "failed"} >= {
        kind for kind in ClaimKind if not kind.is_asked_for_by_run and kind is not ClaimKind.CODE
    }
    assert {c.status for c in comparisons} >= {"passed", "failed", "not_differentiable", "unsupported"}
    assert len({d.kind for c in comparisons for d in c.diagnoses}) >= 8
    assert {case.status for result in said for case in result.cases} >= {
        "passed", "failed", "invalid", "skipped", "xfailed", "xpassed",
    }  # fmt: skip
    assert any(case.smallest for result in said for case in result.cases)
    assert any(c.cause for c in comparisons)
    assert any(c.consequence_of for c in comparisons)


def test_with_other_words_all_else_is_the_same(
    file: Path, said: list[RunResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [(shape_of(result), render(result, "full")) for result in said]
    for kind in PHRASES:
        monkeypatch.setitem(PHRASES, kind, other_words(kind))
    after = [(shape_of(result), render(result, "full")) for result in results(file)]
    for (found, text), (again, reworded) in zip(before, after, strict=True):
        assert again == found
        assert reworded != text
