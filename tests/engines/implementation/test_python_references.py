"""Code that was handed over in Python, called by name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.engines.implementation.python_references import with_python_references
from gradcheck.errors import Unsupported
from gradcheck.language.case import Implementation
from gradcheck.testing import check_function
from tests.engines.implementation import functions

HALF = 0.5


def handed(function: Any, backward: Any = None) -> Implementation:
    return Implementation("y", "f", loaded=function if backward is None else (function, backward))


def test_what_a_module_has_is_imported() -> None:
    found, sources = with_python_references(handed(functions.Tanh.apply))
    assert (found.call, sources) == ("tests.engines.implementation.functions:Tanh.apply", [])
    found, sources = with_python_references(handed(functions.sine_forward, functions.sine_backward))
    assert found.backward == "tests.engines.implementation.functions:sine_backward"


def test_what_stands_elsewhere_is_written_out_with_what_it_mentions() -> None:
    factor = 3.0

    def halved(x: Any) -> Any:
        return HALF * factor * np.exp(x) + math.pi

    found, sources = with_python_references(handed(halved))
    assert found.call == ":halved"
    text = "\n".join(sources)
    for line in ("HALF = 0.5", "factor = 3.0", "import numpy as np", "import math", "def halved("):
        assert line in text


def test_what_has_no_source_of_its_own_is_not_written() -> None:
    kept = [1.0]

    def closed(x: Any) -> Any:
        return x * kept[0]

    for function in (lambda x: x, closed, eval("lambda x: x")):
        with pytest.raises(Unsupported):
            with_python_references(handed(function))


class Halved(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return HALF * x

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        return g


@pytest.mark.parametrize("spec", [None, "x / 2"])
def test_the_report_of_a_call_shows_it_in_python(spec: str | None, capsys: Any) -> None:
    with pytest.raises(AssertionError) as raised:
        check_function(Halved.apply, x=(2,), spec=spec)
    lines = str(raised.value).partition("in Python:\n")[2].splitlines()
    text = "\n".join(line[4:] for line in lines if line.startswith("    "))
    assert "from tests.engines.implementation.test_python_references import Halved" in text
    exec(text, {})
    assert "tensor([" in capsys.readouterr().out
    assert ("it should be" in text) is (spec is not None)


def test_several_results_of_a_pair_are_written(capsys: Any) -> None:
    def both(x: Any) -> Any:
        return (x * x, x + 1), x

    def backward(incoming: Any, x: Any) -> Any:
        one, other = incoming
        return one * x + other

    with pytest.raises(AssertionError) as raised:
        check_function(both, backward, x=(2,), spec="(x * x, x + 1)")
    lines = str(raised.value).partition("in Python:\n")[2].splitlines()
    exec("from typing import Any\nimport numpy as np\n" + "\n".join(line[4:] for line in lines[:-2]), {})
    assert "[" in capsys.readouterr().out
