"""The section `shapes`: symbolic sizes of literals, and their agreement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gradcheck.errors import Hint
from gradcheck.language.case import Value
from gradcheck.language.expr.nodes import Call, Expr, Literal, Name, Sequence
from gradcheck.language.expr.torch_names import constant, is_usable
from gradcheck.language.loader.expression_reader import ExpressionReader
from gradcheck.language.loader.validate import AllNames
from gradcheck.language.loader.yaml_document import BROKEN, describe

#: Sizes in a row, with or without round brackets.
_ROW = re.compile(r"\(?\s*(\w+\s*(?:,\s*\w+\s*)*,?)\)?")
Shape = tuple[str | int, ...] | Expr
#: Creators whose arguments are the sizes or one list, and the position of the list of sizes in others.
_WRITTEN_OUT = frozenset({"randn", "rand", "zeros", "ones", "eye"})
_SIZE_AT = {"uniform": 2, "randint": 2, "full": 0, "normal": 2}


class SymbolicShapes:
    """The shapes of one case, and their `symbols`."""

    def __init__(self, expressions: ExpressionReader, said: Mapping[str, Any]) -> None:
        self.expressions, self.scope = expressions, expressions.scope
        self.dims = self.scope.sizes
        self.shapes: dict[str, Shape] = {}
        self.symbols: set[str] = set()
        for name, data in said.items():
            shape = self._read(name, data)
            if shape is not None:
                self.shapes[name] = shape
                self.symbols |= {word for word in _words(shape) if word not in self.dims}

    def _read(self, name: str, data: Any) -> Shape | None:
        if not self.scope.check_reference(("shapes", name), ("inputs", "constants"), "the tensor"):
            return None
        if isinstance(data, str) and (row := _ROW.fullmatch(data.strip())):
            written = f"[{', '.join(word.strip() for word in row[1].split(',') if word.strip())}]"
            hint = Hint(f"write {written}", data, written)
            self.scope.add_error(f"a shape is a list of sizes, not {describe(data)}", ("shapes", name), hint)
            return None
        if isinstance(data, str):
            claim = self.expressions.read(("shapes", name), data, AllNames(), random=True)
            if claim is None or isinstance(claim.expr, Call):
                return claim.expr if claim else None
        if not isinstance(data, list):
            if data is not BROKEN:
                message = f"a shape is a list of sizes or a creator, not {describe(data)}"
                self.scope.add_error(message, ("shapes", name), "write [a, b], or uniform(0.1, 2, [a, b])")
            return None
        good = [self._size(name, i, size) for i, size in enumerate(data)]
        return tuple(data) if all(good) else None

    def _size(self, name: str, index: int, size: Any) -> bool:
        if (isinstance(size, str) and is_usable(size)) or (type(size) is int and 0 <= size <= 100_000_000):
            return True
        if size is not BROKEN:
            message = f"a size is a word or an integer, not {describe(size)}"
            self.scope.add_error(message, ("shapes", name, index), "write [a, b] or [n, 3]")
        return False

    def resolve_sizes(self, values: Mapping[str, Value]) -> dict[str, int]:
        """Return the sizes of the symbols in the literals; report disagreement."""
        sizes: dict[str, tuple[int, str]] = {word: (size, "dims") for word, size in self.dims.items()}
        for name, shape in self.shapes.items():
            value = values.get(name)
            if value is None:
                continue
            if value.array is None:
                hint = "shapes are for literals: write the size into the expression, with a word of `dims`"
                self.scope.add_error(f"'{name}' is given as an expression", ("shapes", name), hint, key=True)
                continue
            symbols = shape if isinstance(shape, tuple) else creator_sizes(shape)
            if symbols is not None:
                self._match_shape(name, symbols, value.array.shape, sizes)
        missing = self.symbols - set(sizes)
        if missing and not self.scope.errors:
            for name, shape in self.shapes.items():
                unknown = sorted(_words(shape) & missing)
                if unknown:
                    message = f"the size '{unknown[0]}' cannot be read off the literal"
                    self.scope.add_error(message, ("shapes", name), "give it in `dims`")
        return {word: size for word, (size, _) in sizes.items() if word in self.symbols}

    def _match_shape(
        self, name: str, symbols: tuple[str | int, ...], actual: tuple[int, ...], sizes: dict[str, tuple[int, str]]
    ) -> None:
        path: tuple[str | int, ...] = ("shapes", name)
        if len(symbols) != len(actual):
            message = f"'{name}' has {len(actual)} dimensions, {len(symbols)} sizes are given"
            self.scope.add_error(message, path, f"its shape is {list(actual)}")
            return
        for index, (symbol, size) in enumerate(zip(symbols, actual, strict=True)):
            known, source = (symbol, "") if isinstance(symbol, int) else sizes.setdefault(symbol, (size, f"'{name}'"))
            if known != size:
                where = f"it is {known} in {source}" if source else f"its shape is {list(actual)}"
                message = f"the size '{symbol}' is {size} in '{name}'"
                self.scope.add_error(message, (*path, index), where)


def _words(shape: Shape) -> set[str]:
    if isinstance(shape, tuple):
        return {size for size in shape if isinstance(size, str)}
    sized = {size for size in creator_sizes(shape) or () if isinstance(size, str)}
    return sized | {node.name for node in shape.walk() if isinstance(node, Name) and constant(node.name) is None}


def creator_sizes(expr: Expr) -> tuple[str | int, ...] | None:
    """Return the sizes of the first creator if all are words or integers."""
    for node in expr.walk():
        if isinstance(node, Call):
            sizes = _sizes(node)
            if sizes is not None:
                return sizes
    return None


def _sizes(call: Call) -> tuple[str | int, ...] | None:
    keywords = dict(call.kwargs)
    if call.op in _SIZE_AT:
        at = _SIZE_AT[call.op]
        args: tuple[Expr, ...] = call.args[at : at + 1] or tuple(keywords[k] for k in ("size",) if k in keywords)
    elif call.op in _WRITTEN_OUT:
        args = call.args or tuple(keywords[k] for k in ("size",) if k in keywords)
        if call.op == "eye" and len(args) == 1:
            args = (args[0], args[0])
    else:
        return None
    items = args[0].items if len(args) == 1 and isinstance(args[0], Sequence) else args
    symbols = [_symbol(item) for item in items]
    return tuple(s for s in symbols if s is not None) if None not in symbols else None


def _symbol(expr: Expr) -> str | int | None:
    if isinstance(expr, Name):
        return expr.name
    return expr.value if isinstance(expr, Literal) and type(expr.value) is int else None
