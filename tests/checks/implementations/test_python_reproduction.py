"""A failing case of code in a few lines of Python."""

from __future__ import annotations

from pathlib import Path

from gradcheck.checks.implementations.python_reproduction import python_reproduction
from gradcheck.checks.options import Options, engines_of
from gradcheck.checks.scheduling.run import run
from tests.engines.implementation.build import TANH
from tests.from_text import case_of

FILE = Path(__file__).parents[2] / "engines" / "implementation" / "functions.py"
SCALED_TANH = """
import torch

class ScaledTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * torch.tanh(w * x)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        t = torch.tanh(w * x)
        return g * (t + x * (1 - t * t)), (g * x * x * (1 - t * t)).sum()
"""


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
    assert "called_ = lambda x: x.sinh()" in python_reproduction(case, found, options, engines_of(options))
    case = with_code(TANH, eval("lambda x: x.sinh()"))
    (found,) = run(case, allow_code=True).cases
    assert python_reproduction(case, found, options, engines_of(options)) == ""


def test_the_specification_of_code_is_not_shrunk(tmp_path: Path) -> None:
    (tmp_path / "scaled_tanh.py").write_text(SCALED_TANH)
    file = tmp_path / "case.yaml"
    file.write_text(
        'dims: {n: 3}\ninputs: {x: "randn(n)", w: "randn(())"}\ngraph: {y: x * tanh(w * x)}\n'
        "implementations: {y: 'scaled_tanh.py:ScaledTanh.apply'}\n"
    )
    (found,) = run(str(file), allow_code=True, shrink=True).cases
    assert found.smallest is not None
    assert "x * tanh(w * x)" in found.smallest.case
    assert "ScaledTanh.apply(x, w)" in found.smallest.snippet
