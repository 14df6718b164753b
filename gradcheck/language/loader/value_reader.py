"""Values: forms and dtypes of inputs, constants, claims; and `tolerance`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.errors import InvalidCase
from gradcheck.language.case import StatedTolerance, Value
from gradcheck.language.evaluation.result_size import MAX_DIMENSIONS
from gradcheck.language.expr.nodes import Call, Dtype, Expr, Literal, Sequence
from gradcheck.language.loader.array_literals import ListError, cast, has_broken, to_array
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
