"""The engine of a Tensor class that holds arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.engines.base import Evaluation
from gradcheck.engines.recording import Recorder
from gradcheck.engines.tensor_class.api import Api
from gradcheck.engines.tensor_class.backward_engine import BackwardEngine, line_of_mistake
from gradcheck.engines.tensor_class.call_forms import CallForm, Library, Shape
from gradcheck.engines.tensor_class.capabilities import UNKNOWN, Capabilities, check_can_accumulate, class_conventions
from gradcheck.engines.tensor_class.capability_learning import learn_capabilities
from gradcheck.engines.tensor_class.dialects import RETAIN_METHODS
from gradcheck.engines.tensor_class.hypotheses import has_right_complex_gradients
from gradcheck.engines.tensor_class.members import method_of
from gradcheck.engines.tensor_class.user_code_guard import EngineError, Output, error_line, translate_errors
from gradcheck.engines.tensor_class.wrapped_tensor import WrappedTensor
from gradcheck.errors import GradcheckError, Place, Unsupported
from gradcheck.facts import Fact, fact
from gradcheck.language.problem import Problem

#: What is learned of a class by its gradients, besides its passes.
LEARNED_FIELDS = ("grad_flag", "grad_flag_value", "keeping_flag", "needs_lists", "needs_arrays", "clearing_name")
#: A class with so many ops that never return is not tried again.
MOST_ENDLESS = 2


class TensorClassEngine(BackwardEngine):
    """A Tensor class, used through its `Api`."""

    lifts = True

    def __init__(self, api: Api, name: str) -> None:
        super().__init__(api, name, Library((*api.modules(), api.tensor_type)))
        api.leaves = self.leaves
        self._capabilities: Capabilities | None = None
        self._complex: bool | None = None  # whether gradients of complex numbers are torch's; None if not tested yet
        self.provided: tuple[Fact, ...] = ()  # stand-ins for its imports
        self.spec = ""  # the user's text for it, if any
        self.leaves_something = False  # whether cases after a pass that raises fail for that reason

    @property
    def capabilities(self) -> Capabilities:
        """The properties of its backward pass, learned during the first case."""
        if self._capabilities is None:
            self._capabilities, known = UNKNOWN, len(self.calls.lookup.endless)  # while it is learned
            try:
                with Output().capturing():  # drop printed text
                    self._capabilities = learn_capabilities(self)
            except BaseException as error:  # a timeout: the next case learns again, without the endless op
                endless = self.calls.lookup.endless
                whole = known < len(endless) < MOST_ENDLESS
                why = " and ".join(endless.values()) or f"{error_line(error)}, while it was looked at"
                self._capabilities = None if whole else replace(UNKNOWN, not_understood=why)
                raise
            self._use_numpy_functions()
            self.api.failed_passes = 0  # those of hypotheses: half of all classes refuse some
            self.new_graph()
        return self._capabilities

    def use_like(self, other: TensorClassEngine) -> None:
        """Use the class as another engine has learned it; no pass runs for that.

        A pass that is no method belongs to the other one's modules: it is learned again."""
        if other.api.pass_runner is not None:
            return
        for name in LEARNED_FIELDS:
            setattr(self.api, name, getattr(other.api, name))
        self._capabilities = other.capabilities
        self.use_dtype(other.capabilities.dtype)
        self._use_numpy_functions()

    def _use_numpy_functions(self) -> None:
        if self.capabilities.answers_numpy:
            self.library = self.library._replace(fallback_modules=(np,))
            self.forget_forms()

    def evaluate(self, problem: Problem, recorder: Recorder | None = None) -> Evaluation:
        """Evaluate a problem, again if ops were tried.

        An exception counts only if the bare graph raises it, too."""
        known = self.calls.lookup.known
        found = super().evaluate(problem, recorder)
        if self.calls.lookup.known != known:
            found = super().evaluate(problem, recorder)
        if self._is_bare or found.error is None or found.error.kind != EngineError.kind:
            return found
        again = self.evaluate_bare(problem)
        return found if again.error is not None and again.error.kind == found.error.kind else again

    def comparisons(self) -> AbstractContextManager[SimpleNamespace]:
        """Count comparisons of its objects in the block."""
        return count_comparisons(self.library.modules)

    def line_of_mistake(self, kind: str, problem: Problem) -> Place | None:
        """Return the line of the pass that makes a mistake, or its beginning."""
        names = {self.api.gradient_name, self.api.gradient_field} - {""}
        return line_of_mistake(kind, names, self.api.pass_function, lambda: self.evaluate_bare(problem))

    # Tensors ------------------------------------------------------------------------------------

    def make(self, array: np.ndarray, requires_grad: bool) -> Any:
        can = self.capabilities
        shaped = array.reshape(can.total_shape) if array.ndim == 0 else array
        return self.api.make(shaped, requires_grad or can.tracks_constants)

    def leaf(self, array: np.ndarray, requires_grad: bool) -> WrappedTensor:
        """Return a tensor of the class. Raises Unsupported if not understood."""
        if self.capabilities.not_understood:
            raise Unsupported("not understood, as the end of the report says")
        if array.dtype.kind == "c" and not self._has_complex_gradients:
            message = f"gradients of complex numbers are not torch's in {self.name}: a product's factors are conjugated"
            raise Unsupported(message, lacks="complex numbers")
        return super().leaf(array, requires_grad)

    @property
    def _has_complex_gradients(self) -> bool:
        """True if gradients of a complex product are torch's; tested once."""
        if self._complex is None:
            self._complex = True  # during the test
            known = self._is_graph_used, list(self._pass_roots)
            self._complex = has_right_complex_gradients(self)
            self._is_graph_used, self._pass_roots = known
        return self._complex

    @property
    def conventions(self) -> tuple[Fact, ...]:
        """The class's intended deviations from torch; empty before the first case."""
        if self._capabilities is None:
            return ()
        return (*class_conventions(self._capabilities, self.api.is_scalar), *self._other_pass(), *self.provided)

    def _other_pass(self) -> Iterator[Fact]:
        """Yield what to know of passes that are not run as the class's method."""
        if self.leaves_something:
            yield fact("leaves_something")
        name = getattr(getattr(self.api.pass_runner, "function", None), "__name__", "another function")
        if self.api.pass_runner is not None and self.api.backward_name not in ("", name):
            yield fact("passes_run_by", name=name, method=self.api.backward_name)

    @property
    def own_dtype(self) -> str:
        """The dtype in which the class computes."""
        return self.capabilities.dtype

    def is_tensor(self, value: Any) -> bool:
        return self.api.is_tensor(value)

    def values(self, tensor: Any) -> np.ndarray:
        return self.api.read(tensor)

    def wrap(self, tensor: Any, values: np.ndarray, requires_grad: bool) -> WrappedTensor:
        """Return a wrapped tensor with the gradient that it has before any pass."""
        initial = self.api.initial_gradient(tensor) if requires_grad else None
        return WrappedTensor(self, tensor, np.array(self.compared_values(values)), requires_grad, initial)

    def check_backward(self, form: CallForm, given: list[Any], shape: Shape, beyond: bool) -> None:
        """Raise the exception of a backward pass that shows a missing feature.

        It is of a form that is `beyond` the library's purpose; or of a mask or an index given as an array, if the
        pass needs an attribute that only tensors have."""
        is_learning = self._capabilities is None or self._capabilities is UNKNOWN
        is_asked = beyond or any(type(value) is np.ndarray for value in given)
        if not is_asked or is_learning or self.api.is_scalar or self.api.pass_runner is not None:
            return
        result = form.call(self.library, given, shape)
        if not self.is_tensor(result):
            return
        known = self._is_graph_used, list(self._pass_roots)
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
            self._is_graph_used, self._pass_roots = known

    def apply(self, op: Op, bound: tuple[Any, ...]) -> Any:
        self._is_graph_used = False
        return self.calls.apply(op, bound)

    # Gradients ----------------------------------------------------------------------------------

    def gradient(self, tensor: WrappedTensor) -> np.ndarray | None:
        if tensor.tensor is None or not (tensor.requires_grad or self.capabilities.constants_lack_gradients):
            return None
        if (found := self.raw_gradient(tensor)) is None:
            return None
        is_seed = found.size == 1 and any(tensor is one for one in self._pass_roots)
        if found.shape != tensor.shape and (is_seed or (found.ndim == 0 and not found)):
            return np.full(tensor.shape, found.item(), tensor.dtype)  # an initial 0, or the 1 of a pass
        found = self.compared_values(found.reshape(()) if tensor.shape == () and found.size == 1 else found)
        is_exact = found.dtype != tensor.dtype and found.dtype.kind in "biuf" and np.array_equal(found, np.round(found))
        return found.astype(tensor.dtype) if is_exact else found.copy()

    def set_gradient(self, tensor: WrappedTensor, gradient: np.ndarray | None) -> None:
        if tensor.tensor is None or tensor.unread:
            return
        check_can_accumulate(self.api, gradient)
        new: Any = tensor.initial if gradient is None else gradient
        if gradient is not None and gradient.size == 1:  # a single number may have dimensions there
            new = gradient = gradient.reshape(np.shape(self.values_of(self.start_of(tensor))))
        if gradient is not None and self.api.keeps_tensors(tensor.tensor):
            new = self.api.make(gradient, False)
        with translate_errors("setting a gradient"):
            self.api.set_gradient(tensor.tensor, new, gradient is None)

    def retain(self, tensor: WrappedTensor) -> None:
        """Have the class keep this gradient, if it can; the graph does not change.

        A returned leaf, as of `double`, already has its own."""
        if tensor.tensor is None or tensor.is_leaf:
            return
        with translate_errors("retain_grad()"):
            retain = method_of(tensor.tensor, RETAIN_METHODS)
            if retain is not None and not self._is_bare:
                retain()
        tensor.unread = tensor.unread or (self._is_bare and retain is not None)
        self._retained.append(tensor)
        is_its_bases = self.api.is_view(tensor.tensor)
        tensor.unread = tensor.unread or is_its_bases or not self.capabilities.keeps_intermediates


# Comparisons of objects ---------------------------------------------------------------------------


@contextmanager
def count_comparisons(homes: Sequence[Any]) -> Iterator[SimpleNamespace]:
    """Give the `number` of comparisons of these classes, or modules' classes."""
    count = SimpleNamespace(number=0)

    def is_same(self: object, other: object) -> Any:
        count.number += 1
        return True if self is other else NotImplemented

    names = ((kind, {name for above in kind.__mro__[:-1] for name in vars(above)}) for kind in _classes(homes))
    changed = [kind for kind, own in names if own.isdisjoint({"__eq__", "__hash__"})]
    try:
        for kind in changed:
            kind.__eq__ = is_same  # type: ignore[assignment]  # its hash stays
        yield count
    finally:
        for kind in changed:
            if kind.__dict__.get("__eq__") is is_same:
                del kind.__eq__


def _classes(homes: Sequence[Any]) -> list[type]:
    """Return classes, and those defined in the modules."""
    found: dict[type, None] = {}
    for home in homes:
        if isinstance(home, ModuleType):
            own = (value for value in vars(home).values() if getattr(value, "__module__", None) == home.__name__)
            found |= {value: None for value in own if type(value) is type}
        elif type(home) is type:
            found[home] = None
    return list(found)
