"""The entries of the op table, one file for each family of ops.

A family's file knows NumPy, dtypes and earlier families, never tensors or graphs: a rule is written in ops and Python's
operators, and works on any values. A new op goes into its family's file, or into a new file, not named like an op.
Families share helpers in `common/`; `rare_ops/` has those that few cases use.
"""

from typing import Any

from gradcheck.autograd.op import TABLE, every_name, lookup  # noqa: F401


def __getattr__(name: str) -> Any:
    entry = lookup(name)
    if entry is None:
        raise AttributeError(f"there is no op {name!r}")
    globals()[name] = entry  # found at once next time
    return entry


def __dir__() -> list[str]:
    return sorted(every_name())
