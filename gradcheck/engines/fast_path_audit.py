"""Comparison of the core's fast path with its definition, for one graph.

Both give the same bits for contiguous arrays, which a test checks. If a failure looks like rounding, gradcheck
computes each op both ways on this machine, since only the definition is used to estimate rounding.
"""

from __future__ import annotations

import numpy as np

from gradcheck.autograd import dtypes, grad
from gradcheck.autograd.dtypes import largest_finite, wide
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.autograd.tensor import Tensor
from gradcheck.engines.base import Application
from gradcheck.engines.core import applications_of
from gradcheck.engines.recording import rebuild
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.problem import Problem

#: A smaller difference, relative to the largest element, may come from the order of a sum, in any accelerated dtype.
_LAST_BITS = 1e-4


class _GeneralTensor(Tensor):
    """A tensor without a fast path: only ops on exactly `Tensor` have one."""

    __slots__ = ()


def first_difference(problem: Problem) -> Fact | None:
    """Return the first op whose value or gradient differs on the fast path."""
    with using_default_dtype(dtypes.real_of(problem.dtype)):
        found = (difference(application) for application in applications_of(problem))
        return next(filter(None, found), None)


def difference(application: Application) -> Fact | None:
    """Return the fact that an op differs on the fast path, if it does."""
    with quiet():
        fast, general = _outcome(Tensor, application), _outcome(_GeneralTensor, application)
    if len(fast) == len(general) and all(map(_same, fast, general)):
        return None
    return fact("fast_path_differs", op=application.op.name, owner=application.owner)


def _same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    """Return whether arrays agree up to last bits, which vary with layout."""
    if one is None or other is None or one.dtype != other.dtype or one.shape != other.shape:
        return one is other
    if not dtypes.is_differentiable(one.dtype):
        return np.array_equal(one, other)
    return np.allclose(wide(one), wide(other), rtol=0, atol=_LAST_BITS * largest_finite(other), equal_nan=True)


def _outcome(kind: type[Tensor], application: Application) -> list[np.ndarray | None]:
    """Return results and gradients for cotangents of 1; [] if the op raises."""
    op, leaves = application.op, []

    def leaf(array: np.ndarray) -> Tensor:
        leaves.append(kind(array, dtypes.is_differentiable(array.dtype)))
        return leaves[-1]

    args, kwargs = rebuild(application.args, application.kwargs, leaf, dtypes.BY_NAME.__getitem__)
    try:
        made = op(*args, **kwargs)
        parts = [part for part in (made if isinstance(made, tuple) else (made,)) if isinstance(part, Tensor)]
        roots = [part for part in parts if part.requires_grad and part.creation_op is not None]
        wanted = [leaf for leaf in leaves if leaf.requires_grad]
        found = grad(roots, wanted, [np.ones_like(root.data) for root in roots]) if roots else ()
    except GradcheckError:
        return []
    return [part.data for part in parts] + [None if one is None else one.data for one in found]
