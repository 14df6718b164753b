"""Points at which rules are tried, and what the simplifier makes of a text by some of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcheck.language.expr.common_subexpressions import InternPool
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.symbolic.simplify.part_properties import PartProperties, Sample
from gradcheck.language.symbolic.simplify.simplifier import RULES, Rule, Simplifier

FLOAT64 = np.dtype(np.float64)


def point(n: int, m: int, seed: int) -> Sample:
    """x, y (n, m); a (n, n); v (m); u (n); b (n, 3, m); s a number; z complex; h half; k integers."""
    draw = np.random.default_rng(seed).standard_normal
    names: dict[str, Any] = {
        "x": draw((n, m)), "y": draw((n, m)), "a": draw((n, n)), "v": draw(m), "u": draw(n), "b": draw((n, 3, m)),
        "s": np.asarray(draw()), "z": draw((n, m)) + 1j * draw((n, m)), "w": draw((n, m)) + 1j * draw((n, m)),
        "h": draw((n, m)).astype(np.float16), "g": draw((n, m)).astype(np.float16), "row": draw((1, m)),
        "k": np.arange(m), "n": n, "m": m,
    }  # fmt: skip
    gradients: Mapping[str, Any] = {"x": draw((n, m)), "s": np.ones(())}
    return Sample(names, gradients, FLOAT64)


def know(ones: tuple[str, ...] = ("s",), shaped: tuple[str, ...] = ()) -> PartProperties:
    return PartProperties([point(2, 5, 0), point(3, 4, 1)], InternPool(), ones, shaped)


def simplified(text: str, rules: tuple[Rule, ...] = RULES, facts: PartProperties | None = None) -> str:
    return to_text(Simplifier(facts or know(), rules).simplify({"f": parse(text)})["f"])


def alone(rule: Rule, before: str) -> str:
    """What one rule makes of a text, where tensors may be said to have the shapes of x, u and v."""
    return simplified(before, (rule,), know(shaped=("x", "u", "v")))
