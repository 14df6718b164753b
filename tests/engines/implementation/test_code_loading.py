"""References to somebody's code."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import torch

from gradcheck.engines.implementation.code_loading import folder_of, load_code, name_of, with_absolute_paths
from gradcheck.errors import Place, UsageError
from gradcheck.language.case import STDIN, Implementation


def test_a_file_stands_beside_the_case(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("class A:\n    @staticmethod\n    def f(x): return x\ndef g(x): return x\n")
    place = Place(str(tmp_path / "case.yaml"), 1, 1)
    forward, backward = load_code(Implementation("y", "mine.py:A.f", "mine.py:g", place=place))
    assert (forward(1), backward(2)) == (1, 2)
    with pytest.raises(UsageError, match="no h"):
        load_code(Implementation("y", "mine.py:h", place=place))


def test_a_module_is_imported_by_its_name() -> None:
    forward, backward = load_code(Implementation("y", "math:sqrt"))
    assert forward(4) == 2
    assert backward is None


def test_what_was_handed_over_is_taken_as_it_is() -> None:
    assert load_code(Implementation("y", "f", loaded=len)) == (len, None)
    assert load_code(Implementation("y", "f", loaded=(len, max))) == (len, max)


def test_standard_input_stands_in_the_working_directory() -> None:
    assert folder_of(STDIN) == Path() == folder_of("")


def test_files_may_be_named_by_their_whole_path(tmp_path: Path) -> None:
    place = Place(str(tmp_path / "case.yaml"), 1, 1)
    found = with_absolute_paths(Implementation("y", "mine.py:f", "m:g", place=place))
    assert (found.call, found.backward) == (f"{tmp_path / 'mine.py'}:f", "m:g")


def test_names_are_those_of_the_innermost_callable() -> None:
    class Mine(torch.autograd.Function):
        pass

    assert name_of(partial(partial(Mine.apply, 1), 2)) == "Mine.apply"
    assert name_of(torch.nn.Tanh()) == "Tanh"
    assert name_of(lambda: 1) == "<lambda>"


def test_wrappers_have_the_name_of_what_they_wrap() -> None:
    @torch.library.custom_op("gradcheck_names::cube", mutates_args=(), schema="(Tensor x) -> Tensor")
    def cube(x: torch.Tensor) -> torch.Tensor:
        return x**3

    def wrapper(x: float) -> float:
        return x

    wrapper.__name__ = "gammainc"
    assert (name_of(cube), name_of(wrapper)) == ("cube", "gammainc")
