"""Two tensors side by side, and a map of their difference.

The map shows log10 of the difference over the allowed difference, cell by cell. Blue is within what is allowed, yellow
to brown beyond it: hues that colour-blind readers tell apart, and each has a number, or a mark, where there is room.
NaN and infinities that differ are purple and black. Tensors of different shapes are shown without a map.
"""

from __future__ import annotations

import math
import struct
import zlib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.modes import quiet
from gradcheck.checks.closeness.tolerance import Tolerance
from gradcheck.checks.result import Comparison
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports.number_formats import format_cell, format_error
from gradcheck.reports.palette import HEAT
from gradcheck.reports.phrases.comparison_text import side_names
from gradcheck.reports.tensors import to_printable_dtype


def _rgb(colour: str) -> tuple[int, int, int]:
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue


#: The largest table that is drawn by cells, and the most pixels of an image's side.
MOST_ROWS, MOST_COLUMNS, MOST_PIXELS = 24, 12, 256
#: The largest table without indices.
UNLABELLED = 8
#: The most single indices of an axis that are named.
_NAMED = 3
#: The most elements of a tensor with a picture.
MOST_ELEMENTS = 8_000_000
#: The bounds of levels, in log10 of the difference over the allowed one.
EDGES = (-2.0, 0.0, 2.0, 5.0, 8.0, 10.0)
#: Equal, two within what is allowed, five beyond it; then NaN and infinities that differ.
LEVELS = (
    *("equal", "far within what is allowed", "within what is allowed", "up to 10² times what is allowed"),
    *("up to 10⁵ times", "up to 10⁸ times", "up to 10¹⁰ times", "more than 10¹⁰ times what is allowed"),
    *("NaN", "infinite"),
)
NAN, INFINITE = 8, 9
#: Values from low to high: cividis (Nuñez, Anderton & Renslow 2018), by ten of its colours.
_CIVIDIS = ("00204d", "00336f", "39486b", "575c6d", "707173", "8a8779", "a69d75", "c4b56c", "e4cf5b", "ffea46")
_VALUES = 64
_HEAT = tuple(map(_rgb, HEAT))
_CELL_HEIGHT, _COLUMN, _LABEL_HEIGHT, _SMALL = 24, 7.2, 16, 6.3


#: A level of the scale that occurs: its place in `LEVELS`, its name, its count.
Level = tuple[int, str, int]


@dataclass(frozen=True, slots=True)
class Panel:
    """SVG of cells, or an image, in pixels, with a text for screen readers."""

    title: str
    description: str
    svg: str = ""
    source: str = ""
    width: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Both tensors and their difference; `notes` say where it is wrong."""

    panels: tuple[Panel, ...]
    levels: tuple[Level, ...] = ()
    elements_per_pixel: tuple[int, int] | None = None  # rows and columns of a pixel, if not 1
    notes: tuple[str, ...] = ()


def draw_heat_map(c: Comparison) -> HeatMap | None:
    """Return the panels; None for no tensor, or too large a one."""
    got, want = c.got_array, c.want_array
    if got is None or want is None or got.shape != want.shape:
        return _separate_panels(c)
    if not 0 < got.size <= MOST_ELEMENTS:
        return None
    with quiet():
        ratio, levels = _ratios(c, got, want)
    tables = [_table(array) for array in (got, want)]
    ratios, places = _table(ratio), _table(levels)
    counts = np.bincount(levels.reshape(-1), minlength=len(LEVELS))
    found = tuple((place, LEVELS[place], int(n)) for place, n in enumerate(counts) if n)
    titles = (*side_names(c), "log₁₀ (difference / allowed)")
    where = wrong_region(levels > 2)
    notes = (f"wrong at {where} alone",) if where else ()
    if _is_small(places):
        labels = _labels(got.shape, places.shape)
        differ = places > 2
        texts = [_texts(table, got.size) for table in tables]
        panels = [_cells(one, text, labels, differ) for one, text in zip(titles, texts, strict=False)]
        pairs = zip(ratios.reshape(-1).tolist()[: got.size], places.reshape(-1).tolist(), strict=False)
        logs = _rows([_log(*pair) for pair in pairs], places.shape[1])
        panels.append(_cells(titles[2], logs, labels, differ, places))
        return HeatMap(tuple(panels), found, notes=notes)
    heat = _images(titles, tables, places, found)
    return replace(heat, notes=(*notes, *heat.notes, _axes(got.shape, places.shape)))


def _is_small(table: np.ndarray) -> bool:
    return bool(table.shape[0] <= MOST_ROWS and table.shape[1] <= MOST_COLUMNS)


def _separate_panels(c: Comparison) -> HeatMap | None:
    names = ("where it holds", "") if c.what is ClaimKind.CHECK and c.want_array is None else side_names(c)
    panels = []
    for title, array in zip(names, (c.got_array, c.want_array), strict=True):
        if array is None or not 0 < array.size <= MOST_ELEMENTS:
            continue
        told = f"{title}, shape [{', '.join(map(str, array.shape))}]"
        table = _table(array)
        if _is_small(table):
            labels = _labels(array.shape, table.shape)
            panels.append(_cells(told, _texts(table, array.size), labels, np.zeros(table.shape, bool)))
        else:
            panels += _images((told,), [table], None, ()).panels
    return HeatMap(tuple(panels)) if panels else None


def _ratios(c: Comparison, got: np.ndarray, want: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the difference over the allowed one, and its level, by element."""
    # the comparison may have judged an element by other rules, such as rounding: its judgement counts
    a, b = wide(to_printable_dtype(got)), wide(to_printable_dtype(want))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    error = np.where(same, 0.0, np.abs(a - b))
    allowed = Tolerance.of(c).allowed(np.abs(b))
    ratio = np.where(same, 0.0, error / np.where(allowed > 0, allowed, np.nan))
    ratio = np.where(np.isnan(ratio) & ~np.isnan(error), np.inf, ratio)
    levels = np.where(same, 0, 1 + np.digitize(np.log10(np.where(ratio > 0, ratio, 1e-300)), EDGES)).astype(np.uint8)
    if c.mask is not None and c.mask.shape == levels.shape:
        levels = np.where(c.mask, np.maximum(levels, 3), np.minimum(levels, 2)).astype(np.uint8)
    nans, infinite = np.isnan(a) != np.isnan(b), (np.isinf(a) | np.isinf(b)) & ~same
    levels = np.where(infinite, INFINITE, levels)
    return ratio, np.where(nans, NAN, levels).astype(np.uint8)


