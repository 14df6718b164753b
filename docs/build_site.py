"""Build the documentation as a site: `python docs/build_site.py FOLDER`; needs `pip install '.[site]'`.

Sphinx gets the pages of `docs/`, the project's own, and generated ones: one for each op, and one for each kind of
mistake, with an example and its report. A link that leads nowhere, or any other warning, is an error.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

import gradcheck
from gradcheck.autograd.op import whole_table
from gradcheck.checks.failures.mistakes import CODE_KINDS, DERIVATIVE_KINDS, ENGINE_KINDS, KINDS
from gradcheck.reports.commands.ops_text import op_details

DOCS = Path(__file__).resolve().parent
#: Pages beside `docs/` that belong to the site.
PROJECT_PAGES = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md")
#: A link to something else of the repository, of which the site keeps the text.
_OUTSIDE = re.compile(r"\[([^\]]*)\]\((?!https?:|#)([^)]*)\)")
_OP_ROW = re.compile(r"^\| `([\w.]+)(\([^`]*\))`", re.MULTILINE)
_KIND_ROW = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)
_CONTENTS = """
```{toctree}
:hidden:
:caption: %s
%s
```
"""
#: How a page begins that stands in no side bar.
_ORPHAN = "---\norphan: true\n---\n# "
#: The side bar: what stands above some pages, and the pages.
_SIDE_BAR = {
    "Begin": ("hand-derived", "your-engine", "your-code", "your-repository"),
    "Reference": (
        "case-format",
        "command-line",
        "ops",
        "cookbook",
        "diagnoses",
        "code-mistakes",
        "oracles",
        "security",
    ),
    "Measured": ("benchmarks", "public-classes", "found"),
    "The project": ("CHANGELOG", "CONTRIBUTING", "ARCHITECTURE"),
}
SETTINGS = f"""
project = "gradcheck"
release = "{gradcheck.__version__}"
extensions = ["myst_parser", "sphinx.ext.mathjax", "sphinx_copybutton"]
html_theme = "furo"
html_title = "gradcheck {gradcheck.__version__}"
myst_heading_anchors = 6
myst_enable_extensions = ["dollarmath"]
html_show_sphinx = False
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
copybutton_prompt_text = "$ "
"""


def build(target: Path) -> int:
    """Write the site to `target`; return the exit code of Sphinx."""
    from sphinx.cmd.build import main

    with TemporaryDirectory() as folder:
        write_sources(Path(folder))
        return main(["-q", "-W", "--keep-going", "-j", "auto", "-d", f"{folder}/.doctrees", folder, str(target)])


def write_sources(folder: Path) -> None:
    """Write what Sphinx reads: its settings and all pages, whose links stay within the site."""
    (folder / "conf.py").write_text(SETTINGS, encoding="utf-8")
    shutil.copytree(DOCS / "pictures", folder / "pictures")
    pages = dict(all_pages())
    for name, text in pages.items():
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(without_outer_links(text, name, pages), encoding="utf-8")


def without_outer_links(text: str, name: str, pages: dict[str, str]) -> str:
    """Return the text of a page; of a link to what is no page or picture, the words remain."""

    def link(found: re.Match[str]) -> str:
        path = (DOCS / name).parent.joinpath(found[2].partition("#")[0]).resolve()
        if path.parent == DOCS.parent and path.name in PROJECT_PAGES:
            return f"[{found[1]}]({found[2].removeprefix('../')})"
        inside = path.is_relative_to(DOCS) and (str(path.relative_to(DOCS)) in pages or path.suffix in (".svg", ".png"))
        return found[0] if inside else found[1]

    return _OUTSIDE.sub(link, text)


def all_pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page."""
    for file in sorted(DOCS.glob("*.md")):
        yield file.name, _adapted(file.name, file.read_text(encoding="utf-8"))
    for name in PROJECT_PAGES:
        yield name, (DOCS.parent / name).read_text(encoding="utf-8").replace("](docs/", "](")
    yield from op_pages()
    yield from mistake_pages()


def _adapted(name: str, text: str) -> str:
    if name == "ops.md":
        return _OP_ROW.sub(r"| [`\1`](ops/\1.md)`\2`", text)
    if name == "diagnoses.md":
        return _KIND_ROW.sub(r"| [`\1`](mistakes/\1.md) |", text)
    if name == "cookbook.md":
        return text.replace("```math", "```{math}")
    if name == "index.md":
        return text + "".join(_CONTENTS % (title, "\n".join(names)) for title, names in _SIDE_BAR.items())
    return text


def op_pages() -> Iterator[tuple[str, str]]:
    """Yield a page for each op: what `gradcheck ops NAME` says."""
    for entry in whole_table().values():
        signature, _, *details = op_details(entry)
        text = "\n".join(details)
        yield (
            f"ops/{entry.name}.md",
            f"---\norphan: true\n---\n# {entry.name}\n\n`{signature}`\n\n```text\n{text}\n```\n",
        )


def mistake_pages() -> Iterator[tuple[str, str]]:
    """Yield a page for each kind of mistake: its meaning, and examples."""
    in_cases, in_code = case_examples(), code_examples()
    for kind, meaning in {**KINDS, **ENGINE_KINDS, **CODE_KINDS, **DERIVATIVE_KINDS}.items():
        parts = [_ORPHAN + kind, meaning[0].upper() + meaning[1:] + "."]
        if kind in in_cases:
            parts += ["## In a case", *_case_and_report(in_cases[kind])]
        if kind in in_code:
            parts += ["## In code", in_code[kind]]
        yield f"mistakes/{kind}.md", "\n\n".join([*parts, "[How gradcheck finds causes](../diagnoses.md)"]) + "\n"


def case_examples() -> dict[str, str]:
    """Return a wrong case for each kind of mistake that a claim of a case can have."""
    text = (DOCS / "mistakes.yaml").read_text(encoding="utf-8")
    return {yaml.safe_load(one)["name"]: one for one in text.split("---\n")[1:]}


def code_examples() -> dict[str, str]:
    """Return the section of `code-mistakes.md` for each kind of mistake that code can have."""
    text = (DOCS / "code-mistakes.md").read_text(encoding="utf-8")
    sections = (section.split("\n", 1) for section in text.split("\n## ")[1:])
    return {title.strip("`"): body.strip() for title, body in sections}


def _case_and_report(case: str) -> Iterator[str]:
    with TemporaryDirectory() as folder, chdir(folder):
        Path("case.yaml").write_text(case, encoding="utf-8")
        report = gradcheck.run(["case.yaml"]).text().partition("  reproduce:")[0]
    yield f"```yaml\n{case.strip()}\n```"
    yield f"```text\n$ gradcheck run case.yaml\n{report.strip()}\n```"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python docs/build_site.py FOLDER")
    sys.exit(build(Path(sys.argv[1])))
