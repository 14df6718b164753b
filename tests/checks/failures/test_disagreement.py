"""One dispute: its elements, and whether it is one about roundings."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.failures.disagreement import Disagreement, disagreement_of
from gradcheck.checks.result import Comparison, Subject
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind
from tests.checks.conftest import Check, those

ATTENTION = """
    dims: {batch: 2, heads: 3, n: 4, d: 2}
    inputs: {q: "randn(batch, heads, n, d)", k: "randn(batch, heads, n, d)", v: "randn(batch, heads, n, d)"}
    graph: {o: "F.scaled_dot_product_attention(q, k, v, is_causal=True)"}
    backward: {o: "randn(batch, heads, n, d)"}
    let:
      s: (q @ k.mT / d ** 0.5).masked_fill(triu(torch.ones(n, n), 1) > 0, -inf)
      p: softmax(s, dim=-1)
      dp: grad(o) @ v.mT
      by_weights: p * (dp - (dp * p).sum(dim=-1, keepdim=True)) / d ** 0.5
      by_result: p * (dp - (grad(o) * o).sum(dim=-1, keepdim=True)) / d ** 0.5
    formulas:
      q: [by_weights @ k, by_result @ k]
    generalize:
      dims: {batch: [1, 4], heads: [1, 4], n: [2, 7], d: [1, 5]}
"""
SATURATED = (
    "inputs: {w: [5.61187262, -1.70612833, -28.29220991, -19.1822804, -3.02273624, 17.89271932]},"
    " constants: {t: [0.7, 0.02, 0.2, 0.21, 0.18, 0.52]},"
    " graph: {p: sigmoid(w), L: 'binary_cross_entropy(p, t)'}, generalize: false"
)


def dispute(got: list[float], want: list[float]) -> Disagreement:
    mine, theirs = np.array(got), np.array(want)
    subject = Subject(ClaimKind.GRADIENT, "x", engine="core", reference="torch")
    c = Comparison(
        subject, "failed", rtol=1e-10, got_array=mine, want_array=theirs, mask=np.abs(mine - theirs) > 1e-10 * theirs
    )
    found = disagreement_of(c)
    assert found is not None
    return found


def test_the_elements_that_differ_come_worst_first() -> None:
    assert dispute([1.0, 2.0, 3.0, 4.0], [1.0, 2.5, 3.0, 5.0]).indices.tolist() == [3, 1]


def test_those_that_rounding_explains_are_in_no_dispute() -> None:
    found = dispute([1.0, 2.0, 3.0], [1.5, 2.1, 3.0])
    assert found.without_explained(np.array([1.0, 0.0, 0.0])).indices.tolist() == [1]
    assert found.without_explained(np.array([1.0, 1.0, 1.0])).indices.tolist() == [0, 1]  # all of them, before none
    assert found.without_explained(None).indices.tolist() == [0, 1]


@pytest.mark.parametrize(("off", "is_small"), [(1e-16, True), (1e-13, False)])
def test_roundings_are_as_large_as_those_of_its_neighbours(off: float, is_small: bool) -> None:
    found = dispute([0.0, 1.0], [off, 1.0])
    assert found.is_rounding_only == is_small


def test_who_is_off_by_rounding_is_told_by_how_much() -> None:
    verdict = fact("stands_alone", wrong="torch", agree=("core", "complex step"), closeness=0.0)
    c = dispute([0.0, 1.0], [1e-16, 1.0]).passed_as_rounding(verdict)
    assert (c.status, c.mask) == ("passed", None)
    assert [(note.kind, note["reference"], note["off"]) for note in c.notes] == [("reference_rounds", "torch", 1e-16)]


def test_structural_zeros_come_right_whoever_rounds_and_no_derivation_of_them_fails(check: Check) -> None:
    """The first row of causal weights is 1: torch's gradient of its scores is what two sums differ by in their last
    digits, and so is the second formula's; the first one's, and the core's, is 0."""
    case = check(ATTENTION, seed=6)
    assert case.status == "passed"
    assert case.wrong_references == ()
    assert all(c.certificate is not None for c in those(case, "formula") if c.trial is None)
    told = {note.kind for c in those(case, "gradient") for note in c.notes}
    assert told <= {"reference_rounds", "within_rounding"}  # which of them, if any, depends on the processor


def test_a_gradient_that_is_wrong_beside_them_fails(check: Check) -> None:
    wrong = ATTENTION.replace("by_weights @ k,", "by_weights @ k + 1e-17 * ones_like(q),")
    case = check(wrong, seed=6, corrected=False)
    assert case.status == "failed"


def test_what_is_not_disputed_need_not_be_measured(check: Check) -> None:
    """Differences cannot resolve the last element; nobody disputes it. In the third torch divides by no less than
    1e-12."""
    found = check(f"{{{SATURATED}, formulas: {{w: (p - t) / 6}}}}")
    assert found.status == "passed"
    assert found.wrong_references == ("torch",)
    assert check(f"{{{SATURATED}, formulas: {{w: 1.001 * (p - t) / 6}}}}").status == "failed"


def test_a_large_tensor_in_many_of_its_elements(check: Check) -> None:
    """Of so many some are close to a kink, and directions tell nothing; torch's 1/6 is in single precision. What is
    wrong in one row of twenty shows among those that are furthest off."""
    large = (
        "{inputs: {x: 'randn(20, 20)', w: 'randn(20, 20)'}, graph: {h: 'hardsigmoid(x @ w)', y: 'mean(h * h)'},"
        " generalize: false, formulas: {x: 'SLIP * (grad(h) * (abs(x @ w) < 3) / 6) @ w.T'}}"
    )
    found = check(large.replace("SLIP *", ""))
    assert found.status == "passed"
    assert found.wrong_references == ("torch",)
    slip = large.replace("SLIP", "(1 + 1e-4 * (arange(20) == 3))[:, None]")
    assert check(slip, corrected=False).status == "failed"


@pytest.mark.parametrize(
    ("matrix", "adjugate"),
    [
        ("[[-3, -3, 3], [3, 3, -3], [3, 9, 3]]", "[[36.0, -18.0, 18.0], [36.0, -18.0, 18.0], [0.0, 0.0, 0.0]]"),
        ("[[2, 3, 3], [1, 3, 3], [3, 9, 9]]", "[[0.0, 0.0, 0.0], [0.0, 9.0, -9.0], [0.0, -3.0, 3.0]]"),
    ],
)
def test_elements_that_should_be_zero_are_off_by_rounding(matrix: str, adjugate: str, check: Check) -> None:
    """A factorization leaves 1e-16 there, beside which torch, of 0 throughout, is further off elsewhere."""
    singular = f"{{inputs: {{A: {matrix}}}, graph: {{d: torch.det(A)}}, expected: {{A: CLAIM}}}}"
    found = check(singular.replace("CLAIM", adjugate))
    assert found.status == "passed"
    assert found.wrong_references == ("torch",)
    assert check(singular.replace("CLAIM", adjugate.replace("0.0", "1e-3"))).status == "failed"


def test_a_tiny_element_is_no_rounding_of_a_large_one(check: Check) -> None:
    scaled = "{inputs: {x: [2.0, 3.0]}, graph: {y: '(x * tensor([1.0, 1e-30])).sum()'}, expected: {x: [1.0, CLAIM]}}"
    assert check(scaled.replace("CLAIM", "1e-30")).status == "passed"
    assert check(scaled.replace("CLAIM", "2e-30")).status == "failed"
