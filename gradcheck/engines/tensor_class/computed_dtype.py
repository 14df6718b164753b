"""The precision in which a Tensor class computes."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.engines.tensor_class.backward_engine import BackwardEngine
from gradcheck.engines.tensor_class.capabilities import Capabilities
from gradcheck.engines.tensor_class.hypotheses import A, B, GradientProbe
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS
from gradcheck.errors import GradcheckError


def made_dtype(engine: BackwardEngine) -> str:
    """Return the dtype of a tensor made from float64, at most float64."""
    if engine.api.is_scalar:
        return _number_dtype(engine)
    dtype = engine.api.read(engine.api.make(A, True)).dtype
    return dtype.name if dtype.kind == "f" and dtype.itemsize < A.itemsize else "float64"


def _number_dtype(engine: BackwardEngine) -> str:
    """Return the dtype of a class's numbers, by the value of a tenth."""
    try:
        number = float(engine.api.read(engine.api.make(np.array(0.1), True)).reshape(-1)[0])
    except (GradcheckError, *USER_EXCEPTIONS):  # it may take only integers
        return "float64"
    return "float32" if number == float(np.float32(0.1)) else "float64"


def lowest_dtype(engine: BackwardEngine, one: Capabilities, probes: list[GradientProbe]) -> str:
    """Return the least precise dtype of its results and gradients."""
    if engine.api.is_scalar:
        return one.dtype
    found = [np.dtype(one.dtype)]
    with suppress(GradcheckError, *USER_EXCEPTIONS):
        begun = engine.leaf(A.astype(one.dtype), True).initial  # a rule may add to it
        found += [begun.dtype] if isinstance(begun, np.ndarray) else []
    with suppress(GradcheckError, *USER_EXCEPTIONS):
        total = TABLE["sum"]
        found.append(engine.apply(total, total.bind((engine.leaf(A[0].astype(one.dtype), True),), {})).dtype)
    with suppress(GradcheckError, *USER_EXCEPTIONS):
        times = TABLE["mul"]
        scaled = engine.apply(times, times.bind((engine.leaf(A.astype(one.dtype), True), 0.1), {}))
        found += [] if np.allclose(scaled.array, A * 0.1, 1e-12) else [np.dtype(np.float32)]
    for probe in probes:
        op = TABLE[probe.op]
        given = [engine.leaf(array.astype(one.dtype), True) for array in (A, B)[: probe.operands]]
        try:
            root = engine.apply(op, op.bind(tuple(given), {}))
            found.append(root.dtype)
            engine.start(engine.start_of(root), one, np.ones(root.shape, one.dtype))
            gradient = engine.gradient(given[0])
            found += [] if gradient is None else [gradient.dtype]
        except (GradcheckError, *USER_EXCEPTIONS):
            continue
    return str(min((dtype for dtype in found if dtype.kind == "f"), key=lambda dtype: dtype.itemsize).name)
