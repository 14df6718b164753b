"""Calls slightly beyond the table's, against torch.

Each sample of each op is called again with a dimension more or less, with nothing along one, with one element more or
less, and with every number and flag that stands in it changed by the least that there is.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.engines.torch import Torch
from gradcheck.errors import GradcheckError
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NUMPY, Host
from gradcheck.language.expr.nodes import Call, Expr, Literal
from gradcheck.language.expr.traverse import rewrite
from tests.autograd.table import difference, largest
from tests.samples import CALLS, OP_OF, drawn
from tests.sampling import few_of_each
from tests.tables import for_each_by_family

TORCH = Torch()
#: Of which torch reads what is not its own where arguments do not fit, or dies of it.
UNSAFE = {"segment_reduce", "ctc_loss", "native_batch_norm"}
#: Where torch is left alone: "taken" here is what it refuses, "refused" what it takes, "value" what it makes otherwise.
UNLIKE = {
    "addmv": "value",  # a matrix without rows leaves its sum as it is
    "affine_grid": "refused",  # sizes below 0
    "as_strided_scatter": "taken",  # places that coincide
    "avg_pool3d": "taken",  # windows larger than what they slide over
    "batch_norm": "refused taken",  # parameters of other shapes, as many as there are channels
    "celu": "value",  # an alpha below 0
    "constant_pad_nd": "taken",  # sizes of 0 cut to less
    "conv_tbc": "refused",  # without time, as conv1d
    "cov": "value",  # of one column, by weights: 0 by 0 but for rounding
    "cross_entropy": "refused value",  # smoothing below 0, and classes without any
    "cumulative_trapezoid": "taken",  # of no values
    "gaussian_nll_loss": "refused",  # of a variance that broadcasts, where there is no rule for which
    "gradient": "value",  # places that coincide, and fewer values than places
    "grid_sampler": "refused",
    "grid_sampler_2d": "refused",  # modes below 0
    "grid_sampler_3d": "refused",
    "index_add": "refused",  # places in what has no elements
    "instance_norm": "refused taken",  # nothing at all
    "fft.ifftshift": "refused",  # a dimension twice
    "istft": "refused taken",  # lengths below 0, and no signals at all
    "linalg.cond": "refused",  # norms of matrices without elements
    "linalg.matrix_norm": "refused",
    "linalg.norm": "refused",
    "linalg.lu_factor": "taken",  # of singular ones
    "linalg.lu_solve": "taken",  # pivots that are no pivots
    "lu_solve": "taken",
    "lu_unpack": "taken",
    "linalg.lstsq": "refused",  # batches that broadcast, some of which torch has wrong
    "linear_cross_entropy": "refused taken",  # as cross_entropy and linear
    "linear": "refused taken value",  # a bias or weights of other ranks
    "masked.norm": "value",  # orders below 0: what is masked counts as 0, or as infinite
    "masked.normalize": "value",
    "max_unpool1d": "refused",  # windows below 0
    "native_group_norm": "refused",
    "one_hot": "taken",  # fewer classes than 0
    "pad": "refused value",  # circular ones that cut off; torch reads what it has not written
    "pdist": "refused taken",  # the largest of nothing; no rows, of which torch ends the process
    "pixel_unshuffle": "value",  # of no elements
    "repeat_interleave": "refused",  # an announced size of nothing
    "scaled_dot_product_attention": "refused value",  # batches of values alone without any
    "view_as_complex": "taken",  # distances in memory
}

#: What torch says of what it can do elsewhere.
NOBODYS = ("MKL FFT error",)

Arrays = dict[str, np.ndarray]


def resized(array: np.ndarray) -> Iterator[np.ndarray]:
    """Yield arrays of nearby shapes; added parts are reversed."""
    yield array[None]
    yield array[..., None]
    if array.ndim and array.size:
        yield array[0]
        yield array[..., :0]
        yield array[..., :1]
        yield array[..., :-1]
        yield np.concatenate([array, np.flip(array[..., -1:])], -1)
    if array.ndim > 1 and array.size:
        yield array[..., 0]
        yield array[:0]
        yield np.concatenate([array, np.flip(array[-1:])])


def next_to(value: Any) -> tuple[Any, ...]:
    """Return the nearest number or flag; None for other literals."""
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        return tuple({value - 1, value + 1, -1, -value - 1})
    return (0.0, -value) if isinstance(value, float) else ()


def near(expr: Expr, arrays: Arrays) -> Iterator[tuple[str, Expr, Arrays]]:
    """Yield a changed part, the call and its tensors."""
    for name, array in arrays.items():
        for other in map(np.array, resized(array)):
            yield f"{name} {list(other.shape)}", expr, {**arrays, name: other}
    if len(arrays) > 1:
        for together in zip(*map(resized, arrays.values()), strict=False):
            yield "all", expr, dict(zip(arrays, map(np.array, together), strict=True))
    held = {id(node) for part in expr.walk() if isinstance(part, Call) and part.op == "tensor" for node in part.walk()}
    for literal in expr.walk():
        if isinstance(literal, Literal) and not (isinstance(literal.value, float) and id(literal) in held):
            for value in next_to(literal.value):
                yield f"{literal.value} at {literal.at}: {value}", with_value(expr, literal, value), arrays


def with_value(expr: Expr, literal: Literal, value: Any) -> Expr:
    return rewrite(expr, lambda node: replace(literal, value=value) if node is literal else node)


def answer(expr: Expr, tensors: dict[str, Any], host: Host) -> list[np.ndarray] | str:
    """Its values, or why it is refused."""
    try:
        made = evaluate(expr, tensors, host, max_elements=10**5)
        parts = made if isinstance(made, (tuple, list)) else (made,)
        return [TORCH.array(part) if hasattr(part, "detach") else np.asarray(part) for part in parts]
    except (GradcheckError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def unlike(expr: Expr, arrays: Arrays) -> str:
    """Describe the core's difference from torch; empty if there is none."""
    theirs = answer(expr, {name: TORCH.leaf(array, False) for name, array in arrays.items()}, TORCH.host)
    mine = answer(expr, arrays, NUMPY)
    if isinstance(mine, str) or isinstance(theirs, str):
        if isinstance(mine, str) and isinstance(theirs, str):
            return ""
        is_nobodys = not isinstance(theirs, list) and any(word in theirs for word in NOBODYS)
        is_ours = isinstance(mine, str) and mine.startswith("Unsupported")  # what is random
        return "" if is_nobodys or is_ours else f"refused: {mine}" if isinstance(mine, str) else f"taken: {theirs}"
    if len(mine) != len(theirs):
        return "value: another number of results"
    wrong = [difference(m, t, 1e-7, largest(t) + 1e-7) for m, t in zip(mine, theirs, strict=True)]
    return "".join(f"value: {one}" for one in wrong if one)


def is_asked(name: str) -> bool:
    op = TABLE[name]
    return bool(op.torch) and name not in UNSAFE and not name.startswith("_") and not name.endswith("_backward")


ASKED = [text for text in CALLS if is_asked(OP_OF[text])]


@for_each_by_family(few_of_each(ASKED, OP_OF.__getitem__), OP_OF.__getitem__, 2)
def test_what_is_next_to_a_call_is_as_in_torch(text: str) -> None:
    expr, arrays = drawn(text)
    known = UNLIKE.get(OP_OF[text], "")
    with TORCH.session(np.dtype(np.float64)), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [(what, unlike(changed, tensors)) for what, changed, tensors in near(expr, arrays)]
    wrong = [f"{what}: {one}" for what, one in found if one and one.partition(":")[0] not in known]
    assert not wrong, "\n    " + "\n    ".join(wrong)
