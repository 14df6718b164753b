"""The table of exact rules: how each op acts on dual numbers modulo a prime. `ops` fills it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class ExactRule:
    """How an op acts on dual numbers: `function(*arguments)`, all in the signature's order, gives a Dual, or a plain
    array where nothing depends on the point. The arguments at `operands`, and those in a sequence, arrive as Duals."""

    function: Callable[..., Any]
    operands: tuple[int, ...]


#: By the op's name.
EXACT_RULES: dict[str, ExactRule] = {}


def exact_rule(*names: str, operands: tuple[int, ...] = (0,)) -> Callable[[F], F]:
    """Say how these ops act on dual numbers, as an `ExactRule`. Raises ValueError for an op that has a rule."""

    def decorate(function: F) -> F:
        for name in names:
            if name in EXACT_RULES:
                raise ValueError(f"the op {name!r} already has an exact rule")
            EXACT_RULES[name] = ExactRule(function, operands)
        return function

    return decorate
