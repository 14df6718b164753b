"""LaTeX of expressions, as text."""

from __future__ import annotations

import pytest

from gradcheck.language.expr.latex import name_to_latex, to_latex
from gradcheck.language.expr.nodes import Call, Name
from gradcheck.language.expr.parser import parse
from gradcheck.language.loader import load

EXAMPLES = [
    ("(grad(y) @ x.T).T", r"\left(\nabla_{y}\,x^{\top}\right)^{\top}"),
    ("2 * x * y / (z + 1)", r"\frac{2\,x \odot y}{z + 1}"),
    ("outer(a + b, x)", r"\left(a + b\right)\,x^{\top}"),
    ("ones(m, n + 1) + zeros(k)", r"\mathbf{1}_{m \times \left(n + 1\right)} + \mathbf{0}_{k}"),
    ("lgamma(a) * linalg.matrix_power(X, 3)", r"\ln\Gamma\left(a\right) \odot X^{3}"),
    ("fft.fft(x)", r"\operatorname{fft}\left(x\right)"),
    ("linalg.matrix_norm(X)", r"\left\| X \right\|_{\mathrm{F}}"),
    ("linalg.cross(a, b + c)", r"a \times \left(b + c\right)"),
    ("kron(A, B) @ x", r"A \otimes B\,x"),
    ("linalg.solve(A.T, b @ c)", r"\left(A^{\top}\right)^{-1}\,\left(b\,c\right)"),
    ("x.norm() ** 2", r"\left\| x \right\|^{2}"),
    ("(x / y) ** 2", r"\left(\frac{x}{y}\right)^{2}"),
    ("-(a + b) * c", r"-\left(a + b\right) \odot c"),
    ("a - (b - c)", r"a - \left(b - c\right)"),
    ("2 * 3", r"2 \cdot 3"),
    ("x * 2", r"x \cdot 2"),
    ("x // 2", r"\left\lfloor \frac{x}{2} \right\rfloor"),
    ("x % 2", r"x \bmod 2"),
    ("(x > 0) & ~m | (y <= 1)", r"\left(x > 0\right) \land \lnot m \lor \left(y \le 1\right)"),
    ("x == y", "x = y"),
    ("where(x > 0, grad(y), 0)",
     r"\nabla_{y} \odot \mathbf{1}\left[x > 0\right]"),
    ("where(x > 0, 0, grad(y) + 1)", r"\left(\nabla_{y} + 1\right) \odot \mathbf{1}\left[x \le 0\right]"),
    ("where(m, 0, grad(y))", r"\begin{cases} 0 & \text{if } m \\ \nabla_{y} & \text{otherwise} \end{cases}"),
    ("grad(y) * (x == m)", r"\nabla_{y} \odot \mathbf{1}\left[x = m\right]"),
    ("x[0, 1:, ...]", r"{x}_{[0, 1:, \ldots]}"),
    ("x[::2]", "{x}_{[::2]}"),
    ("x.shape[0]", r"{\operatorname{shape}\left(x\right)}_{[0]}"),
    ("1e-06 * s", r"10^{-6}\,s"),
    ("(1e-06) ** s", r"\left(10^{-6}\right)^{s}"),
    ("exp(-x ** 2)", r"\exp\left(-x^{2}\right)"),
    ("abs(x) + sqrt(y)", r"\left|x\right| + \sqrt{y}"),
    ("conj(z) + z.H", r"\overline{z} + z^{\dagger}"),
    ("linalg.inv(a).mT", r"\left(a^{-1}\right)^{\top}"),
    ("x.sum() * 2", r"\left(\sum x\right) \cdot 2"),
    ("sum(x, dim=0)", r"\sum_{i} x"),
    ("sum(x * y, dim=(0, 2)) / z", r"\frac{\sum_{ik} x \odot y}{z}"),
    ("sum(x > 0, dim=1)", r"\sum_{j} \mathbf{1}\left[x > 0\right]"),
    ("sum(x, dim=-1)", r"\operatorname{sum}\left(x, \mathrm{dim}=-1\right)"),
    ("softmax(x, dim=1) * y", r"\operatorname{softmax}_{j}\left(x\right) \odot y"),
    ("x.amax(dim=1)", r"\max_{j}\left(x\right)"),
    ("softmax(x, 1, torch.float32)", r"\operatorname{softmax}\left(x, 1, \mathtt{float32}\right)"),
    ("-x / y", r"-\frac{x}{y}"),
    ("2 * (x + y) ** 0.5", r"2\,\sqrt{x + y}"),
    ("ones_like(loss) @ x", r"\mathbf{1}_{\mathrm{loss}}\,x"),
    ("1 + 2j", r"1 + 2\,\mathrm{i}"),
    ("-torch.inf", r"-\infty"),
    ("x.to(torch.float32)", r"\operatorname{to}\left(x, \mathtt{float32}\right)"),
    ("einsum('ij,jk->ik', a, b)", r"\left[\sum_{j} {a}_{ij}\,{b}_{jk}\right]_{ik}"),
    ("einsum('ij,ij->', a + b, grad(y)) * c",
     r"\left(\sum_{ij} {\left(a + b\right)}_{ij}\,{\nabla_{y}}_{ij}\right) \odot c"),
    ("einsum('...i->...', a)", r"\operatorname{einsum}\left(\text{...i->...}, a\right)"),
    ("index_add(x, 0, i, y)", r"\operatorname{index\_add}\left(x, 0, i, y\right)"),
    ("reshape(x, (-1,))", r"\operatorname{reshape}\left(x, \left(-1\right)\right)"),
    ("cat([x, y])", r"\operatorname{cat}\left(\left[x, y\right]\right)"),
    ("sum(x, dim=1, keepdim=True)",
     r"\sum_{j} x"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "latex"), EXAMPLES)
def test_expressions(text: str, latex: str) -> None:
    assert to_latex(parse(text)) == latex


@pytest.mark.parametrize(
    ("name", "latex"),
    [
        ("x", "x"),
        ("w1", "w_{1}"),
        ("w_1", "w_{1}"),
        ("loss", r"\mathrm{loss}"),
        ("gamma", r"\gamma"),
        ("beta2", r"\beta_{2}"),
        ("m[0]", "{m}_{[0]}"),
        ("d_k", "d_{k}"),
        ("W_out", r"W_{\mathrm{out}}"),
        ("yhat", r"\hat{y}"),
        ("mu_bar2", r"\bar{\mu}_{2}"),
        ("Sigma", r"\Sigma"),
        ("that", r"\hat{t}"),
        ("a_b_c", r"\mathrm{a\_b\_c}"),
        ("_", r"\mathrm{\_}"),
    ],
)
def test_names(name: str, latex: str) -> None:
    assert name_to_latex(name) == latex


def test_brackets_and_braces_of_every_shipped_expression_match() -> None:
    cases, errors = load(["cases"])
    assert not errors
    for case in cases:
        claims = [*case.graph.values(), *case.let.values(), *case.checks]
        claims += [claim for listed in case.formulas.values() for claim in listed]
        for claim in claims:
            text = to_latex(claim.expr)
            assert text.count(r"\left") == text.count(r"\right"), text
            plain = text.replace(r"\{", "").replace(r"\}", "")
            assert plain.count("{") == plain.count("}"), text


def test_a_long_sum_does_not_recurse() -> None:
    expr = parse("x")
    for _ in range(3_000):
        expr = Call("add", (expr, Name("y")))
    assert to_latex(expr).count("y") == 3_000
