"""`gradcheck cookbook`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.conftest import Gradcheck
from tests.paths import ROOT


def test_an_entry_in_other_names(gradcheck: Gradcheck) -> None:
    shown = gradcheck("cookbook", "trace(P @ Q.T @ R)")
    assert shown.code == 0
    assert shown.out.startswith("trace of A X.T B\n  The Matrix Cookbook (2012), eq. 102\n")
    assert "  Q: R @ P\n" in shown.out
    assert "proved" in shown.out
    assert "derived" not in shown.out


def test_an_equation(gradcheck: Gradcheck) -> None:
    assert gradcheck("cookbook", "loss = trace(P @ Q.T @ R)").out == gradcheck("cookbook", "trace(P @ Q.T @ R)").out


def test_a_sign_and_many_names(gradcheck: Gradcheck) -> None:
    assert "  x: -grad(f)" in gradcheck("cookbook", "-x").out
    assert "S (m, m)" in gradcheck("cookbook", "-0.5 * v @ linalg.solve(S, v)").out  # none of its letters is an option
    assert gradcheck("cookbook", "+".join("abcdefghijklmnopqrstuvwxyz")).code == 0
    assert "more than 50 sizes" in gradcheck("cookbook", "+".join(f"x{i}" for i in range(300))).err


def test_what_is_not_there_is_derived_and_it_says_so(gradcheck: Gradcheck) -> None:
    shown = gradcheck("cookbook", "trace(A @ sin(X) @ B @ X)")
    assert shown.code == 0
    assert shown.out.startswith("no entry of the cookbook; derived")
    assert "X (" in shown.out


def test_shapes_may_be_stated(gradcheck: Gradcheck) -> None:
    shown = gradcheck("cookbook", "x @ A @ x * t", "--shape", "t=", "--shape", "x=4")
    assert shown.code == 0
    assert "A (4, 4)" in shown.out
    assert gradcheck("cookbook", "x @ A", "--shape", "x:4").code == 2


def test_words_and_themes(gradcheck: Gradcheck) -> None:
    assert "cosine similarity" in gradcheck("cookbook", "cosine").out
    assert "losses" in gradcheck("cookbook").out
    assert gradcheck("cookbook", "quadratic form").out.startswith("quadratic form\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("kalmann",), "did you mean 'kalman'?"),
        (("trce(A)",), "trce"),
        (("A @",), "an operand is missing"),
        (("cat(A)",), ""),
        (("log(-exp(x))",), "defined for none"),
        (("1 + 2",), "an expression of tensors"),
        (("grad(x) * y",), "no gradient stands in it"),
        (("linalg.svd(A)",), "several tensors"),
    ],
)
def test_mistakes_are_told(gradcheck: Gradcheck, words: tuple[str, ...], told: str) -> None:
    shown = gradcheck("cookbook", *words)
    assert shown.code == 2
    assert told in shown.err
    assert "Traceback" not in shown.err


def test_finding_imports_little() -> None:
    code = (
        "import sys; from gradcheck.cli.group import gradcheck, run_command; "
        "run_command(gradcheck, ['cookbook', 'trace(A @ B)']);"
        "sys.exit(any(name in sys.modules for name in ('torch', 'yaml', 'gradcheck.checks.derivation')))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert "trace of X A" in done.stdout


def test_what_holds_for_some_structure_is_told_and_found_for_no_other(gradcheck: Gradcheck) -> None:
    text = "0.5 * logdet(Q) - 0.5 * (x - m) @ Q @ (x - m)"
    assert "Q (n, n) symmetric" in gradcheck("cookbook", text).out
    assert "derived" in gradcheck("cookbook", "logdet(X @ X.T)").out  # known of triangular factors


def test_a_logarithm_of_a_sum_of_exponentials(gradcheck: Gradcheck) -> None:
    assert gradcheck("cookbook", "log(sum(exp(z)))").out == gradcheck("cookbook", "logsumexp(z, dim=0)").out


@pytest.mark.parametrize("sizes", ["n," * 70 + "n", "9" * 5_000 + ",2", "99999999999,99999999999", "9" * 18 + ",0,2"])
def test_a_shape_that_no_tensor_has_is_an_error(gradcheck: Gradcheck, sizes: str) -> None:
    outcome = gradcheck("cookbook", "x @ y", "--shape", f"x={sizes}")
    assert outcome.code == 2
    assert "is no shape" in outcome.err or "is too large; a tensor has at most 32 dimensions" in outcome.err
    assert len(outcome.err) < 300
