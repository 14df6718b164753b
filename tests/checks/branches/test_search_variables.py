"""What moves: what creators drew is put in their place, and the bounds that they state are noted."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.branches.search_variables import SearchVariable, VariableHost
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse


def test_creators_give_what_they_are_given_and_their_bounds_are_noted() -> None:
    given = {SearchVariable("x", number): Tensor.wrap(np.full(3, float(number))) for number in range(3)}
    bounds: dict[SearchVariable, tuple[float, float]] = {}
    made = evaluate(parse("randn(3) + uniform(-2, 5, [3]) * rand(3)"), {}, VariableHost("x", given, bounds))
    assert made.data.tolist() == [2.0, 2.0, 2.0]
    assert bounds == {SearchVariable("x", 1): (-2.0, 5.0), SearchVariable("x", 2): (0.0, 1.0)}
