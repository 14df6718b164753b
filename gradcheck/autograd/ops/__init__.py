"""The op table's entries, a file a family, which loads when one of its ops is first asked for: `families` says which
has which. Those that few cases use stand in `rare_ops/`.

A family's file knows NumPy, dtypes and the families below it, never tensors or graphs: a rule is written in ops and
Python's operators, and works on whatever it is given. A new op goes into the file of its family, or a new family into a
file of its own, not named as an op is. What several families share stands in `common/`.
"""

from typing import Any

from gradcheck.autograd.op import TABLE, every_name, lookup  # noqa: F401


def __getattr__(name: str) -> Any:
    entry = lookup(name)
    if entry is None:
        raise AttributeError(f"there is no op {name!r}")
    globals()[name] = entry  # the next time it is found at once
    return entry


def __dir__() -> list[str]:
    return sorted(every_name())
