"""Tolerance that is measured: what rounding explains passes, what it may explain is undecided, all else fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck import run
from gradcheck.autograd.op import TABLE
from gradcheck.engines.resolve import adapt
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports.phrases import say
from tests.checks.conftest import Check, failed
from tests.conftest import WithRules
from tests.engines.dialects import sound
from tests.from_text import case_of
from tests.sampling import evenly_spread

HILBERT = """
    inputs: {{s: "randn({n}, {n})"}}
    constants:
      h: 1 / (arange(1., {n} + 1.).reshape({n}, 1) + arange({n} * 1.))
    graph:
      a: h + 0 * s
      y: linalg.inv(a)
      loss: (y * s).sum()
    formulas:
      a: -y.T @ s @ y.T
"""


@pytest.mark.parametrize("n", [4, 6, 8, 10])
def test_the_inverse_of_a_hilbert_matrix_is_no_alarm(check: Check, n: int) -> None:
    assert check(HILBERT.format(n=n)).status == "passed"


def test_past_the_limit_nothing_is_decided(check: Check) -> None:
    """The 13th has a condition number of 1e18."""
    case = check(HILBERT.format(n=13))
    assert case.status == "failed"
    of_values = [c for c in failed(case) if c.what is ClaimKind.VALUE]
    assert {c.status for c in of_values} == {"undecided"}
    assert all("too ill-conditioned to be decided" in say(c.mismatch) for c in of_values)


@pytest.mark.parametrize("n", [11, 13])
@pytest.mark.parametrize(
    ("inputs", "graph", "formula"),
    [
        ("", "y: inv(x)", "-(inv(x).T @ grad(y) @ inv(x).T)"),
        ("b: randn(n)", "y: 'linalg.solve(x, b)'", "-outer(linalg.solve(x.T, grad(y)), y)"),
        ("", "y: linalg.det(x)", "grad(y) * y * inv(x).T"),
        ("", "y: logdet(x)", "grad(y) * inv(x).T"),
    ],
)
def test_where_nothing_is_left_of_a_number_nobody_is_wrong(
    check: Check, inputs: str, graph: str, formula: str, n: int
) -> None:
    """Whatever the processor: an inverse of such matrices is many times as far off in one run as in the next, and so
    is the gradient rule alone, which multiplies two of them."""
    text = f"""
        dims: {{n: {n}}}
        inputs: {{x: 1 / (arange(n).reshape(n, 1) + arange(n) + 1.0), {inputs}}}
        graph: {{{graph}, loss: y.sum()}}
        formulas: {{x: '{formula}'}}
        generalize: false
    """
    assert {c.status for c in check(text).comparisons} <= {"passed", "undecided"}


#: What is expected of x is off by 6e-8; 2**30 more takes 30 of 52 bits from it.
CANCELLING = """
    inputs: {{x: [3.3, -2.125]}}
    graph: {{y: "x + {large} - {large}", loss: (y * y).sum()}}
    expected: {{x: [6.60000006, -4.25]}}
