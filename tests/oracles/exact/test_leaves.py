"""The leaves at a random point: free ones are random, fixed ones themselves, those made of others are made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gradcheck.language.loader import load
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from gradcheck.oracles.exact import modular_arithmetic
from gradcheck.oracles.exact.field_point import FieldPoint
from gradcheck.oracles.exact.leaves import leaves
from gradcheck.oracles.exact.prove import prove
from tests.oracles.exact.small import claim

PRIME = modular_arithmetic.PRIMES[0]


def problem(text: str, tmp_path: Path) -> Problem:
    path = tmp_path / "case.yaml"
    path.write_text("name: leaves\n" + text)
    loaded = load([path])
    assert not loaded.errors, loaded.errors
    return draw(loaded.cases[0])


def residues(of: Problem, seed: int = 0) -> tuple[FieldPoint, dict[str, Any]]:
    point = FieldPoint(PRIME, 1)
    return point, leaves(of, point, np.random.default_rng(seed))


LEAVES = """
dims: {n: 3}
inputs: {a: "randn(n, n)", b: [[1, 2], [3, 4]], s: a @ a.T + n * eye(n)}
constants:
  half: [0.5, 1.5]
  free: randn(2)
  twice: 2 * half
  logits: "uniform(-1, 1, [2, 3])"
  target: softmax(randn(2, 3), dim=1)
  index: [0, 1]
  mask: "randint(0, 2, [3])"
graph: {y: (s.sum() + b.sum() + (half * free * twice).sum() + (logits * target).sum())}
"""


def test_each_kind(tmp_path: Path) -> None:
    of = problem(LEAVES, tmp_path)
    point, found = residues(of)
    a, s = found["a"].value, found["s"].value
    assert np.array_equal(
        s, (modular_arithmetic.bilinear(np.matmul, a, a.T, 3, PRIME) + 3 * np.eye(3, dtype=np.int64)) % PRIME
    )
    assert found["b"].value.max() > 4  # a proof is one for all values
    assert np.array_equal(2 * found["half"].value % PRIME, [1, 3])
    assert np.array_equal(found["twice"].value, [1, 3])
    assert found["free"].degree.numerator == found["logits"].degree.numerator == 1
    assert np.array_equal(found["target"].value.sum(1) % PRIME, [1, 1])
    assert found["index"] is of.constants["index"]
    assert found["mask"] is of.constants["mask"]
    assert all(leaf.tangent is None for name, leaf in found.items() if name not in ("index", "mask"))
    assert point.uninterpreted == {"exp"}


def test_other_points_have_others(tmp_path: Path) -> None:
    of = problem(LEAVES, tmp_path)
    assert not np.any(residues(of)[1]["a"].value == residues(of, 1)[1]["a"].value)


def test_what_a_leaf_is_made_of_is_used(tmp_path: Path) -> None:
    """A symmetric matrix is symmetric, so that this is proved; of any matrix it would not be true."""
    text = """
dims: {n: 3}
inputs: {a: "randn(n, n)", s: SYMMETRIC}
graph: {y: "(s @ s).sum()"}
"""
    formula = claim("s.sum(0)[None, :] + s.sum(1)[:, None]")  # rows and columns mixed up
    for made, status in (("a + a.T", "proved"), ('"randn(n, n)"', "refuted")):
        assert prove(problem(text.replace("SYMMETRIC", made), tmp_path), [("s", formula)])[0].status == status


def test_what_cannot_be_made_refutes_nothing(tmp_path: Path) -> None:
    text = """
inputs: {x: randn(3)}
constants: {order: argsort(x), sorted: "sort(x)[0]"}
graph: {y: (x * sorted).sum()}
"""
    of = problem(text, tmp_path)
    point, found = residues(of)
    assert "sorted, which is made of other leaves," in point.uninterpreted
    assert found["sorted"].degree.numerator == 1
    proofs = prove(of, [("x", claim(text)) for text in ("sorted", "sort(x)[0]", "x")])
    assert [proof.status for proof in proofs] == ["proved", "unsupported", "unsupported"]
