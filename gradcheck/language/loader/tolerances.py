"""`tolerance`: `{rtol, atol}` for every tensor, or for each by its name, and for the engines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gradcheck.language.case import StatedTolerance
from gradcheck.language.loader.document import BROKEN, Path
from gradcheck.language.loader.scope import Scope
from gradcheck.language.loader.wording import describe
from gradcheck.language.suggest import did_you_mean

_KEYS = ("rtol", "atol")


def read(scope: Scope, said: Mapping[str, Any]) -> tuple[dict[str, StatedTolerance], StatedTolerance | None]:
    """What holds for claims, by tensor ("" for all others), and what for engines."""
    claims: dict[str, StatedTolerance] = {}
    engines = None
    common = {key: value for key, value in said.items() if not isinstance(value, dict)}
    if common:
        claims[""] = _tolerance(scope, ("tolerance",), common)
    for name, value in said.items():
        path = ("tolerance", name)
        if not isinstance(value, dict):
            continue
        if name == "engines":
            engines = _tolerance(scope, path, value)
        elif scope.refers(path, ("inputs", "constants", "graph"), "the tensor"):
            claims[name] = _tolerance(scope, path, value)
    return claims, engines


def _tolerance(scope: Scope, path: Path, said: Mapping[str, Any]) -> StatedTolerance:
    numbers = {}
    for key, value in said.items():
        if key not in _KEYS:
            hint = did_you_mean(key, _KEYS, "write {rtol: 1e-6, atol: 1e-9}")
            scope.refuse(f"unknown key '{key}'", scope.document.key_place((*path, key)), hint)
        elif isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
            if value is not BROKEN:
                message = f"'{key}' takes a number from 0, not {describe(value)}"
                scope.refuse(message, scope.document.place((*path, key)), "write it like 1e-6")
        else:
            numbers[key] = float(value)
    return StatedTolerance(**numbers)
