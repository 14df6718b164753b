"""Arrays from literals: numbers, nested lists, complex numbers as text."""

from __future__ import annotations

import re
from itertools import chain
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.errors import Hint
from gradcheck.language.evaluation.result_size import MAX_DIMENSIONS
from gradcheck.language.loader.yaml_document import BROKEN, describe

_NUMBERS = frozenset({int, float, bool, str})


class ListError(Exception):
    """A list that is no tensor: the mistake, its indices, and a hint."""

    def __init__(self, message: str, indices: tuple[int, ...], hint: str = "") -> None:
        super().__init__(message)
        self.message, self.indices, self.hint = message, indices, hint


def to_array(data: Any) -> np.ndarray:
    """Return the array of a number or of nested lists.

    Its dtype is float64, int64, bool or complex128; integers beyond 64 bits become floats. Linear in the list's size
    and not recursive. Raises ListError.
    """
    shape, flat = _flatten(data)
    kinds = set(map(type, flat))
    if bool in kinds and len(kinds) > 1:
        first = next(i for i, item in enumerate(flat) if type(item) is bool)
        raise ListError("booleans and numbers in one list", _indices(first, shape), "write 1 and 0, or true and false")
    if str in kinds:
        flat = [_complex(item, _indices(i, shape)) if type(item) is str else item for i, item in enumerate(flat)]
    elif kinds == {int} and not (min(flat) in dtypes.INT64_RANGE and max(flat) in dtypes.INT64_RANGE):
        flat = [float(item) for item in flat]
    dtype = bool if bool in kinds else complex if str in kinds else None
    array = np.array(flat, dtype=dtype if flat else np.float64)
    return array.reshape(shape)


def _flatten(data: Any) -> tuple[tuple[int, ...], list[Any]]:
    """Return the shape and the flat numbers; first items set the lengths."""
    shape: list[int] = []
    level = [data]
    while type(level[0]) is list:
        length = len(level[0])
        for row, item in enumerate(level):
            if type(item) is not list or len(item) != length:
                raise _ragged(level, row, tuple(shape))
        shape.append(length)
        if len(shape) > MAX_DIMENSIONS:
            raise ListError(f"a tensor of more than {MAX_DIMENSIONS} dimensions", ())
        level = list(chain.from_iterable(level))
        if not level:
            return tuple(shape), []
    for position, item in enumerate(level):
        if type(item) not in _NUMBERS:
            if type(item) is list:
                raise _ragged(level, position, tuple(shape))
            hint = "not a number is written .nan" if item is None else ""
            raise ListError(f"{describe(item)} is not a number", _indices(position, tuple(shape)), hint)
    return tuple(shape), level


def _ragged(level: list[Any], row: int, shape: tuple[int, ...]) -> ListError:
    def length(item: Any) -> str:
        if type(item) is not list:
            return "a single number"
        return f"{len(item)} entries" if len(item) != 1 else "1 entry"

    indices = _indices(row, shape)
    name = "".join(f"[{i}]" for i in indices)
    first = "".join(f"[{i}]" for i in _indices(0, shape))
    message = f"the list is ragged: row {name} has {length(level[row])}, row {first} has {length(level[0])}"
    return ListError(message, indices, "all rows of a tensor are equally long")


def _indices(position: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(position, shape)) if shape else ()


def _complex(text: str, indices: tuple[int, ...]) -> complex:
    compact = text.replace(" ", "")
    try:
        if compact[-1:] == "j" and compact.isascii() and "_" not in compact:
            return complex(compact)
    except ValueError:
        pass
    raise ListError(f"{describe(text)} is not a number", indices, _text_hint(text))


def _text_hint(text: str) -> str:
    """Guess what text in the place of a number was meant to be."""
    if text.lower() in ("yes", "no", "on", "off"):
        return "booleans are true and false"
    if ";" in text:
        return "each row is a list of its own: [[1, 2], [3, 4]]"
    if text.lower().lstrip("+-") in ("inf", "infinity", "nan", "np.inf", "np.nan", "math.inf"):
        word = f"{'-' if text.startswith('-') else ''}.{'nan' if 'nan' in text.lower() else 'inf'}"
        return Hint(f"write {word}", text, word)
    if re.fullmatch(r"-?[\d.]+ *[-+*/] *[\d.]+|-?\d+ *\*\* *-?\d+", text):
        return f"a list holds numbers alone; what is to be computed is an expression: tensor([{text}])"
    if found := re.fullmatch(r"([-+]?\d*\.?\d+)[fFdDlL]", text):
        return Hint(f"write {found[1]}", text, found[1])
    words = text.split()
    if len(words) > 1 and all(word.lstrip("+-").replace(".", "").isdigit() for word in words):
        return "numbers of a list have commas between them"
    if text.isidentifier():
        return "a list holds numbers; an expression stands in place of the whole list, as randn(n, 3) does"
    return 'numbers are written without quotes, complex ones as "1+2j"'


def has_broken(data: Any) -> bool:
    """Return whether nested lists hold a value that could not be read."""
    level = [data]
    while level:
        if any(item is BROKEN for item in level):
            return True
        level = list(chain.from_iterable(item for item in level if type(item) is list))
    return False


def cast(array: np.ndarray, name: str) -> np.ndarray:
    """Return the array in the named dtype; raise ListError if it does not fit."""
    dtype = dtypes.BY_NAME[name]
    if array.dtype.kind == "c" and dtype.kind != "c":
        index = tuple(int(i) for i in np.argwhere(array.imag)[0]) if array.imag.any() else (0,) * array.ndim
        raise ListError(f"a complex number does not fit in {name}", index, "take complex128 or complex64 as the dtype")
    with np.errstate(all="ignore"):
        result = array.astype(dtype)
        if dtype.kind in "iu":
            wrong = result != array
        elif dtype.kind in "fcV":
            wrong = np.isfinite(array) & ~np.isfinite(result)
        else:
            wrong = (array != 0) & (array != 1)
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise ListError(f"{array[index]} does not fit in {name}", index)
    return result
