"""One palette colours terminals, pages and pictures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradcheck import reports
from gradcheck.reports import palette
from gradcheck.reports.palette import COLOURS, HEAT, css_colours

FOLDER = Path(reports.__file__).parent
STYLES = sorted((FOLDER / "page" / "static").glob("*.css"))


def test_every_colour_has_a_light_and_a_dark_form() -> None:
    for pair in COLOURS.values():
        assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in pair)
    assert len(set(HEAT)) == len(HEAT)


def test_each_role_has_a_style_of_its_own() -> None:
    styles = [style for role, style in vars(palette).items() if role.isupper() and isinstance(style, str)]
    assert len(styles) == len(set(styles)) == 6


@pytest.mark.parametrize("file", STYLES, ids=lambda file: file.name)
def test_styles_take_their_colours_from_the_palette(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    used = set(re.findall(r"var\(--([a-z-]+)\)", text)) - {"mono"}
    assert used <= COLOURS.keys()
    assert all(f"--{name}:" in css_colours("gc") for name in used)


def test_no_other_module_names_a_colour() -> None:
    named = re.compile(r"\"(bold )?(red|green|magenta)\"|\"#[0-9a-f]{6}\"")
    others = [path for path in FOLDER.rglob("*.py") if path.name not in ("palette.py", "heat_map.py")]
    assert [path.name for path in others if named.search(path.read_text(encoding="utf-8"))] == []
