"""Floats are rejected where torch requires integers.

Tensors of integers and of booleans have torch's values, where both take them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import TABLE, dtypes
from gradcheck.engines.base import Application
from gradcheck.engines.recording import arrays, rebuild
from gradcheck.errors import GradcheckError, TensorError
from tests.autograd import table
from tests.autograd.test_edges import UNSAFE
from tests.tables import for_each_by_family

#: torch reads an index `[2.7, 0]` as if it were `[2, 0]`; nobody means that.
STRICTER = {"getitem"}


def is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def broken(value: Any) -> Any:
    """Return the integer, or the first of several, as a float; or None."""
    if is_integer(value):
        return value + 0.7
    if isinstance(value, (tuple, list)) and value and all(map(is_integer, value)):
        return type(value)([value[0] + 0.7, *value[1:]])
    return None


def with_a_float(call: Application) -> Iterator[Application]:
    """The call with each integer broken in turn."""
    for place, value in enumerate(call.args):
        if broken(value) is not None:
            yield replace(call, args=(*call.args[:place], broken(value), *call.args[place + 1 :]))
    for key, value in call.kwargs.items():
        if broken(value) is not None:
            yield replace(call, kwargs={**call.kwargs, key: broken(value)})


def is_taken(side: Any, call: Application) -> bool:
    try:
        side.apply(call, [side.leaf(array, False) for array in arrays(call.args, call.kwargs)])
    except (TensorError, TypeError, RuntimeError):
        return False
    return True


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@for_each_by_family(sorted(name for name, op in TABLE.items() if op.torch and not table.is_random(op)))
@pytest.mark.filterwarnings("ignore")  # torch's opinions
def test_floats_are_refused_where_torch_refuses_them(name: str) -> None:
    op = TABLE[name]
    for sample in op.samples:
        call = table.application_in(op, sample, table.generator(op))
        for other in with_a_float(call):
            if name in STRICTER or not is_taken(table.Reference(), call):
                continue
            assert is_taken(table.Core(), other) <= is_taken(table.Reference(), other), (sample, other.args)


#: A number with a fraction makes floats of integers here; in torch it loses the fraction.
FRACTIONS = {
    "addbmm", "addcmul", "addmm", "addmv", "baddbmm", "fill", "hinge_embedding_loss", "index_fill", "masked_fill",
    "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate",
}  # fmt: skip
#: So do means, and infinities that stand for what is masked or not there yet.
FLOATS = {
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "index_reduce", "local_response_norm", "lp_pool1d", "masked.amax",
    "masked.amin", "masked.logsumexp", "masked.median", "masked.std", "masked.var", "scatter_reduce",
}  # fmt: skip
#: Which of equals comes first; booleans times an integer; digits of torch's own; half of the tensors complex.
OTHERS = {"topk", "add", "dropout", "polygamma", "istft"}


def of_whole_numbers(call: Application, dtype: type) -> Application:
    """Return the call with rounded floats; booleans by sign."""

    def whole(array: np.ndarray) -> np.ndarray:
        if array.dtype != table.DOUBLE:
            return array
        numbers = np.nan_to_num(np.round(3 * array), posinf=9, neginf=-9)
        return np.asarray(numbers > 0 if dtype is bool else numbers, dtype)

    args, kwargs = rebuild(call.args, call.kwargs, whole, dtypes.BY_NAME.__getitem__)
    return replace(call, args=args, kwargs=kwargs)


def values(side: Any, call: Application) -> table.Arrays | None:
    """None where it is refused."""
    try:
        return table.answer(side, call).values
    except (GradcheckError, RuntimeError, TypeError, ValueError, IndexError):
        return None


ASKED = [n for n, op in TABLE.items() if op.torch and not table.is_random(op) and n not in UNSAFE]

#: Which ops take or refuse tensors of integers or of booleans otherwise than torch, for many of which it has no code.
OTHERWISE = """
bool refused:
    clamp clamp_max clamp_min einsum linalg.matrix_power linear log_softmax lp_pool1d lp_pool2d lp_pool3d matmul mm
    softmax sum_to_size
bool taken:
    _safe_softmax adaptive_max_pool1d adaptive_max_pool1d_with_indices adaptive_max_pool2d
    adaptive_max_pool2d_with_indices adaptive_max_pool3d adaptive_max_pool3d_with_indices addcdiv addcmul addr argmax
    argmin avg_pool1d avg_pool2d avg_pool3d celu cumulative_trapezoid div embedding_bag glu igamma igammac index_reduce
    kthvalue lerp linalg.svd linalg.vander linalg.vecdot local_response_norm logaddexp2 masked.amax masked.amin
    masked.cumprod masked.cumsum masked.log_softmax masked.logaddexp masked.logsumexp masked.mean masked.softmax
    masked.softmin max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_with_indices
    max_pool2d_with_indices_backward max_pool3d max_pool3d_with_indices max_unpool1d max_unpool2d max_unpool3d median
    mvlgamma nanmean nanmedian pad polar stft svd topk trace trapezoid
