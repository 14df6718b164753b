"""`gradcheck.testing`: one call for the test suite of an engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck import pytest_plugin
from gradcheck.engines.core import Core
from gradcheck.errors import InvalidCase, UsageError
from gradcheck.testing import check_cases, check_engine, gradcheck, over
from gradcheck.testing import check_function as check_function_itself
from tests.engines.implementation import functions
from tests.paths import wrong_engine

#: The plugin's fixture, which is not loaded here.
check_function = pytest_plugin.check_function

pytestmark = pytest.mark.usefixtures("shallow")


def test_a_sound_engine_passes_by_any_name() -> None:
    assert check_engine("core", ops=["mul"]).holds
    assert check_engine(Core(), ops=["mul"]).engine == "core"
    assert check_engine(Core, ops=["mul"]).holds
    assert check_engine(wrong_engine("right"), ops=["mul", "matmul"]).ops == {"mul": "right", "matmul": "right"}


def test_a_wrong_one_fails_with_a_table() -> None:
    with pytest.raises(AssertionError, match=r"FAIL +graphs of 100,000 nodes +recursion"):
        check_engine(wrong_engine("recurses"), ops=["mul"])


@pytest.mark.parametrize("cases", ["nowhere", []])
def test_cases_that_cannot_be_read_are_no_success(cases: Any) -> None:
    with pytest.raises(AssertionError, match=r"no such file|no cases"):
        check_engine("core", cases, ops=["mul"])


def test_a_property_may_be_excused() -> None:
    assert check_engine(wrong_engine("recurses"), ops=["mul"], allow=["graphs of 100,000 nodes"])


def test_cases_are_checked_too(tmp_path: Path) -> None:
    file = tmp_path / "case.yaml"
    file.write_text("inputs: {x: [1, 2]}\ngraph: {y: x * x, z: y.sum()}\nexpected: {x: [2, 5]}\n")
    with pytest.raises(AssertionError, match=r"0 right, 1 wrong"):
        check_engine("core", [file], ops=["mul"])


def test_what_is_no_engine_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        check_engine(dict)


def test_cases_alone_are_checked_with_what_the_project_has_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gradcheck.toml").write_text("seed = 5\n[[overrides]]\npaths = ['b.yaml']\nseed = 6\n")
    for name in "ab":
        Path(f"{name}.yaml").write_text("inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nformulas: {x: 2 * x}\n")
    assert [case.seed for case in check_cases(["a.yaml", "b.yaml"]).cases] == [5, 6]
    assert check_cases("b.yaml", seed=8).cases[0].seed == 8
    Path("b.yaml").write_text("inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nformulas: {x: 3 * x}\n")
    with pytest.raises(AssertionError, match="the formula of x is wrong"):
        check_cases("b.yaml")
    (tmp_path / "empty").mkdir()
    with pytest.raises(AssertionError, match="no cases"):
        check_cases("empty")


@over(dtypes=["float64", "float32"], n=[1, 4])
def test_the_fixture_goes_over_dtypes_and_sizes(check_function: Any, dtype: str, n: int) -> None:
    code = (lambda x: np.sin(x), lambda g, x: g * np.cos(x))
    assert check_function(*code, x=(n, 3), spec="sin(x)").exit_code == 0
    with pytest.raises(AssertionError):
        check_function(code[0], code[0], x=(n, 3), spec="sin(x)")


def test_over_goes_over_all_combinations() -> None:
    names, values = over("n", dtypes=["float32"], d=[1, 64]).args
    assert names == ("dtype", "n", "d")
    assert len(values) == 2 * len({value[1] for value in values})


def test_what_a_function_fails_with_names_the_line_of_the_call() -> None:
    with pytest.raises(AssertionError) as raised:
        check_function_itself(np.sin, lambda g, x: g * np.sin(x), x=(2,))
    assert f"{Path(__file__).name}:" in str(raised.value)
    assert "check_function:1" not in str(raised.value)
    with pytest.raises(InvalidCase, match=rf"{Path(__file__).name}:\d+:1: there is no op"):
        check_function_itself(np.sin, np.cos, x=(2,), spec="sine(x)")
    with pytest.raises(AssertionError, match="twice"):
        exec("def twice(x): return x\ncheck(twice, lambda g, x: 2 * g, x=(2,))", {"check": check_function_itself})


def test_tensors_that_require_no_gradient_beside_others_that_do_get_none() -> None:
    x, w = torch.ones(2, dtype=torch.float64, requires_grad=True), torch.ones(2, dtype=torch.float64)
    assert gradcheck(functions.DropsW.apply, (x, w))
    with pytest.raises(AssertionError, match="gradient of x1"):
        gradcheck(functions.DropsW.apply, (x.detach(), w))


def test_a_parameter_may_be_called_inputs() -> None:
    """Then `inputs` is no dict of inputs by name, unless the parameter takes one."""
    wrong = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    for given in ((2, 3), wrong):
        check_function_itself(lambda inputs: inputs.sin(), inputs=given)
        with pytest.raises(AssertionError, match="gradient of inputs"):
            check_function_itself(functions.WrongSign.apply, inputs=given, spec="tanh(inputs)")


@pytest.mark.parametrize(
    ("function", "x", "spec"),
    [
        (functions.WrongSign.apply, (0,), None),
        (functions.WrongSign.apply, (0,), "tanh(x)"),
        (functions.WrongSign.apply, "full([3], nan)", "tanh(x)"),
        (lambda x: torch.log(-x * x - 1), (3,), None),
        ((lambda x: np.append(x * x, np.inf), lambda g, x: 5 * x * g[:-1]), (3,), None),
    ],
)
def test_a_check_that_compares_no_number_fails(function: Any, x: Any, spec: str | None) -> None:
    with pytest.raises(AssertionError, match="nothing is compared"):
        check_function_itself(function, x=x, spec=spec)


@pytest.mark.parametrize("spec", [None, "sum(x) + w * w"])
def test_an_empty_input_passes_beside_one_with_elements(spec: str | None) -> None:
    check_function_itself(lambda x, w: x.sum() + w * w, x=(0,), w=(3,), spec=spec)
    check_function_itself(torch.sin, x=(3,), choices={"sizes": [0, 5]})
