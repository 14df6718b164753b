"""The files that `gradcheck init` writes: a first case, CI, hooks, editor.

A case of a formula has the derived gradients; one of code has the code's expression as its specification. The other
files are as in `docs/your-repository.md`. `below` is the path of the project in its repository: empty, or with a slash
at its end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gradcheck.checks.derivation import Explanation
from gradcheck.language.case import Case, Generalize, Implementation
from gradcheck.language.case_writer import scalar, write
from gradcheck.language.shell_words import shell_word
from gradcheck.reports.commands.explanation import case_with_formulas, unusable_formulas
from gradcheck.reports.safe_text import plain

_FIRST_CASE = """\
# A case: a graph of tensors, and what must be true of its gradients.
#   gradcheck run {file}        holds it against PyTorch
#   gradcheck explain {file}    derives every gradient as a formula
name: {name}
description: Linear regression, and the gradient of its loss that a hand derives.

dims: {{n: 4, d: 3}}                # sizes, usable wherever a size is
inputs:                           # these get a gradient
  w: randn(d)
constants:                        # these do not: data, labels, masks
  X: randn(n, d)
  t: randn(n)
graph:                            # in order, as in PyTorch; the last line is where the backward pass begins
  y: X @ w
  r: y - t
  loss: (r ** 2).mean()

formulas:                         # gradients derived by hand: verified here, and for other numbers and sizes
  w: 2 * X.T @ r / n
  r: 2 * r / n
wrong_formulas:                   # and what is easily got wrong: it must be refuted
  w: 2 * X.T @ r                  # the mean forgotten

# Numbers that are known beforehand stand under `expected:`, such as
# expected:
#   w: [1.0, 2.0, 3.0]
"""


_OF_ENGINE = """\
# A first case for a Tensor class: a tensor that is used twice, whose gradient is the sum over both uses.
#   {command}
name: {name}
inputs:
  x: [1, 2, 3]
  w: [4, 5, 6]
graph:                            # in order, as in PyTorch; the class runs each line by its own operators
  y: x * w
  z: y + x
backward: {{z: [1.0, 0.5, 2.0]}}    # from z, with this incoming gradient
expected:                         # numbers that are known beforehand
  x: [5.0, 3.0, 14.0]             # incoming gradient * (w + 1)
  w: [1.0, 1.0, 6.0]              # incoming gradient * x
"""
WORKFLOW, HOOKS = ".github/workflows/gradcheck.yml", ".pre-commit-config.yaml"
EDITOR, SCHEMA = ".vscode/settings.json", ".vscode/gradcheck.schema.json"


def example(file: str, name: str) -> str:
    """Return the text of an example, for a file of this name."""
    return _FIRST_CASE.format(file=shell_word(plain(file)), name=scalar(plain(name)))


def engine_case(name: str, command: str) -> str:
    """Return the text of a case for a Tensor class, and what checks it."""
    return _OF_ENGINE.format(name=scalar(plain(name)), command=plain(command))


def formula_case(derived: Explanation, name: str, command: str) -> str:
    """Return the text of a case with the derived gradients of its formula."""
    case, remarks = case_with_formulas(derived)
    lines = ["# The gradients are gradcheck's own: write yours in their place.", *unusable_formulas(derived)]
    return _text(lines, case, name, command, remarks)


def code_case(case: Case, name: str, command: str, implementation: str) -> str:
    """Return the text of a case that holds code to its expression."""
    (entry,) = case.graph
    case = replace(case, implementations=(Implementation(entry, implementation),))
    return _text(["# The entry of graph is what the code must compute, its gradients included."], case, name, command)


def _text(comments: list[str], case: Case, name: str, command: str, remarks: Mapping[str, str] | None = None) -> str:
    case = replace(case, name=plain(name), generalize=Generalize())
    return "\n".join([*comments, f"#   {plain(command)}", write(case, remarks)])


def github_workflow(below: str) -> str:
    """Return a workflow that checks cases at every push."""
    folder = _quoted(below.rstrip("/").replace("${{", "${{ '${{' }}"))  # else GitHub computes it
    where = f"    defaults: {{run: {{working-directory: {folder}}}}}\n" if below else ""
    return f"""\
name: gradients
on: [push, pull_request]
permissions: {{contents: read}}
jobs:
  gradcheck:
    runs-on: ubuntu-latest
{where}    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {{python-version: "3.11"}}
      - run: pip install gradcheck
      - run: gradcheck run -j auto --output-format github
"""


def pre_commit_entry(below: str, paths: Sequence[str]) -> str:
    """Return the entry of pre-commit that checks committed case files."""
    places = "|".join(re.escape(f"{below}{path}") for path in paths)
    files = _quoted(rf"^({places})/.*\.(?i:ya?ml)$|^{re.escape(below)}.*\.gradcheck\.(?i:ya?ml)$")
    lines = ["  - repo: local", "    hooks:"]
    for name, entry in (("validate", "gradcheck validate"), ("run", "gradcheck run --quiet")):
        lines += [f"      - id: gradcheck-{name}", f"        name: gradcheck {name}", f"        entry: {entry}"]
        lines += ["        language: system", f"        files: {files}", "        require_serial: true"]
    return "\n".join(lines) + "\n"


def editor_settings(below: str, paths: Sequence[str]) -> str:
    """Return the setting that maps the schema to case files in VS Code."""
    return json.dumps({"yaml.schemas": {f"./{SCHEMA}": case_file_patterns(below, paths)}}, indent=2) + "\n"


def case_file_patterns(below: str, paths: Sequence[str]) -> list[str]:
    """Return the patterns of case files."""
    return [*(f"{below}{path}/**/*.y*ml" for path in paths), "*.gradcheck.y*ml"]


def _quoted(text: str) -> str:
    """Return the text in double quotes for YAML, which has no surrogates."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in quoted)
