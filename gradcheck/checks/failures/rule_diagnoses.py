"""Gradient rules wrong for some shapes only, and the formula of a rule.

A faulty rule often fails in NumPy, which rejects shapes that do not fit, before there is a number to recognise. So
the op runs again with operands that need no broadcasting, and with square ones. The op alone is a case of one entry,
whose gradient is derived: from there the formula that its rule computes is searched (`computed_formula`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.families import PRODUCTS
from gradcheck.autograd.op import Op
from gradcheck.checks.claims.cotangents import operations_of
from gradcheck.checks.claims.operations import wrong_with_cotangents
from gradcheck.checks.failures.correction.computed_formula import ComputedFormulas
from gradcheck.checks.failures.diagnosis.catalogue import Evidence, Rule, matching_diagnoses, with_arrays
from gradcheck.checks.failures.gather_evidence import evidence_of_operation, evidence_of_rule, make_reference_pullback
from gradcheck.checks.failures.point_failures import COMPUTATION_ERRORS, PointFailures
from gradcheck.checks.options import Engines
from gradcheck.checks.points.point import CasePoint, Point
from gradcheck.checks.result import Diagnosis, Operation, WrongOperation
from gradcheck.engines.base import Application, Engine
from gradcheck.engines.recording import arrays
from gradcheck.facts import fact
from gradcheck.language.expr.printer import INFIX, PREFIX
from gradcheck.language.random_streams import stream
from gradcheck.language.sampling import literal_problem

#: Errors of NumPy, or of a class's own check, for a wrong shape.
_SHAPE_ERRORS = (ValueError, AssertionError, IndexError)
#: The size of square matrices, and how many are tried.
_SIZE, _TIMES = 3, 2
#: The names of an op's tensors, and of its result.
_NAMES, _RESULT = ("x", "z", "w"), "y"


def diagnose_raising_rule(wrong: WrongOperation, point: Point) -> tuple[Diagnosis, ...]:
    """Diagnose an op that raises, by operands of other shapes."""
    error = wrong.mine.error
    if error is None or wrong.theirs.error is not None or not isinstance(error.__cause__, _SHAPE_ERRORS):
        return ()
    try:
        if wrong.application.op.name in PRODUCTS:
            return _diagnose_with_squares(wrong, point)
        return _diagnose_broadcast(wrong, point)
    except COMPUTATION_ERRORS:
        return ()


def _diagnose_broadcast(wrong: WrongOperation, point: Point) -> tuple[Diagnosis, ...]:
    """Diagnose an elementwise op that raises only for broadcast operands."""
    application = wrong.application
    output, dtype = application.outputs[0], point.problem.dtype
    if not application.op.elementwise or output is None:
        return ()
    count = len(application.op.rules)
    given = application.args[:count]
    operands = [np.asarray(value, dtype) if type(value) in (int, float) else value for value in given]
    stretched = [np.shape(value) for value in operands if np.shape(value) != output[0]]
    if not stretched or not all(isinstance(value, np.ndarray) for value in operands):
        return ()
    full = [np.broadcast_to(value, output[0]).copy() for value in operands]
    args, rest = (*full, *application.args[count:]), application.args[count:]
    small = [
        (*(np.full(shape, value.flat[0]) for value in operands if value.size), *rest)
        for shape in ([stretched[0]] if stretched[0] else [(1,), ()])  # of single numbers, a class may take one form
    ]
    if not _is_right(application, args, wrong, point) or not any(
        _is_right(application, given, wrong, point) for given in small
    ):
        return ()  # other shapes fail as well
    message = fact("broadcast_refused", got=tuple(output[0]), want=stretched[0])
    return (Diagnosis("broadcast_not_undone", message, "confirmed", fact("right_without_broadcasting")),)


def _is_right(application: Application, args: tuple[Any, ...], wrong: WrongOperation, point: Point) -> bool:
    dtype = point.problem.dtype
    application = replace(application, args=args, tracked=(), recorded=None, shared=False)
    cotangents = (np.ones(np.shape(args[0]), dtype),)
    (mine,) = wrong.engine.pull_back([application], [cotangents], dtype)
    wanted = make_reference_pullback(point.engines.reference, dtype)(application, cotangents)
    pairs = list(zip(mine.gradients, wanted, strict=False))
    if mine.error is not None or not pairs:
        return False
    return all(got is not None and want is not None and Evidence(got, want).agree(got, want) for got, want in pairs)


def _diagnose_with_squares(wrong: WrongOperation, point: Point) -> tuple[Diagnosis, ...]:
    dtype = point.problem.dtype
    operations = list(_squares(wrong.application, dtype))
    answers = wrong.engine.pull_back([o.application for o in operations], [o.cotangents for o in operations], dtype)
    if any(answer.error for answer in answers):
        return ()
    pullback = make_reference_pullback(point.engines.reference, dtype)
    for index in range(len(answers[0].gradients)):
        pairs = zip(operations, answers, strict=True)
        seen = [e for o, answer in pairs for e in evidence_of_operation(o, index, answer.gradients, pullback)]
        found, _ = matching_diagnoses(seen)
        if found and any(not e.agree(e.got_or_zeros, e.want) for e in seen):
            return tuple(replace(one, evidence=fact("shown_by_squares", size=_SIZE)) for one in found)
    return ()


def _squares(application: Application, dtype: np.dtype) -> Iterator[Operation]:
    for number in range(_TIMES):
        generator = stream(number, "squares")
        tensors = [_square(array, generator) for array in arrays(application.args, application.kwargs)]
        (operation,) = operations_of(
            [replace(with_arrays(application, tensors), outputs=(((_SIZE, _SIZE), dtype),), shared=False)],
            31 * number + 7,
        )
        yield operation


def diagnose_matrix_only_rule(wrong: WrongOperation, point: Point) -> tuple[Diagnosis, ...]:
    """Diagnose a product that is right for matrices alone, not for batches."""
    application, dtype = wrong.application, point.problem.dtype
    given = list(arrays(application.args, application.kwargs))
    if application.op.name != "matmul" or all(array.ndim == 2 for array in given) or wrong.theirs.error is not None:
        return ()
    generator = stream(0, "matrices")
    squares = [generator.standard_normal((_SIZE, _SIZE)).astype(array.dtype) for array in given]
    output = ((_SIZE, _SIZE), dtype)
    try:
        (operation,) = operations_of([replace(with_arrays(application, squares), outputs=(output,), shared=False)], 7)
        if wrong_with_cotangents(point, wrong.engine, [operation], None):
            return ()
    except COMPUTATION_ERRORS:
        return ()
    message = fact("right_for_matrices_alone", shapes=tuple(array.shape for array in given))
    return (Diagnosis("matrices_alone", message, "confirmed", fact("right_with_squares", size=_SIZE)),)


def _square(array: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return a square matrix, or a vector of its size for a vector."""
    if not dtypes.is_differentiable(array.dtype):
        return array
    return generator.standard_normal((_SIZE,) * min(array.ndim, 2)).astype(array.dtype)


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
        graph, incoming = {_RESULT: _op_text(rule.application.op, arguments)}, {_RESULT: rule.incoming.tolist()}
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


def _op_text(op: Op, arguments: list[str]) -> str:
    if op.name in INFIX and len(arguments) == 2:
        return f" {INFIX[op.name][0]} ".join(arguments)
    if op.name in PREFIX and len(arguments) == 1:
        return PREFIX[op.name] + arguments[0]
    return f"{op.name}({', '.join(arguments)})"
