"""What somebody's code raises, in gradcheck's kinds; what it prints is kept, up to a limit, until it is taken."""

from __future__ import annotations

import linecache
import sys
from typing import Any

import numpy as np
import pytest

from gradcheck.engines.base import Evaluation, State
from gradcheck.engines.tensor_class.user_code_guard import (
    LIMIT,
    EndlessRecursion,
    EngineError,
    Output,
    as_code_error,
    error_line,
    is_deliberate,
    translate_errors,
    with_expected_errors,
)
from gradcheck.errors import ShapeMismatch, TensorError, Unsupported
from gradcheck.interrupts import Interrupt
from gradcheck.language.case import Case
from gradcheck.language.loader import load_text
from tests.engines.implementation import functions


def raising(error: BaseException) -> None:
    with translate_errors("its sum"):
        raise error


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (ValueError("no\nmore"), EngineError, "its sum raised ValueError: no"),
        (SystemExit(3), EngineError, "its sum raised SystemExit: 3"),
        (KeyboardInterrupt(), EngineError, "its sum raised KeyboardInterrupt"),
        (GeneratorExit(), EngineError, "its sum raised GeneratorExit"),
        (RecursionError("deep"), EndlessRecursion, "its sum recurses deeper than Python allows"),
        (NotImplementedError("no sums"), Unsupported, "its sum is not implemented: NotImplementedError: no sums"),
        (ShapeMismatch("as it is"), ShapeMismatch, "as it is"),
    ],
)
def test_what_is_raised(error: BaseException, kind: type[TensorError], message: str) -> None:
    with pytest.raises(kind) as caught:
        raising(error)
    assert caught.value.message == message


def _deeper() -> None:
    _deeper()


def test_the_place_is_the_librarys_own_line() -> None:
    with pytest.raises(EngineError) as raised, translate_errors("its sum"):
        np.ones(2) @ np.ones(3)
    with pytest.raises(EndlessRecursion) as deep, translate_errors("its sum"):
        _deeper()
    assert deep.value.message == "its sum recurses deeper than Python allows: _deeper calls itself"
    places = [error.value.code for error in (raised, deep)]
    lines = [linecache.getline(place.file, place.line).strip() for place in places if place is not None]
    assert lines == ["np.ones(2) @ np.ones(3)", "_deeper()"]


@pytest.mark.parametrize("error", [MemoryError(), Interrupt()])
def test_what_is_not_the_librarys_passes_through(error: BaseException) -> None:
    with pytest.raises(type(error)):
        raising(error)


def test_hips_autograd_says_which_gradient_is_missing() -> None:
    with pytest.raises(Unsupported) as caught:
        raising(NotImplementedError("VJP of roll wrt argnums (0,) not defined"))
    assert caught.value.lacks == "a gradient of roll"


def test_what_is_said_is_one_line() -> None:
    assert error_line(ValueError("a\nb")) == "ValueError: a"
    assert error_line(ValueError("wrong, as follows:\n\n  b\nc")) == "ValueError: wrong, as follows: b"
    assert error_line(ValueError()) == "ValueError"
    assert error_line(KeyError(object())) == "KeyError: <object object>"


def case(steps: str) -> Case:
    (found,), _ = load_text(f"inputs: {{x: [1, 2]}}\ngraph: {{y: x * x}}\nsteps: [{steps}]\n", "case.yaml")
    return found


def engine_error(cause: Exception) -> EngineError:
    error = EngineError("its backward raised")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("steps", "error", "kind"),
    [
        ("{backward: y, raises: non_scalar_backward}", engine_error(ValueError("no")), "non_scalar_backward"),
        ("{backward: y, raises: non_scalar_backward}", engine_error(AttributeError("slip")), "engine_error"),
        ("{backward: y, raises: non_scalar_backward}", EndlessRecursion("deep"), "recursion"),
        ("backward: y", engine_error(ValueError("no")), "engine_error"),
    ],
)
def test_an_exception_is_what_its_step_asks_for(steps: str, error: TensorError, kind: str) -> None:
    found = with_expected_errors(case(steps), Evaluation("mine", (State({}, {}, error),), error))
    assert found.error is found.states[0].error is not None
    assert found.error.kind == kind
    before = with_expected_errors(case(steps), Evaluation("mine", (), error, "y"))
    assert before.error is not None
    assert (before.error.kind, before.failed_at) == (kind, "y")


def test_what_raised_nothing_stays_as_it_is() -> None:
    evaluation = Evaluation("mine", (State({}, {}),))
    assert with_expected_errors(case("{backward: y, raises: non_scalar_backward}"), evaluation) == evaluation


def test_an_assertion_of_several_lines_is_deliberate() -> None:
    text = "def check(a):\n    assert (\n        a.shape == (2,)\n    ), 'no'\n"
    names: dict[str, Any] = {"__name__": "mine"}
    exec(compile(text, "mine.py", "exec"), names)
    with pytest.raises(AssertionError) as raised:
        names["check"](np.ones(3))
    assert is_deliberate(raised.value)


def test_an_exit_is_never_deliberate() -> None:
    """It refuses no argument: taken for "has no such op", it would make a green run of an engine that gives up."""
    with pytest.raises(SystemExit) as raised:
        raise SystemExit(0)
    assert not is_deliberate(raised.value)


def test_a_line_that_raises_behind_its_condition_is_deliberate() -> None:
    names: dict[str, Any] = {"__name__": "mine"}
    text = "def check(a):\n    if a: raise ValueError('no')\n    return raised(a)\n"
    exec(compile(text, "mine.py", "exec"), names)
    known = linecache.cache.setdefault("mine.py", (len(text), None, text.splitlines(keepends=True), "mine.py"))
    assert known
    for argument, kind, deliberate in ((1, ValueError, True), (0, NameError, False)):
        with pytest.raises(kind) as raised:
            names["check"](argument)
        assert is_deliberate(raised.value) is deliberate


# Printing -----------------------------------------------------------------------------------------


def test_both_streams_are_kept_until_they_are_taken(capfd: pytest.CaptureFixture[str]) -> None:
    output = Output()
    with output.capturing():
        print("one")
        print("two", file=sys.stderr)
    print("not this")
    assert output.take() == "one\ntwo\n"
    assert output.take() == ""
    assert capfd.readouterr() == ("not this\n", "")


def test_the_beginning_is_kept_of_much() -> None:
    output = Output()
    for _ in range(3):
        assert output.write("x" * LIMIT) == LIMIT
    assert output.take() == "x" * LIMIT + "\n…\n"
    output.write("and again")
    assert output.take() == "and again"


def test_the_traceback_is_their_own() -> None:
    try:
        functions.Raises.backward(None, None)
    except ValueError as error:
        found = as_code_error("mine", error)
    assert found.message.startswith("mine raised ValueError: no such thing (functions.py:")
    assert 'raise ValueError("no such thing")' in found.trace
    assert "torch/autograd" not in found.trace
    assert found.kind == "code_raised"


def test_what_torch_says_of_what_was_handed_over_has_none() -> None:
    assert as_code_error("mine", RuntimeError("torch says so")).message == "mine raised RuntimeError: torch says so"
