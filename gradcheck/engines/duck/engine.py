"""Anybody's Tensor class as an engine: ops find their way to its operators, methods and functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.autograd.op import Op, lookup
from gradcheck.engines.base import Application, Evaluation, Pullback
from gradcheck.engines.disturb import Disturbance
from gradcheck.engines.duck.abilities import UNKNOWN, Abilities, abilities_of, seeded
from gradcheck.engines.duck.errors import EngineError, as_asked, translating
from gradcheck.engines.duck.held import Held, tensors_in
from gradcheck.engines.duck.output import Output
from gradcheck.engines.duck.rewrite import REWRITES
from gradcheck.engines.duck.speaker import Speaker
from gradcheck.engines.duck.spelling import SHAPED, Form, Library
from gradcheck.engines.duck.style import Style
from gradcheck.engines.record import Recorder
from gradcheck.engines.tape import Alone, Cotangents, Tape, as_tensor_error
from gradcheck.errors import GradcheckError, NonScalarBackward, Unsupported
from gradcheck.language.problem import Problem

#: Seconds for each case, unless the run says otherwise: somebody's engine may loop for ever.
TIMEOUT = 20.0

#: The positions at which ops take indices and masks, which stay plain arrays.
_CHANGES_DTYPE = frozenset({"to", "float", "double", "half", "bfloat16", "cfloat", "cdouble", "type", "type_as"})


class Duck(Tape):
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

    # Ops ----------------------------------------------------------------------------------------

    def apply(self, op: Op, bound: tuple[Any, ...]) -> Any:
        """An op on all its arguments in order. Raises Unsupported where the engine cannot express it."""
        self._spent = False
        held = list(tensors_in(bound))
        if op.name == "detach":
            return self._detached(bound[0])
        if all(tensor.tensor is None for tensor in held) or not (op.composite or any(op.rules)):
            return self._by_numpy(op, bound)
        if op.name in _CHANGES_DTYPE:
            return self._cast(op, bound)
        try:
            form = self._speaker.form(op, bound)
        except Unsupported as lacking:
            return self._otherwise(op, bound, lacking)
        with translating(f"its {form.label}"):
            shape = op_shape(op, bound) if op.name in SHAPED else ()
            result = form.call([self.native(op, value, False) for value in bound], shape)
        return self._called(op, form, bound, shape, result)

    def _called(self, op: Op, form: Form, bound: tuple[Any, ...], shape: tuple[int, ...], result: Any) -> Held:
        """What the engine returned, held."""
        held = list(tensors_in(bound))
        with translating(f"reading what its {op.name} returned"):
            values = self.read(result)
        if values is None:
            raise Unsupported(f"its {op.name} returned no tensor but a {type(result).__name__}", lacks=op.name)
        if any(result is tensor.tensor for tensor in held):  # a tensor of its own, with a gradient of its own
            with translating("a multiplication by 1"):
                result = result * 1
        requires_grad = any(tensor.requires_grad for tensor in held) and dtypes.is_differentiable(values.dtype)
        return self._held(result, values, requires_grad)

    def _otherwise(self, op: Op, bound: tuple[Any, ...], lacking: Unsupported) -> Any:
        """By the op's definition in others, where it has one."""
        if op in self._composing:
            raise lacking
        lifted = self._lifted(op, bound)
        if lifted is not None:
            return self.apply(op, lifted)
        rewrite = op.forward if op.composite else REWRITES.get(op.name)
        if rewrite is None:
            raise lacking
        self._composing.add(op)
        try:
            result = rewrite(*bound)
        except Unsupported as inner:
            known = lookup(inner.lacks)  # an op of the core's own kitchen says nothing to others
            raise (inner if op.composite and (known is None or known.torch) else lacking) from inner
        except GradcheckError:
            raise
        except (TypeError, ValueError, AttributeError) as error:  # its definition needs NumPy's arrays
            raise lacking from error
        finally:
            self._composing.discard(op)
        if result is NotImplemented:
            raise lacking
        return result

    def _lifted(self, op: Op, bound: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """A number beside a tensor as a tensor of the same shape, for engines that know no numbers."""
        count = len(op.rules)
        if not op.elementwise or not any(type(value) in (int, float) for value in bound[:count]):
            return None
        like = next(tensors_in(bound[:count]))
        full = [
            self._leaf(np.full(like.shape, value, like.dtype), False) if type(value) in (int, float) else value
            for value in bound[:count]
        ]
        return (*full, *bound[count:])

    def _by_numpy(self, op: Op, bound: tuple[Any, ...]) -> Any:
        """What has no gradient (comparisons, creators, indices) is not the engine's to compute."""
        values = [_plain(value) for value in bound]
        with np.errstate(all="ignore"):
            result = op.forward(*values) if op.composite else op.compute(values)
        if isinstance(result, (tuple, list)):
            return tuple(Held(self, None, np.asarray(part)) for part in result)
        return Held(self, None, np.asarray(result))

    def _detached(self, value: Any) -> Held:
        """By the engine's own detach, or as a new tensor of the same values."""
        if value.tensor is None:
            return Held(self, None, value.array)
        detach = getattr(value.tensor, "detach", None)
        if not callable(detach):
            return self._leaf(value.array, False)
        with translating("its detach()"):
            result = detach()
            return self._held(result, self.style.read(result), False)

    def _cast(self, op: Op, bound: tuple[Any, ...]) -> Any:
        wanted = op.forward(*map(_plain, bound)) if op.composite else op.compute([_plain(v) for v in bound])
        if wanted.dtype == bound[0].dtype:
            return bound[0]
        if not dtypes.is_differentiable(wanted.dtype):
            return Held(self, None, wanted)
        raise Unsupported(f"{self.name} is not asked to change dtypes", lacks=f"a change of dtype to {wanted.dtype}")

    # What the speaker asks ----------------------------------------------------------------------

    def native(self, op: Op, value: Any, fresh: bool) -> Any:
        """An argument as the engine takes it: its tensors, arrays for indices and masks, plain settings."""
        if type(value) is Held:
            if value.tensor is not None and not fresh:
                return value.tensor
            value = value.array
            requires_grad = False
        else:
            requires_grad = fresh
        if isinstance(value, np.ndarray):
            return self._native_array(op, value, requires_grad)
        if isinstance(value, (list, tuple)):
            return type(value)([self.native(op, item, fresh) for item in value])
        return value

    def _native_array(self, op: Op, array: np.ndarray, requires_grad: bool) -> Any:
        if dtypes.is_differentiable(array.dtype):
            return self._leaf(array, requires_grad).tensor
        if (op.elementwise and not op.masked and array.dtype.kind in "iu") or op.uniform:
            return self._leaf(array.astype(np.float64), False).tensor
        return array

    def rehearse(self, form: Form, given: list[Any], shape: tuple[int, ...]) -> None:
        """A tensor's form has nothing to hide: a backward pass is part of what is tested."""

    def read(self, result: Any) -> np.ndarray | None:
        """The values of one of the engine's tensors; None for anything else."""
        return np.asarray(self.style.read(result)) if self.style.is_tensor(result) else None


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


def _plain(value: Any) -> Any:
    if type(value) is Held:
        return value.array
    if isinstance(value, (list, tuple)):
        return type(value)([_plain(item) for item in value])
    return value


def op_shape(op: Op, bound: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape of what the op makes of these arguments."""
    values = [_plain(value) for value in bound]
    return np.shape(op.forward(*values) if op.composite else op.compute(values))
