"""Ops of the table: gradients of their samples, explained, hold at every point and are read back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.checks.derivation import explain
from gradcheck.engines.core import Core
from gradcheck.errors import Place
from gradcheck.facts import fact
from gradcheck.language.case import Case, Claim, Step, Value
from gradcheck.language.expr.nodes import Call
from gradcheck.language.expr.parser import parse
from gradcheck.language.random_streams import RANDOM_OPS
from gradcheck.language.sampling import draw
from gradcheck.reports.commands.explanation import FORMATS, render
from tests.samples import named, samples
from tests.sampling import sample

#: One sample of each op that makes complex numbers of real ones would need a complex case, which takes no real ones.
_COMPLEX = ("complex(", "view_as_complex", "polar")
_INTEGERS = ("randint", "randperm")


def texts() -> Iterator[str]:
    """The first sample of each op."""
    for op in TABLE.values():
        found = samples(op) if op.name not in RANDOM_OPS else ()
        if found and not any(word in found[0] for word in _COMPLEX):
            yield found[0]


def case_of(text: str) -> Case | None:
    """The sample as a graph, from a random incoming gradient; None where none flows."""
    expr, creators = named(text)
    graph = {"out": Claim(text, expr)}
    leaves = {name: Value(expr=expr) for name, expr in creators.items()}
    constants = {n: v for n, v in leaves.items() if isinstance(v.expr, Call) and v.expr.op in _INTEGERS}
    inputs = {name: value for name, value in leaves.items() if name not in constants}
    if not inputs:
        return None
    still = Case("t::t", "t", Place(), inputs, graph, (Step("forward"),), constants=constants)
    values = Core().evaluate(draw(still)).states[-1].values
    root = next((name for name in ("out", "out[0]", "out[1]") if name in values and values[name].dtype.kind == "f"), "")
    if not root:
        return None
    seed = Value(expr=parse(f"randn({list(values[root].shape)})"))
    return Case("t::t", "t", Place(), inputs, graph, (Step("backward", roots={root: seed}),), constants=constants)


@pytest.mark.parametrize("text", sample(texts(), 3))
def test_the_gradients_of_a_sample_are_explained(text: str) -> None:
    case = case_of(text)
    if case is None:
        return
    found = explain(case)
    assert found.why_not in (None, fact("no_pass_completed"))
    assert all(formula.points == 4 for formula in found.formulas)
    for format in FORMATS:
        assert render(found, format)


def test_most_of_the_table_is_tried() -> None:
    cases = [case for text in texts() if (case := case_of(text)) is not None]
    explained = sum(bool(explain(case).formulas) for case in cases[::10])
    assert len(cases) > 150
    assert explained > len(cases) / 10 * 0.8
