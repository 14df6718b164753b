"""A case in the words of somebody's Tensor class; how calls are spelt is tested with the class's dialect."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.checks.result import ClaimKind, Subject
from gradcheck.checks.shrinking.snippet import snippet
from gradcheck.engines.resolve import engine
from tests.checks.shrinking.build import pinned
from tests.paths import wrong_engine

RIGHT: Any = engine(wrong_engine("right"))


def test_constructors_the_graph_one_pass_and_what_is_wrong() -> None:
    case = pinned("{inputs: {x: [1, 2]}, graph: {y: x * x}, backward: {y: [1, 1]}}")
    lead = Subject(ClaimKind.GRADIENT, "x").failed(want_array=np.array([2.0, 4.0]))
    lines = snippet(case, RIGHT, lead).splitlines()
    assert lines[0] == "import numpy as np"
    assert lines[-1].endswith("it should be [2.0, 4.0]")
    assert "y = x * x" in lines


def test_what_takes_more_than_that_is_not_written() -> None:
    steps = pinned("{inputs: {x: [1, 2]}, graph: {y: x.sum()}, steps: [{backward: y}, {zero_grad: x}]}")
    assert snippet(steps, RIGHT, None) == ""
