"""Cases given as text, without a file."""

from __future__ import annotations

from textwrap import dedent

from gradcheck.engines.traced_case import TracedCase, trace_case
from gradcheck.language.case import Case
from gradcheck.language.loader import load_text
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw


def case_of(text: str) -> Case:
    """The only case of a document, `case.yaml`, which must be without errors."""
    (case,), errors = load_text(dedent(text), "case.yaml")
    assert errors == [], [str(error) for error in errors]
    return case


def problem_from(text: str) -> Problem:
    """The case with concrete arrays."""
    return draw(case_of(text))


def traced_from(text: str) -> TracedCase:
    """The case run on the core, step by step."""
    return trace_case(problem_from(text))
