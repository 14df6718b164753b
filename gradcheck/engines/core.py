"""The home-made autograd core as an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from gradcheck.autograd.backward import backward, grad
from gradcheck.autograd.modes import quiet
from gradcheck.autograd.op import TABLE, Op
from gradcheck.autograd.pullback import pull_arrays
from gradcheck.autograd.tensor import Tensor
from gradcheck.engines.base import Application, Cotangents, Pullback, as_tensor_error
from gradcheck.engines.define_by_run import DefineByRun, Shares
from gradcheck.engines.recording import RecordedCall, Recorder, has_keyword_tensor
from gradcheck.errors import GradcheckError
from gradcheck.language.evaluation.host import NumPy
from gradcheck.language.problem import Problem


class Core(DefineByRun):
    """gradcheck's own `Tensor`."""

    name = "core"
    tensor_type = Tensor

    def __init__(self) -> None:
        self.host = CoreHost()

    def leaf(self, array: np.ndarray, requires_grad: bool) -> Tensor:
        tensor = Tensor.wrap(array.copy())
        tensor.requires_grad = requires_grad
        return tensor

    def array(self, tensor: Tensor) -> np.ndarray:
        return tensor.data

    def backward(self, roots: list[Tensor], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        backward(roots, seeds, retain_graph=retain_graph)

    def differentiate(self, roots: list[Tensor], leaves: list[Tensor], seeds: list[Any]) -> list[Any]:
        """By a sweep that records itself."""
        return list(grad(roots, leaves, seeds, create_graph=True))

    def pull_back(
        self, applications: Sequence[Application], cotangents: Sequence[Cotangents], dtype: np.dtype
    ) -> list[Pullback]:
        """As any define-by-run engine does, but through its rules at once what was recorded as one primitive op."""
        with quiet():
            found = [_pull_back_by_rules(*one) for one in zip(applications, cotangents, strict=True)]
        rest = [index for index, pullback in enumerate(found) if pullback is None]
        if not rest:
            return cast(list[Pullback], found)
        others = iter(super().pull_back([applications[i] for i in rest], [cotangents[i] for i in rest], dtype))
        return [next(others) if pullback is None else pullback for pullback in found]

    def recorder(self) -> Recorder | None:
        """As the core's own tensors are recorded, whatever else an engine made of it does with them."""
        return Recorder(CoreHost())

    def pull_back_recorded(self, calls: Sequence[RecordedCall], cotangents: Sequence[np.ndarray]) -> list[Shares]:
        """By its rules, of primitive ops; none where somebody pulls back in a way of his own."""
        if type(self).pull_back is not _PULL_BACK:
            return super().pull_back_recorded(calls, cotangents)
        return [_shares(call, cotangent) for call, cotangent in zip(calls, cotangents, strict=True)]


#: How the core pulls back, where nobody has put anything else in its place.
_PULL_BACK = Core.pull_back


def applications_of(problem: Problem) -> list[Application]:
    """The ops that a problem's graph applies, on the core's arrays; none where it cannot be evaluated."""
    recorder = Recorder(CoreHost())
    try:
        Core().evaluate(problem, recorder=recorder)
    except GradcheckError:
        return []
    return recorder.applications()


def _shares(call: RecordedCall, cotangent: np.ndarray) -> Shares:
    result = call.result
    if type(result) is not Tensor or result.creation_op is not call.op or has_keyword_tensor(call, Tensor):
        return None
    try:
        return [share for _, share in pull_arrays(result, cotangent)]
    except GradcheckError:
        return None


def _pull_back_by_rules(application: Application, cotangents: Cotangents) -> Pullback | None:
    """What the rules of a recorded primitive op give; None where it is not one."""
    result = application.recorded
    if type(result) is not Tensor or result.creation_op is not application.op or cotangents[0] is None:
        return None
    try:
        shares = pull_arrays(result, cotangents[0])
    except GradcheckError as error:
        return Pullback((None,) * sum(application.tracked), as_tensor_error(error))
    return Pullback(tuple([share for _, share in shares]))


class CoreHost(NumPy):
    """Calls an op on tensors of the core, or on arrays."""

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The op's result, always a tensor. One that hands its argument back gives a tensor of its own, with a gradient
        of its own."""
        result = op(*args, **kwargs)
        if type(result) is Tensor:
            return TABLE["mul"](result, 1) if args and result is args[0] and result.requires_grad else result
        if type(result) is np.ndarray:  # nothing but numbers went in
            return Tensor.wrap(result)
        return tuple([Tensor.wrap(part) if type(part) is np.ndarray else part for part in result])
