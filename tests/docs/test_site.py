"""The site of the documentation: its generated pages, and the examples that they show."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

import gradcheck
from gradcheck.autograd.op import whole_table
from gradcheck.checks.failures.mistakes import CODE_KINDS, DERIVATIVE_KINDS, ENGINE_KINDS, KINDS
from tests import documents
from tests.paths import ROOT

ALL_KINDS = {*KINDS, *ENGINE_KINDS, *CODE_KINDS, *DERIVATIVE_KINDS}


@pytest.fixture(scope="module")
def site() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_site", ROOT / "docs" / "build_site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_mistake_has_an_example(site: ModuleType) -> None:
    assert {*site.case_examples(), *site.code_examples()} == ALL_KINDS


def test_the_mistake_of_each_example_is_named_first() -> None:
    for case in gradcheck.run([str(ROOT / "docs" / "mistakes.yaml")]).cases:
        named = [one.diagnoses[0].kind for one in case.comparisons if one.status == "failed" and one.diagnoses]
        assert named[:1] == [case.name]


def test_every_op_has_a_page_with_its_rule(site: ModuleType) -> None:
    pages = dict(site.op_pages())
    assert len(pages) == len(whole_table())
    assert "lambda g, y, x: g * (1 - y * y)" in pages["ops/tanh.md"]


def test_tables_link_to_generated_pages(site: ModuleType) -> None:
    ops = site._adapted("ops.md", (ROOT / "docs" / "ops.md").read_text(encoding="utf-8"))
    causes = site._adapted("diagnoses.md", (ROOT / "docs" / "diagnoses.md").read_text(encoding="utf-8"))
    assert all(f"](ops/{name}.md)" in ops for name in whole_table())
    assert all(f"](mistakes/{kind}.md)" in causes for kind in ALL_KINDS)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("[cases](../cases)", "cases"),
        ("[how](../CONTRIBUTING.md#add-an-op)", "[how](CONTRIBUTING.md#add-an-op)"),
        ("[ops](ops.md#sums)", "[ops](ops.md#sums)"),
        ("[page](pictures/page.png)", "[page](pictures/page.png)"),
        ("[far](https://example.org/x)", "[far](https://example.org/x)"),
    ],
)
def test_links_stay_within_the_site(site: ModuleType, written: str, kept: str) -> None:
    assert site.without_outer_links(written, "your-engine.md", {"ops.md": ""}) == kept


def test_the_front_page_shows_what_comes_out(tmp_path: Path) -> None:
    front = ROOT / "docs" / "index.md"
    (tmp_path / "case.yaml").write_text(documents.blocks(front, "yaml")[0], encoding="utf-8")
    _, report = documents.gradcheck(tmp_path, "run", "case.yaml")
    for line in documents.blocks(front, "text")[0].splitlines():
        assert line.strip() in report
