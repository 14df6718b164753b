"""The files that `gradcheck init` writes beside a case: CI, hooks, editor.

Each is as in `docs/your-repository.md`. `below` is the path of the project in its repository: empty, or with a slash at
its end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

WORKFLOW, HOOKS = ".github/workflows/gradcheck.yml", ".pre-commit-config.yaml"
EDITOR, SCHEMA = ".vscode/settings.json", ".vscode/gradcheck.schema.json"


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


def pre_commit_config(below: str, paths: Sequence[str]) -> str:
    """Return a configuration of pre-commit that checks committed case files."""
    return f"repos:\n{pre_commit_entry(below, paths)}"


def pre_commit_entry(below: str, paths: Sequence[str]) -> str:
    """Return the entry alone, for a configuration that exists."""
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
