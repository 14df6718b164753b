"""Write a failing case of user code as Python without gradcheck.

The Python is run before it is shown. If it does not show the wrong numbers, or the exception, it is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Literal

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.context import Context
from gradcheck.checks.implementations.implementation_check import engine_and_case
from gradcheck.checks.implementations.second_order import probes_of, second_order_problem
from gradcheck.checks.isolation.snippet_run import SnippetRun, run_snippet
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import CaseResult, Comparison, Failure
from gradcheck.engines.implementation.call_source import CodeCall, ExpectedNumbers, call_source
from gradcheck.engines.implementation.code_engine import CodeEngine as Engine
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact
from gradcheck.language.case import Case, Implementation
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.implied_cotangents import with_implied_cotangents

#: The most characters of Python that are shown, and the most failures that are written.
_MOST_SHOWN, _MOST_WRITTEN = 6000, 3
#: Numbers that differ by a smaller part are printed with all digits.
_CLOSE = 1e-3
#: The kinds of numbers that a call can show, in the order of preference.
_SHOWN: dict[ClaimKind, Literal["gradient", "value", "second"]] = {
    ClaimKind.GRADIENT: "gradient",
    ClaimKind.VALUE: "value",
    ClaimKind.GRADIENT2: "second",
}

#: Returns the call that shows a comparison, or an error for None.
_CallOf = Callable[["Comparison | None"], "CodeCall | None"]


def python_reproduction(case: Case, result: CaseResult, options: Options, engines: Engines) -> str:
    """Return a call that shows a failure of the result; "" if none does."""
    try:
        with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[case.dtype])), quiet():
            return _first_reproduction(
                result, _calls_of_case(with_implied_cotangents(case, options.seed), result, options, engines)
            )
    except USER_EXCEPTIONS:  # code is called again to write its call
        return ""


def standalone_reproduction(context: Context, named: Implementation, engine: Engine, result: CaseResult) -> str:
    """Return a call of code that has no specification, or ""."""

    def call_of(c: Comparison | None) -> CodeCall | None:
        problem = context.points.at(None if c is None else c.trial).problem
        return _call(named, engine, c, Point(problem, Engines((engine,), engine)))

    return _first_reproduction(result, call_of)


def _calls_of_case(case: Case, result: CaseResult, options: Options, engines: Engines) -> _CallOf:
    context = Context.of(case, options, engines)
    if not context.points.own.want.states:  # the specification itself raises
        return lambda c: None
    failed = {c.engine for c in _failed(result)}
    named = next((o for o in case.implementations if o.name in failed), case.implementations[0])
    engine, own = engine_and_case(context, case, named)
    others = {o.name for o in case.implementations} - {named.name}

    def call_of(c: Comparison | None) -> CodeCall | None:
        if own is None or (c is not None and (c.engine in others or c.step)):
            return None
        chosen = own if c is None or not c.dtype else replace(own, dtype=c.dtype)
        if c is not None and c.trial is not None:
            problem = c.trial.problem
        else:
            problem = Context.of(chosen, options, engines).points.own.problem
        return None if problem is None else _call(named, engine, c, Point(problem, engines))

    return call_of


def _call(named: Implementation, engine: Engine, c: Comparison | None, point: Point) -> CodeCall | None:
    """Return the call at a point; None if it cannot show the comparison."""
    problem = point.problem
    values = {**problem.inputs, **problem.constants}
    if set(problem.case.graph) - {engine.entry} and point.want.states:
        values = {**point.want.states[0].values, **values}
    if c is None:
        return CodeCall(named, engine, problem, values)
    if c.want_array is None or (c.what is ClaimKind.VALUE and c.tensor.partition("[")[0] != engine.entry):
        return None
    probes = probes_of(second_order_problem(problem.case, problem)) if c.what is ClaimKind.GRADIENT2 else {}
    shown = ExpectedNumbers(_SHOWN[c.what], c.tensor, c.want_array, _is_close(c), probes)
    return CodeCall(named, engine, problem, values, shown)


def _first_reproduction(result: CaseResult, call_of: _CallOf) -> str:
    for c, texts in list(_failures(result))[:_MOST_WRITTEN]:
        try:
            call = call_of(c)
            written = "" if call is None else call_source(call)
        except (GradcheckError, KeyError, TypeError):
            continue
        if 0 < len(written) <= _MOST_SHOWN:
            ran = run_snippet(written)
            if ran is not None and (_raises(ran, texts) if c is None else _shows(ran, c)):
                return written
    return ""


def _failures(result: CaseResult) -> Iterator[tuple[Comparison | None, list[str]]]:
    """Yield failed comparisons of numbers, or None with an exception's texts."""
    failed = _failed(result)
    shown = [c for c in failed if c.what in _SHOWN]
    ranked = sorted(shown, key=lambda c: (c.trial is not None, list(_SHOWN).index(c.what)))
    yield from ((c, []) for c in ranked)
    errors: Iterable[Comparison | Failure] = [*result.errors, *failed]
    messages = (one.mismatch if isinstance(one, Comparison) else one.message for one in errors)
    texts = [text for message in messages if message is not None for text in _texts(message)]
    if texts:
        yield None, texts


def _texts(message: Fact) -> list[str]:
    """Return the texts in a fact and in those inside of it."""
    found = [value for _, value in message.data if isinstance(value, str)]
    return found + [text for _, value in message.data if isinstance(value, Fact) for text in _texts(value)]


def _raises(ran: SnippetRun, texts: list[str]) -> bool:
    return bool(ran.error) and any(ran.error in text for text in texts)


def _shows(ran: SnippetRun, c: Comparison) -> bool:
    """Return whether some printed array has the wrong numbers of a comparison."""
    assert c.want_array is not None
    if c.got_array is None:  # no gradient: `None` is printed
        return not ran.error and not ran.printed
    got, want = wide(c.got_array), wide(c.want_array)
    for array in ran.printed:
        shown = [wide(array), wide(array).conj()]  # JAX's gradients of complex numbers are torch's conjugates
        if array.shape == got.shape and (got.shape != want.shape or any(_is_nearer(one, got, want) for one in shown)):
            return True
    return False


def _is_nearer(shown: np.ndarray, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether the shown numbers are the wrong ones, not the right ones."""
    with np.errstate(all="ignore"):
        far, near = np.abs(shown - want), np.abs(shown - got)
        differ = ~((got == want) | (np.isnan(got) & np.isnan(want)))
    same = np.array_equal(shown, got, equal_nan=True)
    return bool(differ.any()) and (same or bool(np.all(near[differ] < far[differ])))


def _is_close(c: Comparison) -> bool:
    if c.got_array is None or c.want_array is None or c.got_array.shape != c.want_array.shape:
        return False
    got, want = wide(c.got_array), wide(c.want_array)
    with np.errstate(all="ignore"):
        return bool(np.max(np.abs(got - want), initial=0.0) <= _CLOSE * np.max(np.abs(want), initial=0.0))


def _failed(result: CaseResult) -> list[Comparison]:
    return [c for c in result.comparisons if c.status == "failed"]
