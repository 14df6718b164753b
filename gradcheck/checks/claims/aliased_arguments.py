"""Check ops whose arguments are one tensor, as in `a - a`.

The check of ops alone gives each argument a tensor of its own. An engine that identifies uses by their tensor, or has
a short cut for a repeated one, is wrong only if arguments are shared. An engine that adds up the uses of any tensor
wrongly is not reported here: its gradients fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.modes import quiet
from gradcheck.checks.closeness.compare import agree
from gradcheck.checks.closeness.conditioning import allowances
from gradcheck.checks.closeness.tolerance import Tolerance, epsilon
from gradcheck.engines.base import Application, Cotangents, Engine, Pullback, own_dtype
from gradcheck.engines.core import Core
from gradcheck.engines.recording import arrays
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import literal_problem

#: The smallest error, relative to the magnitudes of the summands: a lost or doubled use.
_FAR = 0.05
#: The same error, relative to the sum itself, which is no larger.
_NEAR = Tolerance(_FAR)


def wrong_where_aliased(
    applications: Sequence[Application],
    cotangents: Sequence[Cotangents],
    apart: Sequence[Pullback],
    checked: tuple[Engine, np.dtype],
) -> Iterator[tuple[str, int]]:
    """Yield owner and number of each op that is wrong if arguments are shared.

    `apart` are the reference's pullbacks with a tensor for each argument, `checked` the engine and the case's dtype.
    """
    engine, dtype = checked
    groups = dict(_aliased_applications(applications))
    if not groups:
        return
    shared = [replace(applications[n], shared=True, recorded=None) for n in groups]
    found = engine.pull_back(shared, [cotangents[n] for n in groups], dtype)
    wrong = [
        number
        for number, again, one in zip(groups, shared, found, strict=True)
        if _is_wrong(groups[number], one, apart[number])
        and _is_wrong(groups[number], one, apart[number], _rounding_allowances(again, cotangents[number], dtype))
    ]
    if wrong and _sums_gradients_of_uses(engine):
        yield from ((applications[number].owner, number) for number in wrong)


def _aliased_applications(applications: Sequence[Application]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield number and groups of the first op with each kind of sharing."""
    seen: set[tuple[str, tuple[int, ...]]] = set()
    for number, application in enumerate(applications):
        groups = _alias_groups(application)
        key = (application.op.name, groups)
        if len(set(groups)) < len(groups) and key not in seen:
            seen.add(key)
            yield number, groups


def _alias_groups(application: Application) -> tuple[int, ...]:
    """For each differentiable array, return the index of its first occurrence."""
    tracked = application.tracked
    found = [
        id(array)
        for place, array in enumerate(arrays(application.args, application.kwargs))
        if (not tracked or tracked[place]) and dtypes.is_differentiable(array.dtype)
    ]
    return tuple(found.index(one) for one in found)


def _rounding_allowances(
    application: Application, cotangents: Cotangents, dtype: np.dtype
) -> Sequence[np.ndarray | None]:
    """Return what rounding may add: a gradient of cos(x, x) is only noise."""

    def run(core: Core) -> Sequence[np.ndarray | None]:
        return core.pull_back([application], [cotangents], dtype)[0].gradients

    unit = max(epsilon(array.dtype) for array in arrays(application.args, application.kwargs))
    return allowances(run, lambda: run(Core()), max(unit, epsilon(dtype)), 0)


def _is_wrong(
    groups: tuple[int, ...], shared: Pullback, apart: Pullback, explained: Sequence[np.ndarray | None] = ()
) -> bool:
    """Return whether a shared gradient is far from the sum of its parts."""
    if shared.error or apart.error or not len(groups) == len(shared.gradients) == len(apart.gradients):
        return False
    for first in set(groups):
        parts = [apart.gradients[place] for place, group in enumerate(groups) if group == first]
        known = [wide(part) for part in parts if part is not None]
        if len(parts) < 2 or not known:
            continue
        total: np.ndarray = np.add.reduce(known)
        got = shared.gradients[first]
        if got is None or got.shape != known[0].shape:
            return True
        with quiet():
            if agree(wide(got), total, _NEAR):
                continue
        scale = sum(map(np.abs, known))
        with np.errstate(all="ignore"):
            noise = explained[first] if first < len(explained) else None
            allowed = _FAR * scale + (noise if noise is not None and noise.shape == got.shape else 0.0)
            off = np.abs(wide(got) - total) > allowed
        if np.any(off & np.isfinite(scale)):
            return True
    return False


def _sums_gradients_of_uses(engine: Engine) -> bool:
    """Return whether the engine adds up the uses of a tensor at all."""
    evaluation = engine.evaluate(_two_uses(own_dtype(engine)))
    if evaluation.error is not None or not evaluation.states:
        return False
    known = evaluation.states[-1].gradients.get("x")
    return known is not None and known.shape == (2,) and bool(np.allclose(known, _SUM))


_INPUTS, _GRAPH, _SUM = {"x": [1.5, -2.0], "a": [0.3, 1.1], "b": [-1.2, 0.5]}, {"f": "x * a + x * b"}, [-0.9, 1.6]


@lru_cache
def _two_uses(dtype: str | None) -> Problem:
    return literal_problem("two uses", _INPUTS, _GRAPH, {"f": [1.0, 1.0]}, dtype=dtype)
