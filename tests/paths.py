"""Where things are that tests of every room look into."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
CASES = ROOT / "cases"
DOCS = ROOT / "docs"
#: The cases by which every part of gradcheck is tested in depth: all but the cookbook's, which are many more, of a few
#: kinds, and have tests of their own, and but the edges of all ops, which are for the run.
_OTHERS = ("cookbook", "edges")
THEMES = [f"cases/{path.name}" for path in sorted(CASES.iterdir()) if path.is_dir() and path.name not in _OTHERS]
WRONG_ENGINES = ROOT / "tests" / "engines" / "wrong"


def wrong_engine(name: str) -> str:
    """What one writes after `--engine` for one of the wrong engines, or for the right one beside them. One that draws
    numbers begins anew: whatever ran before, the next run has the same ones."""
    for loaded in [module for key, module in sys.modules.items() if key.startswith(f"gradcheck_engine_{name}_")]:
        drawn = getattr(loaded, "_numbers", None)
        if drawn is not None:
            drawn.seed(5)
    return f"{WRONG_ENGINES / name}.py:Tensor"
