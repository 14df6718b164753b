"""A problem: concrete arrays, and by what they were drawn, and the names of their tensors."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.errors import Place
from gradcheck.language.case import Case
from gradcheck.language.problem import DrawSettings, Problem, split_name, tensor_value, with_tensor_value
from gradcheck.language.trial_draws import NO_VARIATION

CASE = Case(id="c", name="c", place=Place(), inputs={}, graph={}, steps=())


def test_the_environment_of_the_graph() -> None:
    x, c = np.ones(2), np.zeros(3)
    problem = Problem(CASE, {"x": x}, {"c": c}, sizes={"n": 2})
    assert list(problem.environment()) == ["n", "x", "c"]
    assert problem.environment()["x"] is x


def test_the_seed_is_that_of_the_drawing() -> None:
    assert Problem(CASE, {}, {}).draw_settings == DrawSettings(seed=0, trial=None, attempt=0, variation=NO_VARIATION)
    assert Problem(CASE, {}, {}, draw_settings=DrawSettings(seed=-7, trial=2)).seed == -7


def test_a_name_is_an_entry_and_indices() -> None:
    assert split_name("m") == ("m", ())
    assert split_name("m[0]") == ("m", (0,))
    assert split_name("m[10][2]") == ("m", (10, 2))


def test_parts_are_found() -> None:
    values = {"m": ("a", ("b", "c")), "x": "d"}
    assert tensor_value(values, "x") == "d"
    assert tensor_value(values, "m[0]") == "a"
    assert tensor_value(values, "m[1][1]") == "c"
    for missing in ("y", "m[2]", "x[0]", "m[0][0]"):
        with pytest.raises(LookupError):
            tensor_value(values, missing)


def test_one_part_is_replaced() -> None:
    assert with_tensor_value("a", (), "b") == "b"
    assert with_tensor_value(("a", "b"), (1,), "c") == ("a", "c")
    assert with_tensor_value(("a", ("b", "c")), (1, 0), "d") == ("a", ("d", "c"))
    for whole, indices in (("a", (0,)), (("a",), (1,))):
        with pytest.raises(LookupError):
            with_tensor_value(whole, indices, "b")
