"""Operands in other dtypes than the case's, and code under autocast.

A run has the least precise of the dtypes, and narrows the gradients of the others.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from gradcheck.engines.implementation.precision_modes import (
    SIGNIFICAND_BITS,
    ForwardRounding,
    StochasticRounding,
    memory_address,
    significand_bits,
)
from gradcheck.engines.tensor_class.user_code_guard import translate_code_errors
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw

if TYPE_CHECKING:
    from gradcheck.engines.implementation.code_engine import CodeEngine


def operand_gradients(engine: CodeEngine, problem: Problem, noise: int | None = None) -> dict[str, np.ndarray]:
    """Return the gradients of operands that are more precise than the problem.

    With a seed of `noise` all ops round at random. Raises CodeError."""
    with engine.session(problem.dtype), nullcontext() if noise is None else StochasticRounding(noise):
        leaves, results = _called(engine, problem)
        least = significand_bits(engine.host.dtype(problem.dtype.name))
        wider = {n: one for n, one in leaves.items() if one.is_floating_point() and significand_bits(one.dtype) > least}
        seeds = {root: engine.leaf(g, False) for root, g in problem.seeds[0].items() if g is not None}
        pairs = [(results[root], g.to(results[root].dtype)) for root, g in seeds.items() if root in results]
        pairs = [(result, g) for result, g in pairs if result.requires_grad]
        if not pairs or not wider:
            return {}
        roots, incoming = zip(*pairs, strict=True)
        with translate_code_errors(engine.name):
            found = torch.autograd.grad(roots, list(wider.values()), incoming, allow_unused=True)
        return {name: engine.array(g).copy() for name, g in zip(wider, found, strict=True) if g is not None}


def forward_rounds(engine: CodeEngine, problem: Problem) -> bool:
    """Return whether a forward rounds intermediates to less than an operand."""
    with engine.session(problem.dtype), torch.no_grad():
        widest = max(map(engine.host.dtype, engine.binding.operand_dtypes.values()), key=significand_bits)
        with ForwardRounding(widest) as seen:
            _, results = _called(engine, problem)
        return not set(map(memory_address, seen.rounded)) <= set(map(memory_address, results.values()))


def _called(engine: CodeEngine, problem: Problem) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Return the leaves in their own dtypes, and the results by name."""
    run = engine.new_run(problem)
    own = {name: engine.host.dtype(dtype) for name, dtype in engine.binding.operand_dtypes.items()}
    leaves = {
        name: leaf.detach().to(own.get(name, leaf.dtype)).requires_grad_(leaf.requires_grad)
        for name, leaf in run.leaves.items()
    }
    found = run.compute_entry(engine.entry, problem.case.graph[engine.entry], {**run.constants, **leaves})
    if isinstance(found, tuple):
        return leaves, {f"{engine.entry}[{place}]": one for place, one in enumerate(found)}
    return leaves, {engine.entry: found}


# Code under `torch.autocast`, its own or a chosen one ----------------------------------------------
#
# It computes in the precision of autocast, whatever it is given, and is judged in that.


class AutocastProbe(TorchFunctionMode):
    """Finds the dtype of an autocast that is on while torch is called."""

    def __init__(self, device_type: str) -> None:
        super().__init__()
        self._device_type = device_type
        self.dtype: torch.dtype | None = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch.is_autocast_enabled(self._device_type):
            self.dtype = torch.get_autocast_dtype(self._device_type)
        return func(*args, **(kwargs or {}))


def autocast_dtype(engine: CodeEngine, problem: Problem) -> str:
    """Return the dtype of the code's autocast; "" if none is less precise."""
    given = engine.host.dtype(problem.dtype.name)
    if not engine.code.is_torch or given not in (torch.float32, torch.float16):
        return ""
    with AutocastProbe(engine.device.type if engine.device is not None else "cpu") as probe:
        engine.values_alone(problem)
    if probe.dtype is None or SIGNIFICAND_BITS[probe.dtype] >= SIGNIFICAND_BITS[given]:
        return ""
    return str(probe.dtype).removeprefix("torch.")


def judged_dtype(engine: CodeEngine, problem: Problem) -> str:
    """Return the dtype to judge the code in, and keep its operands' dtype."""
    found = autocast_dtype(engine, problem)
    if found:
        own = dict.fromkeys(engine.binding.names, problem.dtype.name)
        operand_dtypes = {**own, **engine.binding.operand_dtypes}
        engine.binding = replace(engine.binding, operand_dtypes=operand_dtypes)
        engine.observations.autocast_dtype = found
    elif engine.code.kind == "jax" and problem.dtype == np.float64 and _raises(engine, problem):
        single = draw(replace(problem.case, dtype="float32"), problem.seed)  # JAX has no other unless it is asked for
        engine.observations.is_single_precision = not _raises(engine, single)
        found = "float32" if engine.observations.is_single_precision else ""
    return found or problem.dtype.name


def _raises(engine: CodeEngine, problem: Problem) -> bool:
    found = engine.evaluate(problem)
    return found.error is not None or any(state.error for state in found.states)
