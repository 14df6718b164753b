"""What travels between processes: results come back with this process's own engines, ops and cases in them."""

from __future__ import annotations

from typing import Any

from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.isolation.pickling import Packer
from gradcheck.checks.options import Engines, Options, engines_of
from gradcheck.checks.scheduling.run import run
from gradcheck.language.case import Case
from tests.from_text import case_of

WRONG = case_of(
    """
    dims: {n: 3}
    inputs: {x: "randn(n)"}
    graph: {y: exp(x), z: y.sum()}
    formulas: {x: y * y}
    """
)


def test_what_both_processes_have_is_not_copied(with_rules: Any) -> None:
    with_rules("exp", lambda g, y, x: g * y * 2)
    engines = engines_of(Options())
    (found,) = run([WRONG]).cases
    wrong = next(c.operation for c in found.comparisons if c.operation is not None)
    transport = Packer([*Engines((wrong.engine,), engines.reference).all, WRONG])
    back = transport.unpack(transport.pack(found))
    again = next(c.operation for c in back.comparisons if c.operation is not None)
    assert again.engine is wrong.engine
    assert again.application.op is wrong.application.op
    problems = [c.trial.problem for c in back.comparisons if c.trial is not None]
    assert all(problem is not None and isinstance(problem.case, Case) for problem in problems)


DEPTH = 2_000


def test_an_expression_may_be_deeper_than_pickle_can_go() -> None:
    case = case_of(f"inputs: {{x: [1, 2]}}\ngraph: {{y: {' + '.join(['x'] * DEPTH)}, z: y.sum()}}")
    transport = Packer()
    back = transport.unpack(transport.pack(case))
    assert (back.graph, back.places) == (case.graph, case.places)
    assert [node.at for node in back.graph["y"].expr.walk()] == [node.at for node in case.graph["y"].expr.walk()]
    assert transport.pack(back, canonical=True) == transport.pack(case, canonical=True)


def test_a_case_comes_as_it_was_and_a_recording_stays() -> None:
    case, recorded = Packer().unpack(Packer().pack((WRONG, Tensor([1.0]))))
    assert (case, recorded) == (WRONG, None)
