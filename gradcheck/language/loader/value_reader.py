"""Values: forms and dtypes of inputs, constants, claims; and `tolerance`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.errors import Hint, InvalidCase
from gradcheck.language.case import StatedTolerance, Value
from gradcheck.language.evaluation.result_size import MAX_DIMENSIONS
from gradcheck.language.expr.nodes import Call, Dtype, Expr, Literal, Sequence
from gradcheck.language.loader.expression_reader import ExpressionReader, Names
from gradcheck.language.loader.name_scope import NameScope
from gradcheck.language.loader.yaml_document import BROKEN, Path, describe, path_text
from gradcheck.language.suggest import did_you_mean

_FORM_KEYS = ("values", "shape", "dtype")


class ValueReader:
    """Reads the values of one case."""

    def __init__(self, expressions: ExpressionReader, dtype: str) -> None:
        self.expressions, self.document = expressions, expressions.document
        self.dtype = dtype  # the dtype of the case

    def read(self, path: Path, data: Any, names: Names, *, leaf: bool = False, random: bool = True) -> Value | None:
        """Return the value at `path`, whose text may use `names`.

        Returns None, with errors, if it is wrong. A `leaf` requires a gradient, and takes the case's dtype unless it
        states one.
        """
        try:
            if isinstance(data, dict):
                return self._read_mapping(path, data, names, leaf, random)
            return self._read_bare(path, data, names, leaf, random, "")
        except InvalidCase as error:
            self.expressions.scope.append_error(error)
            return None

    def _read_bare(self, path: Path, data: Any, names: Names, leaf: bool, random: bool, dtype: str) -> Value | None:
        if type(data) is str:
            claim = self.expressions.read(path, data, names, random=random)
            if claim is None:
                return None
            verbatim = claim.text if claim.is_verbatim else ""
            return Value(expr=claim.expr, dtype=dtype, place=claim.place, text=verbatim)
        if data is None:
            raise self._error(
                path, f"{path_text(path)} has no value", "write a number, a list or an expression", key=True
            )
        if self.document.broken and has_broken(data):
            return None
        try:
            array = to_array(data)
            if leaf and array.dtype == bool:
                raise self._error(path, "an input holds numbers, not booleans", "masks belong in `constants`")
            self._check_fit(array, dtype, leaf)
        except ListError as error:
            raise self._error((*path, *error.indices), error.message, self._shape_hint(data) or error.hint) from None
        return Value(array=array, dtype=dtype, place=self.document.place(path))

    def _shape_hint(self, data: Any) -> str:
        """Return a hint for a list that holds sizes instead of numbers, or ""."""
        if type(data) is not list or any(type(size) not in (int, str) for size in data):
            return ""
        words = {size for size in data if type(size) is str}
        if not words or not words <= self.expressions.scope.sizes.keys():
            return ""
        return f"a tensor of this shape is an expression: randn({', '.join(map(str, data))})"

    def _check_fit(self, array: np.ndarray, dtype: str, leaf: bool) -> None:
        """Raise ListError for a number that does not fit its final dtype."""
        target = dtype or (self.dtype if leaf or array.dtype.kind == "f" else "")
        if target and target != "complex128" and (target != "float64" or array.dtype.kind == "c"):
            cast(array, target)

    def _read_mapping(self, path: Path, data: dict[str, Any], names: Names, leaf: bool, random: bool) -> Value | None:
        """Read `{values: …, shape: …, dtype: …}`."""
        for key in data:
            if key not in _FORM_KEYS:
                hint = did_you_mean(key, _FORM_KEYS, "a value is a number, a list, text, or {values, shape, dtype}")
                raise self._error((*path, key), f"unknown key '{key}'", hint, key=True)
        dtype = self._dtype(path, data, leaf) if "dtype" in data else ""
        shape = self._shape(path, data["shape"]) if "shape" in data else None
        if dtype is None or any(part is BROKEN for part in data.values()):
            return None
        if "values" not in data and not (shape is not None and 0 in shape):
            raise self._error(path, f"{path_text(path)} lacks its values", "write {values: [1, 2], dtype: int64}")
        value = self._read_bare((*path, "values"), data.get("values", []), names, leaf, random, dtype)
        if value is None or (shape is None and not dtype):
            return value
        place = self.document.place(path)
        if value.expr is not None:
            return Value(expr=_shaped(value.expr, shape, dtype), dtype=dtype, place=place)
        array = cast(value.array, dtype) if dtype else value.array
        if shape is not None:
            if array.size != math.prod(shape):
                message = f"{array.size} numbers do not fill the shape {list(shape)}"
                raise self._error((*path, "shape"), message, f"it takes {math.prod(shape):,}")
            array = array.reshape(shape)
        return Value(array=array, dtype=dtype, place=place)

    def _dtype(self, path: Path, data: dict[str, Any], leaf: bool) -> str | None:
        name = data["dtype"]
        if name is BROKEN:
            return None
        word = name.removeprefix("torch.") if isinstance(name, str) else ""
        word = dtypes.ALIASES.get(word, word)
        if word not in dtypes.BY_NAME:
            hint = did_you_mean(str(name), dtypes.BY_NAME, f"the dtypes are {', '.join(dtypes.BY_NAME)}")
            raise self._error((*path, "dtype"), f"{describe(name)} is no dtype", hint)
        if leaf and not dtypes.is_differentiable(dtypes.BY_NAME[word]):
            message = f"an input cannot be {word}, since it requires a gradient"
            raise self._error((*path, "dtype"), message, "integers and booleans belong in `constants`")
        return word

    def _shape(self, path: Path, shape: Any) -> tuple[int, ...]:
        if not isinstance(shape, list) or any(type(size) is not int or size < 0 for size in shape):
            raise self._error((*path, "shape"), "a shape is a list of integers from 0", "write [2, 3]; a number has []")
        if len(shape) > MAX_DIMENSIONS:
            raise self._error((*path, "shape"), f"a tensor of more than {MAX_DIMENSIONS} dimensions")
        most = self.expressions.elements
        if max(shape, default=0) > most or math.prod(shape) > most:  # [0, 10 ** 20] is none of NumPy's, either
            raise self._error((*path, "shape"), f"a tensor of more than {most:,} elements")
        return tuple(shape)

    def _error(self, path: Path, message: str, hint: str = "", *, key: bool = False) -> InvalidCase:
        place = self.document.key_place(path) if key else self.document.place(path)
        return InvalidCase(message, place=place, hint=hint)


def _shaped(expr: Expr, shape: tuple[int, ...] | None, dtype: str) -> Expr:
    if dtype:
        expr = Call("to", (expr, Dtype(dtype)))
    if shape is not None:
        expr = Call("reshape", (expr, Sequence(tuple(Literal(size) for size in shape))))
    return expr


_TOLERANCE_KEYS = ("rtol", "atol")


def read_tolerances(
    scope: NameScope, said: Mapping[str, Any]
) -> tuple[dict[str, StatedTolerance], StatedTolerance | None]:
    """Return the tolerances of claims by tensor (or ""), and that of engines."""
    claims: dict[str, StatedTolerance] = {}
    engines = None
    common = {key: value for key, value in said.items() if not isinstance(value, dict)}
    if common:
        claims[""] = read_tolerance(scope, ("tolerance",), common)
    for name, value in said.items():
        path = ("tolerance", name)
        if not isinstance(value, dict):
            continue
        if name == "engines":
            engines = read_tolerance(scope, path, value)
        elif scope.check_reference(path, ("inputs", "constants", "graph"), "the tensor"):
            claims[name] = read_tolerance(scope, path, value)
    return claims, engines


def read_tolerance(scope: NameScope, path: Path, said: Mapping[str, Any]) -> StatedTolerance:
    """Return the tolerance `{rtol, atol}` at a path."""
    numbers = {}
    for key, value in said.items():
        if key not in _TOLERANCE_KEYS:
            hint = did_you_mean(key, _TOLERANCE_KEYS, "write {rtol: 1e-6, atol: 1e-9}")
            scope.add_error(f"unknown key '{key}'", (*path, key), hint, key=True)
        elif isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
            if value is not BROKEN:
                message = f"'{key}' takes a number from 0, not {describe(value)}"
                scope.add_error(message, (*path, key), "write it like 1e-6")
        else:
            numbers[key] = float(value)
    return StatedTolerance(numbers.get("rtol"), numbers.get("atol"))


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
