"""Compute a case's gradients by the reference, to be written to its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from gradcheck.checks.isolation.time_limit import OutOfTime, deadline
from gradcheck.checks.options import Options, engines_of
from gradcheck.checks.result import CaseResult
from gradcheck.checks.scheduling.sequential import crashed_result, engine_sessions, make_checker
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS
from gradcheck.language.case import Case
from gradcheck.language.sampling import draw

#: Larger gradients are not written.
MAX_ELEMENTS = 1_000


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A case's gradients by input, or the result that excludes it."""

    case: Case
    gradients: Mapping[str, np.ndarray | None]
    result: CaseResult
    large: tuple[str, ...] = ()  # inputs with too large a gradient


def snapshots(cases: list[Case], options: Options, anew: bool = False) -> list[Snapshot]:
    """Return snapshots of inputs without expected value; `anew`, of all."""
    engines = engines_of(options)
    check = make_checker(options, engines)
    found = []
    with engine_sessions(options, engines):
        for case in cases:
            wanted = [name for name in case.inputs if anew or name not in case.expected]
            kept = {name: value for name, value in case.expected.items() if name not in wanted}
            code = case.implementations if options.allow_code else ()
            result = check(replace(case, expected=kept, implementations=code))
            known: Mapping[str, np.ndarray | None] = {}
            if result.status == "passed" and wanted:
                try:
                    with deadline(options.timeout):
                        evaluation = engines.reference.evaluate(draw(case, options.seed))
                    known = {name: evaluation.states[-1].gradients.get(name) for name in wanted}
                except (*USER_EXCEPTIONS, OutOfTime) as error:
                    result = crashed_result(case, options, error)
            large = tuple(name for name, array in known.items() if array is not None and array.size > MAX_ELEMENTS)
            known = {name: array for name, array in known.items() if name not in large}
            found.append(Snapshot(case, known, result, large))
    return found
