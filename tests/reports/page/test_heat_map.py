"""Two tensors side by side: levels, cells, images, what is no number."""

from __future__ import annotations

import struct
import xml.dom.minidom
import zlib
from base64 import b64decode
from typing import Any

import numpy as np
import pytest

from gradcheck.reports.page import heat_map
from gradcheck.reports.page.heat_map import INFINITE, LEVELS, MOST_PIXELS, NAN, draw_heat_map, encode_png, wrong_region
from gradcheck.reports.palette import HEAT


def pixels(source: str) -> np.ndarray:
    """The places in the palette, by the standard."""
    data = b64decode(source.removeprefix("data:image/png;base64,"))
    width, height = struct.unpack(">II", data[16:24])
    start = data.index(b"IDAT")
    (length,) = struct.unpack(">I", data[start - 4 : start])
    rows = np.frombuffer(zlib.decompress(data[start + 4 : start + 4 + length]), np.uint8).reshape(height, width + 1)
    assert not rows[:, 0].any()
    return rows[:, 1:]


def test_small_tensors_are_cells_with_numbers(failed: Any) -> None:
    got, want = np.array([[1.0, 2.0, np.nan], [4.0, np.inf, 6.0]]), np.array([[1.0, 2.2, 3.0], [4.0, 5.0, np.nan]])
    heat = draw_heat_map(failed(got, want))
    assert heat is not None
    assert [panel.title for panel in heat.panels[:2]] == ["core", "torch"]
    for panel in heat.panels:
        assert len(xml.dom.minidom.parseString(panel.svg).getElementsByTagName("rect")) == 6
    assert {place: number for place, _, number in heat.levels} == {0: 2, 6: 1, NAN: 2, INFINITE: 1}
    assert ">+9.0<" in heat.panels[2].svg
    assert ">NaN<" in heat.panels[2].svg


def test_what_the_comparison_found_counts(failed: Any) -> None:
    """It may allow an element more than the rule, for its rounding, and nothing where another stands for it."""
    mask = np.array([True, False])
    heat = draw_heat_map(failed(np.array([1.0, 3.0]), np.array([1 + 1e-13, 2.0]), mask=mask))
    assert heat is not None
    assert [place for place, *_ in heat.levels] == [2, 3]


def test_large_tensors_are_images(failed: Any) -> None:
    want = np.random.default_rng(0).standard_normal((192, 61))
    got = want.copy()
    got[:, 7] *= 1.01
    heat = draw_heat_map(failed(got, want))
    assert heat is not None
    assert not heat.elements_per_pixel
    found = pixels(heat.panels[2].source)
    assert found.shape == (192, 61)
    assert (found[:, 7] > 2).all()
    assert not np.delete(found, 7, axis=1).any()


def test_of_huge_tensors_nothing_that_is_wrong_gets_lost(failed: Any) -> None:
    want = np.ones((2000, 1500))
    got = want.copy()
    got[1234, 777] = 2
    heat = draw_heat_map(failed(got, want))
    assert heat is not None
    found = pixels(heat.panels[2].source)
    assert max(found.shape) <= MOST_PIXELS
    assert (found > 2).sum() == 1
    assert heat.elements_per_pixel == (8, 6)


@pytest.mark.parametrize(
    "array",
    [np.array(2.0), np.arange(5), np.arange(300.0), np.ones((2, 3, 4, 5)), np.array([1 + 2j]), np.array([True, False])],
    ids=lambda array: f"{array.dtype}{list(array.shape)}",
)
def test_every_shape_and_dtype(failed: Any, comparison: Any, array: np.ndarray) -> None:
    fields = {"status": "failed", "got_array": ~array if array.dtype == bool else array + 1, "want_array": array}
    heat = draw_heat_map(comparison(**fields))
    assert heat is not None
    assert sum(number for *_, number in heat.levels) == array.size


def texts(svg: str, kind: str = "") -> list[str]:
    found = xml.dom.minidom.parseString(svg).getElementsByTagName("text")
    return [one.firstChild.data for one in found if one.getAttribute("class").startswith(kind)]


