"""A failed case again, with Tensor classes that are imported anew.

A pass that raises may leave something behind: a graph that is one for the whole process, cleared only at a good end.
Later cases then fail, each of which is right in a process of its own, as its author would run it.
"""

from __future__ import annotations

from dataclasses import replace

from gradcheck.checks.isolation.fork_call import call_in_fork
from gradcheck.checks.isolation.pickling import Packer
from gradcheck.checks.isolation.worker_processes import ProcessEnded, can_fork
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.pipeline import check_case
from gradcheck.checks.result import CaseResult
from gradcheck.engines.base import Engine
from gradcheck.engines.resolve import imported_anew
from gradcheck.engines.tensor_class.engine import TensorClassEngine
from gradcheck.language.case import Case


def check_with_fresh_engines(case: Case, options: Options, engines: Engines) -> CaseResult:
    """Return the verdict; of a failed case, that of a fork, if it has one.

    The fork is asked if a pass of a Tensor class that is imported by name had raised before the case."""
    classes = (e for e in engines.tested if isinstance(e, TensorClassEngine))
    marked = [e for e in classes if e.spec and e.api.failed_passes]
    found = check_case(case, options, engines)
    if found.status != "failed" or not marked or not can_fork():
        return found

    def again() -> bytes:
        tested = tuple(map(_anew, engines.tested))
        found = check_case(case, options, replace(engines, tested=tested))
        return Packer([case, engines.reference, *tested]).pack(found)

    try:
        answer = call_in_fork(again)
    except ProcessEnded:
        return found
    fresh: CaseResult = Packer([case, engines.reference, *engines.tested]).unpack(answer)
    for engine in marked if fresh.status == "passed" else ():
        engine.leaves_something = True
    return fresh if fresh.status in ("passed", "failed") else found


def _anew(engine: Engine) -> Engine:
    """Return a Tensor class's engine in which no pass has run."""
    if not isinstance(engine, TensorClassEngine):
        return engine
    fresh = imported_anew(engine)
    fresh.use_like(engine)
    return fresh
