"""JAX's settings and derivatives: on a stand-in here, and, where it is installed, on JAX in a process of its own."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gradcheck import run
from gradcheck.engines.functional_engine import FunctionalEngine
from gradcheck.language.loader import load_text
from tests.engines.elsewhere import Elsewhere
from tests.from_text import problem_from

FLOAT32 = np.dtype(np.float32)


def stand_in() -> dict[str, ModuleType]:
    """As much of JAX as the adapter calls. Its `vjp` takes differences, which are exact for products."""
    names = ("jax", "jax.nn", "jax.numpy", "jax.numpy.linalg", "jax.scipy", "jax.scipy.special")
    modules = {name: ModuleType(name) for name in names}
    for name, module in modules.items():
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(modules[parent], child, module)
    jax: Any = modules["jax"]
    jax.Array = np.ndarray
    jax.config = SimpleNamespace(jax_enable_x64=False)
    jax.config.update = lambda key, value: setattr(jax.config, key, value)
    jax.numpy.sum = lambda array: np.asarray(np.sum(array))
    for name in ("multiply", "ones"):
        setattr(jax.numpy, name, getattr(np, name))

    def asarray(value: Any) -> np.ndarray:
        return np.asarray(value, None if jax.config.jax_enable_x64 else FLOAT32)

    def vjp(function: Callable[..., Any], *arguments: np.ndarray) -> tuple[Any, Callable[..., list[np.ndarray]]]:
        def pull(cotangent: Any) -> list[np.ndarray]:
            found = [np.zeros_like(argument) for argument in arguments]
            for place, gradient in enumerate(found):
                for index in np.ndindex(gradient.shape):
                    moved = [argument.copy() for argument in arguments]
                    moved[place][index] += 1
                    ahead = function(*moved)
                    moved[place][index] -= 2
                    gradient[index] = cotangent * (ahead - function(*moved)) / 2
            return found

        return np.asarray(function(*arguments)), pull

    jax.numpy.asarray, jax.vjp = asarray, vjp
    return modules


@pytest.fixture
def adapted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The adapter's module, on a stand-in."""
    known = sys.modules.get("gradcheck.engines.jax")
    for name, module in stand_in().items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "gradcheck.engines.jax", raising=False)
    yield importlib.import_module("gradcheck.engines.jax")
    sys.modules.pop("gradcheck.engines.jax", None)
    if known is not None:
        sys.modules["gradcheck.engines.jax"] = known


def test_on_a_stand_in(adapted: Any) -> None:
    is_wide_while_it_runs()
    is_right_about_a_product()


def test_on_jax_itself(elsewhere: Elsewhere) -> None:
    elsewhere("jax", is_wide_while_it_runs)
    elsewhere("jax", is_right_about_a_product)


def is_wide_while_it_runs() -> None:
    """Its numbers are of 64 bits; what was set before is set again afterwards."""
    adapted: Any = importlib.import_module("gradcheck.engines.jax")
    engine, config = adapted.Jax(), adapted.jax.config
    assert isinstance(engine, FunctionalEngine)
    before = config.jax_enable_x64
    seen = []

    def fails() -> None:
        with engine.session(FLOAT32):
            seen.append(config.jax_enable_x64)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert seen == [True]
    assert config.jax_enable_x64 == before


def is_right_about_a_product() -> None:
    adapted: Any = importlib.import_module("gradcheck.engines.jax")
    text = "{inputs: {x: [1, 2], y: [3, 4]}, graph: {z: x * y, loss: z.sum()}}"
    found = adapted.Jax().evaluate(problem_from(text))
    assert found.error is None
    (state,) = found.states
    assert state.values["z"].dtype == np.float64
    gradients = {name: gradient.tolist() for name, gradient in state.gradients.items()}
    assert gradients == {"x": [3, 4], "y": [1, 2], "z": [1, 1], "loss": 1}


CASES = """
name: a layer
inputs: {x: [[1, 2, 3], [0.5, -1, 2]], w: [[1, 0.5], [-1, 2], [0, 1]], b: [0.5, -0.5]}
graph: {h: tanh(x @ w + b), loss: (h * h).mean()}
---
name: two passes, and one more after zeroing
inputs: {x: [3, 5]}
graph: {y: x * x, z: y.sum()}
steps: [backward: z, backward: z, zero_grad: all, backward: z]
---
name: probabilities
inputs: {x: [[1, 2, 3], [0.5, -1, 2]]}
graph: {p: "softmax(x, dim=1)"}
backward: {p: [[1, 0.5, -2], [0, 1, 2]]}
"""


def test_cases_as_a_run_has_them(elsewhere: Elsewhere) -> None:
    assert elsewhere("jax", statuses) == ["passed"] * 3


def statuses() -> list[str]:
    cases, errors = load_text(CASES, "cases.yaml")
    assert not errors
    return [case.status for case in run(cases, engines=["jax"], trials=1, oracle="none").cases]
