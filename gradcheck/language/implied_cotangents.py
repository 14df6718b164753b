"""The incoming gradients that a case leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.errors import GradcheckError, Place
from gradcheck.language.case import Case, Value
from gradcheck.language.expr.parser import parse
from gradcheck.language.sampling import draw, graph_values


def with_implied_cotangents(case: Case, seed: int | None) -> Case:
    """Return a case of code or Jacobians with cotangents of its last entry.

    Neither says from where a backward pass starts, and where that is not one number, it cannot without."""
    last = list(case.graph)[-1]
    (*others, step) = case.steps
    states_more = case.implementations or (case.states_derivatives and step.is_implied)
    if not states_more or others or dict(step.roots) != {last: None} or step.raises:
        return case
    try:
        value = graph_values(case, draw(case, seed).environment())[last]
    except GradcheckError:  # reported where it is evaluated
        return case
    parts = value if isinstance(value, tuple) else (value,)
    arrays = {f"{last}[{i}]" if isinstance(value, tuple) else last: np.asarray(part) for i, part in enumerate(parts)}
    if len(arrays) == 1 and arrays.get(last, np.zeros(0)).size == 1:
        return case
    roots = cotangents_of(last, arrays, step.place)
    return replace(case, steps=(replace(step, roots=roots),)) if roots else case


def cotangents_of(entry: str, values: Mapping[str, np.ndarray], place: Place) -> dict[str, Value | None]:
    """Return each differentiable tensor of the entry with a random cotangent."""
    return {
        name: Value(expr=parse(f"randn_like({name})"), place=place)
        for name, array in values.items()
        if name.partition("[")[0] == entry and dtypes.is_differentiable(array.dtype)
    }
