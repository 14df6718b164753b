"""What a run is told: choices that make no sense are refused, engines found and told apart."""

from __future__ import annotations

from typing import Any

import pytest

from gradcheck.checks.options import THOROUGH, Options, Override, engines_of
from gradcheck.engines.core import Core
from gradcheck.errors import UsageError
from gradcheck.language.shell_words import quoted
from tests.from_text import case_of

SQUARE = "{inputs: {x: [1, 2]}, graph: {y: x * x, loss: y.sum()}}"


@pytest.mark.parametrize(
    ("choices", "found"),
    [
        ({"oracle": "delphi"}, "no oracle 'delphi'"),
        ({"order": 3}, "order 3"),
        ({"dtype": "int32"}, "cannot run in the dtype 'int32'"),
        ({"dtype": "float99"}, "cannot run in the dtype 'float99'"),
        ({"rtol": -1.0}, "rtol is -1.0"),
        ({"timeout": float("nan")}, "timeout is nan"),
        ({"atol": float("inf")}, "atol is inf"),
        ({"seed": "7"}, "seed is '7'; it is a whole number"),
        ({"maxfail": 0}, "maxfail is 0"),
        ({"jobs": 1.5}, "jobs is 1.5; it is a whole number"),
        ({"engines": ()}, "no engine"),
    ],
)
def test_choices_that_make_no_sense(choices: dict[str, Any], found: str) -> None:
    with pytest.raises(UsageError, match=found):
        Options(**choices)


def test_a_tolerance_replaces_all_where_it_is_given() -> None:
    assert Options().tolerance is None
    tolerance = Options(rtol=1e-3).tolerance
    assert tolerance is not None
    assert (tolerance.rtol, tolerance.atol) == (1e-3, None)


def test_a_run_in_another_dtype_keeps_complex_cases_complex() -> None:
    options = Options(dtype="float32")
    assert options.apply(case_of(SQUARE)).dtype == "float32"
    assert options.apply(case_of(f"dtype: complex128\n{'inputs: {x: [1]}'}\ngraph: {{y: x * x}}")).dtype == "complex64"


def test_the_command_that_reproduces_a_case_says_what_differs_from_the_defaults() -> None:
    case = case_of("{name: it's, inputs: {x: [1]}, graph: {y: x * x}}")
    assert Options(seed=3).reproduce(case) == f"gradcheck run {quoted(case.id)} --seed 3"
    options = Options(engines=("core", "a/b.py:T"), reference="core", rtol=1e-3, oracle="none", order=2)
    assert options.reproduce(case).endswith(
        "--seed 0 --engine core --engine 'a/b.py:T' --reference core --rtol 0.001 --oracle none --order 2"
    )


def test_engines_are_found_once_and_those_of_one_name_told_apart() -> None:
    first, second = Core(), Core()
    engines = engines_of(Options(engines=("core", "core", first, second), reference="torch"))
    assert [engine.name for engine in engines.tested] == ["core", "core 2", "core 3"]
    assert next(iter(engines.all)).name == "torch"


def test_only_some_engines_may_be_meant() -> None:
    engines = engines_of(Options(engines=("core", "torch")))
    assert [engine.name for engine in engines.only(("torch",)).tested] == ["torch"]
    assert engines.only(()).tested == engines.tested
    assert engines.only(("jax",)).tested == ()


def test_an_engine_may_be_meant_by_the_text_that_names_it() -> None:
    spec = "gradcheck.engines.core:Core"
    overrides = (Override(("/a",), {"engines": (spec,)}),)
    for engines in (
        engines_of(Options(engines=(spec,))),
        *engines_of(Options(overrides=overrides)).of_overrides.values(),
    ):
        assert engines.only((spec,)).tested == engines.tested


@pytest.mark.parametrize(("said", "effort"), [(False, None), (True, THOROUGH), (None, None)])
def test_shrinking_may_be_said_by_yes_and_no(said: Any, effort: Any) -> None:
    assert Options(shrink=said).shrink is effort
