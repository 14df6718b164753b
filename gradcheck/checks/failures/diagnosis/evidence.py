"""What a hypothesis is given: one point at which a gradient is wrong, and all that is known of how it came about."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from gradcheck.autograd.dtypes import largest_finite
from gradcheck.checks.closeness.nearly_equal import nearly_equal, rounding_tolerance
from gradcheck.checks.closeness.tolerance import Tolerance
from gradcheck.engines.base import Application
from gradcheck.engines.recording import arrays, rebuild
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact

#: `ask(application, cotangents)`: the right gradients of an op alone, as the reference has them; empty where it raises.
ReferencePullback = Callable[[Application, Sequence[np.ndarray | None]], Sequence[np.ndarray | None]]


def with_arrays(application: Application, tensors: Sequence[np.ndarray]) -> Application:
    """The same op over other arrays, in the order of `arrays`."""
    rest = iter(tensors)
    args, kwargs = rebuild(application.args, application.kwargs, lambda _: next(rest), np.dtype)
    return replace(application, args=args, kwargs=kwargs, recorded=None)


@dataclass(frozen=True, slots=True)
class Rule:
    """One op applied alone: which of its tensors' gradients is wrong, and what went in and came out."""

    application: Application
    position: int  # of the tensor among the arrays of the arguments
    index: int  # of its gradient among those that the op's tensors get
    cotangents: tuple[np.ndarray | None, ...]
    right_gradients: tuple[np.ndarray | None, ...]  # the right gradients of all its tensors
    reference_pullback: ReferencePullback

    @property
    def tensors(self) -> list[np.ndarray]:
        """All arrays among the arguments."""
        return list(arrays(self.application.args, self.application.kwargs))

    @property
    def tensor(self) -> np.ndarray:
        """The argument whose gradient is wrong."""
        return self.tensors[self.position]

    @property
    def incoming(self) -> np.ndarray | None:
        """The incoming gradient, of an op with one output."""
        return self.cotangents[0] if len(self.cotangents) == 1 else None

    @property
    def output(self) -> np.ndarray | None:
        """The result, of an op with one output."""
        application = self.application
        data = getattr(application.recorded, "data", application.recorded)
        if application.recorded is None:
            try:
                data = application.op(*application.args, **application.kwargs)
            except GradcheckError:
                return None
        return data if isinstance(data, np.ndarray) else None

    def gradient_with_tensors(self, changed: Mapping[int, np.ndarray]) -> np.ndarray | None:
        """The gradient if some tensors were others, by position."""
        return self.right_gradient(self.application_with(changed))

    def application_with(self, changed: Mapping[int, np.ndarray]) -> Application:
        """The application with other tensors at some positions."""
        return with_arrays(self.application, [changed.get(i, array) for i, array in enumerate(self.tensors)])

    def right_gradient(
        self, application: Application, cotangents: Sequence[np.ndarray | None] | None = None
    ) -> np.ndarray | None:
        """The right gradient of the same tensor in another application, or for other incoming gradients."""
        found = self.reference_pullback(application, self.cotangents if cotangents is None else cotangents)
        return found[self.index] if self.index < len(found) else None


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a tensor by an op, and what the tensor's gradient receives from it. A root's incoming gradient has
    neither op nor owner."""

    op: str
    owner: str  # the graph entry in which the use stands
    argument: int  # which tensor of the op it is, from 0
    share: np.ndarray
    #: What the share would be if the op's result had passed on a part of its gradient: when, and the numbers.
    partial: tuple[tuple[Fact, np.ndarray], ...] = ()

    @property
    def origin(self) -> Fact:
        """Where it comes from, as is to be said: `matmul at r`."""
        return contribution_origin(self.op, self.owner)


def contribution_origin(op: str, entry: str) -> Fact:
    """Where a contribution comes from: an op at a graph entry, or the incoming gradient of a root (no op)."""
    return fact("op_at", op=op, entry=entry) if op else fact("incoming_at_root")


@dataclass(frozen=True, slots=True)
class Evidence:
    """One point. `got` is what somebody says, `want` what is right; the rest is there as far as it is known."""

    got: np.ndarray | None
    want: np.ndarray
    #: The largest magnitude before contributions cancel; roundings are relative to it.
    scale: float = 0.0
    #: How closely, relative to the tensor's largest element, `got` is known: what a person wrote down was rounded.
    rounding_rtol: float = 0.0
    #: A person claims it, who saves and overwrites nothing.
    is_stated: bool = False
    rule: Rule | None = None
    uses: tuple[Use, ...] = ()
    #: What the tensor held before this pass, or before it was to be cleared.
    earlier: np.ndarray | None = None
    #: The right gradients of the case's other tensors.
    others: Mapping[str, np.ndarray] = field(default_factory=dict)
    #: What the same engine has for the case's other tensors, right or wrong.
    engine_gradients: Mapping[str, np.ndarray] = field(default_factory=dict)
    #: Whether this is where the pass starts, so that the gradient is the one that was given.
    is_root: bool = False
    #: What the gradient would be with other gradients above it, such as ones at the root: by what they are.
    reseeded: Mapping[Fact, np.ndarray] = field(default_factory=dict)
    #: What the gradient would be with a path of the graph cut: by the path.
    without_path: Mapping[Fact, np.ndarray] = field(default_factory=dict)

    @property
    def got_or_zeros(self) -> np.ndarray:
        """`got`, or zeros where no gradient arrived."""
        return np.zeros_like(self.want) if self.got is None else self.got

    def agree(self, one: np.ndarray, other: np.ndarray) -> bool:
        """Whether two versions of the gradient are equal but for the rounding of a right computation: of the coarser
        of the dtypes that were seen and wanted, relative to each element, and in the last places of what is added up.
        NaN agrees with NaN."""
        scale = max(largest_finite(other), largest_finite(self.want), self.scale)
        known = rounding_tolerance(self.got_or_zeros.dtype, self.want.dtype, scale=scale)
        return nearly_equal(one, other, Tolerance(known.rtol, max(known.atol, self.rounding_rtol * scale)))


class Guess(NamedTuple):
    """What a mistake would give. Guesses of one hypothesis with the same key, at different points, are the same."""

    key: Hashable
    fact: Fact
    predicted: Any
    is_proof: bool = True  # whether that the numbers fit is proof; not where they merely have the right size
