"""What torch takes for an integer alone (a dimension, a shift, a number of classes) is no float here either."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from gradcheck.autograd import TABLE
from gradcheck.engines.base import Application
from gradcheck.engines.recording import arrays
from gradcheck.errors import TensorError
from tests.autograd import table
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
