"""Mistakes in claims about Jacobians and Hessians, each at its place."""

from __future__ import annotations

import pytest

from gradcheck.language.case_writer import write
from gradcheck.language.loader import load_text

CASE = """\
inputs: {{w: [1, 2, 3], b: [2]}}
constants: {{k: [1]}}
graph: {{y: w * 2, loss: y.sum() + b.sum()}}
let: {{s: "hessian(loss, w) + 1", t: "jacobian(y, b)"}}
{section}:
  {of}:
    {by}: {claim}
"""


def error_of(section: str, of: str, by: str, claim: str) -> tuple[str, int, int]:
    cases, (error,) = load_text(CASE.format(section=section, of=of, by=by, claim=claim), "f.yaml")
    assert not cases
    return str(error.message), error.place.line, error.place.column


@pytest.mark.parametrize(
    ("section", "of", "by", "claim", "message", "line", "column"),
    [
        ("jacobians", "yy", "w", "eye(3)", "the jacobian of 'yy' is unknown", 6, 3),
        ("jacobians", "y", "ww", "eye(3)", "the jacobian by 'ww' is unknown", 7, 5),
        ("wrong_jacobians", "y", "k", "eye(3)", "'k' is a constant", 7, 5),
        ("jacobians", "y", "w, b", "eye(3)", "'w, b' names 2 tensors", 7, 5),
        ("hessians", "loss", "w, b, w", "eye(3)", "'w, b, w' names 3 tensors", 7, 5),
        ("hessians", "loss", '"w,"', "eye(3)", "names no tensor beside its comma", 7, 5),
        ("hessians", "loss", "w, q", "eye(3)", "the hessian by 'q' is unknown", 7, 5),
        ("jacobians", "y", "w", "[[1, 2]]", "is a list of numbers", 7, 8),
        ("jacobians", "y", "w", "[]", "is an empty list", 7, 8),
        ("jacobians", "y", "w", "eye(q)", "the size 'q' is unknown", 7, 12),
        ("jacobians", "y", "b", "2 * jacobian(y, b)", "speaks of it itself, so", 7, 12),
        ("jacobians", "y", "b", "1 + t", "speaks of it itself by way of 't'", 7, 12),
        ("hessians", "loss", "w", "s", "speaks of it itself by way of 's'", 7, 8),
        ("wrong_hessians", "loss", "w, w", "hessian(loss, w)", "speaks of it itself", 7, 11),
        ("jacobians", "y", "w", "jacobian(y, 3)", "takes names of tensors", 7, 20),
        ("jacobians", "y", "w", "jacobian(y)", "wrong arguments", 7, 8),
        ("jacobians", "y", "w", "jacobian(k, b)", "'k' is a constant", 7, 8),
    ],
)
def test_it_is_an_error_of_the_file(
    section: str, of: str, by: str, claim: str, message: str, line: int, column: int
) -> None:
    found, *place = error_of(section, of, by, claim)
    assert message in found
    assert place == [line, column]


def test_a_pair_is_stated_once() -> None:
    assert "hessian(loss, w, b) is stated twice" in error_of("hessians", "loss", "w, b", "1\n    'w,b': 2")[0]
    assert "hessian(loss, w) is stated twice" in error_of("hessians", "loss", "w", "1\n    w, w: 2")[0]


def test_a_graph_has_none() -> None:
    _, (error,) = load_text("{inputs: {x: 1.0}, graph: {y: 'jacobian(x, x)'}}", "f.yaml")
    assert "is not known in a graph" in error.message


def test_what_is_written_is_read_again() -> None:
    text = CASE.format(section="hessians", of="loss", by="w, b", claim="['zeros(3, 1)', 'zeros(3, 1) * 2']")
    text += "  y:\n    w: 1\njacobians: {y: {w: 2 * eye(3)}}\ngeneralize: false\n"
    (case,), errors = load_text(text.replace("  y:\n    w: 1\n", ""), "f.yaml")
    assert not errors
    ((again,), errors) = load_text(write(case), "f.yaml")
    assert not errors
    assert (again.hessians, again.jacobians, again.generalize) == (case.hessians, case.jacobians, None)