"""


def test_what_noise_explains_is_noted(check: Check) -> None:
    """Of 52 bits, 30 are lost."""
    case = check(CANCELLING.format(large=2**30))
    assert case.status == "passed"
    notes = [say(note) for c in case.comparisons for note in c.notes]
    assert len(notes) == 2
    assert all(note.startswith("beyond the base tolerance by") for note in notes)


def test_where_no_digit_is_lost_nothing_is_noise(check: Check) -> None:
    """Whole numbers are added exactly: at the very same size no rounding excuses what is expected."""
    case = check(
        CANCELLING.format(large=2**30).replace("3.3, -2.125", "3, -2").replace("6.60000006, -4.25", "6.00000006, -4")
    )
    assert [(c.what, c.notes) for c in failed(case)] == [("expected", ())] * 2


def test_the_same_error_without_noise_fails(check: Check) -> None:
    case = check(CANCELLING.format(large=1))
    assert [(c.what, c.notes) for c in failed(case)] == [("expected", ())] * 2


def test_an_error_that_is_larger_than_the_noise_of_an_ill_conditioned_graph_fails(
    check: Check, with_rules: WithRules
) -> None:
    with_rules("sum", lambda g, y, x, *rest: TABLE["expand"](g, x.shape) * 1.01)
    case = check(HILBERT.format(n=4))
    assert case.status == "failed"
    assert "failed" in {c.status for c in failed(case)}


def test_an_error_of_the_fast_path_alone_is_no_rounding(check: Check, wrong_plan: Callable[[str, float], None]) -> None:
    """Random rounding goes the general way, which is right."""
    wrong_plan("mul", 1.5)
    case = check("{inputs: {x: [0.5, 2], w: [3, -1]}, graph: {y: x * w, loss: y.sum()}}")
    assert {c.status for c in failed(case)} == {"failed"}
    assert any(note.kind == "fast_path_differs" and note["op"] == "mul" for c in failed(case) for note in c.notes)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_low_precision_is_judged_by_double_precision(check: Check, dtype: str) -> None:
    """A layer norm of two numbers: its gradient is what cancellation leaves, in any engine."""
    case = check(
        """
        inputs: {x: [[0.3, 0.301], [-1.5, 2.5]], c: [[1, 2], [3, -1]]}
        graph: {y: "F.layer_norm(x, [2])", loss: (y * c).sum()}
        """,
        dtype=dtype,
    )
    assert case.status == "passed", failed(case)


def test_a_wrong_rule_in_low_precision_still_fails(check: Check, with_rules: WithRules) -> None:
    with_rules("mul", lambda g, y, a, b: g * b * 1.001, lambda g, y, a, b: g * a)
    case = check("{inputs: {x: [0.5, 2], w: [3, -1]}, graph: {y: x * w, loss: y.sum()}}", dtype="float32")
    assert case.status == "failed"


#: A bias before a batch norm has the gradient zero, and any engine returns rounding noise.
CHARACTER_MODEL = """
    dims: {n: 8, d: 4, h: 6, v: 5}
    inputs: {X: "randn(n, d)", W1: "randn(d, h)", b1: randn(h), g: "1 + rand(1, h)", W2: "randn(h, v)", b2: randn(v)}
    constants: {Y: "randint(0, v, [n])"}
    graph:
      hp: X @ W1 + b1
      diff: hp - hp.mean(0, keepdim=True)
      inv: ((diff ** 2).sum(0, keepdim=True) / (n - 1) + 1e-5) ** -0.5
      raw: diff * inv
      hh: tanh(g * raw)
      loss: F.cross_entropy(hh @ W2 + b2, Y)
    let:
      dlogits: (softmax(hh @ W2 + b2, 1) - F.one_hot(Y, v)) / n
      dpre: (1 - hh ** 2) * (dlogits @ W2.T)
      dhp: g * inv / n * (n * dpre - dpre.sum(0) - n / (n - 1) * raw * (dpre * raw).sum(0))
    formulas: {b1: dhp.sum(0), W1: X.T @ dhp, X: dhp @ W1.T, b2: dlogits.sum(0)}
    generalize: {dims: {n: [2, 9]}}
