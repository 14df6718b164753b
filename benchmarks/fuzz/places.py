"""Where cases may be looked for and are none: odd names, loops of links, folders called files, what nobody may read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

_CASE = b"inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\n"
_NAMES = (
    *(
        "a.yaml",
        "b.yml",
        "c.YAML",
        ".hidden.yaml",
        "with space.yaml",
        "d.yaml.bak",
        "e",
        "-k.yaml",
        "f::g.yaml",
        "\u00e9.yaml",
    ),
    *(
        "e\u0301.yaml",
        "new\nline.yaml",
        "tab\t.yaml",
        "\u202e.yaml",
        "[x].yaml",
        "*.yaml",
        "~.yaml",
        "x" * 200 + ".yaml",
        "::.yaml",
    ),
)


def _folder(path: Path) -> None:
    path.mkdir()
    (path / "inner.yaml").write_bytes(_CASE)


def _locked(path: Path) -> None:
    path.write_bytes(_CASE)
    path.chmod(0)


_MAKERS: tuple[Callable[[Path], object], ...] = (
    *[lambda path: path.write_bytes(_CASE)] * 4,
    lambda path: path.write_bytes(b""),
    lambda path: path.write_bytes(b"\xff\xfe\x00"),
    lambda path: path.symlink_to(path.name),
    lambda path: path.symlink_to("."),
    lambda path: path.symlink_to("/nowhere/at/all.yaml"),
    lambda path: os.mkfifo(path),
    _folder,
    _locked,
)


def strew(folder: Path, random: Random) -> list[str]:
    """Make some of them in an empty folder; paths to ask for."""
    for name in random.sample(_NAMES, random.randint(1, 6)):
        random.choice(_MAKERS)(folder / name)
    names = sorted(os.listdir(folder))
    asked = [
        ".",
        "",
        "..",
        "nothing.yaml",
        "*.yaml",
        "a.yaml::y",
        "::",
        "a.yaml::",
        *names,
        *(f"{n}::{n}" for n in names),
    ]
    return random.sample(asked, random.randint(1, 3))
