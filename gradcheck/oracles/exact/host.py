"""Who applies ops to dual numbers, at one point after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradcheck.autograd.op import Op
from gradcheck.errors import GradcheckError
from gradcheck.language.evaluation.budget import MAX_ELEMENTS
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import CONFUSED, NumPy
from gradcheck.language.expr.nodes import Expr
from gradcheck.oracles.exact.dual import EXACT_RULES, Dual, apply_rule
from gradcheck.oracles.exact.point import FieldPoint
from gradcheck.oracles.exact.shortened import Program, replayed, shortened

#: Kinds of arguments beside which a dual number's rule needs no more asking.
_KNOWN = frozenset({Dual, int, float, bool, str, type(None)})


class AtPoint(NumPy):
    """Ops as they are, but those on dual numbers by their rules at once."""

    def __init__(self, point: FieldPoint) -> None:
        self.point = point

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if op.name in EXACT_RULES and not op.composite:
            bound = op.bind(args, kwargs)
            kinds = set(map(type, bound))
            if Dual in kinds and kinds <= _KNOWN:
                return apply_rule(self.point, op, bound)
        return op(*args, **kwargs)


class Evaluation:
    """Expressions at the points of one problem. Its shapes are the same at all of them, so what an op may be given, and
    how large its result is, is asked where an expression is evaluated first."""

    def __init__(self) -> None:
        #: By identity; the expressions are kept, so that no other has the same.
        self._left: dict[int, tuple[Expr, Program]] = {}

    def of(
        self, expr: Expr, names: Mapping[str, Any], host: AtPoint, gradients: Mapping[str, Any] | None = None
    ) -> Any:
        """Its value. Raises what `evaluate` does."""
        known = self._left.get(id(expr))
        try:
            if known is not None:
                return replayed(known[1], names, host, gradients, host.point)
            value, left = shortened(expr, names, host, gradients, host.point)
        except (GradcheckError, *CONFUSED):  # evaluated in full it says what is wrong, in words
            return evaluate(expr, names, host, gradients, max_elements=MAX_ELEMENTS if known is None else None)
        self._left[id(expr)] = (expr, left)
        return value