def test_rows_and_columns_have_their_indices(failed: Any) -> None:
    heat = draw_heat_map(failed(np.zeros((2, 3, 4, 5)), np.ones((2, 3, 4, 5))))
    assert heat is not None
    for panel in heat.panels:
        assert texts(panel.svg, "at row")[:2] == ["0, 0, 0", "0, 0, 1"]
        assert texts(panel.svg, "at row")[-1] == "1, 2, 3"
        assert len(texts(panel.svg)) == 24 + 5 + 120
    assert heat.notes == ()


def test_a_vector_in_rows_has_no_more_cells_than_elements(failed: Any) -> None:
    heat = draw_heat_map(failed(np.arange(13.0), np.arange(13.0) + 1))
    assert heat is not None
    assert [panel.svg.count("<rect") for panel in heat.panels] == [13, 13, 13]
    assert texts(heat.panels[0].svg, "at row") == ["0", "8"]
    heat = draw_heat_map(failed(np.arange(300.0), np.arange(300.0) + 1))
    assert heat is not None
    assert not pixels(heat.panels[2].source)[-1, 300 % 64 :].any()


def test_where_it_is_wrong_and_how_it_lies_is_told(failed: Any) -> None:
    want = np.ones((192, 61))
    got = want.copy()
    got[:, 7] = np.nan
    heat = draw_heat_map(failed(got, want))
    assert heat is not None
    assert heat.notes == (
        "wrong at [:, 7] alone",
        "values from 1 (dark) to 1 (bright); purple is NaN or infinite",
        "axis 0 downwards (192), axis 1 across (61)",
    )


def test_of_two_shapes_each_is_shown(comparison: Any) -> None:
    heat = draw_heat_map(comparison(status="failed", got_array=np.ones((5, 4)), want_array=np.full(4, 2.0)))
    assert heat is not None
    assert [panel.title for panel in heat.panels] == ["core, shape [5, 4]", "torch, shape [4]"]
    assert (heat.levels, [panel.svg.count("<rect") for panel in heat.panels]) == ((), [20, 4])
    heat = draw_heat_map(comparison(status="failed", got_array=np.ones((50, 40)), want_array=np.full(4, 2.0)))
    assert heat is not None
    assert pixels(heat.panels[0].source).shape == (50, 40)
    heat = draw_heat_map(comparison("check", status="failed", got_array=np.array([True, False])))
    assert heat is not None
    assert [panel.title for panel in heat.panels] == ["where it holds, shape [2]"]


def test_without_a_tensor_there_is_none(comparison: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert draw_heat_map(comparison(status="failed")) is None
    assert draw_heat_map(comparison(status="failed", got_array=np.ones(0), want_array=np.ones(0))) is None
    monkeypatch.setattr(heat_map, "MOST_ELEMENTS", 3)
    assert draw_heat_map(comparison(status="failed", got_array=np.ones(4), want_array=np.zeros(4))) is None


def test_every_level_has_a_colour() -> None:
    assert len(HEAT) == len(LEVELS)


def test_png() -> None:
    data = encode_png(np.array([[0, 1], [1, 0]], np.uint8), [(0, 0, 0), (255, 255, 255)])
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert data.endswith(b"IEND\xaeB`\x82")


@pytest.mark.parametrize(
    ("shape", "wrong", "told"),
    [
        ((3, 4), (slice(None), 2), "[:, 2]"),
        ((3, 4), (1,), "[1, :]"),
        ((2, 3, 4), (0, slice(1, None)), "[0, 1 or 2, :]"),
        ((9,), slice(3, None), "[3:]"),
        ((9,), slice(0, 5), "[:5]"),
        ((9, 2), [0, 4], "[0 or 4, :]"),
        ((9, 2), [0, 2, 4, 6], ""),
        ((3, 4), (), ""),
        ((3, 4), (1, 2), ""),
        ((), (), ""),
    ],
)
def test_blocks(shape: tuple[int, ...], wrong: object, told: str) -> None:
    mask = np.zeros(shape, bool)
    mask[wrong] = True  # type: ignore[index]
    assert wrong_region(mask) == told


def test_what_is_no_block_is_not_called_one() -> None:
    assert wrong_region(np.eye(3, dtype=bool)) == ""
    assert wrong_region(np.zeros((2, 2), bool)) == ""
