"""A problem as Python: it runs, and it is what the engine was asked."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from gradcheck.engines.resolve import adapt, engine_from_spec
from gradcheck.engines.tensor_class.engine import TensorClassEngine
from gradcheck.engines.tensor_class.problem_source import problem_source
from gradcheck.errors import Unsupported
from tests.engines.tensor_class.conftest import RIGHT
from tests.from_text import problem_from

SUM = "    def sum(self):"


@pytest.fixture
def engine(variant: Callable[..., type], monkeypatch: pytest.MonkeyPatch) -> Callable[..., TensorClassEngine]:
    """A class with pieces replaced, in a module of the name `handmade`."""

    def of(*replacements: tuple[str, str], function: str = "") -> TensorClassEngine:
        module = ModuleType("handmade")
        kind = variant(*replacements)
        kind.__module__ = "handmade"
        module.Tensor = kind  # type: ignore[attr-defined]
        if function:
            exec(function, vars(module))
        monkeypatch.setitem(sys.modules, "handmade", module)
        return adapt(kind, "handmade.Tensor")

    return of


def run(text: str, capsys: pytest.CaptureFixture[str]) -> str:
    exec(compile(text, "snippet.py", "exec"), {})
    return capsys.readouterr().out


def test_the_whole_of_it(engine: Any, capsys: pytest.CaptureFixture[str]) -> None:
    one = problem_from("{inputs: {x: [1, 2]}, constants: {c: [3.0, 4.0]}, graph: {y: (x + c) * x, z: tanh(y).sum()}}")
    text = problem_source(engine(), one, ("x", np.array([5.0, 8.0])))
    assert text.splitlines() == [
        "import numpy as np",
        "from handmade import Tensor",
        "x = Tensor(np.array([1.0, 2.0]))",
        "c = Tensor(np.array([3.0, 4.0]))",
        "y = (x + c) * x",
        "z = y.tanh().sum()",
        "z.backward()",
        "print(x.grad)  # it should be [5.0, 8.0]",
    ]
    assert run(text, capsys).startswith("[")


def test_it_imports_the_class_as_a_program_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "handmade").mkdir()
    (tmp_path / "handmade" / "tensor.py").write_text("from . import helper\n" + RIGHT.read_text())
    for name in ("__init__.py", "helper.py"):
        (tmp_path / "handmade" / name).write_text("")
    mine = engine_from_spec(f"{tmp_path / 'handmade' / 'tensor.py'}:Tensor")
    assert isinstance(mine, TensorClassEngine)
    text = problem_source(mine, problem_from("{inputs: {x: [1, 2]}, graph: {z: (x * x).sum()}}"), ("x", np.ones(2)))
    where, _, line, *_ = text.splitlines()
    assert where == f"# in the folder {os.path.relpath(tmp_path)}"
    assert line == "from handmade.tensor import Tensor"
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run(text, capsys).split() == ["[2.", "4.]"]


def test_the_name_of_a_folder_adds_no_line(tmp_path: Path) -> None:
    """A reader pastes the text into a shell of Python."""
    folder = tmp_path / "a\nimport os"
    folder.mkdir()
    (folder / "tensor.py").write_text(RIGHT.read_text())
    mine = engine_from_spec(f"{folder / 'tensor.py'}:Tensor")
    assert isinstance(mine, TensorClassEngine)
    with pytest.raises(Unsupported, match="one line"):
        problem_source(mine, problem_from("{inputs: {x: [1, 2]}, graph: {z: (x * x).sum()}}"))


@pytest.mark.parametrize(
    ("signature", "returned", "expression", "written"),
    [
        ("def reshape(self, *dims)", "self.data.reshape(*dims)", "x.reshape(3, 2)", "x.reshape(3, 2)"),
        ("def reshape(self, dims)", "self.data.reshape(tuple(dims))", "x.reshape(-1)", "x.reshape((6,))"),
        ("def swapaxes(self, i, j)", "self.data.swapaxes(i, j)", "x.T", "x.swapaxes(0, 1)"),
        ("@property\n    def T(self)", "self.data.T", "x.transpose(0, 1)", "x.T"),
        ("def mean(self, axis)", "self.data.mean(axis)", "x.mean(dim=1)", "x.mean(axis=1)"),
        ("def clip(self, low, high)", "self.data.clip(low, high)", "clamp(x, 0, 1)", "x.clip(0, 1)"),
    ],
)
def test_calls_are_written_as_the_class_takes_them(
    engine: Any, signature: str, returned: str, expression: str, written: str
) -> None:
    method = f"    {signature}:\n        return Tensor({returned})\n\n"
    one = problem_from(f"{{inputs: {{x: [[1, 2, 3], [4, 5, 6]]}}, graph: {{y: '{expression}', z: y.sum()}}}}")
    text = problem_source(engine((SUM, method + SUM)), one)
    assert f"y = {written}" in text.splitlines()
    graph, _, _ = text.rpartition("z.backward()")  # the method has no gradient
    exec(compile(graph, "snippet.py", "exec"), {})


def test_functions_are_imported(engine: Any) -> None:
    text = problem_source(
        engine(function="def exp(x):\n    return Tensor(__import__('numpy').exp(x.data))"),
        problem_from("{inputs: {x: [1, 2]}, graph: {y: exp(exp(x)).sum()}}"),
    )
    assert "from handmade import Tensor, exp" in text.splitlines()
    assert "y = exp(exp(x)).sum()" in text.splitlines()


def test_flags_and_incoming_gradients(engine: Any) -> None:
    flag = ("def __init__(self, data, makers=()):", "def __init__(self, data, makers=(), constant=True):")
    tensors = (
        ("else np.asarray(gradient)", "else gradient.data"),
        ("tensor.grad = whole if tensor.grad is None else tensor.grad + whole", "tensor.grad = Tensor(whole)"),
    )
    one = problem_from("{inputs: {x: [1, 2]}, graph: {y: x * x}, backward: {y: [1, 0.5]}}")
    assert problem_source(engine(flag), one).splitlines()[2:] == [
        "x = Tensor(np.array([1.0, 2.0]), constant=False)",
        "y = x * x",
        "y.backward(np.array([1.0, 0.5]))",
    ]
    assert "y.backward(Tensor(np.array([1.0, 0.5])))" in problem_source(engine(*tensors), one)


def test_numbers_of_a_class_of_numbers(number: type) -> None:
    engine = adapt(number, "tests_of_numbers.Number")
    text = problem_source(engine, problem_from("{inputs: {x: 3}, graph: {y: x * x + 1}}"), ("x", np.array(6.0)))
    assert text.splitlines()[2:] == ["x = Number(3.0)", "y = (x * x) + 1", "y.backward()",
                                     "print(x.grad)  # it should be 6.0"]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "{inputs: {x: [1, 2]}, graph: {y: x.sum()}, steps: [backward: y, zero_grad: [x]]}",
        "{inputs: {x: [1, 2]}, graph: {y: 'x[0]'}}",
        "{inputs: {x: [1, 2]}, graph: {y: x.softmax(0).sum()}}",
        "{inputs: {x: [1, 2]}, graph: {y: 'stack([x, x]).sum()'}}",
        "{inputs: {x: [1, 2]}, graph: {n: 'x.shape[0]', y: x.sum()}}",
    ],
)
def test_what_takes_more_is_not_written(engine: Any, text: str) -> None:
    with pytest.raises(Unsupported):
        problem_source(engine(), problem_from(text))


def test_a_class_in_no_module_is_not_written(variant: Callable[..., type]) -> None:
    for name in ("mine", "a/mine.py:Tensor"):
        with pytest.raises(Unsupported, match="only a class in a module"):
            problem_source(adapt(variant(), name), problem_from("{inputs: {x: [1, 2]}, graph: {y: x.sum()}}"))


def test_leaves_are_made_by_their_own_class(engine: Any) -> None:
    keep = "        self.grad = None\n"
    engine((keep, ""), ("if tensor.grad is None", "if vars(tensor).get('grad') is None"))
    module = sys.modules["handmade"]
    parameter = (
        "class Parameter(Tensor):\n    def __init__(self, data, makers=()):\n        super().__init__(data, makers)\n"
        + keep
    )
    exec(parameter, vars(module))
    found = adapt(vars(module)["Tensor"], "handmade.Tensor", module)
    lines = problem_source(found, problem_from("{inputs: {x: 2.0}, graph: {y: x * x}}")).splitlines()
    assert [line for line in lines if "Parameter" in line] == [
        "from handmade import Parameter",
        "x = Parameter(np.array(2.0))",
    ]
