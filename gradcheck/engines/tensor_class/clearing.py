"""The method of a tensor that clears its gradient."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.engines.tensor_class import dialects
from gradcheck.engines.tensor_class.backward_engine import BackwardEngine
from gradcheck.engines.tensor_class.capabilities import Capabilities
from gradcheck.engines.tensor_class.hypotheses import A, GradientProbe
from gradcheck.engines.tensor_class.members import method_of
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS
from gradcheck.engines.tensor_class.wrapped_tensor import WrappedTensor
from gradcheck.errors import GradcheckError


def clearing_of(engine: BackwardEngine, one: Capabilities, probes: list[GradientProbe]) -> str:
    """Return the name of the clearing method, or "" without a usable one.

    It must clear no other tensor's gradient. One that clears nothing is used, as a user would."""
    for probe in (probe for probe in probes if probe.operands == 2):
        arrays = one.seed != "none" and not engine.api.is_scalar
        given = (A if arrays else np.full(one.total_shape, 2.0)).astype(one.dtype)
        try:
            engine.new_graph()
            first, second = engine.leaf(given, True), engine.leaf(given + 1, True)
            op = TABLE[probe.op]
            root = engine.apply(op, op.bind((first, second), {}))
            engine.start(engine.start_of(root), one, np.ones(root.shape, one.dtype))
            method = method_of(engine.start_of(first), dialects.CLEARING_METHODS)
            if method is None or not np.any(engine.gradient(second)):
                return ""
            method()
            kept = engine.gradient(second)
            if kept is None or not np.any(kept) or _clearing_cuts_graph(engine, one, (root, second), method.__name__):
                return ""
        except (GradcheckError, *USER_EXCEPTIONS):
            continue
        return method.__name__
    return ""


def _clearing_cuts_graph(
    engine: BackwardEngine, one: Capabilities, made: tuple[WrappedTensor, WrappedTensor], clearing: str
) -> bool:
    """Return whether clearing cuts the graph, so that a further pass stops."""
    root, leaf = made
    getattr(engine.start_of(root), clearing)()
    leaf.grad = None
    engine.start(engine.start_of(root), one, np.ones(root.shape, one.dtype))
    return one.keeps_graph and not np.any(engine.gradient(leaf))
