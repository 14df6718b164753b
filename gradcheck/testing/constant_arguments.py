"""Tensors of a call that require no gradient, beside shapes and creators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.result import CaseResult
from gradcheck.facts import fact
from gradcheck.language.case import Case, Implementation, Step, Value
from gradcheck.language.implied_cotangents import cotangents_of


def constant_arguments(implementation: Implementation, case: Case, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return tensors that require no gradient, and get none of the code.

    Shapes beside them do not say whether a gradient is due. An array of NumPy says nothing either, and is checked."""
    from gradcheck.engines.implementation.binding import bind
    from gradcheck.engines.implementation.code_engine import CodeEngine
    from gradcheck.engines.implementation.code_kinds import code_of
    from gradcheck.engines.implementation.code_loading import load_code
    from gradcheck.language.sampling import draw

    names = [name for name in case.inputs if getattr(given.get(name), "requires_grad", True) is False]
    if not names or len(names) == len(case.inputs):
        return ()
    code = code_of(*load_code(implementation), implementation.name)
    binding = bind(case, implementation, code.signature, code.parameters)
    engine = CodeEngine(implementation.name, implementation.entry, code, binding)
    asked = replace(case, dtype=implementation.dtypes[0] if implementation.dtypes else case.dtype)
    with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[asked.dtype])), engine.session(dtypes.BY_NAME[asked.dtype]):
        values = engine.values_alone(draw(replace(asked, steps=()), case.seed))
        roots = cotangents_of(implementation.entry, values, case.place)
        step = Step("backward", roots={name: Value(array=np.ones_like(values[name])) for name in roots})
        found = engine.evaluate(draw(replace(asked, steps=(step,)), case.seed))
    if not step.roots or found.error is not None or found.states[-1].error is not None:
        return ()  # the check itself reports it
    gradients = found.states[-1].gradients
    return tuple(name for name in names if gradients.get(name) is None)


def with_note(found: CaseResult, constants: tuple[str, ...]) -> CaseResult:
    """Return the result with a note on its first comparison."""
    notes = (fact("results_constant", names=constants),) if constants else ()
    first = tuple(one.with_notes(*notes) for one in found.comparisons[:1])
    return replace(found, comparisons=(*first, *found.comparisons[1:]))
