"""Matrix products: shapes, dtypes, errors, cost."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from gradcheck import Tensor, ops
from gradcheck.autograd import TABLE
from gradcheck.autograd.ops.matrix_products import multiplication_order
from gradcheck.errors import ArgumentError, DtypeMismatch, ShapeMismatch
from tests.autograd.ops.both import agree, normal, raised

LEFT = [(3,), (2, 3), (1, 3), (0, 3), (5, 2, 3), (1, 2, 3), (4, 1, 2, 3), (0, 2, 3)]
RIGHT = [(3,), (3, 2), (3, 0), (5, 3, 2), (1, 3, 1), (4, 5, 3, 2)]
NAMES: dict[str, np.ndarray] = {
    "x": normal(2, 3),
    "y": normal(3, 4),
    "v": normal(3),
    "w": normal(4),
    "c": normal(4, 2, 3),
    "z": np.array(1.5),
    "f": normal(2, 3).astype(np.float32),
    "k": np.arange(6).reshape(2, 3),
    "s": normal(3, 3),
}


@pytest.mark.parametrize(("left", "right"), list(itertools.product(LEFT, RIGHT)))
def test_matmul_of_every_pair_of_shapes(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    names = {"a": normal(*left), "b": normal(*right, seed=1)}
    try:
        want = np.matmul(names["a"], names["b"])
    except ValueError:
        assert raised("a @ b", **names) == ("shape_mismatch", "shape_mismatch")
        return
    agree("a @ b", **names)
    assert TABLE["matmul"].elements(*names.values()) == want.size  # type: ignore[misc]


def test_integers_and_complex_numbers() -> None:
    agree("k @ k.T", k=NAMES["k"])
    z = NAMES["x"] + 1j * normal(2, 3, seed=1)
    agree("z @ z.T", z=z)
    agree("z.mH @ z", z=z)
    agree("vdot(z[0], z[1])", z=z)
    agree("dot(z[0], z[1])", z=z)
    agree("linalg.vecdot(z, z[::1] * 2)", z=z)


@pytest.mark.parametrize(
    "text",
    [
        "addmm(v, x, x.T @ x, beta=0.5, alpha=-2)",
        "addmm(z, x, y)",
        "addmv(z, x, v, beta=3)",
        "addr(v, w, v)",
        "baddbmm(z, c, c.mT)",
        "addbmm(x[:, :2], c, c.mT)",
        "w.outer(v)",
        "ger(v, w)",
        "x.inner(v)",
        "v.inner(z)",
        "c.inner(x)",
        "linalg.multi_dot([x, y, y.T, s])",
        "linalg.multi_dot([v, s, y, y[0]])",
        "linalg.multi_dot([v, s])",
        "linalg.matmul(x, s)",
    ],
)
def test_compositions(text: str) -> None:
    agree(text, **NAMES)


def test_without_beta_the_input_does_not_count() -> None:
    poisoned = Tensor(np.full(4, np.nan), requires_grad=True)
    found = ops.addmm(poisoned, NAMES["x"], NAMES["y"], beta=0)
    np.testing.assert_array_equal(np.asarray(found), NAMES["x"] @ NAMES["y"])


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x @ x", "shape_mismatch"),
        ("x @ w", "shape_mismatch"),
        ("z @ x", "shape_mismatch"),
        ("x @ z", "shape_mismatch"),
        ("c @ c", "shape_mismatch"),
        ("x @ f.T", "dtype_mismatch"),
        ("k @ x.T", "dtype_mismatch"),
        ("x.mm(v)", "shape_mismatch"),
        ("x.mm(c)", "shape_mismatch"),
        ("x.mm(x)", "shape_mismatch"),
        ("x.bmm(x)", "shape_mismatch"),
        ("c.bmm(c)", "shape_mismatch"),
        ("c.bmm(c[:1].mT)", "shape_mismatch"),
        ("x.mv(w)", "shape_mismatch"),
        ("x.mv(x)", "shape_mismatch"),
        ("v.dot(w)", "shape_mismatch"),
        ("x.dot(v)", "shape_mismatch"),
        ("v.dot(f[0])", "dtype_mismatch"),
        ("x.vdot(v)", "shape_mismatch"),
        ("x.outer(v)", "shape_mismatch"),
        ("x.inner(w)", "shape_mismatch"),
        ("addmm(c, x, y)", "shape_mismatch"),
        ("addmm(v, x, y)", "shape_mismatch"),
        ("addmm(f, x, y)", "dtype_mismatch"),
        ("linalg.vecdot(v, w)", "shape_mismatch"),
        ("linalg.multi_dot([x])", "shape_mismatch"),
        ("linalg.multi_dot([x, x])", "shape_mismatch"),
        ("linalg.multi_dot([x, v, x])", "shape_mismatch"),
    ],
)
def test_errors_are_of_torchs_kind(text: str, kind: str) -> None:
    assert raised(text, **NAMES) == (kind, kind)


def test_errors_say_both_shapes_and_both_dtypes() -> None:
    with pytest.raises(ShapeMismatch, match=r"\[2, 3\] and \[2, 3\] cannot be multiplied"):
        ops.matmul(NAMES["x"], NAMES["x"])
    with pytest.raises(DtypeMismatch, match="same dtype, not float32 and float64"):
        ops.matmul(NAMES["x"], NAMES["f"].T)
    with pytest.raises(DtypeMismatch, match="same dtype, not float16 and float32"):
        ops.matmul(NAMES["f"].astype(np.float16), NAMES["f"].T)
    with pytest.raises(ArgumentError, match="takes a tensor"):
        ops.mm(NAMES["x"], 2)


def test_a_batch_against_one_matrix_takes_one_product() -> None:
    """A shared matrix's gradient is one product over all rows."""
    made: list[tuple[int, ...]] = []

    class Watched(np.ndarray):
        def __matmul__(self, other: Any) -> Any:
            found = np.matmul(np.asarray(self), np.asarray(other))
            made.append(found.shape)
            return found

    rule = TABLE["matmul"].rules[1]
    assert rule is not None
    a, g = normal(50, 2, 3).view(Watched), normal(50, 2, 4).view(Watched)
    rule(g, None, a, normal(3, 4))
    assert made == [(3, 4)]


def test_the_cheapest_order() -> None:
    """Cormen et al., figure 15.5: ((A1 (A2 A3)) ((A4 A5) A6))."""
    assert multiplication_order((30, 35, 15, 5, 10, 20, 25)) == ((1, 2), (0, 1), (3, 4), (3, 5), (0, 3))
