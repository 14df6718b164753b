"""What torch takes for an integer alone (a dimension, a shift, a number of classes) is no float here either.

And tensors of integers and of booleans have torch's values, where both take them.
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
    """The integer, or the first of several, as a float; None for anything else."""
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
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "index_reduce", "local_response_norm", "masked.amax", "masked.amin",
    "masked.logsumexp", "masked.median", "masked.std", "masked.var", "scatter_reduce",
}  # fmt: skip
#: Which of equals comes first; booleans times an integer; digits of torch's own; half of the tensors complex.
OTHERS = {"topk", "add", "dropout", "polygamma", "istft"}


def of_whole_numbers(call: Application, dtype: type) -> Application:
    """The call with its floats three times as large and rounded, or, of booleans, by their sign."""

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
    except (GradcheckError, RuntimeError, TypeError, ValueError):
        return None


ASKED = [n for n, op in TABLE.items() if op.torch and not table.is_random(op) and n not in UNSAFE]


@for_each_by_family(sorted(set(ASKED) - FRACTIONS - FLOATS - OTHERS))
def test_values_of_whole_numbers_are_torchs(name: str) -> None:
    problems = []
    for call in table.calls(TABLE[name]):
        for dtype in (np.int64, bool):
            other = of_whole_numbers(call, dtype)
            got, want = values(table.CORE, other), values(table.REFERENCE, other)
            if got is not None and want is not None:
                found = table.differences(table.Answer(got), table.Answer(want), 1e-10)
                problems += [f"{call.owner} of {dtype.__name__}: {one}" for one in found]
    assert not problems, "\n".join(problems)
