"""Where the core's two ways differ: its short one (plans) and its general one, which is the definition.

They give the same bits of arrays that lie row by row, and a test holds them to that. Where a failure looks like
rounding, since what rounds goes the general way, it is asked whether they do here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd import dtypes, grad
from gradcheck.autograd.compiled.binary_fast_path import PAIRED
from gradcheck.autograd.dtypes import largest_finite, wide
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.autograd.operators import Operators
from gradcheck.autograd.tensor import Tensor
from gradcheck.engines.base import Application
from gradcheck.engines.core import applications_of
from gradcheck.engines.recording import rebuild
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.problem import Problem

#: What is less of the largest element may be the order of a sum, in any precision that has a short way.
_LAST_BITS = 1e-4


class _General(Tensor):
    """A tensor that no plan knows."""

    __slots__ = ()
    __add__, __sub__ = Operators.__add__, Operators.__sub__
    __mul__, __truediv__ = Operators.__mul__, Operators.__truediv__


def where_ways_differ(problem: Problem) -> Fact | None:
    """The first op of a problem's graph that comes out, or is pulled back, otherwise by the core's short way than by
    its general one; None where there is none."""
    with using_default_dtype(dtypes.real_of(problem.dtype)):
        found = (ways_differ(application) for application in applications_of(problem))
        return next(filter(None, found), None)


def ways_differ(application: Application) -> Fact | None:
    """That they differ for this application of an op; None where they do not."""
    with quiet():
        short, general = _outcome(Tensor, application), _outcome(_General, application)
    if len(short) == len(general) and all(map(_same, short, general)):
        return None
    return fact("two_ways_differ", op=application.op.name, owner=application.owner)


def _same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    """Whether two arrays are one but for last bits, which depend on how an array lies in memory."""
    if one is None or other is None or one.dtype != other.dtype or one.shape != other.shape:
        return one is other
    if not dtypes.is_differentiable(one.dtype):
        return np.array_equal(one, other)
    return np.allclose(wide(one), wide(other), rtol=0, atol=_LAST_BITS * largest_finite(other), equal_nan=True)


def _outcome(kind: type[Tensor], application: Application) -> list[np.ndarray | None]:
    """Results, and the gradients for incoming ones of 1."""
    op, leaves = application.op, []

    def leaf(array: np.ndarray) -> Tensor:
        leaves.append(kind(array, dtypes.is_differentiable(array.dtype)))
        return leaves[-1]

    args, kwargs = rebuild(application.args, application.kwargs, leaf, dtypes.BY_NAME.__getitem__)
    try:
        is_pair = kind is Tensor and op.name in PAIRED and len(args) == 2 and not kwargs and type(args[0]) is Tensor
        made: Any = PAIRED[op.name](*args) if is_pair else op(*args, **kwargs)
        parts = [part for part in (made if isinstance(made, tuple) else (made,)) if isinstance(part, Tensor)]
        roots = [part for part in parts if part.requires_grad and part.creation_op is not None]
        wanted = [leaf for leaf in leaves if leaf.requires_grad]
        found = grad(roots, wanted, [np.ones_like(root.data) for root in roots]) if roots else ()
    except GradcheckError:
        return []
    return [part.data for part in parts] + [None if one is None else one.data for one in found]