def _table(array: np.ndarray) -> np.ndarray:
    """Return the last axis across; a long vector in rows, padded with zeros."""
    array = to_printable_dtype(array)
    if array.ndim <= 1:
        flat = array.reshape(-1)
        across = flat.size if flat.size <= MOST_COLUMNS else 8 if flat.size <= 8 * MOST_ROWS else 64
        rows = -(-flat.size // across)
        if rows * across > flat.size:
            flat = np.concatenate([flat, np.zeros(rows * across - flat.size, flat.dtype)])
        return flat.reshape(rows, across)
    return array.reshape(-1, array.shape[-1])


def _labels(shape: tuple[int, ...], table: tuple[int, int]) -> tuple[list[str], list[str]]:
    """Return the indices of rows and of columns; of a vector, row starts."""
    rows, columns = table
    if rows * columns <= UNLABELLED:
        return [], []
    if len(shape) <= 1:
        return ([] if rows == 1 else [str(row * columns) for row in range(rows)]), [str(at) for at in range(columns)]
    return [", ".join(map(str, index)) for index in np.ndindex(*shape[:-1])], [str(at) for at in range(columns)]


def _axes(shape: tuple[int, ...], table: tuple[int, int]) -> str:
    if len(shape) <= 1:
        return f"{math.prod(shape):,} elements, in rows of {table[1]}"
    down = "axis 0" if len(shape) == 2 else f"axes 0 to {len(shape) - 2}"
    return f"{down} downwards ({' × '.join(map(str, shape[:-1]))}), axis {len(shape) - 1} across ({shape[-1]})"


# Cells -------------------------------------------------------------------------------------------------


def _texts(table: np.ndarray, size: int) -> list[list[str]]:
    return _rows([format_cell(value) for value in table.reshape(-1).tolist()[:size]], table.shape[1])


def _rows(texts: list[str], across: int) -> list[list[str]]:
    return [texts[start : start + across] for start in range(0, len(texts), across)]


def _log(ratio: float, place: int) -> str:
    if place in (NAN, INFINITE):
        return "NaN" if place == NAN else "∞"
    if ratio == 0 or place == 0:
        return "="
    return "∞" if ratio == np.inf else f"{np.log10(ratio):+.1f}"


def _cells(
    title: str,
    texts: list[list[str]],
    labels: tuple[list[str], list[str]],
    differ: np.ndarray,
    places: np.ndarray | None = None,
) -> Panel:
    wide_as = max(len(text) for row in texts for text in row)
    cell = max(30, round(wide_as * _COLUMN + 12))
    down, across = labels
    left, top = round(max(map(len, down), default=-1) * _SMALL + 7), _LABEL_HEIGHT if across else 0
    width, height = left + cell * len(texts[0]), top + _CELL_HEIGHT * len(texts)
    parts = [f'<svg class="cells" width="{width}" height="{height}" viewBox="0 0 {width} {height}" aria-hidden="true">']
    for i, text in enumerate(down):
        parts.append(f'<text class="at row" x="{left - 6}" y="{top + i * _CELL_HEIGHT + 16}">{text}</text>')
    for j, text in enumerate(across):
        parts.append(f'<text class="at" x="{left + j * cell + cell / 2:g}" y="{top - 4}">{text}</text>')
    for i, row in enumerate(texts):
        for j, text in enumerate(row):
            level = f"h{places[i, j]}" if places is not None else "differs" if differ[i, j] else "plain"
            x, y = left + j * cell, top + i * _CELL_HEIGHT
            parts.append(f'<rect class="{level}" x="{x}" y="{y}" width="{cell}" height="{_CELL_HEIGHT}"/>')
            style = f' class="t{places[i, j]}"' if places is not None else ' class="differs"' if differ[i, j] else ""
            parts.append(f'<text{style} x="{x + cell / 2:g}" y="{y + 16}">{escape(text)}</text>')
    told = f"{title}: " + "; ".join(", ".join(row) for row in texts)
    return Panel(title, told, "".join([*parts, "</svg>"]), width=width, height=height)


# Images ------------------------------------------------------------------------------------------------


def _images(
    titles: tuple[str, ...], tables: list[np.ndarray], places: np.ndarray | None, found: tuple[Level, ...]
) -> HeatMap:
    """Return the tables as images; with `places`, a map of differences too."""
    shape = tables[0].shape
    down, across = (-(-size // MOST_PIXELS) for size in shape)
    scale = max(1, min(12, 320 // max(1, -(-shape[1] // across)), 480 // max(1, -(-shape[0] // down))))
    values = [np.abs(t) if t.dtype.kind == "c" else t.astype(np.float64) for t in tables]
    finite = np.concatenate([v[np.isfinite(v)] for v in values])
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    scale_text = f"values from {format_error(low)} (dark) to {format_error(high)} (bright)"
    panels = []
    for title, table in zip(titles, values, strict=False):
        told = f"{title}: {scale_text}"
        panels.append(_image(title, told, _blocks(_shades(table, low, high), down, across), _palette(), scale))
    if places is not None:
        told = ", ".join(f"{number:,} {name}" for _, name, number in found)
        panels.append(_image(titles[-1], told, _blocks(places, down, across), _HEAT, scale))
    strange = "; purple is NaN or infinite" if sum(v.size for v in values) > finite.size else ""
    notes = (f"{scale_text}{strange}",)
    return HeatMap(tuple(panels), found, (down, across) if down * across > 1 else None, notes)


def _image(title: str, told: str, pixels: np.ndarray, palette: tuple[tuple[int, int, int], ...], scale: int) -> Panel:
    height, width = pixels.shape
    source = f"data:image/png;base64,{b64encode(encode_png(pixels, palette)).decode('ascii')}"
    return Panel(title, told, source=source, width=width * scale, height=height * scale)


def _shades(table: np.ndarray, low: float, high: float) -> np.ndarray:
    span = high - low or 1.0
    shades = np.clip((table - low) / span, 0, 1) * (_VALUES - 1)
    return np.where(np.isfinite(table), np.nan_to_num(shades), _VALUES).astype(np.uint8)


def _palette() -> tuple[tuple[int, int, int], ...]:
    anchors = np.array([_rgb(colour) for colour in _CIVIDIS], float)
    at = np.linspace(0, len(anchors) - 1, _VALUES)
    channels = [np.interp(at, range(len(anchors)), anchors[:, k]).round().astype(int).tolist() for k in range(3)]
    return (*zip(*channels, strict=True), _HEAT[NAN])


def _blocks(pixels: np.ndarray, down: int, across: int) -> np.ndarray:
    """Return the maximum of each block of pixels, so that no error gets lost."""
    rows, columns = pixels.shape
    padded = np.zeros((-(-rows // down) * down, -(-columns // across) * across), np.uint8)
    padded[:rows, :columns] = pixels
    blocks = padded.reshape(padded.shape[0] // down, down, padded.shape[1] // across, across)
    highest: np.ndarray = blocks.max(axis=(1, 3))
    return highest


def encode_png(indices: np.ndarray, palette: Sequence[tuple[int, int, int]]) -> bytes:
    """Return a PNG image; pixels are uint8 indices of at most 256 colours.

    W3C, Portable Network Graphics, 3rd edition."""
    height, width = indices.shape
    rows = np.zeros((height, width + 1), np.uint8)  # each begins with its filter: none
    rows[:, 1:] = indices
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    colours = b"".join(struct.pack("BBB", *colour) for colour in palette)
    parts = ((b"IHDR", header), (b"PLTE", colours), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def wrong_region(wrong: np.ndarray) -> str:
    """Return the block `[:, 0 or 4]` that is exactly what is wrong, or ""."""
    if wrong.ndim == 0 or wrong.all() or wrong.sum() < 2:
        return ""
    all_axes = range(wrong.ndim)
    axes = [np.asarray(wrong.any(axis=tuple(one for one in all_axes if one != axis))) for axis in all_axes]
    if not wrong[np.ix_(*axes)].all():
        return ""
    texts = [_indices(axis) for axis in axes]
    return f"[{', '.join(texts)}]" if all(texts) else ""


def _indices(hit: np.ndarray) -> str:
    """Return the indices along an axis: all, a span, one, or a few; else ""."""
    places = np.flatnonzero(hit).tolist()
    first, last = places[0], places[-1]
    if len(places) == hit.size:
        return ":"
    if len(places) == 1:
        return str(first)
    if last - first + 1 == len(places) and len(places) > 2:
        return f"{first or ''}:{'' if last + 1 == hit.size else last + 1}"
    if len(places) > _NAMED:
        return ""
    return f"{', '.join(map(str, places[:-1]))} or {places[-1]}"
