"""What tests of exact rules share: the table's samples on small integers, and on residues that stand for them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Expr
from gradcheck.oracles.exact import modular_arithmetic, ops
from gradcheck.oracles.exact.degree import Degree
from gradcheck.oracles.exact.dual_numbers import Dual
from gradcheck.oracles.exact.field_point import FieldPoint
from tests.samples import drawn, samples

assert ops

PRIME = modular_arithmetic.PRIMES[0]
#: Ops whose values and derivatives are fractions of polynomials: nothing about them is left uninterpreted.
RATIONAL = (
    *("reshape", "flatten", "squeeze", "unsqueeze", "expand", "repeat", "clone", "transpose", "permute", "movedim"),
    *(
        "T",
        "mT",
        "flip",
        "roll",
        "tile",
        "getitem",
        "gather",
        "index_select",
        "take_along_dim",
        "cat",
        "stack",
        "split",
    ),
    *("chunk", "unbind", "narrow", "diagonal", "diag", "diag_embed", "tril", "triu", "trace", "scatter", "scatter_add"),
    *("index_add", "index_put", "index_adjoint", "diagonal_scatter", "sum_to_size", "constant_pad_nd"),
    *("masked_fill", "view", "broadcast_to"),
    *("add", "sub", "mul", "div", "neg", "positive", "square", "reciprocal", "lerp", "addmm", "pow"),
    *("sum", "mean", "var", "prod", "cumsum", "cumprod"),
    *("matmul", "mm", "bmm", "mv", "dot", "outer", "inner", "einsum", "tensordot", "kron", "linear"),
    *("linalg.inv", "inv", "linalg.solve", "linalg.det", "cofactors", "det_hessian", "linalg.matrix_power"),
    *("mse_loss", "embedding"),
)


def calls(names: tuple[str, ...] = RATIONAL) -> list[str]:
    """The samples of these ops."""
    return [text for name in names for text in samples(TABLE[name])]


def integers(text: str, seed: int = 0) -> tuple[Expr, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The call with names for what it draws, small integers for these, and what is drawn of integers itself."""
    expr, arrays = drawn(text, seed)
    generator = np.random.default_rng([seed, len(text)])
    floats = {
        name: generator.integers(1, 5, a.shape) * generator.choice([-1.0, 1.0], a.shape)
        for name, a in arrays.items()
        if a.dtype.kind == "f"
    }
    return expr, floats, {name: a for name, a in arrays.items() if name not in floats}


def directions(floats: Mapping[str, np.ndarray], seed: int = 0) -> dict[str, np.ndarray]:
    generator = np.random.default_rng([seed, 7])
    return {name: generator.integers(-3, 4, a.shape).astype(np.float64) for name, a in floats.items()}


def point() -> FieldPoint:
    return FieldPoint(PRIME, 12345)


def on_residues(
    expr: Expr, floats: Mapping[str, np.ndarray], moved: Mapping[str, np.ndarray], others: Mapping[str, Any]
) -> Any:
    """The value, with tangents, at integers that residues stand for."""
    at = point()
    names = {
        name: Dual(
            at, modular_arithmetic.reduce(a, PRIME), modular_arithmetic.reduce(moved[name], PRIME), Degree(1, 0, 1)
        )
        for name, a in floats.items()
    }
    return evaluate(expr, {**others, **names})


def as_residues(values: np.ndarray) -> np.ndarray:
    """What simple fractions are modulo the prime."""
    found = [Fraction(number).limit_denominator(100_000) for number in np.ravel(values).tolist()]
    assert all(
        abs(float(f) - v) <= 1e-9 * max(1, abs(v)) for f, v in zip(found, np.ravel(values).tolist(), strict=True)
    )
    residues = [f.numerator * pow(f.denominator, -1, PRIME) % PRIME for f in found]
    return np.array(residues, dtype=np.int64).reshape(np.shape(values))


def parts(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


def operands(*shapes: tuple[int, ...]) -> list[Dual]:
    """Random ones of these shapes, with random tangents."""
    at, generator = point(), np.random.default_rng(0)
    return [Dual(at, *(generator.integers(0, PRIME, shape) for _ in range(2))) for shape in shapes]


def exact(equation: str, *arrays: np.ndarray) -> np.ndarray:
    """An einsum of residues in Python's integers."""
    return np.asarray(np.einsum(equation, *(array.astype(object) for array in arrays)) % PRIME).astype(np.int64)
