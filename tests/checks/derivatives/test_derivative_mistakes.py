"""Mistakes that the numbers of a wrong Jacobian or Hessian show."""

from __future__ import annotations

from textwrap import dedent

import pytest

from gradcheck.checks.options import Options, engines_of
from gradcheck.checks.pipeline import check_case
from gradcheck.checks.result import Diagnosis
from gradcheck.reports.phrases import say
from tests.from_text import case_of

SOFTMAX = """
    dims: {n: 4}
    inputs: {x: randn(n)}
    graph: {p: "softmax(x, dim=0)", f: "logsumexp(x, 0)"}
    backward: f
"""
LAYER = """
    dims: {n: 4, m: 3}
    inputs: {x: randn(n), W: "randn(m, n)", A: "randn(n, n)", b: randn(n), c: "randn([])"}
    graph: {h: tanh(W @ x), r: h - 1, f: (r ** 2).sum(), q: x @ A @ x, B: inv(A), o: "outer(x, W @ x)",
            g: x @ A @ x + x @ x, u: A @ x, z: tanh(u), k: "sin(W @ x) * sin(c)", s: "sin(c) * b", G: W.T @ W,
            t: (u ** 2).sum() + x @ x}
    backward: f
"""


def diagnoses(text: str, section: str, of: str, by: str, claim: str) -> tuple[Diagnosis, ...]:
    """The diagnoses of the first failure of a case that states one claim."""
    case = case_of(f'{dedent(text)}{section}: {{{of}: {{"{by}": "{claim}"}}}}\n')
    found = check_case(case, Options(), engines_of(Options()))
    assert found.status == "failed"
    return next(c.diagnoses for c in found.comparisons if c.status == "failed")


@pytest.mark.parametrize(
    ("text", "section", "of", "by", "claim", "kind", "words"),
    [
        (LAYER, "jacobians", "h", "x", "W.T @ diag(1 - h ** 2)", "transposed", "numerator layout"),
        (LAYER, "jacobians", "h", "W", "einsum('ij,k->jki', diag(1 - h ** 2), x)", "transposed", "another order"),
        (LAYER, "jacobians", "o", "x", "einsum('ik,j->jik', eye(n), W @ x) + einsum('i,jk->jik', x, W)", "permuted",
         "permuted by"),
        (LAYER, "jacobians", "h", "W", "einsum('ij,k->ijk', diag(1 - h ** 2), x).reshape(m, -1)", "reshaped",
         "reshaped"),
        (SOFTMAX, "jacobians", "p", "x", "diag(p * (1 - p))", "diagonal", "the diagonal alone"),
        (SOFTMAX, "jacobians", "p", "x", "p * (1 - p)", "diagonal", "the diagonal as a vector"),
        (SOFTMAX, "jacobians", "p", "x", "diag(p * p) - outer(p, p)", "diagonal", "the diagonal is missing"),
        (SOFTMAX, "jacobians", "p", "x", "-outer(p, p)", "one_term", "one term is missing: diag(p)"),
        (SOFTMAX, "jacobians", "p", "x", "diag(p ** 2 + 1) - outer(p, p)", "diagonal", "wrong on the diagonal alone"),
        (SOFTMAX, "jacobians", "p", "x", "diag(p)", "one_term", "one term is missing: -outer(p, p)"),
        (SOFTMAX, "jacobians", "p", "x", "triu(diag(p) - outer(p, p))", "diagonal", "the upper triangle alone"),
        (SOFTMAX, "jacobians", "p", "x", "outer(p, p) - diag(p)", "sign", "the sign is wrong"),
        (SOFTMAX, "hessians", "f", "x", "n * (diag(p) - outer(p, p))", "factor", "the factor n"),
        (SOFTMAX, "hessians", "f", "x", "outer(p, p)", "approximation", "outer product"),
        (SOFTMAX, "jacobians", "p", "x", "diag(p) + 2 * outer(p, p)", "", ""),
        (SOFTMAX, "jacobians", "p", "x", "diag(p) + outer(p, p)", "one_term", "has the wrong sign: outer(p, p)"),
        (LAYER, "jacobians", "h", "x", "-2 * diag(1 - h ** 2) @ W", "factor", "factor -2"),
        (LAYER, "jacobians", "h", "x", "h[:, None] * (diag(1 - h ** 2) @ W)", "factor_of_tensor", "the factor h"),
        (LAYER, "hessians", "q", "x", "2 * A + 2 * A.T", "factor", "factor 2"),
        (LAYER, "hessians", "q", "x", "A - A.T", "one_term", "one term has the wrong sign"),
        (LAYER, "hessians", "q", "x", "A", "one_term", "one of two terms is missing"),
        (LAYER, "hessians", "q", "W", "0 * zeros(m, n, m, n) + 1", "one_term", "too much: 1"),
        (LAYER, "hessians", "f", "x", "2 * jacobian(r, x).T @ jacobian(r, x)", "approximation", "Gauss-Newton's"),
        (LAYER, "hessians", "f", "x, W", "2 * einsum('ij,ikl->jkl', jacobian(r, x), jacobian(r, W))", "approximation",
         "leaves out that of r by x"),
        (LAYER, "jacobians", "h", "x", "W * h[:, None]", "other_formula", "h stands where"),
        (LAYER, "hessians", "t", "x", "2 * A.T @ A", "one_term", "one term is missing: 2 * eye(n)"),
        (LAYER, "hessians", "g", "x", "A + A.T", "one_term", "one term is missing: 2 * eye(n)"),
        (LAYER, "jacobians", "h", "x", "W.T @ (1 - h ** 2)", "summed", "has a row for each"),
        (LAYER, "jacobians", "k", "x", "cos(W @ x)[:, None] * W", "factor_of_tensor", "the factor 1 / sin(c)"),
        (LAYER, "jacobians", "z", "x", "jacobian(z, u)", "mixed_up", "the factor jacobian(u, x) of the chain rule"),
        (LAYER, "jacobians", "s", "c", "s", "forward_value", "s itself"),
        (LAYER, "jacobians", "G", "W", "2 * einsum('il,mj->ijml', eye(n), W)", "one_term", "one term is missing"),
        (LAYER, "jacobians", "G", "W", "einsum('il,mj->ijml', eye(n), W)", "one_term", "one term is missing"),
    ],
)  # fmt: skip
def test_it_is_named(text: str, section: str, of: str, by: str, claim: str, kind: str, words: str) -> None:
    found = [one for one in diagnoses(text, section, of, by, claim) if one.confidence]
    assert [one.kind for one in found[:1]] == [kind][: bool(kind)]
    assert all(words in say(one.message) and one.confidence == "confirmed" for one in found)


