"""A failing case of code in a few lines of Python."""

from __future__ import annotations

from pathlib import Path

from gradcheck.checks.implementations.python_reproduction import python_reproduction
from gradcheck.checks.options import Options, engines_of
from gradcheck.checks.scheduling.run import run
from tests.engines.implementation.build import TANH
from tests.from_text import case_of

FILE = Path(__file__).parents[2] / "engines" / "implementation" / "functions.py"


def test_the_smallest_case_is_shown_in_python() -> None:
    text = TANH.partition("backward")[0] + f"generalize: false\nimplementations: {{y: '{FILE}:WrongSign.apply'}}\n"
    case, options = case_of(text), Options(allow_code=True)
    (found,) = run(case, allow_code=True).cases
    written = python_reproduction(case, found, options, engines_of(options))
    assert "from functions import WrongSign" in written
    assert "print(x.grad)  # it should be [[" in written
    assert found.smallest is None or "WrongSign.apply(x)" in found.smallest.snippet


def test_code_that_was_handed_over_is_called_by_the_name_that_it_has() -> None:
    from tests.engines.implementation import functions
    from tests.engines.implementation.build import with_code

    options = Options(allow_code=True)
    case = with_code(TANH, functions.WrongSign.apply)
    (found,) = run(case, allow_code=True).cases
    assert "functions import WrongSign" in python_reproduction(case, found, options, engines_of(options))
    case = with_code(TANH, lambda x: x.sinh())
    (found,) = run(case, allow_code=True).cases
    assert python_reproduction(case, found, options, engines_of(options)) == ""
