"""The shipped cases, and cases with fewer claims, for tests of what does not depend on the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

from gradcheck import load
from gradcheck.language.case import Case, Loaded
from tests.paths import THEMES


@cache
def shipped_cases() -> Loaded:
    """Load the cases of all themes, once for all test files."""
    return load(THEMES)


def engines_alone(paths: Iterable[str | Path]) -> list[Case]:
    """The cases of these files without formulas and checks at the top level: those are about the reference alone."""
    cases, errors = load(list(paths))
    assert not errors
    return [replace(case, formulas={}, wrong_formulas={}, let={}, checks=()) for case in cases]
