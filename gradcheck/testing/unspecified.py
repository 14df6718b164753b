"""A check of a function without a specification, against its own forward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gradcheck.checks.options import Options
from gradcheck.checks.pipeline import verdict
from gradcheck.checks.result import RunResult
from gradcheck.checks.scheduling.run import environment
from gradcheck.language.case import Case, Implementation
from gradcheck.testing.check_failure import with_snippet


def check_without_spec(implementation: Implementation, case: Case, names: Sequence[str], on: str = "cpu") -> RunResult:
    """Check code at the case's inputs and at others, in each requested dtype."""
    from gradcheck.checks.implementations.python_reproduction import standalone_reproduction
    from gradcheck.checks.implementations.self_consistency import check_self_consistency as check
    from gradcheck.engines.implementation.binding import bind
    from gradcheck.engines.implementation.code_engine import CodeEngine as Engine
    from gradcheck.engines.implementation.code_kinds import code_of
    from gradcheck.engines.implementation.code_loading import load_code
    from gradcheck.engines.implementation.differentiable_forward import differentiable_forward
    from gradcheck.engines.torch_devices import device_of
    from gradcheck.language.case import Claim
    from gradcheck.language.expr.nodes import Name

    device = None if on == "cpu" else device_of(on)
    code = code_of(*load_code(implementation), implementation.name)
    given = replace(implementation, arguments=tuple(Claim(name, Name(name)) for name in names))
    binding = bind(case, given, code.signature, code.parameters)
    engine = Engine(implementation.name, implementation.entry, code, binding, device)
    forward = differentiable_forward(code)
    witness = None if forward is None else Engine("its own forward", implementation.entry, forward, binding, device)
    options = Options(order=2)
    results = []
    for dtype in implementation.dtypes or (case.dtype,):
        context = check(replace(case, dtype=dtype), engine, witness, options)
        context.options = replace(options, engines=(engine,))
        held = replace(case, dtype=dtype)
        found = replace(verdict(context, held, 0.0), case=held)
        results.append(
            with_snippet(found, standalone_reproduction(context, implementation, engine))
            if found.status == "failed"
            else found
        )
    return RunResult(tuple(results), 0.0, environment(), selected=len(results))
