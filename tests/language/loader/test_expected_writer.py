"""Gradients in the text of a file: wherever they belong in its layout, and nothing else is touched."""

from __future__ import annotations

import pytest

from gradcheck.language.loader import load_text
from gradcheck.language.loader.expected_writer import insert_expected

BLOCK = """\
# begin
name: one  # first
inputs:
    x: [1, 2]
graph:
    y: x * x  # squares
backward: {y: [1, 1]}   # from here
# behind

tags: [a]
"""


def test_behind_what_it_is_about_in_the_indentation_of_the_others() -> None:
    text = insert_expected(BLOCK, 2, {"x": "[2, 4]", "y": "[1, 1]"})
    after = "backward: {y: [1, 1]}   # from here\n"
    assert text == BLOCK.replace(after, f"{after}expected:\n    x: [2, 4]\n    y: [1, 1]\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{inputs: {x: 2}, graph: {y: x}}\n", "{inputs: {x: 2}, graph: {y: x}, expected: {x: 1}}\n"),
        ("inputs: {x: 2}\ngraph: {y: x}", "inputs: {x: 2}\ngraph: {y: x}\nexpected:\n  x: 1\n"),
        ("graph: {y: x}\nexpected: {z: 1}  # c\ninputs: {x: 2, z: 1}\n",
         "graph: {y: x}\nexpected: {z: 1, x: 1}  # c\ninputs: {x: 2, z: 1}\n"),
        ("graph: {y: x}\nexpected: {}\ninputs: {x: 2}\n", "graph: {y: x}\nexpected: {x: 1}\ninputs: {x: 2}\n"),
        ("expected:\n- 1\n", None),
        ("graph: {y: x}\nexpected:\n  x: 5  # old\n  # between\n  z: 2\ninputs: {x: 2, z: 1}\n",
         "graph: {y: x}\nexpected:\n  x: 1  # old\n  # between\n  z: 2\ninputs: {x: 2, z: 1}\n"),
        ("graph: {y: x}\nexpected:\n  x:\n  - 5\n  - 6  # old\ninputs: {x: 2}\n",
         "graph: {y: x}\nexpected:\n  x: 1  # old\ninputs: {x: 2}\n"),
        ("graph: {y: x}\nexpected:\n  z: 2 # c\n\n# later\ninputs: {x: 2, z: 1}\n",
         "graph: {y: x}\nexpected:\n  z: 2 # c\n  x: 1\n\n# later\ninputs: {x: 2, z: 1}\n"),
        ("inputs: {x: 2}\ngraph:\n  y: >\n    x *\n    x\n\n# end\n",
         "inputs: {x: 2}\ngraph:\n  y: >\n    x *\n    x\n\nexpected:\n  x: 1\n# end\n"),
    ],
)  # fmt: skip
def test_every_layout(before: str, after: str | None) -> None:
    if after is None:
        with pytest.raises(ValueError, match="no mapping"):
            insert_expected(before, 1, {"x": "1"})
        return
    assert insert_expected(before, 1, {"x": "1"}) == after
    cases, errors = load_text(after, "a.yaml")
    assert not errors
    assert "x" in cases[0].expected


def test_only_the_document_that_is_meant() -> None:
    one = "inputs: {x: 2}\ngraph: {y: x}\n"
    text = insert_expected(f"{one}---\n{one}---\n{one}", 4, {"x": "1"})
    assert text == f"{one}---\n{one}expected:\n  x: 1\n---\n{one}"
    with pytest.raises(ValueError, match="line 0"):
        insert_expected(one, 0, {})


def test_long_rows_have_lines_of_their_own() -> None:
    row = "[" + ", ".join(["0.12345678901"] * 4) + "]"
    text = insert_expected("inputs: {x: 2}\ngraph: {y: x}\n", 1, {"x": f"[{row}, {row}]"})
    assert text.endswith(f"expected:\n  x: [{row},\n      {row}]\n")
