"""What an older NumPy or SciPy lacks of what an op computes with: an engine that cannot, not one that is wrong."""

from __future__ import annotations

import re
import sys
from types import ModuleType

from gradcheck.errors import Unsupported

_TITLES = {"numpy": "NumPy", "scipy": "SciPy"}
#: Functions of NumPy that have been overridden are named by what dispatches them.
_UNKNOWN = re.compile(r"(?:\w+\.)*?_?(\w+?)(?:_dispatcher)?\(\) got an unexpected keyword argument '(\w+)'")


def lacking(op: str, error: Exception) -> Unsupported | None:
    """The error where the forward of an op has asked NumPy or SciPy for a function or an argument that the installed
    version does not have; None where it is about anything else."""
    if isinstance(error, AttributeError) and isinstance(error.obj, ModuleType):
        library = error.obj.__name__.partition(".")[0]
        what = f"{error.obj.__name__}.{error.name}"
        return _unsupported(op, library, f"has no {what}", what) if library in _TITLES else None
    found = _UNKNOWN.search(str(error)) if isinstance(error, TypeError) else None
    module = _home_of(found[1]) if found else ""
    if found is None or not module:
        return None
    what = f"{found[2]}= in {module}.{found[1]}"
    return _unsupported(op, module.partition(".")[0], f"does not take {what}", what)


def _unsupported(op: str, library: str, lack: str, what: str) -> Unsupported:
    version = sys.modules[library].__version__
    return Unsupported(f"{op}: {_TITLES[library]} {version} {lack}, which a newer one does", lacks=what)


def _home_of(name: str) -> str:
    """The module of NumPy or SciPy, of those that are loaded, that has a function of this name; empty for none."""
    modules = ("numpy", "numpy.linalg", "numpy.fft", "scipy.special", "scipy.linalg")
    return next((m for m in modules if m in sys.modules and callable(getattr(sys.modules[m], name, None))), "")
