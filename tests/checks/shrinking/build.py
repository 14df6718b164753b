"""Cases from text with every number written out, for tests of single moves."""

from __future__ import annotations

import numpy as np

from gradcheck.checks.shrinking.case_edits import pin as pin
from gradcheck.language.case import Case
from tests.from_text import problem_from


def pinned(text: str) -> Case:
    """The case at its own numbers."""
    return pin(problem_from(text))


def shapes(case: Case) -> dict[str, tuple[int, ...]]:
    """Of inputs and constants, by name."""
    return {name: np.shape(value.array) for name, value in {**case.inputs, **case.constants}.items()}


def entries(case: Case) -> dict[str, str]:
    """The graph as text."""
    return {name: claim.text for name, claim in case.graph.items()}
