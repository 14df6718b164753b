"""Small Tensor classes made to order, and cases to try them on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gradcheck import run
from gradcheck.checks.result import CaseResult
from gradcheck.engines.tensor_class.adapt import adapt
from gradcheck.language.loader import load_text
from tests.paths import WRONG_ENGINES

RIGHT = WRONG_ENGINES / "right.py"


@pytest.fixture
def variant() -> Callable[..., type]:
    """The sound engine with pieces of its text replaced."""

    def make(*replacements: tuple[str, str]) -> type:
        text = RIGHT.read_text()
        for old, new in replacements:
            assert old in text, old
            text = text.replace(old, new)
        names: dict[str, Any] = {"__name__": "made_to_order"}
        exec(compile(text, "made_to_order.py", "exec"), names)
        kind: type = names["Tensor"]
        return kind

    return make


@pytest.fixture
def check() -> Callable[..., CaseResult]:
    """A case, given as YAML, run on a Tensor class."""

    def run_one(kind: Any, text: str, **options: Any) -> CaseResult:
        cases, errors = load_text(text, "case.yaml")
        assert not errors, [str(error) for error in errors]
        engine = adapt(kind, "mine")
        (found,) = run(cases, engines=[engine], **options).cases
        return found

    return run_one
