"""Anybody's Tensor class as an engine: ops find their way to its operators, methods and functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.autograd.op import Op
from gradcheck.engines.base import Application, Evaluation, Pullback
from gradcheck.engines.define_by_run import Alone, Cotangents, Tape, as_tensor_error
from gradcheck.engines.perturbation import Disturbance
from gradcheck.engines.recording import Recorder
from gradcheck.engines.tensor_class.api import Style
from gradcheck.engines.tensor_class.call_forms import Library
from gradcheck.engines.tensor_class.calls import Applying
from gradcheck.engines.tensor_class.capabilities import UNKNOWN, Abilities, abilities_of, seeded
from gradcheck.engines.tensor_class.errors import EngineError, as_asked, translating
from gradcheck.engines.tensor_class.op_lookup import Speaker
from gradcheck.engines.tensor_class.output import Output
from gradcheck.engines.tensor_class.wrapper import Held
from gradcheck.errors import GradcheckError, NonScalarBackward, Unsupported
from gradcheck.language.problem import Problem

#: Seconds for each case, unless the run says otherwise: somebody's engine may loop for ever.
TIMEOUT = 20.0


class Duck(Applying, Tape):
    """A Tensor class in the usual style."""

    tensor_type = Held

    def __init__(self, style: Style, library: Library, name: str, abilities: Abilities | None = None) -> None:
        self.style, self.library, self.name = style, library, name
        self._abilities = abilities
        self.host = _Host(self)
        self.timeout = TIMEOUT
        self.output = Output()
        self._speaker = Speaker(self)
        self._composing: set[Op] = set()
        self._spent = False  # whether a backward pass has gone through all that has been computed
        self._given: list[tuple[np.ndarray, Held]] = []  # the leaves of this evaluation, and what they were made from

    @property
    def abilities(self) -> Abilities:
        """What its backward pass takes and keeps: learned while the first case runs, and on its time."""
        if self._abilities is None:
            self._abilities = UNKNOWN  # what an endless loop leaves behind
            self._abilities = abilities_of(self.style)
        return self._abilities

    # An engine ----------------------------------------------------------------------------------

    @contextmanager
    def session(self, dtype: np.dtype) -> Iterator[None]:
        """Numbers without a dtype take the case's."""
        with using_default_dtype(dtypes.real_of(dtype)):
            yield

    def evaluate(
        self, problem: Problem, disturbance: Disturbance | None = None, recorder: Recorder | None = None
    ) -> Evaluation:
        """As any tape does; what the engine raises is taken for what the case asks it to raise, and what it does to
        its inputs is noted."""
        self._given = []
        with self.output.capturing():
            try:
                found = as_asked(problem.case, super().evaluate(problem, disturbance, recorder))
            except GradcheckError as error:  # not even the inputs could be made
                found = Evaluation(self.name, (), as_tensor_error(error), next(iter(problem.inputs), ""))
            return replace(found, changed=self._changed(problem))

    def _changed(self, problem: Problem) -> dict[str, np.ndarray]:
        """Inputs and constants that are no longer what they were."""
        names = {id(array): name for name, array in (*problem.inputs.items(), *problem.constants.items())}
        found = {}
        for array, held in self._given:
            name = names.get(id(array))
            now = self.current(held) if name else array
            if name and not np.array_equal(now, array, equal_nan=array.dtype.kind in "fc"):
                found[name] = now
        return found

    def pull_back(
        self, applications: Sequence[Application], cotangents: Sequence[Cotangents], dtype: np.dtype
    ) -> list[Pullback]:
        """Each op in a backward pass of its own, so that the trouble of one is not another's."""
        found = []
        with self.output.capturing(), self.session(dtype):
            for application, incoming in zip(applications, cotangents, strict=True):
                found.append(self._pull_back_one(replace(application, recorded=None), incoming))
        return found

    def _pull_back_one(self, application: Application, incoming: Cotangents) -> Pullback:
        try:
            run = Alone(self, application)
            run.pair(incoming)
            if run.error is None and run.roots:
                self.backward(run.roots, run.seeds, True)
            return run.pullback()
        except GradcheckError as error:
            return Pullback((None,) * sum(application.tracked), as_tensor_error(error))

    # Tensors ------------------------------------------------------------------------------------

    def leaf(self, array: np.ndarray, requires_grad: bool) -> Held:
        """A tensor of the engine; an index or a mask stays an array."""
        if not dtypes.is_differentiable(array.dtype):
            return Held(self, None, array)
        held = self._leaf(array, requires_grad)
        self._given.append((array, held))
        return held

    def _leaf(self, array: np.ndarray, requires_grad: bool) -> Held:
        what = f"{self.style.name}(array of shape {list(array.shape)}, {array.dtype})"
        try:
            with translating(what):
                tensor = self.style.make(array, requires_grad)
                held = self.style.read(tensor)
        except EngineError as error:
            if array.dtype == np.float64:
                raise
            raise Unsupported(error.message, lacks=array.dtype.name) from error
        if held.dtype != array.dtype:
            raise Unsupported(f"{self.style.name} keeps numbers in {held.dtype}, not {array.dtype}",
                              hint=f"run with --dtype {held.dtype}", lacks=array.dtype.name)  # fmt: skip
        if held.shape != array.shape:
            raise Unsupported(f"{self.style.name} makes a tensor of shape {list(held.shape)} from {list(array.shape)}",
                              lacks=f"tensors of {array.ndim} dimensions")  # fmt: skip
        return self._held(tensor, held, requires_grad)

    def _constant(self, array: np.ndarray) -> Held:
        """A value that NumPy alone knows."""
        return Held(self, None, array)

    def _held(self, tensor: Any, values: np.ndarray, requires_grad: bool) -> Held:
        array = np.array(values)
        return Held(self, tensor, array, requires_grad, self.style.gradient(tensor) if requires_grad else None)

    def array(self, tensor: Any) -> np.ndarray:
        """The values of a tensor when it was made; a gradient is an array already."""
        return tensor.array if type(tensor) is Held else np.asarray(tensor)

    def current(self, tensor: Held) -> np.ndarray:
        """The values that the engine has for a tensor by now."""
        with translating("reading its values"):
            return tensor.array if tensor.tensor is None else np.array(self.style.read(tensor.tensor))

    # Gradients ----------------------------------------------------------------------------------

    def gradient(self, held: Held) -> np.ndarray | None:
        """The gradient that has arrived, None where none has; a plain number takes the tensor's dtype."""
        owner = held if held.probe is None else held.probe
        if owner.tensor is None or not (owner.requires_grad or self.style.flag):
            return None
        with translating("reading a gradient"):
            found = self.style.gradient_array(owner.tensor)
        if found is None:
            return None
        if found.ndim == 0 and held.ndim and not found:
            return np.zeros(held.shape, held.dtype)  # the 0 that it began with
        if (
            found.ndim == 0
            and found.dtype != held.dtype
            and not isinstance(self.style.gradient(owner.tensor), np.ndarray)
        ):
            found = found.astype(held.dtype)
        return found.copy()

    def set_gradient(self, held: Held, gradient: Any) -> None:
        """Forget the gradient (None), or carry one over."""
        owner = held if held.probe is None else held.probe
        if owner.tensor is None:
            return
        if gradient is not None and self.style.is_tensor(self.style.gradient(owner.tensor)):
            gradient = self.style.make(gradient, False)
        with translating("setting a gradient"):
            clearing = gradient is None
            self.style.set_gradient(owner.tensor, owner.initial if clearing else gradient, clearing)

    def retain(self, held: Held) -> None:
        """Ask the engine to keep this gradient, or listen in with a leaf of zeros."""
        if held.tensor is None:
            return
        if self.style.is_tensor(getattr(held.tensor, "base", None)):  # a view, which has its base's gradient
            with translating("a multiplication by 1"):
                held.tensor = held.tensor * 1
        retain = getattr(held.tensor, "retain_grad", None)
        with translating("retain_grad()"):
            if callable(retain):
                retain()
        if not self.abilities.keeps_intermediates and held.probe is None and dtypes.is_differentiable(held.dtype):
            probe = self._leaf(np.zeros_like(held.array), True)
            held.tensor = (held + probe).tensor
            held.probe = probe

    def backward(self, roots: list[Held], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        """One pass from all roots at once; where `backward` takes no gradient, from the sum of root times gradient."""
        self._refuse(roots, retain_graph)
        roots, seeds = self._starts(roots, seeds)
        keep = retain_graph if self.style.retaining else None
        for root, seed in zip(roots, seeds, strict=True):
            with translating("backward()"):
                given = () if seed is None else seeded(self.style, self.abilities.seed, seed)
                self.style.backward(root.tensor, *given, retain_graph=keep)
        self._spent = True

    def _refuse(self, roots: list[Held], retain_graph: bool) -> None:
        """Unsupported for passes that cannot be asked of this engine."""
        if self._spent and not self.abilities.keeps_graph:
            raise Unsupported(f"{self.name} keeps no graph after a backward pass", lacks="second passes over a graph")
        if not retain_graph and not self.style.retaining:
            raise Unsupported(f"{self.name} cannot be told to free a graph", lacks="retain_graph")
        if not self.style.flag and not all(root.requires_grad for root in roots):
            raise Unsupported(f"{self.name} cannot be told that no gradient is wanted", lacks="a flag for gradients")

    def _starts(self, roots: list[Held], seeds: list[np.ndarray | None]) -> tuple[list[Held], list[np.ndarray | None]]:
        for root in roots:
            if root.tensor is None:
                raise Unsupported("a backward pass from what is no tensor of the engine", lacks="passes from constants")
        if all(seed is None for seed in seeds) and len(roots) == 1:
            if roots[0].array.size != 1 and self.style.scalar:
                raise Unsupported("one number has no backward pass from several", lacks="tensors of several numbers")
            return roots, seeds
        if self.abilities.seed != "none" and len(roots) == 1:
            return roots, seeds
        if any(seed is None and root.array.size != 1 for root, seed in zip(roots, seeds, strict=True)):
            raise NonScalarBackward("a backward pass without a gradient from a tensor of several elements")
        try:
            return [self._total(roots, seeds)], [None]
        except Unsupported:
            if self.abilities.seed == "none":
                raise
            return roots, seeds

    def _total(self, roots: list[Held], seeds: list[np.ndarray | None]) -> Held:
        """The number whose gradients are those of all roots with their incoming gradients."""
        total: Held | None = None
        for root, seed in zip(roots, seeds, strict=True):
            term = root
            if seed is not None:
                term = term * self.leaf(seed.astype(root.dtype), False)
            if term.ndim:
                term = term.sum()
            total = term if total is None else total + term
        assert total is not None
        return total


class _Host:
    """Applies the ops of expressions."""

    def __init__(self, engine: Duck) -> None:
        self._engine = engine

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The op's result."""
        return self._engine.apply(op, op.bind(args, kwargs))

    def dtype(self, name: str) -> np.dtype:
        """NumPy's dtype of this torch name."""
        return dtypes.BY_NAME[name]
