"""The formula that an op's wrong gradient rule computes.

The op alone is a case of one entry, whose gradient is derived; the search goes from there (`computed_formula`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.checks.failures.correction.computed_formula import ComputedFormulas
from gradcheck.checks.failures.diagnosis.evidence import Rule
from gradcheck.checks.failures.gather_evidence import evidence_of_rule
from gradcheck.checks.failures.point_failures import PointFailures
from gradcheck.checks.options import Engines
from gradcheck.checks.points.point import CasePoint, Point
from gradcheck.checks.result import Diagnosis, WrongOperation
from gradcheck.engines.base import Engine
from gradcheck.facts import fact
from gradcheck.language.expr.printer import INFIX, PREFIX
from gradcheck.language.sampling import literal_problem

#: The names of an op's tensors, and of its result.
_NAMES, _RESULT = ("x", "z", "w"), "y"


def diagnose_rule_formula(wrong: WrongOperation, failures: PointFailures) -> tuple[Diagnosis, ...]:
    """Return the formula that an op's rule was computed as, if found."""
    evidence = list(evidence_of_rule(wrong, failures.context.points, failures.point))
    seen = [(point, one) for one in evidence for point in _op_points(one.rule, failures.reference)]
    if not seen:
        return ()
    case, rule = seen[0][0].problem.case, evidence[0].rule
    assert rule is not None
    formulas = ComputedFormulas(replace(failures.context, case=case))
    found = formulas.diagnose_gradient(_NAMES[rule.position], seen)
    graph = case.graph[_RESULT].text
    return tuple(replace(one, message=fact("rule_formula", formula=one.message, graph=graph)) for one in found)


def _op_points(rule: Rule | None, reference: Engine) -> Iterator[Point]:
    """Yield the point at which the op is a case of its own, if it can be."""
    if rule is None or rule.incoming is None or len(rule.tensors) > len(_NAMES):
        return
    arguments = list(_arguments(rule))
    if len(arguments) == len(rule.application.args) and not rule.application.kwargs:
        inputs = dict(zip(_NAMES, map(np.ndarray.tolist, rule.tensors), strict=False))
        graph, incoming = {_RESULT: _text(rule.application.op, arguments)}, {_RESULT: rule.incoming.tolist()}
        problem = literal_problem("op", inputs, graph, incoming, dtype=rule.tensor.dtype.name)
        point = CasePoint(problem, Engines((), reference))
        if point.want.states:  # an index, which is an input there, may be none
            yield point


def _arguments(rule: Rule) -> Iterator[str]:
    names = iter(_NAMES)
    for value in rule.application.args:
        if isinstance(value, np.ndarray):
            yield next(names)
        elif value is None or isinstance(value, (bool, int, float)):
            yield repr(value)


def _text(op: Op, arguments: list[str]) -> str:
    if op.name in INFIX and len(arguments) == 2:
        return f" {INFIX[op.name][0]} ".join(arguments)
    if op.name in PREFIX and len(arguments) == 1:
        return PREFIX[op.name] + arguments[0]
    return f"{op.name}({', '.join(arguments)})"
