"""Where things are that tests of every room look into."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
CASES = ROOT / "cases"
DOCS = ROOT / "docs"
WRONG_ENGINES = ROOT / "tests" / "engines" / "wrong"


def wrong_engine(name: str) -> str:
    """What one writes after `--engine` for one of the wrong engines, or for the right one beside them."""
    return f"{WRONG_ENGINES / name}.py:Tensor"
