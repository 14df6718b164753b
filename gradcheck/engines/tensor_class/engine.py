"""Anybody's Tensor class as an engine: ops find their way to its operators, methods and functions."""

from __future__ import annotations

import operator
import sys
from functools import reduce
from types import ModuleType
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import Op
from gradcheck.engines.tensor_class.api import Api
from gradcheck.engines.tensor_class.call_forms import Library
from gradcheck.engines.tensor_class.calls import Calls
from gradcheck.engines.tensor_class.capabilities import UNKNOWN, Capabilities, capabilities_of, seeded
from gradcheck.engines.tensor_class.dialects import SUBMODULES
from gradcheck.engines.tensor_class.foreign import ForeignEngine, WrappedTensor
from gradcheck.engines.tensor_class.guard import translating
from gradcheck.errors import NonScalarBackward, Unsupported

Seeds = list[np.ndarray | None]


class TensorClassEngine(ForeignEngine):
    """A Tensor class, used by its `Api`."""

    def __init__(self, api: Api, name: str) -> None:
        super().__init__(name, api.name, Library((*_modules(api), api.tensor_type)))
        self.api = api
        self.calls = Calls(self)
        self._capabilities: Capabilities | None = None
        self._spent = False  # whether a backward pass has gone through all that has been computed

    @property
    def capabilities(self) -> Capabilities:
        """What its backward pass takes and keeps: learned while the first case runs, and on its time."""
        if self._capabilities is None:
            self._capabilities = UNKNOWN  # what an endless loop leaves behind
            self._capabilities = capabilities_of(self.api)
        return self._capabilities

    # Tensors ------------------------------------------------------------------------------------

    def make(self, array: np.ndarray, requires_grad: bool) -> Any:
        return self.api.make(array, requires_grad)

    def is_tensor(self, value: Any) -> bool:
        return self.api.is_tensor(value)

    def values(self, tensor: Any) -> np.ndarray:
        return self.api.read(tensor)

    def wrap(self, tensor: Any, values: np.ndarray, requires_grad: bool) -> WrappedTensor:
        """With what it has for a gradient before any has arrived."""
        initial = self.api.gradient(tensor) if requires_grad else None
        return WrappedTensor(self, tensor, np.array(values), requires_grad, initial)

    def apply(self, op: Op, bound: tuple[Any, ...]) -> Any:
        self._spent = False
        return self.calls.apply(op, bound)

    # Gradients ----------------------------------------------------------------------------------

    def gradient(self, tensor: WrappedTensor) -> np.ndarray | None:
        owner = tensor if tensor.probe is None else tensor.probe
        if owner.tensor is None or not (owner.requires_grad or self.api.flag):
            return None
        with translating("reading a gradient"):
            found = self.api.gradient_array(owner.tensor)
        if found is None:
            return None
        if found.ndim == 0 and tensor.ndim and not found:
            return np.zeros(tensor.shape, tensor.dtype)  # the 0 that it began with
        is_number = found.ndim == 0 and not isinstance(self.api.gradient(owner.tensor), np.ndarray)
        return found.astype(tensor.dtype) if is_number else found.copy()

    def set_gradient(self, tensor: WrappedTensor, gradient: np.ndarray | None) -> None:
        owner = tensor if tensor.probe is None else tensor.probe
        if owner.tensor is None:
            return
        new: Any = owner.initial if gradient is None else gradient
        if gradient is not None and self.api.is_tensor(self.api.gradient(owner.tensor)):
            new = self.api.make(gradient, False)
        with translating("setting a gradient"):
            self.api.set_gradient(owner.tensor, new, gradient is None)

    def retain(self, tensor: WrappedTensor) -> None:
        """Ask the class to keep this gradient, or listen in with a leaf of zeros."""
        if tensor.tensor is None:
            return
        if self.api.is_view(tensor.tensor):  # it has its base's gradient
            with translating("a multiplication by 1"):
                tensor.tensor = tensor.tensor * 1
        with translating("retain_grad()"):
            self.api.keep_gradient(tensor.tensor)
        if dtypes.is_differentiable(tensor.dtype):
            self.probe(tensor)

    def probe(self, tensor: WrappedTensor) -> None:
        """Add a leaf of zeros, whose gradient is the tensor's own, where the class keeps none."""
        if self.capabilities.keeps_intermediates or tensor.probe is not None:
            return
        probe = self.new(np.zeros_like(tensor.array), True)
        tensor.tensor = (tensor + probe).tensor
        tensor.probe = probe

    # Passes -------------------------------------------------------------------------------------

    def backward(self, roots: list[WrappedTensor], seeds: Seeds, retain_graph: bool) -> None:
        """One pass from all roots at once; where `backward` takes no gradient, from the sum of root times gradient."""
        self._refuse(roots, retain_graph)
        roots, seeds = self._starts(roots, seeds)
        keep = retain_graph if self.api.retaining else None
        for root, seed in zip(roots, seeds, strict=True):
            start = self.start_of(root)
            with translating("backward()"):
                given = () if seed is None else seeded(self.api, self.capabilities.seed, seed)
                self.api.backward(start, *given, retain_graph=keep)
        self._spent = True

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

    def _starts(self, roots: list[WrappedTensor], seeds: Seeds) -> tuple[list[WrappedTensor], Seeds]:
        """Roots and seeds as the class takes them: as they are, or one total."""
        if all(seed is None for seed in seeds) and len(roots) == 1:
            if roots[0].array.size != 1 and self.api.scalar:
                raise Unsupported("one number has no backward pass from several", lacks="tensors of several numbers")
            return roots, seeds
        takes_seed = self.capabilities.seed != "none"
        if takes_seed and len(roots) == 1:
            return roots, seeds
        if any(seed is None and root.array.size != 1 for root, seed in zip(roots, seeds, strict=True)):
            raise NonScalarBackward("a backward pass without a gradient from a tensor of several elements")
        try:
            return [self.total(roots, seeds)], [None]
        except Unsupported:
            if not takes_seed:
                raise
            return roots, seeds

    def total(self, roots: list[WrappedTensor], seeds: Seeds) -> WrappedTensor:
        """The number whose gradients are those of all roots with their incoming gradients: the sum of their products.
        Raises Unsupported where the class cannot compute it."""
        terms = []
        for root, seed in zip(roots, seeds, strict=True):
            term = root if seed is None else root * self.leaf(seed.astype(root.dtype), False)
            terms.append(term.sum() if term.ndim else term)
        return reduce(operator.add, terms)


def _modules(api: Api) -> list[ModuleType]:
    """Where functions on its tensors may be: the package, the class's own module, submodules by usual names."""
    homes = dict.fromkeys(getattr(thing, "__module__", "") or "" for thing in (api.constructor, api.tensor_type))
    names: dict[str, None] = {}
    for home in homes:
        for base in dict.fromkeys((home.partition(".")[0], home, home.rpartition(".")[0])):
            if base and base != "builtins":
                names |= dict.fromkeys((base, *(f"{base}.{sub}" for sub in SUBMODULES)))
    return [sys.modules[name] for name in names if name in sys.modules]
