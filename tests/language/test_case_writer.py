"""Cases written and read again: the same case."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck.errors import Place
from gradcheck.language.case import Case, Value
from gradcheck.language.case_writer import write
from gradcheck.language.loader import load_text
from tests.claims import shipped_cases


@cache
def shipped() -> tuple[Case, ...]:
    cases, errors = shipped_cases()
    assert errors == ()
    return cases


def content(value: Any) -> Any:
    """All that a case says, without places, as plain values that can be compared."""
    if isinstance(value, np.ndarray):
        wide = value.astype(np.float64) if value.dtype.kind == "V" else value
        return str(value.dtype), value.shape, repr(wide.tolist())
    if isinstance(value, Place):
        return None
    if is_dataclass(value) and not hasattr(value, "label"):
        skipped = {"place", "places", "id", "is_verbatim", "is_implied"} | ({"text"} if type(value) is Value else set())
        return type(value).__name__, {
            f.name: content(getattr(value, f.name)) for f in fields(value) if f.name not in skipped
        }
    if hasattr(value, "items"):
        return [(key, content(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [content(item) for item in value]
    return value


def again(case: Case) -> Case:
    text = write(case)
    cases, errors = load_text(text, "written.yaml")
    assert errors == [], text
    assert len(cases) == 1
    return cases[0]


def test_every_shipped_case() -> None:
    for case in shipped():
        assert content(again(case)) == content(case), case.id


def test_a_stated_pass_of_a_case_of_jacobians_stays_stated() -> None:
    """Without it, a pass through several elements starts from random numbers."""
    text = "inputs: {x: randn(3)}\ngraph: {y: exp(x)}\n%sjacobians: {y: {x: diag(y)}}\n"
    for stated in ("", "backward: y\n"):
        (case,), _ = load_text(text % stated, "case.yaml")
        assert again(case).steps[0].is_implied == case.steps[0].is_implied == (not stated)


SCALARS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.sampled_from([0.0, -0.0, 1e300, 5e-324, float("nan"), float("inf"), -float("inf"), 1e16]),
)


@settings(deadline=None, max_examples=80)
@given(st.data())
def test_shipped_cases_with_other_numbers_and_words(data: st.DataObject) -> None:
    """Any shipped case stays itself when its numbers, names, remarks and claims are anything that a file may hold."""
    from dataclasses import replace

    case = data.draw(st.sampled_from(shipped()))
    words = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=20)
    name = data.draw(words.filter(lambda text: text == text.strip() and text.isprintable()))
    dtype = data.draw(st.sampled_from(["float64", "float32", "float16", "bfloat16", "complex64", "complex128"]))
    shape = data.draw(st.sampled_from([(), (0,), (3,), (2, 2), (0, 3), (2, 0), (1, 0, 2)]))
    numbers = data.draw(st.lists(SCALARS, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    kind: Any = np.float64 if any(isinstance(number, float) for number in numbers) or not numbers else np.int64
    constants = {**case.constants, "zz_new": Value(array=np.array(numbers, dtype=kind).reshape(shape))}
    lines = data.draw(st.text(alphabet="ab: #\n'\"\\-[]{},&*!|>%@`", max_size=30))
    changed = replace(
        case, name=name, description=lines, source=data.draw(words), tags=(data.draw(words),), constants=constants,
        seed=data.draw(st.integers(0, 2**40)), skip=data.draw(st.none() | words), dtype=case.dtype or dtype,
    )  # fmt: skip
    if case.dtype in ("float64", "complex128"):
        assert content(again(changed)) == content(changed)


@pytest.mark.parametrize(
    "text",
    [
        "{inputs: {y: 1, no: [2, 3], on: 4, null: 5}, graph: {e: y * no * on}}",
        "{inputs: {x: {values: [1, 2], dtype: float32}}, graph: {y: x * 2}, backward: {y: [1, 2]}}",
        "{inputs: {x: {values: 'randn(2, 3)', shape: [3, 2], dtype: float32}}, graph: {y: x.sum()}}",
        "{inputs: {x: {values: [], shape: [0, 3]}}, graph: {y: x.sum()}}",
        "{inputs: {x: {values: [1.5, -2], dtype: bfloat16}}, graph: {y: x.sum()}, dtype: bfloat16}",
        "{inputs: {x: ['1+2j', 3]}, graph: {y: x.abs().sum()}, dtype: complex128}",
        "{constants: {m: [true, false], i: [1, 2]}, inputs: {x: [1, 2]}, graph: {y: 'x[m]', z: y.sum()}}",
        "{constants: {c: [1.0, 2.0]}, inputs: {x: c * 2}, graph: {z: (x * c).sum()}}",
        "{inputs: {x: [3, 1]}, graph: {m: 'x.max(dim=0)'}, backward: {'m[0]': 1}}",
        "{inputs: {x: [1, 2]}, graph: {y: x.sum()}, tolerance: {rtol: 1e-6, x: {atol: 0.1}, engines: {rtol: 0.5}}}",
        "{inputs: {x: [1, 2]}, graph: {y: x.sum()}, generalize: true}",
        "{inputs: {x: [1, 2]}, graph: {y: x.sum()}, formulas: {x: [ones_like(x), 'ones(2)']}, generalize: false}",
        "{dims: {n: 3}, inputs: {x: randn(n)}, graph: {y: x.sum()}, checks: [y == x.sum()], "
        "generalize: {trials: 5, dims: {n: [2, 9]}}}",
        "{inputs: {x: [1, 2]}, graph: {y: x.sum(), w: 1.50}, backward: y, only: [core]}",
        "{inputs: {x: [1, 2]}, graph: {y: x.sum()}, shapes: {x: 'uniform(0.1, 2, [n])'}, generalize: {trials: 2}}",
        """
        inputs: {x: [1, 2]}
        graph: {y: exp(x).sum()}
        steps:
          - {backward: y, retain_graph: false, values: {y: 10.107}, checks: [grad(x) == exp(x)]}
          - {backward: y, raises: backward_twice}
          - zero_grad: x
          - zero_grad: all
          - forward: {x: [3, 4]}
          - forward: {}
          - backward: {y: 2}
            expected: {x: null}
        """,
    ],
)
def test_every_form(text: str) -> None:
    (case,), errors = load_text(dedent(text), "case.yaml")
    assert errors == []
    assert content(again(case)) == content(case)


def test_how_it_looks() -> None:
    (case,), _ = load_text("{name: a b, inputs: {x: [[1, 2.5]]}, graph: {y: 'x.sum(dim=0, keepdim=True)'}, "
                           "backward: {y: [[1, 2]]}, formulas: {x: grad(y)}}", "case.yaml")  # fmt: skip
    assert write(case) == dedent("""\
        name: a b
        inputs:
          x: [[1.0, 2.5]]
        graph:
          y: x.sum(dim=0, keepdim=True)
        backward: {y: [[1, 2]]}
        formulas:
          x: grad(y)
        """)
