"""NumPy's and SciPy's errors, reworded; features of newer versions."""

from __future__ import annotations

import re
import sys
from types import ModuleType

from gradcheck.errors import Unsupported

#: NumPy's messages, and gradcheck's for the same.
_MEANINGS = (
    (r"Singular matrix", "the matrix is singular"),
    (r"Matrix is not positive definite", "the matrix is not positive definite"),
    (r"(\w+) did not converge", r"the search for \1 does not converge"),
    (
        r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)",
        r"index \1 is beyond dimension \2, which has a size of \3",
    ),
    (r"index (-?\d+) is out of bounds for size (\d+)", r"index \1 is beyond \2 elements"),
    (
        r"too many indices for array: array is (\d+)-dimensional, but (\d+) were indexed",
        r"\2 indices for a tensor with \1 dimensions",
    ),
    (
        r"boolean index did not match indexed array along (?:axis|dimension) (\d+);"
        r" (?:size of axis|dimension) is (\d+) but (?:size of )?.* is (\d+)",
        r"a mask of \3 along dimension \1, which has a size of \2",
    ),
    (
        r"shape mismatch: indexing arrays could not be broadcast together with shapes (.*)",
        r"indices of shapes \1 do not broadcast",
    ),
    (r"The truth value of an array with more than one element .*", "one number is wanted, not a tensor of several"),
    (r"only (?:integer scalar|0-dimensional) arrays can be converted to .*", "a number is wanted, not a tensor"),
    (r"cannot reshape array of size (\d+) into shape (.*)", r"\1 elements do not fill the shape \2"),
    (r"operands could not be broadcast together with shapes (.*)", r"shapes \1 do not broadcast"),
    (r"'(\w+)' object is not iterable|iteration over a 0-d array", "several values are wanted, not one"),
    (r"data type (.*) not understood", r"\1 is no dtype"),
    (r"must be real number, not (\w+)", r"a real number is wanted, not a \1"),
)


def reworded(text: str) -> str:
    """Return NumPy's message in gradcheck's words; unknown ones unchanged."""
    for pattern, meaning in _MEANINGS:
        found = re.fullmatch(pattern, text.strip())
        if found:
            return found.expand(meaning)
    return text


# Versions --------------------------------------------------------------------------------------------

_TITLES = {"numpy": "NumPy", "scipy": "SciPy"}
#: NumPy names some functions by their dispatchers.
_UNEXPECTED_ARGUMENT = re.compile(r"(?:\w+\.)*?_?(\w+?)(?:_dispatcher)?\(\) got an unexpected keyword argument '(\w+)'")


def missing_feature(op: str, error: Exception) -> Unsupported | None:
    """Return Unsupported for an op's call of a newer NumPy or SciPy; or None."""
    if isinstance(error, AttributeError) and isinstance(error.obj, ModuleType):
        library = error.obj.__name__.partition(".")[0]
        what = f"{error.obj.__name__}.{error.name}"
        return _unsupported(op, library, f"has no {what}", what) if library in _TITLES else None
    found = _UNEXPECTED_ARGUMENT.search(str(error)) if isinstance(error, TypeError) else None
    module = _module_with(found[1]) if found else ""
    if found is None or not module:
        return None
    what = f"{found[2]}= in {module}.{found[1]}"
    return _unsupported(op, module.partition(".")[0], f"does not take {what}", what)


def _unsupported(op: str, library: str, lack: str, what: str) -> Unsupported:
    version = sys.modules[library].__version__
    return Unsupported(f"{op}: {_TITLES[library]} {version} {lack}, which a newer one does", lacks=what)


def _module_with(name: str) -> str:
    """Return the loaded library module with this function; or ""."""
    modules = ("numpy", "numpy.linalg", "numpy.fft", "scipy.special", "scipy.linalg")
    return next((m for m in modules if m in sys.modules and callable(getattr(sys.modules[m], name, None))), "")
