"""The host of evaluation that applies ops to dual numbers at a point."""

from __future__ import annotations

from typing import Any

from gradcheck.autograd import ops
from gradcheck.autograd.op import Op
from gradcheck.errors import Unsupported
from gradcheck.language.evaluation.host import NumPy
from gradcheck.oracles.exact.dual_numbers import EXACT_RULES, Dual, Indicator, apply_rule, lift
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
        if op.name == "tensor" and _holds_dual(args):
            made, dtype = ops.detach(self._tensor(args[0])), kwargs.get("dtype")
            return made if dtype is None else ops.to(made, dtype)
        return op(*args, **kwargs)

    def _tensor(self, data: Any) -> Any:
        """Return nested lists with dual numbers in them as one."""
        if isinstance(data, (list, tuple)):
            return ops.stack([self._tensor(one) for one in data])
        if isinstance(data, Indicator):
            raise Unsupported("lists of booleans, whose sums are booleans, or integers")
        return lift(self.point, data)


def _holds_dual(data: Any) -> bool:
    return any(map(_holds_dual, data)) if isinstance(data, (list, tuple)) else isinstance(data, Dual)
