"""The engine of an implementation: torch runs the graph, and somebody's code stands in for one of its entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from gradcheck.engines.base import Evaluation, as_tensor_error
from gradcheck.engines.define_by_run import Gradients, SecondOrder
from gradcheck.engines.graph_run import GraphRun
from gradcheck.engines.implementation import foreign_function
from gradcheck.engines.implementation.backward_interception import intercept_backward
from gradcheck.engines.implementation.binding import Binding
from gradcheck.engines.implementation.call_mode import PLAIN_CALL, CallMode, with_layout
from gradcheck.engines.implementation.code_error import CodeError, as_code_error
from gradcheck.engines.implementation.code_kinds import Code
from gradcheck.engines.implementation.code_run import CodeRun
from gradcheck.engines.implementation.global_state import restore_global_state
from gradcheck.engines.implementation.precision_probe import PrecisionProbe
from gradcheck.engines.implementation.stdout_capture import capture_stdout
from gradcheck.engines.implementation.stochastic_rounding import StochasticRounding
from gradcheck.engines.recording import Recorder
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS, Output
from gradcheck.engines.torch import Torch
from gradcheck.engines.torch_nodes import nodes
from gradcheck.errors import GradcheckError, Unsupported
from gradcheck.facts import Fact, fact
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.problem import Problem


class CodeEngine(Torch):
    """torch, but for one entry, which somebody's code computes.

    record      what is seen of the code beyond its numbers
    output      what it prints
    manner      how it is asked
    in_between  the problem that it is called with between forward and backward, where the manner says so
    """

    def __init__(self, name: str, entry: str, code: Code, binding: Binding, device: torch.device | None = None) -> None:
        super().__init__(device)
        self.name, self.entry, self.code, self.binding = name, entry, code, binding
        self.observations = foreign_function.Observations()
        self.mode = PLAIN_CALL
        self.in_between: Problem | None = None
        self.output = Output()
        self.patched_functions: tuple[str, ...] = ()  # what of torch and NumPy it has put something else in place of
        self._is_open = False
        self._leaves: list[torch.Tensor] = []
        self._last_arguments: list[Any] = []  # what it was called with last

    def session(self, dtype: np.dtype) -> AbstractContextManager[None]:
        """torch's, in which what the code prints is kept, and what it leaves behind is put back: once, where one is
        inside another."""
        if not self._is_open:
            return self._opened(dtype)
        if self._has_session_settings(dtype):
            self._freed_roots = []
            return nullcontext()
        return super().session(dtype)

    @contextmanager
    def _opened(self, dtype: np.dtype) -> Iterator[None]:
        self._is_open = True
        try:
            with restore_global_state(), capture_stdout(self.output), super().session(dtype):
                yield
        finally:
            self._is_open = False

    def new_run(self, problem: Problem, recorder: Recorder | None = None) -> GraphRun:
        """The graph with the code in place of its entry."""
        return CodeRun(self, problem)

    def evaluate(self, problem: Problem, recorder: Recorder | None = None) -> Evaluation:
        """Run the graph and every step; gradients that torch would refuse for their shape, and inputs that were
        changed in place, are told as they are."""
        self.observations.misshapen_gradients.clear()
        with self.session(problem.dtype):
            run = CodeRun(self, problem)
            self._leaves = list(run.leaves.values())
            with torch.set_grad_enabled(self.mode.records_graph), self._intercept_backward():
                found = run.evaluation()
            changed = run.changed()
        if self.observations.misshapen_gradients and found.states:
            found = replace(found, states=(*found.states[:-1], self._misshapen(found.states[-1])))
        return replace(found, changed=changed) if changed else found

    def _intercept_backward(self) -> AbstractContextManager[None]:
        """While it is on, gradients of a `Function` that torch would refuse are kept; of one call at a time, whose
        arguments are known."""
        if self.code.function is None or self.mode.calls_in_between:
            return nullcontext()
        return intercept_backward(self.code.function, lambda: self._last_arguments, self._keep)

    def _keep(self, place: int, gradient: torch.Tensor) -> None:
        self.observations.misshapen_gradients[place] = np.array(self.array(gradient))

    def evaluate_in_mode(self, manner: CallMode, problem: Problem, in_between: Problem | None = None) -> Evaluation:
        """The evaluation where it is asked in some manner."""
        self.mode, self.in_between = manner, in_between
        try:
            return self.evaluate(problem)
        finally:
            self.mode, self.in_between = PLAIN_CALL, None

    def leaf(self, array: np.ndarray, requires_grad: bool) -> torch.Tensor:
        """A new tensor with a copy of the array, laid out as the manner says."""
        requires_grad = requires_grad and self.mode.requires_grad
        if self.mode.inputs == "plain":
            return super().leaf(array, requires_grad)
        made = with_layout(super().leaf(array, False), self.mode.inputs)
        return made.requires_grad_() if requires_grad else made

    def backward(self, roots: list[torch.Tensor], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        """As torch does; of several results, those that the code marks as not differentiable pass nothing back."""
        moving = [place for place, root in enumerate(roots) if root.requires_grad]
        if len(moving) < len(roots) and self.observations.is_differentiable:
            for root, seed in zip(roots, seeds, strict=True):
                if not root.requires_grad and seed is not None:
                    root.grad = self.leaf(seed, False)
            roots, seeds = [roots[place] for place in moving], [seeds[place] for place in moving]
        if not roots:
            return
        super().backward(roots, seeds, retain_graph)

    def _incoming(self, roots: list[torch.Tensor], seeds: list[Any]) -> list[torch.Tensor | None]:
        manner = self.mode
        self.mode = replace(manner, inputs="plain")
        try:
            found = super()._incoming(roots, seeds)
        finally:
            self.mode = manner
        return [None if g is None else with_layout(g, manner.incoming) for g in found]

    def _misshapen(self, state: Any) -> Any:
        gradients = dict(state.gradients)
        for place, array in self.observations.misshapen_gradients.items():
            name = self.binding.claims[place].text if place < len(self.binding.claims) else ""
            if name in gradients:
                gradients[name] = array
        return replace(state, gradients=gradients)

    def second_order(self, problem: Problem, step: int, probes: Gradients) -> SecondOrder:
        """As torch does; nothing where some code says itself that it can be differentiated once."""
        with self.session(problem.dtype):
            run = self.new_run(problem)
            try:
                run.run_graph()
            except GradcheckError as error:
                return SecondOrder({}, {}, as_tensor_error(error))
            roots = [one for one in run.tensors.values() if one.grad_fn is not None]
            self.observations.is_once_differentiable = any(map(_is_once_differentiable, nodes(roots)))
        if not self.observations.is_once_differentiable:
            found = self._second_order_or_refusal(problem, step, probes)
            self.observations.is_once_differentiable = found.error is not None
            if found.error is None:
                return found
        refused = Unsupported("it can be differentiated once", lacks="a second order")
        return SecondOrder({}, {}, as_tensor_error(refused))

    def _second_order_or_refusal(self, problem: Problem, step: int, probes: Gradients) -> SecondOrder:
        """A backward that cannot be differentiated and says so, in whatever words, is no wrong one."""
        try:
            return super().second_order(problem, step, probes)
        except MemoryError:
            raise
        except USER_EXCEPTIONS as error:
            return SecondOrder({}, {}, as_code_error(self.name, error))

    def array(self, tensor: torch.Tensor) -> np.ndarray:
        """The tensor's values; a sparse one's written out."""
        return super().array(tensor if tensor.layout is torch.strided else tensor.to_dense())

    def values_alone(self, problem: Problem) -> Mapping[str, np.ndarray]:
        """What the graph comes to, without a backward pass; nothing where something raises."""
        with self.session(problem.dtype), torch.no_grad():
            run = CodeRun(self, problem)
            try:
                run.run_graph()
            except GradcheckError:
                return {}
            given = {**problem.inputs, **problem.constants}
            return {name: a if a is given.get(name) else np.array(a) for name, a in run.values.items()}

    def evaluate_with_noise(self, problem: Problem, seed: int) -> Evaluation:
        """The evaluation where torch rounds otherwise."""
        with StochasticRounding(seed):
            return self.evaluate(problem)

    def less_precision(self, problem: Problem) -> str:
        """The least precise dtype that is less precise than the problem's and is computed in while the code runs;
        empty where there is none."""
        with PrecisionProbe(self.host.dtype(problem.dtype.name)) as seen:
            self.evaluate(problem)
        return str(seen.least_precise).removeprefix("torch.") if seen.least_precise is not None else ""

    def _sweep(self, roots: list[torch.Tensor], gradients: list[torch.Tensor | None]) -> None:
        kept = [None if g is None else g.clone() for g in gradients]
        try:
            if self.mode.without_accumulation:
                self._sweep_without_accumulation(roots, gradients)
            else:
                super()._sweep(roots, gradients)
        except (GradcheckError, MemoryError):
            raise
        except USER_EXCEPTIONS as error:
            raise as_code_error(self.name, error) from None
        for now, before in zip(gradients, kept, strict=True):
            if now is not None and before is not None and not _same(now, before):
                self.observations.changed_arguments.add("incoming")

    def _sweep_without_accumulation(self, roots: list[torch.Tensor], gradients: list[torch.Tensor | None]) -> None:
        """The same by `torch.autograd.grad`, which accumulates nothing by itself."""
        leaves = [one for one in self._leaves if one.requires_grad]
        found = torch.autograd.grad(roots, leaves, gradients, retain_graph=True, allow_unused=True)
        for leaf, gradient in zip(leaves, found, strict=True):
            leaf.grad = gradient

    def _as_own_error(self, error: Exception) -> GradcheckError:
        return as_code_error(self.name, error)

    def call_code(self, names: Mapping[str, Any]) -> Any:
        """What the code makes of the tensors of these names. Raises CodeError."""
        positional = self.arguments(names)
        try:
            keywords = {key: evaluate(claim.expr, names, self.host) for key, claim in self.binding.keywords.items()}
            return self._call(positional, keywords, names)
        except (GradcheckError, MemoryError):
            raise
        except USER_EXCEPTIONS as error:
            raise as_code_error(self.name, error) from None

    def arguments(self, names: Mapping[str, Any]) -> list[Any]:
        """What the code is called with, in order. Raises CodeError."""
        try:
            return [
                names[claim.text] if claim.text in names else evaluate(claim.expr, names, self.host)
                for claim in self.binding.positional
            ]
        except GradcheckError as error:
            raise CodeError(f"the arguments of {self.name} cannot be computed: {error}") from error

    def _call(self, positional: list[Any], keywords: dict[str, Any], names: Mapping[str, Any]) -> Any:
        code = self.code
        if code.foreign is not None:
            return foreign_function.call_foreign(
                code.foreign, [*positional, *keywords.values()], self.observations, self.array
            )
        if code.module is not None:
            own = {parameter: names[tensor] for parameter, tensor in self.binding.parameters.items()}
            module = code.module.to(torch.get_default_dtype()) if self.binding.unbound_parameters else code.module
            module = module if self.device is None else module.to(self.device)
            return torch.func.functional_call(module, own, tuple(positional), keywords)
        assert code.call is not None
        self._last_arguments = [*positional, *keywords.values()]
        return code.call(*positional, **keywords)

    @property
    def notes(self) -> tuple[Fact, ...]:
        """What is told of the code, and is no failure."""
        found = [self.binding.note]
        found += (
            [fact("parameters_unchecked", names=self.binding.unbound_parameters)]
            if self.binding.unbound_parameters
            else []
        )
        found += [fact("functions_replaced", names=self.patched_functions)] if self.patched_functions else []
        found += [fact("once_differentiable")] if self.observations.is_once_differentiable else []
        found += [fact("aliases_argument")] if self.observations.shares_memory else []
        found += (
            [fact("wider_dtype", dtypes=tuple(sorted(self.observations.wider_dtypes)))]
            if self.observations.wider_dtypes
            else []
        )
        return tuple(found)


def _is_once_differentiable(node: Any) -> bool:
    """Whether a node of torch's graph is a `Function` whose backward is marked so."""
    backward = getattr(getattr(node, "_forward_cls", None), "backward", None)
    code = getattr(backward, "__code__", None)
    return (
        code is not None and code.co_filename == torch.autograd.function.__file__ and hasattr(backward, "__wrapped__")
    )


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.equal(one, other) or torch.equal(torch.nan_to_num(one), torch.nan_to_num(other))
