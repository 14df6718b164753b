"""The engine of user code: torch runs the graph, the code one entry."""

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
from gradcheck.engines.implementation.binding import Binding, argument_name, bound_foreign, is_taken_apart
from gradcheck.engines.implementation.call_arguments import generator_states, put_together, restored_generators
from gradcheck.engines.implementation.code_kinds import Code
from gradcheck.engines.implementation.code_run import PLAIN_CALL, CallMode, CodeRun, with_layout
from gradcheck.engines.implementation.foreign_function import (
    ForeignCall,
    Observations,
    ReturnedGradient,
    intercept_backward,
)
from gradcheck.engines.implementation.global_state import RandomStates, capture_stdout, restore_global_state
from gradcheck.engines.implementation.module_parameters import ModuleState
from gradcheck.engines.implementation.precision_modes import (
    PrecisionProbe,
    StochasticRounding,
    UnwrittenIsNan,
    autocast,
    has_same_bits,
    significand_bits,
)
from gradcheck.engines.recording import Recorder
from gradcheck.engines.tensor_class.user_code_guard import (
    USER_EXCEPTIONS,
    CodeError,
    Output,
    as_code_error,
    translate_code_errors,
)
from gradcheck.engines.torch import Torch, gradients_at
from gradcheck.engines.torch_nodes import is_once_differentiable, nodes
from gradcheck.errors import GradcheckError, Unsupported
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Claim
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.problem import Problem


