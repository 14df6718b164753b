"""One part of a formula in its place, as an edit sees it."""

from __future__ import annotations

from dataclasses import dataclass

from gradcheck.checks.failures.correction.expression_pool import BROKEN, ExpressionPool, is_op
from gradcheck.checks.failures.correction.operands import Operands
from gradcheck.language.expr.nodes import Attribute, Call, Expr

#: Through these a factor, or a sign, of an operand is one of the result.
_LINEAR = (
    "mul",
    "div",
    "matmul",
    "mm",
    "mv",
    "bmm",
    "dot",
    "T",
    "mT",
    "t",
    "transpose",
    "neg",
    "sum",
    "mean",
    "diag",
    "reshape",
    "view",
    "unsqueeze",
    "squeeze",
    "expand",
    "outer",
)


@dataclass(frozen=True, slots=True)
class Position:
    """One part of a formula in its place: the part, and what it stands in, None for the whole formula."""

    pool: ExpressionPool
    operands: Operands
    part: int
    parent: Expr | None

    @property
    def node(self) -> Expr:
        """The part as an expression."""
        return self.pool.exprs[self.part]

    @property
    def below(self) -> tuple[int, ...]:
        """The parts that it is made of."""
        return self.pool.children[self.part]

    @property
    def ndim(self) -> int:
        """Of a tensor; -1 for anything else, also for what cannot be evaluated."""
        array = self.pool.array(self.part)
        return -1 if array is None else array.ndim

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor, or a call that cannot be evaluated and may be meant for one."""
        value = self.pool.value(self.part)
        return self.pool.array(self.part) is not None or (value is BROKEN and isinstance(self.node, Call))

    @property
    def is_term(self) -> bool:
        """Whether a factor here is not the same as one further up."""
        return self.parent is None or not (is_op(self.parent, *_LINEAR) or isinstance(self.parent, Attribute))

    @property
    def is_summand(self) -> bool:
        """Whether its sign is the operator's beside it."""
        return self.parent is not None and is_op(self.parent, "add", "sub")
