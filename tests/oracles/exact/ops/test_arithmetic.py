"""Ops on residues: on small integers the values are the forward's own, the tangents those of a complex step."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.errors import ShapeMismatch, Unsupported
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse
from gradcheck.oracles.exact import modular
from gradcheck.oracles.exact.degree import Degree
from gradcheck.oracles.exact.dual import ACTIONS, Residue, Unlucky, acts_on, lift
from tests.oracles.exact.calls import PRIME, as_residues, calls, directions, integers, on_residues, parts, point

STEP = 1e-30

CALLS = [
    text
    for text in calls()
    if ("randn(" in text or "uniform(" in text) and not any(w in text for w in ("complex", "dtype", "rounding_mode"))
]
#: What these samples say is not about fractions, or a division by 0.
LEFT_OUT = (
    *("** 0.5", "2 ** randn", "0 ** uniform", "(-2.0) ** randn", "pow(randint", "pow(tensor", "randn(1, 3), 0"),
    *("mean(randn(0, 3), 0)", "inf", "embedding(", "cofactors(tensor([[1", "linalg.solve(tensor", "det_hessian(tensor"),
    *("var(", "> 0"),
)


SOLVE = (
    "linalg.solve(randn(3, 3), randn(3, 2))",
    "linalg.solve(randn(3, 3), randn(3))",
    "linalg.solve(randn(2, 2, 2), randn(2, 2))",
    "linalg.solve(randn(2, 3, 3), randn(2, 3, 4))",
    "linalg.solve(randn(3, 3), randn(2, 3), left=False)",
    "det_hessian(randn(3, 3), randn(3, 3))",
)


@pytest.mark.parametrize("text", [*(text for text in CALLS if not any(part in text for part in LEFT_OUT)), *SOLVE])
def test_values_and_tangents(text: str) -> None:
    expr, floats, others = integers(text)
    moved = directions(floats)
    found = parts(on_residues(expr, floats, moved, others))
    exact = parts(evaluate(expr, {**others, **floats}))
    stepped = parts(evaluate(expr, {**others, **{name: a + 1j * STEP * moved[name] for name, a in floats.items()}}))
    for residue, value, step in zip(found, exact, stepped, strict=True):
        if not isinstance(residue, Residue):
            assert np.array_equal(residue, value)
            continue
        assert np.array_equal(residue.value, as_residues(value))
        slope = np.imag(step) / STEP
        tangent = np.zeros(residue.shape, dtype=np.int64) if residue.tangent is None else residue.tangent
        assert np.array_equal(tangent, as_residues(slope))


#: Those that are not of one number, or of none.
VARIANCES = [text for text in CALLS if "var(" in text and not any(w in text for w in ("(0, 3)", "3), 0)", "randn(())"))]


@pytest.mark.parametrize("text", VARIANCES)
def test_the_variance(text: str) -> None:
    """A quadratic form, of which a difference of two steps is the very derivative."""
    expr, floats, others = integers(text)
    moved = directions(floats)
    found = on_residues(expr, floats, moved, others)
    ahead, behind = (evaluate(expr, {n: a + sign * moved[n] for n, a in floats.items()}) for sign in (1, -1))
    assert np.array_equal(found.value, as_residues(evaluate(expr, floats)))
    assert np.array_equal(found.tangent, as_residues((ahead - behind) / 2))


def test_every_action_is_an_op() -> None:
    assert set(ACTIONS) <= set(TABLE)


def test_an_op_acts_in_one_way() -> None:
    with pytest.raises(ValueError, match="already"):
        acts_on("add")(lambda *args: None)


def test_what_is_no_operation_of_exact_arithmetic() -> None:
    x = Residue(point(), np.arange(6).reshape(2, 3))
    with pytest.raises(Unsupported, match="argsort"):
        TABLE["argsort"](x)


def test_shapes_are_checked() -> None:
    x = Residue(point(), np.arange(6).reshape(2, 3))
    with pytest.raises(ShapeMismatch):
        TABLE["matmul"](x, x)
    with pytest.raises(ShapeMismatch):
        TABLE["add"](x, Residue(x.point, np.arange(2)))


def test_division_by_0_is_bad_luck() -> None:
    with pytest.raises(Unlucky):
        TABLE["div"](1, Residue(point(), np.array([1, 0])))


def test_casts_to_integers_are_refused() -> None:
    with pytest.raises(Unsupported):
        TABLE["to"](Residue(point(), np.arange(3)), np.dtype(np.int64))


@pytest.mark.parametrize(
    "text", ["sum(x, dtype=torch.int64)", "cumsum(x, 0, dtype=torch.int64)", "prod(x, dtype=int64)"]
)
def test_sums_in_integers_are_refused(text: str) -> None:
    with pytest.raises(Unsupported):
        evaluate(parse(text), {"x": Residue(point(), np.arange(3))})


def test_truth_values_are_counted_in_integers() -> None:
    x = Residue(point(), np.arange(1, 4))
    assert np.array_equal(TABLE["sum"](x > 0, dtype=np.dtype(np.int64)).value, TABLE["sum"](x > 0).value)


def test_places_cannot_be_made_up() -> None:
    x = Residue(point(), np.arange(1, 4))
    with pytest.raises(Unsupported, match="places"):
        TABLE["getitem"](x, x > 0)


def test_lifting() -> None:
    at = point()
    assert lift(at, -1).value == PRIME - 1
    assert lift(at, True).value == 1
    assert lift(at, np.array([0.5])).value * 2 % PRIME == 1
    assert lift(at, np.array(3, dtype=np.uint8)).degree == Degree()
    with pytest.raises(Unsupported):
        lift(at, np.array([np.nan]))
    with pytest.raises(Unsupported):
        lift(at, np.array([1j]))


def test_elimination() -> None:
    """Regular matrices with zeros on their diagonals, in batches."""
    from gradcheck.oracles.exact.ops.linalg import eliminate

    generator = np.random.default_rng(0)
    for n in (0, 1, 2, 5, 9):
        matrices = generator.integers(0, PRIME, (3, n, n))
        matrices[1] = np.eye(n, dtype=np.int64)[::-1]
        identity = np.broadcast_to(np.eye(n, dtype=np.int64), matrices.shape)
        inverses, determinants = eliminate(matrices, identity, PRIME)
        products = modular.bilinear(np.matmul, matrices, inverses, max(n, 1), PRIME)
        assert np.array_equal(products, identity)
        sign = round(np.linalg.det(np.eye(n)[::-1])) if n else 1
        assert determinants[1] == sign % PRIME


def test_singular_matrices_are_bad_luck() -> None:
    with pytest.raises(Unlucky):
        TABLE["linalg.inv"](Residue(point(), np.ones((2, 2), dtype=np.int64)))
