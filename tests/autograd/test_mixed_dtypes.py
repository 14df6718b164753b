"""One tensor in another dtype: the core accepts what torch accepts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gradcheck.autograd import TABLE, dtypes
from gradcheck.engines.base import Application
from gradcheck.engines.recording import arrays, rebuild
from gradcheck.errors import GradcheckError
from tests.autograd import table
from tests.autograd.test_edges import UNSAFE
from tests.tables import for_each_by_family

OTHERS = ("float32", "int64", "bool", "complex128")


def with_one_in_another_dtype(call: Application) -> Iterator[tuple[str, Application]]:
    """Yield a dtype, and the call with one of several tensors in it."""
    given = list(arrays(call.args, call.kwargs))
    for place in range(len(given)) if len(given) > 1 else ():
        for dtype in OTHERS:
            if given[place].dtype.name != dtype:
                yield dtype, replaced(call, place, np.dtype(dtype))


def replaced(call: Application, place: int, dtype: np.dtype) -> Application:
    seen = iter(range(10**6))

    def convert(array: np.ndarray) -> np.ndarray:
        return array.astype(dtype) if next(seen) == place else array

    args, kwargs = rebuild(call.args, call.kwargs, convert, dtypes.BY_NAME.__getitem__)
    return replace(call, args=args, kwargs=kwargs)


def answer(side: Any, call: Application) -> table.Answer | None:
    """None where it is refused."""
    try:
        return table.answer(side, call)
    except (GradcheckError, RuntimeError, TypeError, ValueError, IndexError):
        return None


def unlike(call: Application) -> str:
    """In a word."""
    got, want = answer(table.CORE, call), answer(table.REFERENCE, call)
    if got is None or want is None:
        return "" if got is want else "taken" if want is None else "refused"
    return "value" if table.differences(got, want, max(1e-10, table.tolerance(call, want))) else ""


def listed(path: Path) -> set[tuple[str, str]]:
    """Each op that a file lists, with the words that it stands under."""
    found, heading = set(), ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            found |= {(name, heading) for name in line.split()}
        elif not line.startswith("#"):
            heading = line.removesuffix(":")
    return found


KNOWN = listed(Path(__file__).parent / "mixed_dtypes.txt")
ASKED = [n for n, op in TABLE.items() if op.torch and not table.is_random(op) and n not in UNSAFE]


@for_each_by_family(sorted(ASKED), share=2)
def test_one_tensor_in_another_dtype_is_taken_as_by_torch(name: str) -> None:
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's opinions, and imaginary parts that are left out
        for call in table.calls(TABLE[name]):
            for dtype, other in with_one_in_another_dtype(call):
                if how := unlike(other):
                    found[f"{dtype} {how}"] = other.owner
    assert found.keys() == {how for op, how in KNOWN if op == name}, found
