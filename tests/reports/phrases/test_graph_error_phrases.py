"""Why a graph cannot be computed, word by word."""

from __future__ import annotations

import pytest

from gradcheck.facts import Fact, fact
from gradcheck.reports.phrases import say

A, B, LABELS = ("A", (2, 3), "float64"), ("B", (4, 5), "float64"), ("t", (2,), "int64")


def refused(**changed: object) -> Fact:
    data: dict[str, object] = {
        "entry": "y",
        "part": "A @ B",
        "op": "matmul",
        "error": "shape_mismatch",
        "why": "shapes [2, 3] and [4, 5] cannot be multiplied",
        "advice": "",
        "operands": (A, B),
        "range": (None, None),
        "meant_in": "",
        "meant": "",
        "integers": (),
        "floats": (),
        "elementwise": False,
    }
    return fact("refused", **{**data, **changed})


PRODUCT = "y: A of shape [2, 3] and B of shape [4, 5] cannot be multiplied: 3 columns, 4 rows"


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (refused(), PRODUCT),
        (refused(meant="B @ A", meant_in="y"), f"{PRODUCT}; did you mean  B @ A ?"),
        (refused(meant="randn(3, 4)", meant_in="B"), f"{PRODUCT}; did you mean  B: randn(3, 4) ?"),
        (
            refused(op="add", elementwise=True),
            "y: A of shape [2, 3] and B of shape [4, 5] do not go together; sizes are compared from the right: two are "
            "equal, or one of them is 1",
        ),
        (
            refused(error="dtype_mismatch", integers=("B",)),
            "y: B holds integers, in A @ B (A is float64); write 1.0 for 1 in B, or dtype: float64",
        ),
        (
            refused(error="dtype_mismatch", floats=("A", "B")),
            "y: A and B hold floating numbers, in A @ B; write 1 for 1.0 in A and B, or dtype: int64",
        ),
        (
            refused(error="dtype_mismatch", integers=("A",), op="where", part="where(A, B, 0)"),
            "y: A holds integers, in where(A, B, 0) (B is float64); a mask holds true and false: write A.bool()",
        ),
        (
            refused(op="nll_loss", error="index_out_of_range", operands=(A, LABELS), range=(None, (0, 7))),
            "y: t holds 7, and A of shape [2, 3] has 3 classes; labels go from 0 to 2",
        ),
        (
            refused(op="view", part="view(A, 4)", why="view: reshape: no", operands=(A,), range=(None,)),
            "y: view(A, 4): no (A has shape [2, 3]); it has 6 elements; -1 stands for the size that is left over",
        ),
        (
            refused(op="inv", part="inv(A)", error="domain_error", why="it is singular", operands=(A,), range=(None,),
                    advice="take another"),
            "y: inv(A): it is singular (A has shape [2, 3]); take another",
        ),
        (
            fact("root_of_many", roots=(("y", (2,)),), step=1, steps=1),
            "y has shape [2], and a backward pass without an incoming gradient begins at one number; write "
            "loss: y.sum(), or backward: {y: randn_like(y)}",
        ),
        (
            fact("complex_root", root="y", step=1, steps=1),
            "y is complex, and a backward pass without an incoming gradient begins at a real number; write "
            "loss: y.real, or backward: {y: ones_like(y)}",
        ),
        (
            fact("root_of_none", roots=("y",), step=2, steps=2),
            "step 2: no input reaches y, so that there is no gradient",
        ),
        (
            fact("step_refused", step=1, steps=1, error="shape_mismatch", text="too long", advice="", roots=("y",)),
            "too long; write {y: randn_like(y)}",
        ),
        (
            fact("step_refused", step=2, steps=2, error="backward_twice", text="freed", advice="keep it", roots=()),
            "step 2: freed; keep it",
        ),
    ],
)  # fmt: skip
def test_sentences(found: Fact, sentence: str) -> None:
    assert say(found) == sentence