"""
RIGHT = {
    "a character model": CHARACTER_MODEL,
    "x / x": "{inputs: {x: randn(5)}, graph: {y: x / x}, backward: {y: randn(5)},"
    " formulas: {x: [0 * x, grad(y) / x - grad(y) * x / x ** 2]}}",
    "a cosine and norms over one": """
        inputs: {x: "randn(4, 1)", w: "randn(4, 1)"}
        graph:
          c: F.cosine_similarity(x, w)
          z: F.normalize(x)
          l: F.layer_norm(w, [1])
          s: c.sum() + z.sum() + l.sum()
        formulas: {x: zeros_like(x), w: zeros_like(w)}
    """,
    "a constant matrix": """
        constants: {A: "1 / (arange(8).reshape(8, 1) + arange(8) + 1.0)"}
        inputs: {b: randn(8)}
        graph: {y: "linalg.solve(A, b)"}
        backward: {y: randn(8)}
        formulas: {b: linalg.inv(A).T @ grad(y)}
    """,
    "a norm that underflows": "{inputs: {x: [1e-200, 2e-200]}, graph: {y: x.norm()}, formulas: {x: grad(y) * x / y}}",
    "a formula that cancels": "{inputs: {x: 'uniform(1, 2, [5])'}, graph: {y: x * x}, backward: {y: randn(5)},"
    " formulas: {x: [((x + 1e9) ** 2 - x ** 2 - 1e18) / 1e9 * grad(y),"
    " (x * 1e20 + 1 - x * 1e20 + 2 * x - 1) * grad(y)]}}",
}


@pytest.mark.parametrize("seed", evenly_spread([0, 1, 2], 1))
@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_what_is_right_is_not_flagged(check: Check, text: str, seed: int) -> None:
    case = check(text, seed=seed)
    assert case.status == "passed", failed(case)


def test_who_is_off_by_rounding_is_noted(check: Check) -> None:
    case = check(RIGHT["a formula that cancels"])
    notes = [say(note) for c in case.comparisons for note in c.notes if note.kind == "off_by_rounding"]
    assert notes
    assert all("and proved: the formula rounds so much" in note for note in notes)


def test_a_formula_that_cancels_and_is_wrong_fails(check: Check) -> None:
    wrong = RIGHT["a formula that cancels"].replace("/ 1e9 * grad(y)", "/ 1e9 * grad(y) * 1.001")
    case = check(wrong, corrected=False)
    assert {c.formula[-5:] for c in failed(case)} == {"1.001"}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_kinks_are_at_the_thresholds_of_the_dtype(check: Check, dtype: str) -> None:
    case = check(
        """
        inputs: {x: [0.8, -0.5, 0.3, 2]}
        graph: {y: "clamp(x, -0.5, 0.8)"}
        backward: {y: [1, 2, 3, 4]}
        formulas: {x: [grad(y) * (x >= -0.5) * (x <= 0.8), "where((x > -0.5) & (x < 0.8), grad(y), 0)"]}
        """,
        dtype=dtype,
    )
    assert case.status == "passed", failed(case)
    wrong = check(
        "{inputs: {x: [0.8, 0.3]}, graph: {y: 'clamp(x, -0.5, 0.8).sum()'}, formulas: {x: 2.0 * (x < 0.8)}}",
        corrected=False,
    )
    assert wrong.status == "failed"


@pytest.mark.parametrize("shrunk", [1.0, 1e-12])
def test_an_element_much_smaller_than_its_neighbours_is_held_to_its_own_size(
    check: Check, with_rules: WithRules, shrunk: float
) -> None:
    def rule(g: Any, y: Any, a: Any, b: Any) -> Any:
        return g * b * np.array([1, 1, 1 + 1e-6])

    with_rules("mul", rule, lambda g, y, a, b: g * a)
    inputs = f"{{x: [0.3, 1.7, 2.9], w: [1.1, 0.7, {0.3 * shrunk}]}}"
    case = check(f"{{inputs: {inputs}, graph: {{y: x * w, loss: y.sum()}}}}")
    (own,) = failed(case, "gradient")
    assert (own.tensor, own.mismatched, own.worst_index) == ("x", 1, (2,))


def test_a_formula_that_overflows_in_half_precision_is_right(check: Check) -> None:
    text = """
        inputs: {x: [-8.5, 0.3, 11]}
        graph: {y: sigmoid(x)}
        backward: {y: [1, 2, 3]}
        formulas: {x: grad(y) * exp(-x) / (1 + exp(-x)) ** 2}
        generalize: false
    """
    case = check(text, dtype="float16")
    assert case.status == "passed", failed(case)
    notes = [note.kind for c in case.comparisons for note in c.notes]
    assert "right_in_double_precision" in notes
    wrong = check(text.replace("exp(-x) / (1", "exp(-x) * 1.01 / (1"), dtype="float16")
    assert [c.what for c in failed(wrong)] == ["formula"]


class _Logarithm(sound.Tensor):
    shift = 1e-15

    def log(self) -> Any:
        safe = self.data + self.shift
        return self.new(np.log(safe), (self,), lambda g: (g / safe,))


@pytest.mark.parametrize(("shift", "status"), [(1e-15, "passed"), (1e-13, "failed")])
def test_a_few_roundings_of_an_input_are_no_fault_where_0_is_wanted(shift: float, status: str) -> None:
    text = "inputs: {a: [1, 2, 0.3]}\ngraph: {y: a.log()}\nbackward: {y: [1, 0.5, -2]}\n"
    engine = adapt(type("Logarithm", (_Logarithm,), {"shift": shift}), "mine")
    (found,) = run([case_of(text)], engines=[engine], trials=1).cases
    assert found.status == status
