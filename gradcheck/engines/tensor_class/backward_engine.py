"""Backward passes of a Tensor class: from which of its objects, and with which incoming gradients, they are begun."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from gradcheck.engines.tensor_class.api import Api
from gradcheck.engines.tensor_class.call_forms import Library
from gradcheck.engines.tensor_class.capabilities import Capabilities, assigned_seed, seed_arguments
from gradcheck.engines.tensor_class.foreign_engine import ForeignEngine
from gradcheck.engines.tensor_class.user_code_guard import EngineError, is_deliberate, translate_errors
from gradcheck.engines.tensor_class.wrapped_tensor import WrappedTensor
from gradcheck.errors import NonScalarBackward, Unsupported

Seeds = list[np.ndarray | None]


class BackwardEngine(ForeignEngine):
    """A library whose tensors run their own passes, as an `Api` says."""

    def __init__(self, api: Api, name: str, library: Library) -> None:
        super().__init__(name, api.name, library)
        self.api = api
        self._pass_roots: list[WrappedTensor] = []  # where passes over this graph have begun
        self._retained: list[WrappedTensor] = []  # what is no leaf, and has been asked to keep its gradient
        self._is_graph_used = False  # whether a backward pass has gone through all that has been computed
        self._is_bare = False  # whether nothing is asked of the class but what the case takes

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What its backward pass takes and keeps."""

    def new_graph(self) -> None:
        super().new_graph()
        self._pass_roots, self._retained = [], []

    def backward(self, roots: list[WrappedTensor], seeds: Seeds, retain_graph: bool) -> None:
        """One pass from all roots at once; where `backward` takes no gradient, from the sum of root times gradient."""
        self._check_supported(roots, retain_graph)
        roots, seeds = self.starts(roots, seeds)
        can, was_started = self.capabilities, bool(self._pass_roots)
        for tensor in self._retained if was_started and not can.adds_to_intermediates else ():
            tensor.unread = True  # of an earlier pass nothing is left there
        is_anew = was_started and (not can.adds_to_roots or can.seed.startswith("assigned"))
        keep = retain_graph if self.api.retain_parameter else None
        for root, seed in zip(roots, seeds, strict=True):
            start = self.start_of(root)
            root.unread = root.unread or not can.keeps_roots or is_anew
            self._pass_roots.append(root)
            with self._refusal_as_unsupported(start), translate_errors("backward()"):
                self.start(start, can, seed, keep)
        self._is_graph_used = True

    @contextmanager
    def _refusal_as_unsupported(self, start: Any) -> Iterator[None]:
        """Raise Unsupported where the class itself refuses to begin at one element of other dimensions than its own
        totals have."""
        try:
            yield
        except EngineError as error:
            shape, refused = np.shape(self.values_of(start)), error.__cause__
            if (
                prod(shape) != 1
                or shape == self.capabilities.total_shape
                or refused is None
                or not is_deliberate(refused)
            ):
                raise
            raise Unsupported(error.message, lacks=f"passes from a tensor of shape {list(shape)}") from error

    def start(self, root: Any, how: Capabilities, incoming: np.ndarray | None, keep: bool | None = None) -> None:
        """One backward pass of the class from one of its tensors. Raises whatever the class raises."""
        shape = np.shape(self.values_of(root))
        alone = how.starts_alone and (how.seed == "none" or prod(shape) != 1 or shape in (how.total_shape, ()))
        if incoming is None and (how.seed.startswith("assigned") or not alone):
            incoming = np.ones(shape, how.dtype)
        if incoming is not None and incoming.size == 1:
            incoming = incoming.reshape(shape)
        given = () if incoming is None else seed_arguments(self.api, how.seed, incoming)
        if incoming is not None and (new := assigned_seed(self.api, how.seed, incoming)) is not None:
            self.api.set_gradient(root, new, False)
        self.api.backward(root, *given, keyword=how.keyword, retain_graph=keep)

    def values_of(self, root: Any) -> np.ndarray:
        """The values of one of the class's own tensors."""
        return self.api.read(root)

    def start_of(self, root: WrappedTensor) -> Any:
        """The object whose `backward` is called."""
        return root.tensor

    def _check_supported(self, roots: list[WrappedTensor], retain_graph: bool) -> None:
        """Unsupported for passes that cannot be asked of this class."""
        if self._is_graph_used and not self.capabilities.keeps_graph:
            raise Unsupported(f"{self.name} keeps no graph after a backward pass", lacks="second passes over a graph")
        if not retain_graph and not self.api.retain_parameter:
            raise Unsupported(f"{self.name} cannot be told to free a graph", lacks="retain_graph")
        if not self.api.grad_flag and not all(root.requires_grad for root in roots):
            raise Unsupported(f"{self.name} cannot be told that no gradient is wanted", lacks="a flag for gradients")
        if any(root.tensor is None for root in roots):
            raise Unsupported("a backward pass from what is no tensor of the engine", lacks="passes from constants")

    def starts(self, roots: list[WrappedTensor], seeds: Seeds) -> tuple[list[WrappedTensor], Seeds]:
        """Roots and seeds as the class takes them: as they are, one total, or, on the bare graph, one after another."""
        if all(seed is None for seed in seeds) and len(roots) == 1:
            if roots[0].array.size != 1 and self.api.is_scalar:
                raise Unsupported("one number has no backward pass from several", lacks="tensors of several numbers")
            return roots, seeds
        can = self.capabilities
        takes_seed = can.seed != "none" and not self.api.is_scalar and not self._is_given(roots)
        if takes_seed and (len(roots) == 1 or self._is_bare):
            return roots, seeds
        if any(seed is None and root.array.size != 1 for root, seed in zip(roots, seeds, strict=True)):
            raise NonScalarBackward("a backward pass without a gradient from a tensor of several elements")
        if len(roots) == 1 and np.all(seeds[0] == 1) and (can.starts_with_ones or roots[0].array.size == 1):
            return roots, [None]
        return [self.total(roots, seeds)], [None]

    def _is_given(self, roots: list[WrappedTensor]) -> bool:
        """Whether the one root is what an op has made of a leaf by giving it back: some passes go from no leaf."""
        root = roots[0]
        return len(roots) == 1 and any(root.tensor is leaf.tensor and root is not leaf for _, leaf in self._leaf_arrays)

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
