"""One call of somebody's code, written as Python that runs."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcheck.engines.implementation.binding import bind
from gradcheck.engines.implementation.call_source import CodeCall, ExpectedNumbers, call_source
from gradcheck.engines.implementation.code_engine import CodeEngine as Engine
from gradcheck.engines.implementation.code_kinds import code_of
from gradcheck.engines.implementation.code_loading import load_code
from gradcheck.engines.torch import Torch
from gradcheck.errors import Unsupported
from gradcheck.language.case import Implementation
from gradcheck.language.sampling import draw
from tests.engines.implementation.build import AFFINE, TANH
from tests.from_text import case_of

HERE = Path(__file__).parent / "functions.py"
HIPS = """
import autograd.numpy as np

def tanh(x):
    return np.tanh(x)
"""


def _written(call: str, backward: str = "", case: str = TANH, file: Path = HERE) -> tuple[str, dict[str, Any]]:
    """The text, and the gradients that should come out."""
    read = case_of(case)
    named = Implementation("y", f"{file}:{call}", backward and f"{file}:{backward}")
    code = code_of(*load_code(named), "mine")
    engine = Engine("mine", "y", code, bind(read, named, code.signature, code.parameters))
    problem = draw(read)
    state = Torch().evaluate(problem).states[0]
    gradients = {name: state.gradients[name] for name in problem.inputs}
    first = next(iter(gradients))
    wanted = ExpectedNumbers("gradient", first, gradients[first])
    return call_source(CodeCall(named, engine, problem, state.values, wanted)), gradients


@pytest.mark.parametrize(
    ("call", "backward", "case"),
    [
        ("Tanh.apply", "", TANH),
        ("affine", "", AFFINE),
        ("affine_forward", "affine_backward", AFFINE),
        ("sine_forward", "sine_backward", TANH.replace("tanh", "sin")),
    ],
)
def test_it_runs_and_prints_the_gradient(call: str, backward: str, case: str, capsys: Any) -> None:
    text, gradients = _written(call, backward, case)
    path = list(sys.path)
    try:
        exec(compile(text, "snippet", "exec"), {})
    finally:
        sys.path[:] = path
        sys.modules.pop("functions", None)
    shown = capsys.readouterr().out
    name, right = next(iter(gradients.items()))
    assert f"{right.flat[0]:.3f}"[:-1] in shown
    assert f"should be {right.tolist()}" in text
    assert "np" not in text or "import numpy as np" in text
    assert name in text


def test_other_libraries(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "of_hips.py").write_text(HIPS)
    text, gradients = _written("tanh", file=tmp_path / "of_hips.py")
    exec(compile(text, "snippet", "exec"), {})
    assert f"{gradients['x'].flat[0]:.3f}"[:-1] in capsys.readouterr().out
    sys.path.remove(str(tmp_path))


def test_what_no_name_leads_to_is_not_written() -> None:
    with pytest.raises(Unsupported):
        _written_as("json.py:loads")
    with pytest.raises(Unsupported):
        _written_as("")


def _written_as(reference: str) -> str:
    read = case_of(TANH)
    named = Implementation("y", f"{HERE}:Tanh.apply")
    code = code_of(*load_code(named), "mine")
    engine = Engine("mine", "y", code, bind(read, named, code.signature))
    values = {"x": np.zeros((3, 2))}
    return call_source(CodeCall(replace(named, call=reference), engine, draw(read), values))
