"""An explained case as text, YAML and LaTeX; what is derived is tested in `tests/checks/test_derivation.py`."""

from __future__ import annotations

from textwrap import dedent

import pytest
import yaml

from gradcheck.checks.derivation import Explanation, explain
from gradcheck.language.loader.case_files import load_text
from gradcheck.reports.commands.explanation import FORMATS, render


def explained(text: str) -> Explanation:
    (case,), errors = load_text(dedent(text), "case.yaml")
    assert errors == []
    return explain(case)


@pytest.fixture(scope="module")
def product() -> Explanation:
    return explained("""
        name: product
        inputs: {x: [[1, 2]], w: [[3], [4]]}
        graph: {y: x @ w, loss: (y * y).sum()}
        """)


def test_text_shows_values_and_formulas(product: Explanation) -> None:
    lines = render(product, "text").splitlines()
    assert lines[:9] == [
        "case.yaml::product",
        "",
        "inputs",
        "  x (1, 2) [[1., 2.]]",
        "  w (2, 1) [[3.], [4.]]",
        "",
        "graph",
        "  y = x @ w",
        "    (1, 1) [[11.]]",
    ]
    assert "gradients, from loss" in lines
    assert "  w (2, 1) = x.T @ grad(y)" in lines
    assert " ".join(lines).endswith("so they are no independent check of these.")


def test_yaml_can_be_pasted_into_a_case(product: Explanation) -> None:
    text = render(product, "yaml")
    assert text.startswith("# case.yaml::product\n")
    assert "\nformulas:\n" in text
    assert "\n  w: x.T @ grad(y)\n" in text


def test_latex_aligns_graph_and_gradients(product: Explanation) -> None:
    lines = render(product, "latex").splitlines()
    assert (lines[0], lines[1], lines[-1]) == ("% case.yaml::product", r"\begin{align*}", r"\end{align*}")
    assert sum(r"\nabla_{" in line for line in lines) == len(product.formulas)
    assert all(line.endswith(r" \\") for line in lines[2:-2])


@pytest.mark.parametrize("format", FORMATS)
def test_no_letter_of_a_formula_is_invisible(format: str) -> None:
    text = render(explained("{name: hidden, inputs: {\u1160: 3, x\ufe00: 2}, graph: {y: \u1160 * x\ufe00}}"), format)
    assert not {"\u1160", "\ufe00"} & set(text)
    if format == "yaml":  # and it can be pasted
        assert yaml.safe_load(text)["formulas"]["\u1160"] == "x\ufe00"


@pytest.mark.parametrize("format", FORMATS)
def test_why_there_are_no_gradients(format: str) -> None:
    found = explained("{name: broken, inputs: {x: [1, 2], y: [1, 2, 3]}, graph: {z: x + y}}")
    assert "no gradients: the forward pass raises: " in render(found, format, 200)


def test_long_values_are_cut() -> None:
    text = render(explained("{name: long, inputs: {x: 'randn(40, 40)'}, graph: {loss: x.sum()}}"), "text")
    (line,) = [line for line in text.splitlines() if line.startswith("  x (40, 40) [")]
    assert line.endswith("…")
    assert len(line) < 80


def test_where_a_formula_does_not_hold_is_told_in_every_format() -> None:
    found = explained("""
        dims: {n: 3}
        inputs: {x: "randn(n)"}
        constants: {a: "randn(n)"}
        graph: {f: norm(x - a)}
        """)
    assert "  x (3) = (x - a) / f\n      (where f != 0)" in render(found, "text")
    assert "  x: (x - a) / f  # where f != 0" in render(found, "yaml")
    assert "% x where f != 0" in render(found, "latex")
