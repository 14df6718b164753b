"""The checkers, each asked the same question: is this backward pass the gradient of this function?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
import torch

from benchmarks.peers.planted import Planted
from benchmarks.peers.record import Trial
from gradcheck import run
from gradcheck.checks.result import CaseResult
from gradcheck.engines.torch import Torch
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.testing import check_function

Answer = Literal["right", "wrong", "undecided", "not asked"]
Tool = Callable[[Trial], Answer]


def tools() -> dict[str, Tool]:
    """By name, in the order of the table; HIPS autograd's only where it is installed."""
    found: dict[str, Tool] = {
        "gradcheck, of formulas": of_formulas,
        "gradcheck, of an engine": of_engine,
        "gradcheck, of code alone": lambda trial: of_code(trial, specified=False),
        "gradcheck, of code with a specification": lambda trial: of_code(trial, specified=True),
        "`torch.autograd.gradcheck`": lambda trial: with_torch(trial, fast=False),
        "the same, `fast_mode=True`": lambda trial: with_torch(trial, fast=True),
    }
    if find_spec("autograd"):
        found["HIPS autograd's `check_grads`"] = with_hips
    return found


# gradcheck -----------------------------------------------------------------------------------------


def of_formulas(trial: Trial) -> Answer:
    """The backward pass as the formulas of a case. One that a seed of ones hides is right as a formula of that one
    gradient, so that it is no question here."""
    if trial.record.seed_of_ones:
        return "not asked"
    return answer(run(trial.stated).cases[0], "formula")


def of_engine(trial: Trial) -> Answer:
    """The backward pass as the rules of an engine under test, on a case that states nothing."""
    return answer(run(trial.plain, engines=[Planted(trial.record)]).cases[0], "gradient", "node")


def answer(case: CaseResult, *about: str) -> Answer:
    """Only what was claimed may be wrong. Raises AssertionError where a case fails for another reason."""
    assert not case.errors, (case.id, case.errors)
    unlike = {(c.what, c.status) for c in case.comparisons if c.status != "passed"}
    if case.status == "passed":
        return "right"
    assert case.status == "failed", case
    assert {what for what, _ in unlike} <= set(about), (case.id, unlike)
    return "wrong" if any(status == "failed" for _, status in unlike) else "undecided"


def of_code(trial: Trial, specified: bool) -> Answer:
    """The backward pass as a `torch.autograd.Function`, alone, or with the function that it claims to compute."""
    record, problem, engine = trial.record, trial.problem, Torch()
    with engine.session(problem.dtype):
        function = torch_function(trial, engine, takes_constants=specified).apply
    inputs: dict[str, Any] = dict(problem.inputs)
    if specified:
        written = {name: text for name, text in record.inputs.items() if isinstance(text, str)}
        inputs |= {**written, **problem.constants}
    try:
        choices = {"dtypes": [record.dtype]}
        check_function(function, inputs=inputs, spec=record.forward if specified else None, choices=choices)
    except AssertionError:
        return "wrong"
    return "right"


# torch ---------------------------------------------------------------------------------------------


def with_torch(trial: Trial, fast: bool) -> Answer:
    """The backward pass as a `torch.autograd.Function`, under the defaults of `torch.autograd.gradcheck`."""
    engine = Torch()
    with engine.session(trial.problem.dtype), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about inputs in single precision
        torch.manual_seed(0)
        inputs = tuple(engine.leaf(array, True) for array in trial.problem.inputs.values())
        function = torch_function(trial, engine)
        right = torch.autograd.gradcheck(function.apply, inputs, fast_mode=fast, raise_exception=False)
    return "right" if right else "wrong"


def torch_function(trial: Trial, engine: Torch, takes_constants: bool = False) -> Any:
    """The record as a `Function` of its inputs, and of its constants, too, where it takes them."""
    record = trial.record
    constants = {name: engine.leaf(array, False) for name, array in trial.problem.constants.items()}
    arguments = (*record.inputs, *(constants if takes_constants else ()))

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *given: torch.Tensor) -> Any:
            names = {**constants, **dict(zip(arguments, given, strict=True))}
            out = evaluate(record.forward_expr, names, engine.host)
            ctx.save_for_backward(*given, out)
            return out

        @staticmethod
        def backward(ctx: Any, *incoming: Any) -> Any:
            *given, out = ctx.saved_tensors
            names = {**constants, **dict(zip(arguments, given, strict=True)), "g": incoming[0], "out": out}
            found = [evaluate(expr, names, engine.host) for expr in record.backward_exprs]
            return (*found, *[None] * (len(arguments) - len(found)))

    return Function


# HIPS autograd -------------------------------------------------------------------------------------


def with_hips(trial: Trial) -> Answer:
    """The backward pass as a primitive's `defvjp`; its rule alone is checked, forward mode and second order are not
    its question."""
    from autograd.test_util import check_grads

    function, arrays = hips_primitive(trial), list(trial.problem.inputs.values())
    with global_seed(0), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for position in range(len(arrays)):

                def of_one(array: Any, position: int = position) -> Any:
                    return function(*arrays[:position], array, *arrays[position + 1 :])

                check_grads(of_one, modes=["rev"], order=1)(arrays[position])
        except AssertionError:
            return "wrong"
    return "right"


def hips_primitive(trial: Trial) -> Any:
    from autograd.extend import defvjp, primitive

    record, constants = trial.record, trial.problem.constants

    def forward(*inputs: Any) -> Any:
        return evaluate(record.forward_expr, {**constants, **dict(zip(record.inputs, inputs, strict=True))})

    def maker(expr: Any) -> Any:
        def vjp(out: Any, *inputs: Any) -> Any:
            names = {**constants, **dict(zip(record.inputs, inputs, strict=True)), "out": out}
            return lambda g: evaluate(expr, {**names, "g": g})

        return vjp

    function = primitive(forward)
    defvjp(function, *[maker(expr) for expr in record.backward_exprs])
    return function


@contextmanager
def global_seed(seed: int) -> Iterator[None]:
    """HIPS autograd draws its directions from NumPy's global generator."""
    known = np.random.get_state()
    np.random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(known)
