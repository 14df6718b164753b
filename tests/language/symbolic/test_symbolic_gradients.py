"""Derived formulas: printed, parsed again and evaluated, they equal the core's gradients, at any sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import Tensor, dtypes, grad, ops
from gradcheck.engines.core import Core
from gradcheck.errors import NoGradRequired, NonScalarBackward, Place, Unsupported
from gradcheck.language.case import Case, Claim, Step
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.problem import Problem
from gradcheck.language.symbolic.symbolic_gradients import derive_gradients
from tests.language.symbolic.derived import check, in_steps

#: No two alike, so that nothing fits by accident; and other ones, which no formula has seen.
SIZES = {"n": 2, "m": 3, "k": 5, "h": 4}
OTHERS = {"n": 6, "m": 4, "k": 2, "h": 7}


@dataclass(frozen=True)
class Graph:
    """Inputs and constants by their shapes, in names of sizes; graph entries; roots that get a random gradient."""

    inputs: Mapping[str, str]
    entries: Mapping[str, str]
    constants: Mapping[str, Any] = field(default_factory=dict)
    seeded: tuple[str, ...] = ()

    def problem(self, sizes: Mapping[str, int], dtype: str = "float64") -> Problem:
        generator = np.random.default_rng(len(self.inputs))
        kind = dtypes.BY_NAME[dtype]

        def draw(shape: Any) -> np.ndarray:
            if callable(shape):
                return np.asarray(shape(generator, sizes))
            drawn = generator.standard_normal([sizes.get(word) or int(word) for word in shape.split()])
            if kind.kind == "c":
                drawn = drawn + 1j * generator.standard_normal(drawn.shape)
            return drawn.astype(kind)

        inputs = {name: draw(shape) for name, shape in self.inputs.items()}
        constants = {name: draw(shape) for name, shape in self.constants.items()}
        roots = dict.fromkeys(self.seeded or [list(self.entries)[-1]])
        case = Case(
            id="test::case", name="case", place=Place(), inputs={}, dtype=dtype,
            graph={name: Claim(text, parse(text)) for name, text in self.entries.items()},
            steps=(Step("backward", roots=roots),),
        )  # fmt: skip
        problem = Problem(case, inputs, constants, dict(sizes), (roots,), ({},), kind)
        if not self.seeded:
            return problem
        values = Core().evaluate(problem_without_steps(problem)).states[-1].values
        seeds = {name: draw(lambda g, s, n=name: g.standard_normal(values[n].shape).astype(kind)) for name in roots}
        return Problem(case, inputs, constants, dict(sizes), (seeds,), ({},), kind)


def problem_without_steps(problem: Problem) -> Problem:
    case = problem.case
    still = Case(case.id, case.name, case.place, case.inputs, case.graph, (Step("forward"),), dtype=case.dtype)
    return Problem(still, problem.inputs, problem.constants, problem.sizes, ({},), ({},), problem.dtype)


def integers(low: int, high: str, size: str) -> Any:
    return lambda generator, sizes: generator.integers(low, sizes[high], sizes[size])


GRAPHS = {
    "a chain of four matrices": Graph(
        {"x": "n m", "y": "k n", "z": "h k", "w": "m h"},
        {"p": "y @ x", "q": "z @ p", "r": "w.mm(q)", "loss": "r.sum()"},
    ),
    "one expression": Graph({"x": "n m"}, {"loss": "(torch.tanh(x * 2 + 1) ** 2).sum()"}),
    "reuse": Graph({"x": "n"}, {"y": "x + x + x", "z": "y * x - y", "loss": "z.sum()"}),
    "broadcasting": Graph(
        {"x": "n m", "row": "m", "column": "n 1", "one": ""},
        {"s": "x * row + column / (2 + one * one)", "loss": "(s * s).mean()"},
    ),
    "reductions": Graph(
        {"x": "n m k"},
        {"a": "x.mean(dim=1)", "b": "x.var((0, 2))", "c": "x.std()", "d": "x.logsumexp(-1)",
         "loss": "a.sum() * b.prod() + c * d.sum()"},
    ),
    "sizes in the graph": Graph(
        {"x": "n m"},
        {"c": "x - x.sum(0) / x.shape[0]", "loss": "(c * c).sum() / (x.shape[0] * x.shape[1] - 1) + n * x.sum() / m"},
    ),
    "rearranged": Graph(
        {"x": "n m", "y": "m n"},
        {"a": "torch.cat([x.T, y], dim=1)", "b": "a.reshape(-1)", "c": "b.flip(0) * b",
         "d": "torch.stack([x, y.T]).permute(2, 0, 1)", "loss": "c.sum() + (d * d).sum()"},
    ),
    "indexing": Graph(
        {"x": "n m"},
        {"a": "x[0]", "b": "x[:, 1:]", "c": "x[..., None] * x[i][0, 0]", "loss": "a.sum() * b.sum() + (c * c).sum()"},
        {"i": integers(0, "n", "k")},
    ),
    "gather": Graph(
        {"x": "n m"},
        {"a": "x.index_select(1, i)", "b": "x.gather(0, j)", "loss": "(a * a).sum() + b.exp().sum()"},
        {"i": integers(0, "m", "k"), "j": lambda generator, sizes: generator.integers(0, sizes["n"], (1, sizes["m"]))},
    ),
    "choices": Graph(
        {"x": "n m", "y": "n m"},
        {"a": "torch.where(x > y, x * x, y)", "b": "torch.maximum(x, y)", "c": "x.clamp(-1, 1).abs()",
         "d": "x.max(1)[0]", "loss": "(a * b + c).sum() * d.sum()"},
    ),
    "softmax cross entropy": Graph(
        {"x": "n m", "w": "m k", "b": "k"},
        {"hidden": "F.gelu(x @ w + b)", "loss": "F.cross_entropy(hidden, t)"},
        {"t": integers(0, "k", "n")},
    ),
    "layer norm": Graph(
        {"x": "n m", "w": "m", "b": "m"},
        {"y": "F.layer_norm(x, [m], w, b)", "loss": "(y * y * y).sum()"},
    ),
    "attention": Graph(
        {"q": "n k", "k_": "m k", "v": "m h"},
        {"scores": "q @ k_.T / torch.sqrt(q.shape[-1])", "weights": "scores.softmax(-1)", "out": "weights @ v",
         "loss": "(out ** 2).sum()"},
    ),
    "attention in one": Graph(
        {"q": "n k", "k_": "m k", "v": "m h"},
        {"out": "F.scaled_dot_product_attention(q, k_, v)"},
        seeded=("out",),
    ),
    "causal attention": Graph(
        {"q": "2 n k", "k_": "2 m k", "v": "2 m h"},
        {"out": "F.scaled_dot_product_attention(q, k_, v, is_causal=True)", "loss": "(out ** 2).sum()"},
    ),
    "convolution": Graph(
        {"x": "n m k 6", "w": "4 m 2 3", "b": "4"},
        {
            "y": "F.conv2d(x, w, b, stride=(1, 2), padding=1)",
            "z": "F.pad(F.max_pool2d(y, 2), (1, 1, 0, 1), 'replicate')",
            "loss": "(z * z).mean()",
        },
    ),
    "angles and distances": Graph(
        {"x": "n m", "y": "1 m"},
        {"c": "F.cosine_similarity(x, y)", "d": "torch.cdist(x, x + y)", "u": "F.normalize(x)",
         "loss": "c.sum() + d.sum() + (u * x).sum()"},
    ),
    "losses": Graph(
        {"x": "n m", "y": "n m"},
        {"a": "F.huber_loss(x, y, delta=0.5)", "b": "F.kl_div(x.log_softmax(1), y.softmax(1), reduction='batchmean')",
         "c": "F.binary_cross_entropy(x.sigmoid(), y.sigmoid())", "d": "F.smooth_l1_loss(x, y, reduction='sum')",
         "loss": "a * b + c * d"},
    ),
    "norms by group": Graph(
        {"x": "n 4 k", "w": "4"},
        {"a": "F.group_norm(x, 2, w)", "b": "F.batch_norm(x, None, None, w, training=True)", "c": "F.rms_norm(x, [k])",
         "loss": "(a * b * c).sum()"},
    ),
    "einsum and outer products": Graph(
        {"x": "n m", "y": "m k"},
        {"a": "torch.einsum('ij,jk->ki', x, y)", "b": "torch.outer(x[0], y[:, 0])", "c": "torch.kron(x, y)",
         "loss": "(a * a).sum() + b.diagonal().sum() + (c * c).sum() + x.tril().cumsum(1).sum()"},
    ),
    "an incoming gradient": Graph({"x": "n m", "y": "m k"}, {"z": "x @ y"}, seeded=("z",)),
    "several roots": Graph({"x": "n m"}, {"y": "x * x", "z": "y.exp().sum(0)"}, seeded=("y", "z")),
    "a name twice": Graph({"x": "n"}, {"y": "x * x", "same": "y", "loss": "(same * y).sum()"}),
    "several outputs": Graph({"x": "n m"}, {"m_": "torch.max(x, 1)", "loss": "(m_[0] * m_[0]).sum()"}),
    "parts that no gradient reaches": Graph(
        {"x": "n", "y": "n"}, {"a": "x.detach() * y", "b": "no_grad(y)", "loss": "(a * b).sum()"}
    ),
    "linear algebra": Graph(
        {"a": "n n", "b": "n m"},
        {"s": "a @ a.T + 3 * torch.eye(a.shape[0])", "y": "torch.linalg.solve(s, b)",
         "loss": "torch.logdet(s) + (y * b).sum()"},
    ),
}  # fmt: skip


#: Formulas with numbers written out: the part of a gradient that came in from outside.
BOUND = {"several roots"}
#: Formulas longer than a file may hold, unless they are written in steps.
LONG = {"convolution"}


@pytest.mark.parametrize("expand", [False, True], ids=["by children", "expanded"])
@pytest.mark.parametrize("name", [name for name in GRAPHS if name not in LONG])
def test_formulas_equal_the_cores_gradients_bit_for_bit(name: str, expand: bool) -> None:
    problem = GRAPHS[name].problem(SIZES)
    check(derive_gradients(problem, expand=expand), problem)


@pytest.mark.parametrize("expand", [False, True], ids=["by children", "expanded"])
@pytest.mark.parametrize("name", [name for name in GRAPHS if name not in BOUND | LONG])
def test_formulas_hold_for_other_sizes(name: str, expand: bool) -> None:
    check(derive_gradients(GRAPHS[name].problem(SIZES), expand=expand), GRAPHS[name].problem(OTHERS))


@pytest.mark.parametrize("expand", [False, True], ids=["by children", "expanded"])
@pytest.mark.parametrize("name", [name for name in GRAPHS if name not in BOUND])
def test_derivations_in_steps_do_so_too(name: str, expand: bool) -> None:
    let, formulas = in_steps(GRAPHS[name].problem(SIZES), expand=expand)
    for sizes in (SIZES, OTHERS):
        check(formulas, GRAPHS[name].problem(sizes), let)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64", "complex128"])
def test_formulas_in_other_dtypes(dtype: str) -> None:
    graph = Graph(
        {"x": "n m", "y": "m k", "b": "k"},
        {"p": "x @ y + b", "q": "torch.tanh(p) * p / 3", "z": "q.sum(0) * b"},
        seeded=("z",),
    )
    for sizes in (SIZES, OTHERS):
        check(derive_gradients(graph.problem(SIZES, dtype)), graph.problem(sizes, dtype))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", ["layer norm", "softmax cross entropy", "losses", "reductions"])
def test_formulas_say_where_halves_are_raised_and_rounded(name: str, dtype: str) -> None:
    let, formulas = in_steps(GRAPHS[name].problem(SIZES, dtype))
    check(formulas, GRAPHS[name].problem(OTHERS, dtype), let)


def test_formulas_are_written_as_a_person_would() -> None:
    formulas = derive_gradients(GRAPHS["a chain of four matrices"].problem(SIZES))
    assert {name: to_text(formula) for name, formula in formulas.items()} == {
        "loss": "ones_like(loss)",
        "r": "expand(grad(loss), r.shape)",
        "q": "w.T @ grad(r)",
        "w": "grad(r) @ q.T",
        "p": "z.T @ grad(q)",
        "z": "grad(q) @ p.T",
        "y": "grad(p) @ x.T",
        "x": "y.T @ grad(p)",
    }


def test_an_expression_used_again_and_again_is_written_once() -> None:
    """Softmax of softmax: each gradient uses the one before it twice, so its text doubles with each."""
    text = "x"
    for _ in range(40):
        text = f"softmax({text}, 1)"
    graph = Graph({"x": "n m"}, {"loss": f"({text} * x).sum()"})
    with pytest.raises(Unsupported, match="more than 20,000"):
        derive_gradients(graph.problem(SIZES))
    let, formulas = in_steps(graph.problem(SIZES))
    assert len(let) < 200
    check(formulas, graph.problem(OTHERS), let)


def test_long_graphs_are_derived_without_recursion() -> None:
    entries = {"y0": "x * 1"}
    for i in range(2_000):
        entries[f"y{i + 1}"] = f"y{i} * 0.5 + x"
    graph = Graph({"x": "n"}, {**entries, "loss": "y2000.sum()"})
    problem = graph.problem(SIZES)
    assert to_text(derive_gradients(problem)["y1000"]) == "grad(y1001) * 0.5"
    let, formulas = in_steps(problem, expand=True)
    assert set(formulas) == {"x", *entries, "loss"}
    assert len(let) < 10_000


def test_what_has_no_gradient_is_an_error() -> None:
    with pytest.raises(NonScalarBackward):
        derive_gradients(Graph({"x": "n"}, {"y": "x * x"}).problem(SIZES))
    with pytest.raises(NoGradRequired):
        derive_gradients(Graph({"x": "n"}, {"y": "x.detach().sum()"}).problem(SIZES))


def test_a_formula_can_be_differentiated_again() -> None:
    """The gradient of a gradient's formula, times a vector, is the product with the Hessian."""
    graph = Graph({"x": "n m", "w": "m k"}, {"h": "torch.tanh(x @ w)", "loss": "(h.softmax(1) * h).sum()"})
    first = derive_gradients(graph.problem(SIZES), expand=True)
    again = Graph(
        graph.inputs,
        {**graph.entries, "slope": to_text(first["x"]), "loss2": "(slope * v).sum()"},
        {"v": "n m"},
    )
    problem = again.problem(SIZES)
    check(derive_gradients(problem), problem)
    got = Core().evaluate(problem).states[-1].gradients

    leaves = {name: Tensor(array, requires_grad=True) for name, array in problem.inputs.items()}
    h = ops.tanh(leaves["x"] @ leaves["w"])
    (slope,) = grad((ops.softmax(h, 1) * h).sum(), leaves["x"], create_graph=True)
    assert slope is not None
    product = grad((slope * Tensor(problem.constants["v"])).sum(), list(leaves.values()))
    for name, want in zip(leaves, product, strict=True):
        assert got[name] is not None
        assert want is not None
        np.testing.assert_allclose(got[name], want.data, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("entry", "compared"),
    [
        ("amax(exp(x), dim=1)", "exp(x) == unsqueeze(amax(exp(x), dim=1), 1)"),
        ("linalg.matrix_norm(x, 2)", " == linalg.matrix_norm(x, 2)"),
        ("amax(x, dim=1)", "x == unsqueeze(y, 1)"),  # nothing is computed twice
    ],
)
def test_what_is_computed_twice_is_not_compared_with_an_engine_s_numbers(entry: str, compared: str) -> None:
    graph = Graph({"x": "n m"}, {"y": entry, "z": "y.sum()"})
    assert compared in to_text(derive_gradients(graph.problem(SIZES))["x"])


@pytest.mark.parametrize("call", ["linalg.cross(x, y)", "cross(x, y, dim=-1)"])
def test_a_vector_product_is_derived_in_vector_products(call: str) -> None:
    problem = Graph({"x": "n 3", "y": "1 3"}, {"z": call}, seeded=("z",)).problem(SIZES)
    formulas = derive_gradients(problem)
    check(formulas, problem)
    written = {name: to_text(formula) for name, formula in formulas.items()}
    op, dim = call[: call.index("(")], ", -1" * ("dim" in call)
    assert written["x"] == f"{op}(y, grad(z){dim})"
    assert written["y"] == f"sum_to_size({op}(grad(z), x{dim}), y.shape)"
