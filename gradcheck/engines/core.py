"""The engine of gradcheck's own autograd core."""

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
    """The engine of gradcheck's own `Tensor`."""

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
        """Return gradients by a sweep that records itself."""
        return list(grad(roots, leaves, seeds, create_graph=True))

    def pull_back(
        self, applications: Sequence[Application], cotangents: Sequence[Cotangents], dtype: np.dtype
    ) -> list[Pullback]:
        """Pull back ops that were recorded as one primitive op by their rules."""
        with quiet():
            found = [_pull_back_by_rules(*one) for one in zip(applications, cotangents, strict=True)]
        rest = [index for index, pullback in enumerate(found) if pullback is None]
        if not rest:
            return cast(list[Pullback], found)
        others = iter(super().pull_back([applications[i] for i in rest], [cotangents[i] for i in rest], dtype))
        return [next(others) if pullback is None else pullback for pullback in found]

    def recorder(self) -> Recorder | None:
        """Return a recorder of the core's own tensors, also in a subclass."""
        return Recorder(CoreHost())

    def pull_back_recorded(self, calls: Sequence[RecordedCall], cotangents: Sequence[np.ndarray]) -> list[Shares]:
        """Return the shares of primitive ops, unless `pull_back` is replaced."""
        if type(self).pull_back is not _PULL_BACK:
            return super().pull_back_recorded(calls, cotangents)
        return [_shares(call, cotangent) for call, cotangent in zip(calls, cotangents, strict=True)]


#: The original method: a test, or a planted fault, may replace it.
_PULL_BACK = Core.pull_back


def applications_of(problem: Problem) -> list[Application]:
    """Return a graph's ops on the core's arrays; [] if the graph raises."""
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
    """Return the gradients of a recorded primitive op; None for any other op."""
    result = application.recorded
    if type(result) is not Tensor or result.creation_op is not application.op or cotangents[0] is None:
        return None
    try:
        shares = pull_arrays(result, cotangents[0])
    except GradcheckError as error:
        return Pullback((None,) * sum(application.tracked), as_tensor_error(error))
    return Pullback(tuple([share for _, share in shares]))


class CoreHost(NumPy):
    """The host that calls ops on tensors of the core, or on arrays."""

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return a tensor of its own, even if the op returns its argument."""
        result = op(*args, **kwargs)
        if type(result) is Tensor:
            return TABLE["mul"](result, 1) if args and result is args[0] and result.requires_grad else result
        if type(result) is np.ndarray:  # nothing but numbers went in
            return Tensor.wrap(result)
        return tuple([Tensor.wrap(part) if type(part) is np.ndarray else part for part in result])
