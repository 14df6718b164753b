"""Elementwise ops of engines that broadcast nothing, alone: asked with operands that are as large as the result.

In a graph, a number that is broadcast is used many times, and what arrives is added up by the engine's pass. Of an op
alone, which is asked for its rule and no pass, every number is used once, and gradients are summed here.
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
    """An elementwise op with operands that are all of its result's shape; another as it is."""
    output = application.outputs[0] if application.outputs else None
    if not application.op.elementwise or output is None or application.shared:
        return application
    stretch = partial(np.broadcast_to, shape=output[0])
    args = convert(application.args, np.ndarray, stretch)
    return replace(application, args=args, kwargs=convert(application.kwargs, np.ndarray, stretch), recorded=None)


def sum_to_operands(found: Pullback, application: Application) -> Pullback:
    """Gradients of the stretched op, summed to the shapes of the op's own operands."""
    pairs = zip(arrays(application.args, application.kwargs), application.tracked or repeat(True), strict=False)
    shapes = [array.shape for array, tracked in pairs if tracked and dtypes.is_differentiable(array.dtype)]
    to = TABLE["sum_to_size"].forward
    gradients = (None if one is None else to(one, shape) for one, shape in zip(found.gradients, shapes, strict=False))
    return replace(found, gradients=tuple(gradients))
