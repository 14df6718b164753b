"""Whatever a run finds, every format renders it, and keeps its own rules."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any, get_args
from xml.etree import ElementTree

import numpy as np
import pytest

from gradcheck.checks.result import (
    CaseResult,
    CaseStatus,
    Cause,
    Comparison,
    Diagnosis,
    Failure,
    RunResult,
    Status,
    Subject,
    Trial,
)
from gradcheck.errors import Place
from gradcheck.facts import Fact, fact
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports import FORMATS, Look, render

TEXTS = (
    "",
    "x",
    "a b c " * 9,
    "[red]",
    "\x1b[2J",
    "a\nb",
    "::error::",
    "梯度",
    "\ud800",
    "%0A",
    "\x00",
    "\u202e",
    "\r",
    "]]>",
)
NUMBERS = (None, 0.0, -0.0, 1.5, 1e300, 5e-324, float("nan"), float("inf"), float("-inf"), 1 + 2j, complex("nan+infj"))
SIZES = (None, 0.0, 1e-16, 0.5, 1e9, float("inf"), float("nan"))
SHAPES = ((), (0,), (1,), (3,), (20,), (2, 3), (8, 8), (9, 9), (2, 0, 3), (2, 2, 2), (40, 3))
DTYPES = ("f8", "f4", "c16", "i8", "?")


class Maker:
    """Results drawn at random, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._generator = np.random.default_rng(seed)

    def pick(self, choices: Any) -> Any:
        return self._random.choice(choices)

    def many(self, make: Callable[[], Any], most: int) -> tuple[Any, ...]:
        return tuple(make() for _ in range(self._random.randint(0, most)))

    def text(self) -> str:
        return "".join(self.many(lambda: self.pick(TEXTS), 2))

    def place(self) -> Place:
        return Place(self.text(), self.pick((0, 7)), self.pick((0, 3)))

    def array(self, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        values = np.asarray(self._generator.standard_normal(shape) * self.pick((1, 1e-200, 1e200)))
        values[values > 1] = self.pick((np.nan, np.inf, 1.0))
        with np.errstate(all="ignore"):
            return values.astype(dtype)

    def arrays(self) -> dict[str, Any]:
        """As a comparison keeps them: none, one, two alike with a mask, or two that differ in shape."""
        shape, other, dtype = self.pick(SHAPES), self.pick(SHAPES), self.pick(DTYPES)
        got, want = self.array(shape, dtype), self.array(shape, dtype)
        mask = np.asarray(got != want)
        return self.pick((
            {},
            {"got_array": got},
            {"want_array": want},
            {"got_array": got, "want_array": self.array(other, dtype)},
            {"got_array": got, "want_array": want, "mask": mask, "mismatched": int(mask.sum())},
        ))  # fmt: skip

    def said(self) -> Fact:
        return fact("said", text=self.text())

    def subject(self) -> Subject:
        trial = self.pick((None, Trial(1, 0, {}), Trial(2, 0, {self.text(): 3})))
        return Subject(
            self.pick(list(ClaimKind)), self.text(), self.pick((0, 1)), self.text(), self.text(), self.place(),
            self.text(), trial,
        )  # fmt: skip

    def comparison(self) -> Comparison:
        return Comparison(
            self.subject(), self.pick(get_args(Status)), shape=self.pick(SHAPES),
            max_abs=self.pick(SIZES), max_rel=self.pick(SIZES), max_ulp=self.pick(SIZES), elements=self.pick((0, 1, 9)),
            worst_index=self.pick((None, (), (1, 2))), got=self.pick(NUMBERS), want=self.pick(NUMBERS),
            atol=self.pick(SIZES), rtol=self.pick(SIZES), mismatch=self.pick((None, self.said())),
            notes=self.many(self.said, 2), verdict=self.pick((None, self.said())),
            cause=self.pick((None, Cause(self.said(), self.said()))), consequence_of=self.pick((None, self.said())),
            diagnoses=self.many(lambda: Diagnosis("x", self.said()), 1), **self.arrays(),
        )  # fmt: skip

    def failure(self) -> Failure:
        return Failure(self.text(), self.said(), self.place(), self.text(), self.text())

    def case(self) -> CaseResult:
        return CaseResult(
            self.text(), self.text(), self.text(), self.pick(get_args(CaseStatus)), self.place(), 0.5, 0, self.text(),
            self.text(), self.many(self.text, 2), self.many(self.failure, 2), self.many(self.comparison, 4),
        )  # fmt: skip

    def run(self) -> RunResult:
        return RunResult(
            self.many(self.case, 4), self.pick((0.0, 5.0, 500.0)), {"python": self.text()}, self.pick((True, False))
        )


@pytest.mark.parametrize("seed", range(100))
def test_every_format_renders_every_result(seed: int) -> None:
    maker = Maker(seed)
    result = maker.run()
    look = Look(maker.pick((True, False)), maker.pick((40, 80, 200)), maker.pick((-1, 0, 1)))
    texts = {format: render(result, format, look) for format in FORMATS}
    for format, text in texts.items():
        assert text.endswith("\n")
        text.encode()  # no lone surrogates
        allowed = "\n\x1b" if look.color and format == "full" else "\n"
        assert not [char for char in text if char < " " and char not in allowed]
    assert len(json.loads(texts["json"])["cases"]) == len(result.cases)
    assert int(ElementTree.fromstring(texts["junit"]).get("tests", "")) == len(result.cases)
    commands = [line for line in texts["github"].splitlines() if line.startswith("::")]
    assert len(commands) <= 10
    assert all(line.startswith("::error ") for line in commands)
