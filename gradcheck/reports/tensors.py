"""Arrays as text: in a line, or side by side with wrong elements marked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.text import Text

from gradcheck.autograd.trace import ArraySummary
from gradcheck.reports.number_formats import format_cell, format_error, join_complex
from gradcheck.reports.palette import FAILURE, SUCCESS

#: The largest array that is shown element by element.
MAX_COLUMNS, MAX_ROWS = 8, 16
_MARK = "*"  # before each wrong element, unless all are wrong
_MARKED = f"({_MARK} differs)"  # the legend beside the title
_GAP = "      "
#: The styles of wrong elements on either side.
_GOT, _WANT = FAILURE, SUCCESS

Rows = list[list[Any]]


def value_range_text(seen: ArraySummary) -> str:
    """Return `from -1 to 4`, `of 2`, `from -1 to 4, 3 NaN or infinite`."""
    number = math.prod(seen.shape)
    if seen.array is not None and number == 1:
        return f"of {format_cell(to_printable_dtype(seen.array).item())}"
    if seen.not_finite == number:
        return "NaN or infinite everywhere" if number else "without elements"
    low, high = format_error(seen.low), format_error(seen.high)
    text = f"of {low}" if seen.low == seen.high else f"from {low} to {high}"
    return text + (f", {seen.not_finite:,} NaN or infinite" if seen.not_finite else "")


def inline_text(array: np.ndarray) -> str:
    """Return all numbers in nested brackets: `[[1, 2], [0.5, 3]]`."""
    return _nested(to_printable_dtype(array).tolist())


def to_printable_dtype(array: np.ndarray) -> np.ndarray:
    """Return the array in a dtype of Python's numbers: bfloat16 as float64."""
    return array.astype(np.float64) if array.dtype.kind == "V" else array


def _nested(value: Any) -> str:
    """Return a list as text; its depth is bounded by NumPy's."""
    return f"[{', '.join(map(_nested, value))}]" if isinstance(value, list) else format_cell(value)


def is_small(array: np.ndarray | None) -> bool:
    """Return whether an array is shown element by element."""
    if array is None or not 0 < array.size <= MAX_COLUMNS * MAX_ROWS:
        return False
    rows = _rows(array)
    return len(rows) <= MAX_ROWS and len(rows[0]) <= MAX_COLUMNS


def side_by_side(
    got: np.ndarray, want: np.ndarray | None, mask: np.ndarray | None, titles: tuple[str, str], width: int
) -> list[Text]:
    """Return both arrays as aligned rows; stacked if they do not fit.

    `mask` is True where they differ. Without `want` there is one block, and nothing in it is marked. The list is empty
    if one block is wider than `width`.
    """
    alike = want is not None and mask is not None and got.shape == want.shape == mask.shape
    gots, wants = _rows(got), [] if want is None else _rows(want)
    marks = _rows(mask) if alike and mask is not None else []
    text_of = _formatter(gots, wants, marks)
    left = _labelled(got.shape, _block(gots, marks, titles[0], text_of, _GOT))
    if want is None:
        return _strip_or_reject(left, width)
    right = _block(wants, marks, titles[1], text_of, _WANT)
    beside = [Text.assemble(a, _GAP, b) for a, b in zip(left, right, strict=True)] if alike else []
    return _strip_or_reject(beside, width) or _strip_or_reject([*left, *_labelled(want.shape, right)], width)


def wrong_elements(
    got: np.ndarray, want: np.ndarray, mask: np.ndarray, titles: tuple[str, str], limit: int
) -> list[Text]:
    """Return the first elements that differ, a line each with the index."""
    places = np.argwhere(mask)[:limit]
    gots, wants = (_rows(array[tuple(places.T)].reshape(-1, 1)) for array in (got, want))
    text_of = _formatter(gots, wants, [[True]] * len(places))
    labels = [f"[{', '.join(map(str, index))}]" for index in places.tolist()]
    columns = [
        ["", *labels],
        *([title, *(text_of(row[0]) for row in rows)] for title, rows in zip(titles, (gots, wants), strict=True)),
    ]
    widths = [max(map(cell_len, column)) for column in columns]
    lines: list[Text] = []
    for index, texts in enumerate(zip(*columns, strict=True)):
        label, a, b = (" " * (room - cell_len(text)) + text for text, room in zip(texts, widths, strict=True))
        lines.append(Text.assemble(label, "  ", (a, _GOT if index else ""), "  ", (b, _WANT if index else "")))
    return lines