def test_a_correction_is_one_of_the_claim_itself() -> None:
    (found,) = (one for one in diagnoses(LAYER, "jacobians", "h", "x", "diag(1 - h) @ W") if one.formula)
    assert found.formula == "diag(1 - h ** 2) @ W"


def test_the_inverse_is_named() -> None:
    text = """
        inputs: {x: "uniform(1, 2, [2])"}
        graph: {y: "torch.stack([x[0] * x[1], x[1] ** 2])"}
        let: {J: "torch.stack([torch.stack([x[1], x[0]]), torch.stack([0 * x[1], 2 * x[1]])])"}
        backward: {y: "randn(2)"}
    """
    assert [one.kind for one in diagnoses(text, "jacobians", "y", "x", "inv(J)") if one.confidence] == ["inverted"]


def test_a_missing_size_is_a_factor_and_corrected() -> None:
    text = """
        dims: {n: 5, d: 3}
        inputs: {mu: randn(d), L: "randn(d, d) + 3 * eye(d)"}
        constants: {X: "randn(n, d)"}
        graph: {r: X - mu, f: "-0.5 * (r * (r @ linalg.inv(L @ L.T))).sum()"}
    """
    found = diagnoses(text, "hessians", "f", "mu", "-linalg.inv(L @ L.T)")
    assert [say(one.message) for one in found[:1]] == ["off by the factor 1 / n"]
    assert found[1].formula == "-linalg.inv(L @ L.T) * n"


def test_a_correction_of_another_gradient_is_none() -> None:
    text = """
        dims: {n: 5}
        inputs: {x: randn(n)}
        graph: {c: x - x.mean(), v: (c * c).mean()}
    """
    assert all(one.formula != "2 / n * eye(n)" for one in diagnoses(text, "hessians", "v", "x", "2 / n * eye(n)"))


def test_integers_among_floats_are_named_and_mended() -> None:
    text = """
        dims: {n: 4}
        inputs: {x: "randn(2, n)"}
        graph: {y: 2 * x, z: "tensor([[0.0, -1.0], [1.0, 0.0]]) @ x", f: y.sum()}
        let: {J: "tensor([[0, -1], [1, 0]])"}
    """
    claim = "einsum('ik,jl->ijkl', {} @ eye(2), eye(n))"
    cause, meant = diagnoses(text, "jacobians", "z", "x", claim.format("J"))
    assert say(cause.message) == "J holds integers, which no product takes beside floating numbers"
    assert meant.formula == claim.format("1.0 * J")
    assert [one.kind for one in diagnoses(text, "jacobians", "y", "x", claim.format("J"))] == ["dtype"]


def test_a_transpose_without_elements_is_named() -> None:
    text = """
        dims: {n: 3}
        inputs: {x: {values: [], shape: [0]}}
        constants: {A: "randn(n, 0)"}
        graph: {y: A @ x}
    """
    (found,) = (one for one in diagnoses(text, "jacobians", "y", "x", "A.T") if one.confidence)
    assert found.kind == "transposed"
    assert all(not one.confidence for one in diagnoses(text, "jacobians", "y", "x", "zeros(2, 0)"))
