"""The host of evaluation that applies ops to dual numbers at a point."""

from __future__ import annotations

from typing import Any

from gradcheck.autograd.op import Op
from gradcheck.language.evaluation.host import NumPy
from gradcheck.oracles.exact.dual_numbers import EXACT_RULES, Dual, apply_rule
from gradcheck.oracles.exact.field_point import FieldPoint

#: Types of arguments that a rule takes beside dual numbers.
_KNOWN = frozenset({Dual, int, float, bool, str, type(None)})


class DualHost(NumPy):
    """NumPy's host, with the exact rules for dual numbers."""

    def __init__(self, point: FieldPoint) -> None:
        self.point = point

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if op.name in EXACT_RULES and not op.composite:
            bound = op.bind(args, kwargs)
            kinds = set(map(type, bound))
            if Dual in kinds and kinds <= _KNOWN:
                return apply_rule(self.point, op, bound)
        return op(*args, **kwargs)
