"""The place of a call of this package, which is the place of its findings."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

from gradcheck.errors import Place
from gradcheck.language.case import Case

_PACKAGE_FOLDER = str(Path(__file__).parents[1]) + os.sep


def caller_place(name: str) -> Place:
    """Return file and line of gradcheck's caller; without a file, `name`."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE_FOLDER):
        frame = frame.f_back
    file = frame.f_code.co_filename
    if not os.path.isfile(file):
        return Place(name)
    shown = os.path.relpath(file) if file.startswith(os.getcwd() + os.sep) else file
    return Place(shown, frame.f_lineno, 1)


def with_place(case: Case, place: Place) -> Case:
    """Return the case with everything at one place, and nothing verbatim."""
    inputs, constants = (
        {name: replace(value, place=place, text="") for name, value in section.items()}
        for section in (case.inputs, case.constants)
    )
    graph = {name: replace(claim, place=place, is_verbatim=False) for name, claim in case.graph.items()}
    steps = tuple(replace(step, place=place) for step in case.steps)
    return replace(case, place=place, inputs=inputs, constants=constants, graph=graph, steps=steps)
