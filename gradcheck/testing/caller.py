"""Where a call of this room stands in somebody's own file: that is the place of all that it finds."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

from gradcheck.errors import Place
from gradcheck.language.case import Case

_PACKAGE_FOLDER = str(Path(__file__).parents[1]) + os.sep


def caller_place(name: str) -> Place:
    """The file and the line of whoever has called gradcheck; where that is no file, a place that is called `name`."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE_FOLDER):
        frame = frame.f_back
    file = frame.f_code.co_filename
    if not os.path.isfile(file):
        return Place(name)
    shown = os.path.relpath(file) if file.startswith(os.getcwd() + os.sep) else file
    return Place(shown, frame.f_lineno, 1)


def with_place(case: Case, place: Place) -> Case:
    """The case, all of which stands at one place, and nothing word for word."""
    inputs, constants = (
        {name: replace(value, place=place, text="") for name, value in section.items()}
        for section in (case.inputs, case.constants)
    )
    graph = {name: replace(claim, place=place, is_verbatim=False) for name, claim in case.graph.items()}
    steps = tuple(replace(step, place=place) for step in case.steps)
    return replace(case, place=place, inputs=inputs, constants=constants, graph=graph, steps=steps)