def _rows(array: np.ndarray) -> Rows:
    """Return the last axis across, all others down; a vector in rows of eight."""
    array = to_printable_dtype(array)
    if array.ndim <= 1:
        flat = array.reshape(-1).tolist()
        return [flat[i : i + MAX_COLUMNS] for i in range(0, len(flat), MAX_COLUMNS)]
    rows: Rows = array.reshape(-1, array.shape[-1]).tolist()
    return rows


def _labels(shape: tuple[int, ...]) -> list[str]:
    """Return `[0]`, `[1]` for a matrix; `[8:]` for a long vector's second row."""
    if len(shape) <= 1:
        size = shape[0] if shape else 1
        return [""] if size <= MAX_COLUMNS else [f"[{start}:]" for start in range(0, size, MAX_COLUMNS)]
    return [f"[{', '.join(map(str, index))}]" for index in np.ndindex(*shape[:-1])]


def _block(rows: Rows, marks: Rows, title: str, text_of: Callable[[Any], str], style: str) -> list[Text]:
    """Return the title, then a line for each row, all of one width."""
    texts = [[text_of(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip_longest(*texts, fillvalue="")]
    told = style == _GOT and any(map(any, marks)) and not all(map(all, marks))
    lines = [Text(f" {title} {_MARKED}" if told else f" {title}")]
    for i, row in enumerate(texts):
        line = Text()
        for j, text in enumerate(row):
            wrong = bool(marks) and bool(marks[i][j])
            line.append(" " * (widths[j] - len(text) + (2 if j else 0)))
            line.append((_MARK if wrong and told else " ") + text, style if wrong else "")
        lines.append(line)
    total = max(line.cell_len for line in lines)
    for line in lines:
        line.pad_right(total - line.cell_len)
    return lines


def _labelled(shape: tuple[int, ...], block: list[Text]) -> list[Text]:
    labels = _labels(shape)
    room = max(map(len, labels))
    return [Text.assemble(label.rjust(room) + " ", line) for label, line in zip(["", *labels], block, strict=True)]


def _strip_or_reject(lines: list[Text], width: int) -> list[Text]:
    """Strip the lines; return nothing if one is too wide."""
    if any(line.cell_len > width for line in lines):
        return []
    for line in lines:
        line.rstrip()
    return lines


def _formatter(got: Rows, want: Rows, marks: Rows) -> Callable[[Any], str]:
    """Return one format for all, with few digits that keep marked pairs apart."""
    places = [(i, j) for i, row in enumerate(marks) for j, wrong in enumerate(row) if wrong]
    pairs = [(got[i][j], want[i][j]) for i, j in places if got[i][j] != want[i][j]]
    values = [part for row in (*got, *want) for value in row for part in (value.real, value.imag)]
    for text_of in _table_formats([v for v in values if math.isfinite(v)]):
        if all(text_of(a) != text_of(b) for a, b in pairs):
            break
    return text_of


def _table_formats(values: list[float]) -> Iterator[Callable[[Any], str]]:
    """Yield formats of a table, from short to exact.

    Integers come first, then fixed point, then exponents.
    """
    sizes = [abs(v) for v in values if v]
    low, high = min(sizes, default=1.0), max(sizes, default=1.0)
    if all(v == int(v) for v in values) and high < 1e15:
        yield _make_formatter("d")
        return
    if low >= 1e-3 and high < 1e6:
        whole = max(0, math.floor(math.log10(high)))
        start = next((d for d in range(1, 5) if all(float(f"{v:.{d}f}") == v for v in values)), max(1, 4 - whole))
        yield from (_make_formatter(f".{digits}f") for digits in range(start, 17 - whole))
    yield from (_make_formatter(f".{digits}e") for digits in range(3, 17))


def _make_formatter(spec: str) -> Callable[[Any], str]:
    def one(value: float) -> str:
        if not math.isfinite(value):
            return str(value)
        return f"{int(value) if spec == 'd' else value:{spec}}"

    def text_of(value: Any) -> str:
        if isinstance(value, bool):
            return str(value)
        if isinstance(value, complex):
            return join_complex(one(value.real), one(value.imag))
        return one(value)

    return text_of
