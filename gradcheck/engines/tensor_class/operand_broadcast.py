"""Elementwise ops alone, for engines that do not broadcast.

In a graph, a broadcast number is used many times, and the engine's pass sums its gradients. An op alone is checked
without that: operands are as large as the result, and gradients are summed here.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import repeat

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import TABLE
from gradcheck.engines.base import Application, Pullback
from gradcheck.engines.recording import arrays, convert


def broadcast_operands(application: Application) -> Application:
    """Return an elementwise op with operands of its result's shape."""
    output = application.outputs[0] if application.outputs else None
    if not application.op.elementwise or output is None or application.shared:
        return application
    stretch = partial(np.broadcast_to, shape=output[0])
    args = convert(application.args, np.ndarray, stretch)
    return replace(application, args=args, kwargs=convert(application.kwargs, np.ndarray, stretch), recorded=None)


def sum_to_operands(found: Pullback, application: Application) -> Pullback:
    """Return the gradients summed to the op's own operands."""
    pairs = zip(arrays(application.args, application.kwargs), application.tracked or repeat(True), strict=False)
    shapes = [array.shape for array, tracked in pairs if tracked and dtypes.is_differentiable(array.dtype)]
    to = TABLE["sum_to_size"].forward
    gradients = (None if one is None else to(one, shape) for one, shape in zip(found.gradients, shapes, strict=False))
    return replace(found, gradients=tuple(gradients))
