"""Calls of torch's own operator database, in values and gradients."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gradcheck.autograd.op import TABLE
from gradcheck.language.expr.nodes import Call
from gradcheck.language.expr.parser import parse
from tests.autograd import table
from tests.sampling import few_of_each
from tests.tables import for_each_by_family

LINES = (Path(__file__).parent / "torchs_calls.txt").read_text(encoding="utf-8").splitlines()
CALLS = [line for line in LINES if line and not line.startswith("#")]


def op_of(text: str) -> str:
    """Return the op that is called last."""
    expr = parse(text)
    assert isinstance(expr, Call), text
    return expr.op


@for_each_by_family(few_of_each(CALLS, op_of), op_of)
def test_values_and_gradients_of_torchs_calls_are_torchs(text: str) -> None:
    op = TABLE[op_of(text)]
    call = table.application_in(op, parse(text), table.generator(op))
    problems = table.disagreements(replace(call, owner=text))
    assert not problems, "\n".join(problems)
