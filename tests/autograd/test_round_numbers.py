"""Ops with kinks, at zeros, ties and thresholds, against torch.

At a kink each side is a subgradient; the core follows torch, but for those listed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.autograd import Op, dtypes
from gradcheck.autograd.op import TABLE
from gradcheck.engines.base import Application
from gradcheck.engines.recording import rebuild
from gradcheck.errors import InvalidCase
from gradcheck.language.expr.nodes import Literal
from gradcheck.language.expr.parser import parse
from tests.autograd import table
from tests.autograd.test_table import COMPARED
from tests.tables import for_each_by_family

#: What is no affair of kinks at such numbers, or otherwise there.
APART = {
    "acosh": "where it is not defined",
    "atan2": "0 by 0 is NaN here, 0 in torch",
    "binary_cross_entropy": "not between 0 and 1",
    "cov": "weights below 0",
    "digamma": "at its poles torch has large numbers",
    "gaussian_nll_loss": "variances below 0",
    "gradient": "places that coincide",
    "grid_sample": "borders that reflect",
    "grid_sampler": "borders that reflect",
    "grid_sampler_3d": "borders that reflect",
    "linalg.householder_product": "no reflection at all, NaN in torch",
    "linear_cross_entropy": "what is 0 but for rounding",
    "logdet": "determinants below 0",
    "median": "of several in the middle torch shares",
    "nanmedian": "of several in the middle torch shares",
    "nanquantile": "shares above 1",
    "quantile": "shares above 1",
    "pdist": "the largest of several counts for each in torch",
    "polar": "sizes below 0, of which torch takes the sign",
    "poisson_nll_loss": "logarithms of 0, behind a mask",
    "scatter_reduce": "torch shares with what is not included",
    "topk": "of several that are as large torch takes any",
}
#: Matrices of such numbers are mostly singular.
MATRICES = ("cholesky", "lu", "solve", "eig", "svd", "qr", "inv", "batch_norm_legit", "native_batch_norm")


def is_asked(op: Op) -> bool:
    own = op.name.rpartition(".")[2]
    return bool(op.kinks or not op.analytic) and op.name not in APART and not any(word in own for word in MATRICES)


def numbers_of(call: Application) -> np.ndarray:
    """Return the call's numbers, others around them, and usual thresholds."""
    try:
        said = [node.value for node in parse(call.owner).walk() if isinstance(node, Literal)]
    except InvalidCase:  # it is in words
        said = []
    own = [float(value) for value in said if isinstance(value, float) and np.isfinite(value)]
    return np.unique([0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -3.0, *own, *(-v for v in own), *(1 - v for v in own)])


def at_round_numbers(call: Application, repeated: bool) -> Application:
    """Yield the call on such numbers alone, with and without repeats."""
    numbers, stream = numbers_of(call), table.generator(call.op)

    def drawn(array: np.ndarray) -> np.ndarray:
        if array.dtype != table.DOUBLE:
            return array
        order = stream.integers(len(numbers), size=array.size) if repeated else stream.permutation(len(numbers))
        return np.resize(numbers[order], array.shape)

    args, kwargs = rebuild(call.args, call.kwargs, drawn, dtypes.BY_NAME.__getitem__)
    return replace(call, args=args, kwargs=kwargs)


@for_each_by_family([name for name in COMPARED if is_asked(TABLE[name])], share=2)
def test_values_and_gradients_at_round_numbers_are_torchs(name: str) -> None:
    calls = [at_round_numbers(call, repeated) for call in table.calls(TABLE[name]) for repeated in (True, False)]
    problems = [problem for call in calls for problem in table.disagreements(call)]
    assert not problems, "\n".join(problems)
