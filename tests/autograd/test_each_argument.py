"""Each argument of each op varied from its default, against torch."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from gradcheck.autograd import TABLE, Op, dtypes
from gradcheck.autograd.signature import Parameter
from gradcheck.engines.base import Application
from tests.autograd import table
from tests.autograd.test_edges import UNSAFE
from tests.autograd.test_mixed_dtypes import listed, unlike
from tests.tables import for_each_by_family

#: How many calls of an op are asked in other ways.
MOST = 2
#: What an argument may be that is None, or a word, where nothing is said.
BY_NAME: dict[str, tuple[Any, ...]] = {
    "dim": (0, -1, (0, 1)),
    "dims": (0, (0, 1)),
    "axis": (0,),
    "correction": (0, 2),
    "unbiased": (False, True),
    "n": (3, 5),
    "s": ((2, 3),),
    "reduction": ("none", "mean", "sum", "median"),
    "norm": ("ortho", "forward", "backward", "other"),
    "rounding_mode": ("floor", "trunc", "up"),
    "interpolation": ("lower", "higher", "midpoint", "nearest", "other"),
    "mode": (
        "constant",
        "reflect",
        "replicate",
        "circular",
        "bilinear",
        "nearest",
        "bicubic",
        "sum",
        "max",
        "complete",
    ),
    "padding_mode": ("border", "reflection", "other"),
    "approximate": ("tanh", "other"),
    "UPLO": ("U", "other"),
    "stride": (1, 2),
    "padding": (0, 1, "same", "valid"),
    "eps": (0.1,),
    "max_norm": (0.5,),
    "p": (1, 1.5, 2, 3, np.inf),
    "ord": (1, 2, np.inf, -np.inf, "fro", "nuc", 0, 3),
    "scale": (0.5,),
    "min": (-0.5, 0.5),
    "max": (-0.5, 0.5),
    "dtype": tuple(dtypes.BY_NAME[name] for name in ("float32", "float16", "int64", "bool", "complex128")),
    "indexing": ("xy", "other"),
    "pad_mode": ("constant", "other"),
    "ignore_index": (1,),
    "padding_idx": (0, -1),
    "output_size": (2, 3),
    "divisor_override": (3,),
}


def others(parameter: Parameter) -> Iterator[Any]:
    """Other values for it than its own."""
    default = parameter.default
    if default is inspect.Parameter.empty:
        return
    if isinstance(default, bool):
        yield not default
    yield from (value for value in BY_NAME.get(parameter.name, ()) if value != default)
    if isinstance(default, int) and not isinstance(default, bool):
        yield from (default + 1, default - 1, default + 2)
    elif isinstance(default, float):
        yield from (0.0, 0.75 * default + 0.25, -default)


def asked_otherwise(op: Op) -> Iterator[tuple[str, Application]]:
    """Yield an argument and a call that gives it another value."""
    for call in islice(table.calls(op), 0, None, max(1, len(op.samples) // MOST)):
        given = {*call.kwargs, *(p.name for p in op.parameters[: len(call.args)])}
        for parameter in op.parameters if op.variadic is None else ():
            for value in others(parameter) if parameter.name not in given else ():
                kwargs = {**call.kwargs, parameter.name: value}
                yield parameter.name, replace(call, kwargs=kwargs, owner=f"{call.owner}, {parameter.name}={value!r}")
            if parameter.name == "dtype" and "dtype" not in given:
                half = table.in_dtype(call, np.dtype(np.float16))
                wider = {**half.kwargs, "dtype": np.dtype(np.float32)}
                yield "half dtype", replace(half, kwargs=wider, owner=f"{call.owner} in half precision, dtype=float32")


KNOWN = listed(Path(__file__).parent / "each_argument.txt")
ASKED = [n for n, op in TABLE.items() if op.torch and not table.is_random(op) and n not in UNSAFE]


@for_each_by_family(sorted(ASKED), share=2)
def test_each_argument_away_from_its_default_is_as_in_torch(name: str) -> None:
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for argument, call in asked_otherwise(TABLE[name]):
            if how := unlike(call):
                found[f"{argument} {how}"] = call.owner
    known = {how for op, how in KNOWN if op == name}
    by_processor = {how.removesuffix("?") for how in known if how.endswith("?")}
    assert found.keys() - by_processor == {how for how in known if not how.endswith("?")}, found
