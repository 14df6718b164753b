"""Code that was handed over in Python, called by name."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.engines.implementation.python_references import with_python_references
from gradcheck.errors import Unsupported
from gradcheck.language.case import Implementation
from gradcheck.testing import check_function
from tests.engines.implementation import functions
from tests.paths import ROOT

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
    kept = {1.0}

    def closed(x: Any) -> Any:
        return x * min(kept)

    one, _ = (lambda x: x, lambda x: 2 * x)
    for function in (one, closed, eval("lambda x: x")):
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
    assert "it should be" in text


def test_several_results_of_a_pair_are_written(capsys: Any) -> None:
    def both(x: Any) -> Any:
        return (x * x, x + 1), x

    def backward(incoming: Any, x: Any) -> Any:
        one, other = incoming
        return one * x + other

    with pytest.raises(AssertionError) as raised:
        check_function(both, backward, x=(2,), spec="(x * x, x + 1)")
    lines = str(raised.value).partition("in Python:\n")[2].splitlines()
    exec("\n".join(line[4:] for line in lines[:-2]), {})
    assert "[" in capsys.readouterr().out


def shown(*code: Any, **given: Any) -> str:
    """The Python in a report; empty if there is none."""
    with pytest.raises(AssertionError) as raised:
        check_function(*code, **given)
    lines = str(raised.value).partition("in Python:\n")[2].splitlines()
    return "\n".join(line[4:] for line in lines if line.startswith("    "))


class Layer:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def forward(self, x: Any) -> Any:
        self.x = x
        return self.factor * x * x

    def backward(self, g: Any) -> Any:
        return self.factor * g * self.x


def test_the_instance_of_a_bound_method_is_constructed(capsys: Any) -> None:
    layer = Layer(3.0)
    text = shown(layer.forward, layer.backward, x=(2,), spec="3 * x * x")
    assert "layer_ = Layer(factor=3.0)" in text
    exec(text, {})
    assert "[" in capsys.readouterr().out


JAX = """
import jax
import jax.numpy as jnp
from gradcheck.testing import check_function

@jax.custom_vjp
def op(x):
    return jnp.sin(x)

op.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (2 * g * jnp.cos(x),))
check_function(op, x=(2,), spec="sin(x)")
"""


def test_the_rule_of_a_jax_function_is_written(tmp_path: Path) -> None:
    """In a process of its own: after JAX's threads, no test may fork."""
    if find_spec("jax") is None:
        pytest.skip("jax is not installed")
    (tmp_path / "rule.py").write_text(JAX)
    command = [sys.executable, str(tmp_path / "rule.py")]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=200, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert "    op.defvjp(lambda x: (jnp.sin(x), x)" in done.stderr


class ThirdPower(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        return 3 * ctx.saved_tensors[0].detach() ** 2 * g


@pytest.mark.parametrize("spec", [None, "x ** 3"])
def test_second_order_is_computed(spec: str | None) -> None:
    text = shown(ThirdPower.apply, x=(2,), spec=spec)
    assert "create_graph=True" in text


class Flat(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return 2 * x

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        return 2 * g.view(-1).view(g.shape)


def test_a_call_that_shows_right_numbers_is_left_out() -> None:
    assert shown(Flat.apply, x=(3, 2), spec="2 * x") == ""
