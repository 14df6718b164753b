"""The methods of a library that another one calls: `sum` for `mean`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache, partial, partialmethod
from types import CodeType, FrameType
from typing import Any

from gradcheck.autograd.op import whole_table
from gradcheck.engines.tensor_class.call_forms import OPERATORS, Library, names_of

#: Python's names of operators, where torch has others.
_PYTHON = {"div": "truediv", "floor_divide": "floordiv", "remainder": "mod", "positive": "pos"}


def methods_called(library: Library, function: Callable[[], object]) -> dict[str, CodeType]:
    """Return the ops, and code, of Python methods that a function calls."""
    known = _codes(library)
    seen: dict[str, CodeType] = {}

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code in known:
            seen.setdefault(known[frame.f_code], frame.f_code)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        function()
    finally:
        sys.setprofile(before)
    return seen


def _codes(library: Library) -> dict[CodeType, str]:
    """Return the op of each method and function that is named like an op."""
    words = _words()
    found: dict[CodeType, str] = {}
    for home in reversed(library.modules):
        for owner in reversed(getattr(home, "__mro__", (home,))):
            for name, value in vars(owner).items():
                code = getattr(_function_of(value), "__code__", None)
                if isinstance(code, CodeType) and name in words:
                    found[code] = words[name]
    return found


def _function_of(value: Any) -> Any:
    """Return the function of a property, a method or a registered class.

    `setattr(Tensor, "relu", partialmethod(ReLU.apply, ReLU))` makes all ops of one function."""
    if not isinstance(value, (partial, partialmethod)):
        return getattr(value, "fget", getattr(value, "__func__", value))
    given = (*value.args, getattr(value.func, "__self__", None))
    return next((one.forward for one in given if isinstance(one, type) and hasattr(one, "forward")), value.func)


@lru_cache(maxsize=1)
def _words() -> dict[str, str]:
    """Return ops by the names of methods; an op's own name wins."""
    table = whole_table()
    found = {word: op.name for op in reversed(table.values()) for word in names_of(op)[1:]}
    found |= {op.name: op.name for op in table.values()}
    for op in OPERATORS:
        name = _PYTHON.get(op, op)
        found |= {f"__{name}__": op, f"__r{name}__": op}
    return found
