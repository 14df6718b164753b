"""Anybody's Tensor class as an engine: ops find their way to its operators, methods and functions."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.engines.base import Evaluation
from gradcheck.engines.recording import Recorder
from gradcheck.engines.tensor_class.api import Api
from gradcheck.engines.tensor_class.bare import evaluated_bare, gives
from gradcheck.engines.tensor_class.call_forms import Form, Library, Shape
from gradcheck.engines.tensor_class.calls import Calls
from gradcheck.engines.tensor_class.capabilities import UNKNOWN, Capabilities, assigned, refuse_to_carry, seeded
from gradcheck.engines.tensor_class.comparisons import Count, counted
from gradcheck.engines.tensor_class.conventions import conventions_of
from gradcheck.engines.tensor_class.foreign import ForeignEngine
from gradcheck.engines.tensor_class.guard import EngineError, Output, is_deliberate, said, translating
from gradcheck.engines.tensor_class.hypotheses import complex_is_right
from gradcheck.engines.tensor_class.learning import capabilities_of
from gradcheck.engines.tensor_class.wrapped import WrappedTensor
from gradcheck.errors import GradcheckError, NonScalarBackward, Unsupported
from gradcheck.facts import Fact
from gradcheck.language.problem import Problem

Seeds = list[np.ndarray | None]
#: Of a class with so many ops that never return nothing more is asked.
MOST_ENDLESS = 2


class TensorClassEngine(ForeignEngine):
    """A Tensor class, used by its `Api`."""

    lifts = True

    def __init__(self, api: Api, name: str) -> None:
        super().__init__(name, api.name, Library((*api.modules(), api.tensor_type)))
        self.api = api
        api.leaves = self.leaves
        self.calls = Calls(self)
        self._capabilities: Capabilities | None = None
        self._started: list[WrappedTensor] = []  # where passes over this graph have begun
        self._retained: list[WrappedTensor] = []  # what is no leaf, and has been asked to keep its gradient
        self._dtype = np.dtype(np.float64)
        self._spent = False  # whether a backward pass has gone through all that has been computed
        self._complex: bool | None = None  # whether gradients of complex numbers are torch's; None until it is asked
        self.provided: tuple[Fact, ...] = ()  # what it could not be imported without
        self._bare = False  # whether nothing is asked of the class but what the case takes

    @property
    def capabilities(self) -> Capabilities:
        """What its backward pass takes and keeps: learned while the first case runs, and on its time."""
        if self._capabilities is None:
            self._capabilities, known = UNKNOWN, len(self.calls.lookup.endless)  # while it is learned
            try:
                with Output().capturing():  # what is printed meanwhile is dropped
                    self._capabilities = capabilities_of(self)
            except BaseException as error:  # the end of a case's time: the next case learns again, without what it was
                endless = self.calls.lookup.endless
                whole = known < len(endless) < MOST_ENDLESS
                why = " and ".join(endless.values()) or f"{said(error)}, while it was looked at"
                self._capabilities = None if whole else replace(UNKNOWN, misunderstood=why)
                raise
            self.new_graph()
        return self._capabilities

    def ending(self, op: Op) -> AbstractContextManager[None]:
        """Where what is tried of an op meanwhile is interrupted, it is not tried again."""
        return self.calls.lookup.ending(op)

    def new_graph(self) -> None:
        super().new_graph()
        self._started, self._retained = [], []
        self.api.begin_graph()

    def use_flag(self, flag: tuple[str, bool]) -> None:
        """Make tensors by this flag from now on, and forget what was learned with another."""
        if (self.api.flag, self.api.flag_if_wanted) != flag:
            self.api.flag, self.api.flag_if_wanted = flag
            self.forget()

    def forget(self) -> None:
        """Look every op up again."""
        self.calls.forget()

    def evaluate(self, problem: Problem, recorder: Recorder | None = None) -> Evaluation:
        """As any engine does; again where ops were tried; what is raised must be raised on the bare graph, too."""
        known = self.calls.lookup.known
        found = super().evaluate(problem, recorder)
        if self.calls.lookup.known != known:
            found = super().evaluate(problem, recorder)
        if self._bare or found.error is None or found.error.kind != EngineError.kind:
            return found
        again = self.evaluate_bare(problem)
        return found if again.error is not None and again.error.kind == found.error.kind else again

    def evaluate_bare(self, problem: Problem) -> Evaluation:
        """The same problem as a few lines of Python would run it: see `bare`."""
        self._bare = True
        try:
            return evaluated_bare(self, problem)
        finally:
            self._bare = False

    def comparisons(self) -> AbstractContextManager[Count]:
        """How often its objects are compared meanwhile."""
        return counted(self.library.modules)

    def gives(self, roots: Sequence[np.ndarray], seeds: Sequence[np.ndarray | None]) -> bool:
        """Whether roots of these values get these incoming gradients: see `bare`."""
        with self.output.capturing():
            return gives(self, roots, seeds)

    # Tensors ------------------------------------------------------------------------------------

    def make(self, array: np.ndarray, requires_grad: bool) -> Any:
        can = self.capabilities
        shaped = array.reshape(can.total) if array.ndim == 0 else array
        return self.api.make(shaped, requires_grad or can.tracks_constants)

    def leaf(self, array: np.ndarray, requires_grad: bool) -> WrappedTensor:
        """A tensor of the class. Raises Unsupported where the class is not understood."""
        if self.capabilities.misunderstood:
            raise Unsupported(f"not understood: {self.capabilities.misunderstood}")
        if array.dtype.kind == "c" and not self._has_complex_gradients:
            message = f"gradients of complex numbers are not torch's in {self.name}: a product's factors are conjugated"
            raise Unsupported(message, lacks="complex numbers")
        return super().leaf(array, requires_grad)

    @property
    def _has_complex_gradients(self) -> bool:
        """Whether those of complex numbers are torch's: asked of one product, when the first such numbers come."""
        if self._complex is None:
            self._complex = True  # while it is asked
            known = self._spent, list(self._started)
            self._complex = complex_is_right(self)
            self._spent, self._started = known
        return self._complex

    @property
    def conventions(self) -> tuple[Fact, ...]:
        """What the class does otherwise by design; nothing before a case has run."""
        return (
            () if self._capabilities is None else (*conventions_of(self._capabilities, self.api.scalar), *self.provided)
        )

    def use_dtype(self, name: str) -> None:
        """Tell values and gradients in no more precision than this from now on."""
        self._dtype = np.dtype(name)

    @property
    def own_dtype(self) -> str:
        """The dtype in which the class computes."""
        return self.capabilities.dtype

    def is_tensor(self, value: Any) -> bool:
        return self.api.is_tensor(value)

    def values(self, tensor: Any) -> np.ndarray:
        return self.api.read(tensor)

    def wrap(self, tensor: Any, values: np.ndarray, requires_grad: bool) -> WrappedTensor:
        """With what it has for a gradient before any has arrived."""
        initial = self.api.resting(tensor) if requires_grad else None
        return WrappedTensor(self, tensor, np.array(self.told(values)), requires_grad, initial)

    def told(self, values: np.ndarray) -> np.ndarray:
        """What a class of less than double precision computes in more of it, here and there, is told in its own."""
        own = self._dtype
        return values.astype(own) if values.dtype.kind == "f" and own.itemsize < values.dtype.itemsize else values

    def rehearse(self, form: Form, given: list[Any], shape: Shape, beyond: bool) -> None:
        """Raise what a backward pass raises of what is `beyond`; or where a mask or an index is given as an array, and
        is asked for what only tensors have."""
        is_learning = self._capabilities is None or self._capabilities is UNKNOWN
        is_asked = beyond or any(type(value) is np.ndarray for value in given)
        if not is_asked or is_learning or self.api.scalar or self.api.running is not None:  # a pass that is no method
            return
        result = form.call(self.library, given, shape)
        if not self.is_tensor(result):
            return
        known = self._spent, list(self._started)
        root = self.wrap(result, self.values(result), True)
        try:
            self.backward([root], [np.ones(root.shape, root.dtype)], True)
        except EngineError as error:
            cause = error.__cause__
            if cause is not None and (beyond or (isinstance(cause, AttributeError) and type(cause.obj) is np.ndarray)):
                raise cause from error
        except GradcheckError:
            return
        finally:
            self._spent, self._started = known

    def apply(self, op: Op, bound: tuple[Any, ...]) -> Any:
        self._spent = False
        return self.calls.apply(op, bound)

    # Gradients ----------------------------------------------------------------------------------

    def gradient(self, tensor: WrappedTensor) -> np.ndarray | None:
        if tensor.tensor is None or not (tensor.requires_grad or self.capabilities.spares_constants):
            return None
        if (found := self.raw_gradient(tensor)) is None:
            return None
        is_seed = found.size == 1 and any(tensor is one for one in self._started)
        if found.shape != tensor.shape and (is_seed or (found.ndim == 0 and not found)):
            return np.full(tensor.shape, found.item(), tensor.dtype)  # the 0 it began with, or a pass's 1
        found = self.told(found.reshape(()) if tensor.shape == () and found.size == 1 else found)
        is_exact = found.dtype != tensor.dtype and found.dtype.kind in "biuf" and np.array_equal(found, np.round(found))
        return found.astype(tensor.dtype) if is_exact else found.copy()

    def raw_gradient(self, tensor: WrappedTensor) -> np.ndarray | None:
        """The gradient as the class has it."""
        with translating("reading a gradient"):
            return self.api.gradient_array(tensor.tensor)

    def set_gradient(self, tensor: WrappedTensor, gradient: np.ndarray | None) -> None:
        if tensor.tensor is None or tensor.unread:
            return
        refuse_to_carry(self.api, gradient)
        new: Any = tensor.initial if gradient is None else gradient
        if gradient is not None and gradient.size == 1:  # a single number may have dimensions there
            new = gradient = gradient.reshape(np.shape(self.values_of(self.start_of(tensor))))
        if gradient is not None and self.api.keeps_tensors(tensor.tensor):
            new = self.api.make(gradient, False)
        with translating("setting a gradient"):
            self.api.set_gradient(tensor.tensor, new, gradient is None)

    def retain(self, tensor: WrappedTensor) -> None:
        """Ask the class to keep this gradient. What it cannot tell is not asked for: the graph stays as it is. An entry
        that is a leaf, which `double` gives back, has that leaf's."""
        if tensor.tensor is None or tensor.is_leaf:
            return
        if self._bare:
            tensor.unread = tensor.unread or self.api.is_told_to_keep(tensor.tensor)
        else:
            with translating("retain_grad()"):
                self.api.keep_gradient(tensor.tensor)
        self._retained.append(tensor)
        is_its_bases = self.api.is_view(tensor.tensor)
        tensor.unread = tensor.unread or is_its_bases or not self.capabilities.keeps_intermediates

    # Passes -------------------------------------------------------------------------------------

    def backward(self, roots: list[WrappedTensor], seeds: Seeds, retain_graph: bool) -> None:
        """One pass from all roots at once; where `backward` takes no gradient, from the sum of root times gradient."""
        self._refuse(roots, retain_graph)
        roots, seeds = self.starts(roots, seeds)
        can, was_started = self.capabilities, bool(self._started)
        for tensor in self._retained if was_started and not can.adds_to_intermediates else ():
            tensor.unread = True  # of an earlier pass nothing is left there
        is_anew = was_started and (not can.adds_to_roots or can.seed.startswith("assigned"))
        keep = retain_graph if self.api.retaining else None
        for root, seed in zip(roots, seeds, strict=True):
            start = self.start_of(root)
            root.unread = root.unread or not can.keeps_roots or is_anew
            self._started.append(root)
            with self._refusing(start), translating("backward()"):
                self.start(start, can, seed, keep)
        self._spent = True

    @contextmanager
    def _refusing(self, start: Any) -> Iterator[None]:
        """Raise Unsupported where the class itself refuses to begin at one element of other dimensions than its own
        totals have."""
        try:
            yield
        except EngineError as error:
            shape, refused = np.shape(self.values_of(start)), error.__cause__
            if prod(shape) != 1 or shape == self.capabilities.total or refused is None or not is_deliberate(refused):
                raise
            raise Unsupported(error.message, lacks=f"passes from a tensor of shape {list(shape)}") from error

    def start(self, root: Any, how: Capabilities, incoming: np.ndarray | None, keep: bool | None = None) -> None:
        """One backward pass of the class from one of its tensors. Raises whatever the class raises."""
        shape = np.shape(self.values_of(root))
        alone = how.starts_alone and (how.seed == "none" or prod(shape) != 1 or shape in (how.total, ()))
        if incoming is None and (how.seed.startswith("assigned") or not alone):
            incoming = np.ones(shape, how.dtype)
        if incoming is not None and incoming.size == 1:
            incoming = incoming.reshape(shape)
        given = () if incoming is None else seeded(self.api, how.seed, incoming)
        if incoming is not None and (new := assigned(self.api, how.seed, incoming)) is not None:
            self.api.set_gradient(root, new, False)
        self.api.backward(root, *given, keyword=how.keyword, retain_graph=keep)

    def values_of(self, root: Any) -> np.ndarray:
        """The values of one of the class's own tensors."""
        return self.api.read(root)

    def start_of(self, root: WrappedTensor) -> Any:
        """The object whose `backward` is called."""
        return root.tensor

    def _refuse(self, roots: list[WrappedTensor], retain_graph: bool) -> None:
        """Unsupported for passes that cannot be asked of this class."""
        if self._spent and not self.capabilities.keeps_graph:
            raise Unsupported(f"{self.name} keeps no graph after a backward pass", lacks="second passes over a graph")
        if not retain_graph and not self.api.retaining:
            raise Unsupported(f"{self.name} cannot be told to free a graph", lacks="retain_graph")
        if not self.api.flag and not all(root.requires_grad for root in roots):
            raise Unsupported(f"{self.name} cannot be told that no gradient is wanted", lacks="a flag for gradients")
        if any(root.tensor is None for root in roots):
            raise Unsupported("a backward pass from what is no tensor of the engine", lacks="passes from constants")

    def starts(self, roots: list[WrappedTensor], seeds: Seeds) -> tuple[list[WrappedTensor], Seeds]:
        """Roots and seeds as the class takes them: as they are, one total, or, on the bare graph, one after another."""
        if all(seed is None for seed in seeds) and len(roots) == 1:
            if roots[0].array.size != 1 and self.api.scalar:
                raise Unsupported("one number has no backward pass from several", lacks="tensors of several numbers")
            return roots, seeds
        can = self.capabilities
        takes_seed = can.seed != "none" and not self.api.scalar and not self._is_given(roots)
        if takes_seed and (len(roots) == 1 or self._bare):
            return roots, seeds
        if any(seed is None and root.array.size != 1 for root, seed in zip(roots, seeds, strict=True)):
            raise NonScalarBackward("a backward pass without a gradient from a tensor of several elements")
        if len(roots) == 1 and np.all(seeds[0] == 1) and (can.starts_with_ones or roots[0].array.size == 1):
            return roots, [None]
        return [self.total(roots, seeds)], [None]

    def _is_given(self, roots: list[WrappedTensor]) -> bool:
        """Whether the one root is what an op has made of a leaf by giving it back: some passes go from no leaf."""
        root = roots[0]
        return len(roots) == 1 and any(root.tensor is leaf.tensor and root is not leaf for _, leaf in self._given)

    def total(self, roots: list[WrappedTensor], seeds: Seeds) -> WrappedTensor:
        """The number whose gradients are those of all roots with their incoming gradients: the sum of their products,
        by no more of the class than that takes. Raises Unsupported where the class cannot compute it."""
        terms = []
        for root, seed in zip(roots, seeds, strict=True):
            ones = seed is None or np.all(seed == 1)
            term = root if ones else root * self.leaf(np.asarray(seed, root.dtype), False)
            is_summed = term.ndim and (len(roots) > 1 or not self.capabilities.starts_with_ones)
            terms.append(term.sum() if is_summed else term)
        return reduce(operator.add, terms)
