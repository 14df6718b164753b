"""`implementations` as a file has them."""

from __future__ import annotations

import pytest

from gradcheck.language.case import Generalize, StatedTolerance
from gradcheck.language.case_writer import write
from gradcheck.language.loader import load_text
from tests.from_text import case_of

CASE = "dims: {n: 2}\ninputs: {x: randn(n)}\ngraph: {h: x + 1, y: exp(h)}\n"


def errors_of(said: str) -> list[str]:
    _, errors = load_text(f"{CASE}implementations: {said}", "case.yaml")
    return [error.message for error in errors]


def test_a_reference_alone() -> None:
    (one,) = case_of(f"{CASE}implementations: {{y: kernels/a.py:B.apply}}").implementations
    assert (one.entry, one.call, one.backward, one.name) == ("y", "kernels/a.py:B.apply", "", "kernels/a.py:B.apply")
    assert one.place.line == 4


def test_all_that_may_be_said() -> None:
    case = case_of(f"""{CASE}
implementations:
  y:
    - a.py:f
    - {{call: "m:g", arguments: [h, n, 2], dtypes: [float64, torch.float32], tolerance: 1e-6, autocast: float16}}
    - {{forward: a.py:f, backward: a.py:b}}
  h: {{call: {{forward: a.py:f, backward: a.py:b}}, tolerance: {{atol: 1e-9}}}}
""")
    assert [one.call for one in case.implementations] == ["a.py:f", "m:g", "a.py:f", "a.py:f"]
    second = case.implementations[1]
    assert second.arguments is not None
    assert [claim.text for claim in second.arguments] == ["h", "n", "2"]
    assert second.dtypes == ("float64", "float32")
    assert second.tolerance == StatedTolerance(rtol=1e-6)
    assert second.autocast == "float16"
    assert case.implementations[3].tolerance == StatedTolerance(atol=1e-9)
    assert case.generalize == Generalize()
    assert case_of(write(case)).implementations == case.implementations


def test_autocast_means_float32_unless_dtypes_say_otherwise() -> None:
    (one,) = case_of(f"{CASE}implementations: {{y: {{call: a.py:f, autocast: torch.bfloat16}}}}").implementations
    assert (one.autocast, one.dtypes) == ("bfloat16", ("float32",))
    _, (error,) = load_text(f"{CASE}implementations: {{y: {{call: a.py:f, autocast: half}}}}", "case.yaml")
    assert str(error.place) == "case.yaml:4:47"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("{q: a.py:f}", "the entry 'q' is unknown"),
        ("{x: a.py:f}", "'x' is an input"),
        ("{y: nothing}", "takes a reference to Python code"),
        ("{y: 3}", "takes a reference to Python code"),
        ("{y: []}", "is an empty list"),
        ("{y: {forward: a.py:f}}", "takes either 'call', or 'forward' and 'backward'"),
        ("{y: {call: a.py:f, colour: red}}", "unknown key 'colour'"),
        ("{y: {call: a.py:f, dtypes: [int8]}}", "is no dtype here"),
        ("{y: {call: a.py:f, arguments: x}}", "takes a list"),
        ("{y: {call: a.py:f, arguments: [z]}}", "'z' is unknown"),
        ("{h: {call: a.py:f, arguments: [y]}}", "which is not known here"),
        ("{y: {call: a.py:f, tolerance: high}}", "takes a mapping"),
        ("{y: {call: a.py:f, autocast: float32}}", "takes bfloat16 or float16, not the text 'float32'"),
        ("{y: {call: a.py:f, autocast: ''}}", "takes bfloat16 or float16"),
        ("{y: {call: a.py:f, autocast: [bfloat16]}}", "takes bfloat16 or float16"),
    ],
)
def test_mistakes_are_told(said: str, words: str) -> None:
    assert any(words in message for message in errors_of(said)), errors_of(said)
