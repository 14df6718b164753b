"""Ops whose results are cut from the graph: a pass from them raises.

Such an op passes nothing on; the exception is that of a pass which begins where there is no graph.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.checks.closeness.nearly_equal import nearly_equal
from gradcheck.checks.failures.point_failures import COMPUTATION_ERRORS
from gradcheck.checks.result import Diagnosis, WrongOperation
from gradcheck.engines.base import Pullback
from gradcheck.engines.define_by_run import DefineByRun, OpRun
from gradcheck.facts import fact


def without_pass_error(wrong: WrongOperation, dtype: np.dtype) -> WrongOperation:
    """Return an op whose result is cut with no gradients, not its error."""
    error = wrong.mine.error
    if error is None or wrong.theirs.error is not None or not _is_cut(wrong, dtype):
        return wrong
    return replace(wrong, mine=Pullback((None,) * len(wrong.mine.gradients)))


def cut_diagnoses(wrong: WrongOperation) -> tuple[Diagnosis, ...]:
    """Return the diagnosis of an op whose result is cut."""
    message = fact("nothing_passed_on", op=wrong.application.op.name)
    return (Diagnosis("detached", message, "confirmed", fact("sum_reaches_other")),)


def is_silent(wrong: WrongOperation) -> bool:
    """Return whether the op alone passes nothing on, without an error."""
    return wrong.mine.error is None and all(one is None or not np.any(one) for one in wrong.mine.gradients)


def _is_cut(wrong: WrongOperation, dtype: np.dtype) -> bool:
    """Return whether a pass from its sum with a leaf reaches only the leaf."""
    engine, (incoming, *others) = wrong.engine, wrong.operation.cotangents
    if not isinstance(engine, DefineByRun) or others or incoming is None:
        return False
    try:
        with engine.fresh_session(dtype):
            run = OpRun(engine, wrong.application, (incoming,))
            if run.error is not None or not run.roots:
                return False
            beside = engine.leaf(np.ones_like(incoming), True)
            engine.backward([run.roots[0] + beside], [incoming], True)
            has_passed = any(leaf.grad is not None and np.any(engine.array(leaf.grad)) for leaf in run.leaves)
            return beside.grad is not None and nearly_equal(engine.array(beside.grad), incoming) and not has_passed
    except COMPUTATION_ERRORS:
        return False
