"""The classes, and their versions with a mistake in them.

A style is a file in `styles/`, with a right class. A comment behind a line, `# early: order = …`, is what stands in its
place where that mistake is planted; further comments of that mistake behind the same line are further lines.
"""

from __future__ import annotations

import re
from pathlib import Path

STYLES = Path(__file__).parent / "styles"
#: The class of each style.
CLASSES = {
    "accumulators": "Tensor",
    "asked": "Num",
    "boxed": "Box",
    "closures": "Value",
    "counted": "Tensor",
    "decorated": "Box",
    "dispatched": "Node",
    "heaped": "Variable",
    "indexed": "Tensor",
    "listed": "Matrix",
    "pushing": "Tensor",
    "registered": "Tensor",
    "returned": "Variable",
    "subclassed": "Tensor",
    "visiting": "Tensor",
    "weighted": "Var",
}
#: What is planted, and the kinds of diagnoses that name it. Of `relu`, another subgradient at 0, a convention is told.
MISTAKES: dict[str, frozenset[str]] = {
    "overwritten": frozenset({"overwritten"}),
    "broadcast": frozenset({"broadcast_not_undone"}),
    "transpose": frozenset({"operand_transposed"}),
    "early": frozenset({"passed_on_early"}),
    "twice": frozenset({"counted_twice", "passed_on_early"}),  # a pass on each arrival counts twice, too
    "zeroing": frozenset({"stale"}),
    "left_over": frozenset({"stale"}),
    "relu": frozenset(),
}
_MARK = re.compile(rf"^\s*# ({'|'.join(MISTAKES)}): (.*)$")


def source_of(style: str) -> str:
    """A style's file."""
    return (STYLES / f"{style}.py").read_text(encoding="utf-8")


def mistakes_in(source: str) -> tuple[str, ...]:
    """What can be planted in a style."""
    marks = (_MARK.match(line) for line in source.splitlines())
    return tuple(dict.fromkeys(mark[1] for mark in marks if mark))


def planted(source: str, mistake: str) -> str:
    """The style with a mistake in it, and without the comments on others; none for an empty word."""
    lines: list[str] = []
    place, is_replaced = 0, False
    for line in source.splitlines():
        mark = _MARK.match(line)
        if mark is None:
            place, is_replaced = len(lines), False
            lines.append(line)
        elif mark[1] == mistake:
            text = lines[place][: len(lines[place]) - len(lines[place].lstrip())] + mark[2]
            if is_replaced:
                lines.append(text)
            else:
                lines[place], is_replaced = text, True
    return "\n".join(lines) + "\n"