int64 refused:
    avg_pool1d avg_pool2d avg_pool3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d corrcoef cov
    index_reduce linalg.matrix_power log_softmax lp_pool1d lp_pool2d lp_pool3d margin_ranking_loss
    max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d max_pool3d_with_indices mse_loss pow
    scatter_reduce softmax
int64 taken:
    _native_batch_norm_legit _safe_softmax _softmax_backward_data _upsample_bilinear2d_aa adaptive_avg_pool1d
    adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool1d_with_indices adaptive_max_pool2d
    adaptive_max_pool2d_with_indices adaptive_max_pool3d adaptive_max_pool3d_with_indices addcdiv addr celu cov
    embedding_bag fold gaussian_nll_loss glu hinge_embedding_loss huber_loss igamma igammac interpolate kl_div lerp
    linalg.householder_product linalg.svd linalg.vecdot logaddexp2 lp_pool1d masked.log_softmax masked.logaddexp
    masked.mean masked.softmax masked.softmin masked_fill max_pool2d_with_indices_backward max_unpool1d max_unpool2d
    max_unpool3d multi_margin_loss multilabel_margin_loss nanmean nn.functional.unfold ormqr polar soft_margin_loss
    stft svd upsample upsample_bilinear upsample_nearest
"""


def otherwise() -> set[tuple[str, str, str]]:
    """By op, dtype, and whether it is taken or refused here."""
    found, heading = set(), ("", "")
    for word in OTHERWISE.replace(":", "").split():
        if word in ("int64", "bool"):
            heading = (word, "")
        elif word in ("taken", "refused"):
            heading = (heading[0], word)
        else:
            found.add((word, *heading))
    return found


KNOWN = otherwise()


@for_each_by_family(sorted(ASKED))
def test_values_of_whole_numbers_are_torchs(name: str) -> None:
    problems = []
    for call in table.calls(TABLE[name]):
        for dtype in (np.int64, bool):
            other = of_whole_numbers(call, dtype)
            got, want = values(table.CORE, other), values(table.REFERENCE, other)
            found = []
            if (got is None) != (want is None):
                what = "taken" if want is None else "refused"
                found = [] if (name, dtype.__name__, what) in KNOWN else [what]
            elif got is not None and want is not None and name not in FRACTIONS | FLOATS | OTHERS:
                found = table.differences(table.Answer(got), table.Answer(want), 1e-10)
            problems += [f"{call.owner} of {dtype.__name__}: {one}" for one in found]
    assert not problems, "\n".join(problems)


#: In which dtypes of indices, classes and counts torch is left alone: it takes some of them in some ways alone.
UNLIKE = {
    "_unsafe_masked_index": "bool", "_unsafe_masked_index_put_accumulate": "bool", "clamp": "uint8",
    "cov": "bool float64", "cross_entropy": "uint8", "index_copy": "int32", "index_fill": "bool int32", "ldexp": "bool",
    "max_pool2d_with_indices_backward": "int32", "max_unpool1d": "int32", "max_unpool2d": "int32",
    "max_unpool3d": "int32", "multi_margin_loss": "int32", "multilabel_margin_loss": "int32", "put": "int32",
    "repeat_interleave": "int16 uint8", "take": "int32", "take_along_dim": "bool int32",
    "tensor_split": "int16 int32 uint8",
}  # fmt: skip


def in_integers(call: Application, dtype: str) -> Application:
    def changed(array: np.ndarray) -> np.ndarray:
        return array.astype(dtype) if array.dtype == np.int64 else array

    args, kwargs = rebuild(call.args, call.kwargs, changed, dtypes.BY_NAME.__getitem__)
    return replace(call, args=args, kwargs=kwargs, tracked=(False,) * len(list(arrays(args, kwargs))))


@for_each_by_family(sorted(ASKED))
def test_indices_of_other_dtypes_are_taken_as_by_torch(name: str) -> None:
    problems = []
    for call in table.calls(TABLE[name]):
        if not any(array.dtype == np.int64 for array in arrays(call.args, call.kwargs)):
            continue
        for dtype in ("int32", "uint8", "int16", "float64", "bool"):
            other = in_integers(call, dtype)
            got, want = values(table.CORE, other), values(table.REFERENCE, other)
            if dtype in UNLIKE.get(name, "").split():
                continue
            if got is None or want is None:
                found = [] if got is want else ["taken" if want is None else "refused"]
            else:
                found = table.differences(table.Answer(got), table.Answer(want), 1e-10)
            problems += [f"{call.owner} in {dtype}: {one}" for one in found]
    assert not problems, "\n".join(problems)