class CodeEngine(Torch):
    """torch, with user code for one entry.

    observations  facts about the code beyond its numbers
    output        its printed text
    mode          the mode of its calls
    in_between    the problem of the calls between forward and backward, if the mode has them"""

    def __init__(self, name: str, entry: str, code: Code, binding: Binding, device: torch.device | None = None) -> None:
        super().__init__(device)
        self.name, self.entry, self.code, self.binding = name, entry, code, binding
        self.observations = Observations()
        self.mode = PLAIN_CALL
        self.in_between: Problem | None = None
        self.output = Output()
        self.patched_functions: tuple[str, ...] = ()  # functions of torch and NumPy that the code has replaced
        self._generators = generator_states(code.signature, binding.objects.values())
        self._foreign: Any = None  # the code's `foreign`, bound, once it is called
        self._is_open = False
        self._random_states: RandomStates | None = None  # of the open session
        self._module_state: ModuleState | None = None  # likewise
        self._leaves: list[torch.Tensor] = []

    def session(self, dtype: np.dtype) -> AbstractContextManager[None]:
        """Capture the code's output and restore global state, once if nested."""
        dtype = self.binding.default_dtype(dtype)
        if not self._is_open:
            return self._opened(dtype)
        if self._has_session_settings(dtype):
            self._freed_roots = []
            return nullcontext()
        return super().session(dtype)

    @contextmanager
    def _opened(self, dtype: np.dtype) -> Iterator[None]:
        self._is_open, self._random_states = True, RandomStates()
        try:
            with restore_global_state(), capture_stdout(self.output), super().session(dtype):
                yield
        finally:
            self._random_states.restore()
            if self._module_state is not None:
                self._module_state.restore()
            self._is_open, self._random_states, self._module_state = False, None, None

    def same_module_state(self) -> AbstractContextManager[None]:
        """Let a module keep its present parameters after calls within."""
        return nullcontext() if self._module_state is None else self._module_state.unchanged()

    def new_run(self, problem: Problem, recorder: Recorder | None = None) -> GraphRun:
        return CodeRun(self, problem)

    def evaluate(self, problem: Problem, recorder: Recorder | None = None) -> Evaluation:
        """Run all steps; keep gradients of wrong shapes, and changed inputs."""
        self.observations.misshapen_gradients.clear()
        with self.session(problem.dtype):
            run = CodeRun(self, problem)
            self._leaves = list(run.leaves.values())
            with torch.set_grad_enabled(self.mode.records_graph), intercept_backward(self._keep):
                found = run.evaluation()
            changed = run.changed()
        if self.observations.misshapen_gradients and found.states:
            found = replace(found, states=(*found.states[:-1], self._misshapen(found.states[-1])))
        return replace(found, changed=changed) if changed else found

    def _keep(self, returned: ReturnedGradient) -> None:
        """Keep a gradient of another shape than the argument. May raise CodeError."""
        is_own = returned.function is self.code.function
        name = argument_name(self.code.foreign, self.binding, returned.place) if is_own else returned.name
        array = np.array(self.array(returned.gradient))
        if returned.fits:
            self.observations.summed_gradients.setdefault(name, (returned.summed(name), array))
        elif is_own:
            self.observations.misshapen_gradients[returned.place] = array
        else:
            raise returned.does_not_fit()

    def evaluate_in_mode(self, mode: CallMode, problem: Problem, in_between: Problem | None = None) -> Evaluation:
        """Evaluate the problem in a mode."""
        self.mode, self.in_between = mode, in_between
        try:
            return self.evaluate(problem)
        finally:
            self.mode, self.in_between = PLAIN_CALL, None

    def leaf(self, array: np.ndarray, requires_grad: bool) -> torch.Tensor:
        """Return a new tensor with a copy of the array, in the mode's layout."""
        requires_grad = requires_grad and self.mode.requires_grad
        if self.mode.inputs == "plain":
            return super().leaf(array, requires_grad)
        made = with_layout(super().leaf(array, False), self.mode.inputs)
        return made.requires_grad_() if requires_grad else made

    def backward(self, roots: list[torch.Tensor], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        """Run torch's pass, without roots that require no gradient."""
        moving = [place for place, root in enumerate(roots) if root.requires_grad]
        if len(moving) < len(roots):
            for root, seed in zip(roots, seeds, strict=True):
                if not root.requires_grad and seed is not None:
                    root.grad = self.leaf(seed, False)
            roots, seeds = [roots[place] for place in moving], [seeds[place] for place in moving]
        if roots:
            super().backward(roots, seeds, retain_graph)

    def _incoming(self, roots: list[torch.Tensor], seeds: list[Any]) -> list[torch.Tensor | None]:
        mode = self.mode
        self.mode = replace(mode, inputs="plain")
        try:
            found = super()._incoming(roots, seeds)
        finally:
            self.mode = mode
        return [None if g is None else with_layout(g, mode.incoming) for g in found]

    def _misshapen(self, state: Any) -> Any:
        gradients = dict(state.gradients)
        for place, array in self.observations.misshapen_gradients.items():
            name = argument_name(self.code.foreign, self.binding, place)
            if name in gradients:
                gradients[name] = array
        return replace(state, gradients=gradients)

    def second_order(self, problem: Problem, step: int, probes: Gradients) -> SecondOrder:
        """Return torch's second order; Unsupported if the code has one order."""
        with self.session(problem.dtype):
            run = self.evaluated_run(problem)
            roots = [] if run is None else [one for one in run.tensors.values() if one.grad_fn is not None]
            self.observations.is_once_differentiable = any(map(is_once_differentiable, nodes(roots)))
        if not self.observations.is_once_differentiable:
            try:
                found = super().second_order(problem, step, probes)
            except MemoryError:
                raise
            except USER_EXCEPTIONS as error:
                found = SecondOrder({}, {}, as_code_error(self.name, error))
            self.observations.is_once_differentiable = found.error is not None
            if found.error is None:
                return found
        once = Unsupported("it can be differentiated once", lacks="a second order")
        return SecondOrder({}, {}, as_tensor_error(once))

    def array(self, tensor: torch.Tensor) -> np.ndarray:
        """Return the tensor's values; a sparse one as a dense array."""
        return super().array(tensor if tensor.layout is torch.strided else tensor.to_dense())

    def values_alone(self, problem: Problem) -> Mapping[str, np.ndarray]:
        """Return the graph's values without a backward pass; {} after an error."""
        with self.session(problem.dtype), torch.no_grad():
            run = self.evaluated_run(problem)
            if run is None:
                return {}
            given = {**problem.inputs, **problem.constants}
            return {name: a if a is given.get(name) else np.array(a) for name, a in run.values.items()}

    def refusal(self, problem: Problem) -> str:
        """Return the message of the code's exception; "" if it raises none."""
        with self.session(problem.dtype), torch.no_grad():
            try:
                self.new_run(problem).run_graph()
            except GradcheckError as error:
                return error.message
        return ""

    def draws_numbers(self, problem: Problem) -> bool:
        """Return whether an evaluation uses a global random generator."""
        with self.session(problem.dtype):
            self.evaluate(problem)
            return self._random_states is not None and self._random_states.have_moved()

    def differentiable_results(self, problem: Problem) -> frozenset[str]:
        """Return the entry's results that require a gradient; note others."""
        with self.session(problem.dtype):
            run = self.evaluated_run(problem)
        tensors = {} if run is None else {n: t for n, t in run.tensors.items() if n.partition("[")[0] == self.entry}
        self.observations.constant_results = tuple(
            name for name, one in tensors.items() if one.is_floating_point() and not one.requires_grad
        )
        return frozenset(name for name, one in tensors.items() if one.requires_grad)

    def evaluate_with_noise(self, problem: Problem, seed: int) -> Evaluation:
        """Evaluate the problem with randomly perturbed rounding."""
        with StochasticRounding(seed):
            return self.evaluate(problem)

    def evaluate_with_nan_memory(self, problem: Problem) -> Evaluation:
        """Evaluate the problem with NaN where the code writes nothing."""
        with UnwrittenIsNan():
            return self.evaluate(problem)

    def less_precision(self, problem: Problem) -> str:
        """Return the least precise dtype below the problem's in the code, or ""."""
        with PrecisionProbe(self.host.dtype(problem.dtype.name)) as seen:
            self.evaluate(problem)
        return str(seen.least_precise).removeprefix("torch.") if seen.least_precise is not None else ""

    def _sweep(self, roots: list[torch.Tensor], gradients: list[torch.Tensor | None]) -> None:
        kept = [None if g is None else g.clone() for g in gradients]
        with translate_code_errors(self.name):
            if self.mode.without_accumulation:
                leaves = [one for one in self._leaves if one.requires_grad]
                for leaf, gradient in zip(leaves, gradients_at(leaves, roots, gradients), strict=True):
                    leaf.grad = gradient
            else:
                super()._sweep(roots, gradients)
        for now, before in zip(gradients, kept, strict=True):
            if now is not None and before is not None and not has_same_bits(now, before):
                self.observations.changed_arguments["incoming"] = self.array(now).copy()

    def _as_own_error(self, error: Exception) -> GradcheckError:
        return as_code_error(self.name, error)

    def call_code(self, names: Mapping[str, Any]) -> Any:
        """Return the code's result for these tensors. Raises CodeError.

        Random generators start from the same states at each call."""
        names = self._with_operand_dtypes(names)
        positional = self.arguments(names)
        keywords = {key: self._argument(claim, names) for key, claim in self.binding.keywords.items()}
        self._restart()
        with (
            translate_code_errors(self.name),
            restored_generators(self._generators),
            autocast(self.binding.autocast, self.device),
        ):
            return self._call(positional, keywords, names)

    def _restart(self) -> None:
        if self._random_states is not None:
            self._random_states.restore()

    def _with_operand_dtypes(self, names: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the tensors, each in its own dtype if that is more precise."""
        own = {name: self.host.dtype(dtype) for name, dtype in self.binding.operand_dtypes.items()}
        tensors = {name: names[name] for name in own if isinstance(names.get(name), torch.Tensor)}
        cast = {n: t.to(own[n]) for n, t in tensors.items() if significand_bits(t.dtype) < significand_bits(own[n])}
        return {**names, **cast} if cast else names

    def arguments(self, names: Mapping[str, Any]) -> list[Any]:
        """Return the code's positional arguments. Raises CodeError."""
        return [self._argument(claim, names) for claim in self.binding.positional]

    def _argument(self, claim: Claim, names: Mapping[str, Any]) -> Any:
        if claim.text in self.binding.objects:
            return put_together(self.binding.objects[claim.text], names)
        if claim.text in names:
            return names[claim.text]
        try:
            return evaluate(claim.expr, names, self.host)
        except GradcheckError as error:
            raise CodeError(f"the arguments of {self.name} cannot be computed: {error}") from error

    def _call(self, positional: list[Any], keywords: dict[str, Any], names: Mapping[str, Any]) -> Any:
        code = self.code
        if code.foreign is not None:
            if self._foreign is None:
                self._foreign = bound_foreign(code.foreign, self.binding)
            given = [*positional, *keywords.values()]
            if is_taken_apart(code.foreign, self.binding):
                given = [self._argument(claim, names) for claim in self.binding.operand_claims]
            given += [names[one] for one in self.binding.parameters.values()]
            call = ForeignCall(self._foreign, given, self.observations, self.array, self._restart)
            return call.results()
        with code.around():
            if code.module is not None:
                own = {parameter: names[tensor] for parameter, tensor in self.binding.parameters.items()}
                if self._module_state is None:
                    self._module_state = ModuleState(code.module)
                return self._module_state.call(own, (positional, keywords), self.device)
            assert code.call is not None
            return code.call(*positional, **keywords)

    @property
    def notes(self) -> tuple[Fact, ...]:
        """Facts about the code that are no failure."""
        seen, patched = self.observations, self.patched_functions
        unbound = (*self.binding.unbound_parameters, *self.code.unchecked)
        unrecorded, is_torch = seen.unrecorded_gradients, self.code.is_torch
        optional = (
            (unbound, fact("parameters_unchecked", names=unbound)),
            (patched, fact("functions_replaced", names=patched)),
            (seen.is_once_differentiable and is_torch, fact("once_differentiable")),
            (unrecorded and is_torch, fact("gradients_unrecorded", names=unrecorded)),
            (unrecorded and not is_torch, fact("gradients_differentiable_once", names=unrecorded)),
            (seen.constant_results, fact("results_constant", names=seen.constant_results)),
            (seen.shares_memory, fact("aliases_argument")),
            *((True, what) for what, _ in seen.summed_gradients.values()),
            (seen.autocast_dtype, fact("judged_in_autocast", dtype=seen.autocast_dtype)),
            (seen.is_single_precision, fact("judged_in_single")),
            (seen.wider_dtypes, fact("wider_dtype", dtypes=tuple(sorted(seen.wider_dtypes)))),
        )
        return (self.binding.note, *(note for holds, note in optional if holds))
