"""The op table's entries, a file a family; importing this package imports every file in it, and so fills the table.

Families that few cases use stand in `on_demand/` and load when one of their ops is first asked for.

A family's file knows NumPy, dtypes and the families below it, never tensors or graphs: a rule is written in ops and
Python's operators, and works on whatever it is given. A new op goes into the file of its family, or a new family into a
file of its own, not named as an op is. What several families share stands in `common/`.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from gradcheck.autograd.methods import offer
from gradcheck.autograd.op import LATER, TABLE, every_name, lookup  # noqa: F401
from gradcheck.autograd.ops.on_demand import FAMILIES

LATER.update((name, f"{__name__}.on_demand.{family}") for family, names in FAMILIES.items() for name in names.split())

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
for _name in LATER:
    offer(_name)


def __getattr__(name: str) -> Any:
    entry = lookup(name)
    if entry is None:
        raise AttributeError(f"there is no op {name!r}")
    globals()[name] = entry  # the next time it is found at once
    return entry


def __dir__() -> list[str]:
    return sorted(every_name())
