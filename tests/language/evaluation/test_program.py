"""An expression as instructions for a stack."""

from __future__ import annotations

from typing import Any

import pytest

from gradcheck.errors import (
    InvalidCase,
)
from gradcheck.language.evaluation.program import program
from gradcheck.language.expr.nodes import Attribute, Call, Dtype, Expr, Gradient, Literal, Name, Sequence, Slice
from gradcheck.language.expr.parser import parse


def steps(text: str) -> list[tuple[type[Expr], Any, int]]:
    """The instructions, with its name for each op."""
    return [(kind, what.op.name if kind is Call else what, count) for kind, what, count in program(parse(text))]


def test_operands_come_before_what_takes_them() -> None:
    assert steps("x[0, 1:] + sum(grad(y), dim=k)") == [
        (Name, "x", 0),
        (Literal, 0, 0),
        (Literal, 1, 0),
        (Slice, (False, True, True), 1),
        (Sequence, True, 2),
        (Call, "getitem", 2),
        (Gradient, "y", 0),
        (Name, "k", 0),
        (Call, "sum", 2),
        (Call, "add", 2),
    ]
    assert steps("x.shape") == [(Name, "x", 0), (Attribute, "shape", 1)]
    assert steps("torch.float32") == [(Dtype, "float32", 0)]


def test_what_is_known_of_a_call_beforehand() -> None:
    def of(text: str) -> Any:
        return program(parse(text))[-1][1]

    assert (of("x + y").operator, of("x + y").infix, of("-x").operator, of("-x").infix) == (True, True, True, False)
    assert (of("add(x, y, alpha=2)").operator, of("add(x, y, alpha=2)").keys) == (False, ("alpha",))
    assert (of("exp(x)").measured, of("x * y").measured, of("zeros(2)").measured) == (False, True, True)
    assert (of("sum(x)").needs_tensor, of("zeros(2)").needs_tensor) == (True, False)


def test_a_program_is_kept_for_the_same_expression() -> None:
    expr = parse("x + 1")
    assert program(expr) is program(expr)


def test_an_op_that_does_not_exist() -> None:
    with pytest.raises(InvalidCase, match="there is no op 'wibble'"):
        program(Call("wibble", ()))
