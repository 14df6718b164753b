"""The op table's entries, by family. Importing this package fills the table."""

from typing import Any

from gradcheck.autograd.op import TABLE, lookup
from gradcheck.autograd.ops import arithmetic as arithmetic
from gradcheck.autograd.ops import order as order
from gradcheck.autograd.ops import shape as shape


def __getattr__(name: str) -> Any:
    entry = lookup(name)
    if entry is None:
        raise AttributeError(f"there is no op {name!r}")
    return entry


def __dir__() -> list[str]:
    return sorted(TABLE)
