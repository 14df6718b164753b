"""The exam is fair: its right formulas are right, its wrong ones wrong, and all who are asked can tell some apart."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from benchmarks.exam import digits, report, slips, spellings, wrappers
from benchmarks.exam.collect import BY_HAND, questions
from benchmarks.exam.evaluator import evaluate, mentions
from benchmarks.exam.graph import Graph, Item
from benchmarks.exam.graphs import THEMES, all_graphs
from benchmarks.exam.points import is_fixed, leading_to, points, speaks_of_a_root, words
from benchmarks.exam.tools import Verdict, gradcheck, others
from benchmarks.exam.truth import Judge
from gradcheck.checks.isolation.fork_call import ForkedWorker
from gradcheck.checks.isolation.worker_processes import call_inherited

GRAPHS = all_graphs()
SQUARE = Graph(
    "a square", {"x": "randn(n)"}, {"y": "x * x"}, {"x": "2 * x * grad(y)"}, dims={"n": 3}, backward={"y": "ones(n)"},
    rational=True,
)  # fmt: skip
RELU = Graph(
    "relu", {"x": "randn(n)"}, {"y": "relu(x)"}, {"x": "grad(y) * (x > 0)"}, dims={"n": 3},
    backward={"y": "randn(n)"}, pieces=True,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _in_double_precision() -> Iterator[None]:
    known = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(known)


def item(graph: Graph, formula: str, group: str = "slips") -> Item:
    return Item(graph, "x", formula, group, "by hand")


def test_there_are_enough_graphs_and_each_has_a_name() -> None:
    assert len({graph.name for graph in GRAPHS}) == len(GRAPHS) >= 60
    assert sum(len(spelled) for graph in GRAPHS for spelled in graph.spelled.values()) >= 80
    assert {graph.theme for graph in GRAPHS} == set(THEMES)
    assert {graph.dtype for graph in GRAPHS} == {"float64", "float32", "float16", "bfloat16", "complex128"}


def test_there_are_enough_operators_and_mutants() -> None:
    made = [
        mutant
        for graph in GRAPHS
        for tensor, right in graph.right.items()
        for mutant in (*wrappers.wrapped(graph, tensor, right), *slips.slipped(graph, right))
    ]
    assert len({mutant.operator for mutant in made}) >= 100
    assert len(made) >= 10_000


@pytest.mark.parametrize("graph", GRAPHS[::4], ids=lambda graph: graph.name)
def test_right_ones_are_right_and_stated_ones_as_stated(graph: Graph) -> None:
    found = questions(graph, 4)
    assert len(found.judge.points) >= 15
    assert [(one.operator, one.formula) for one in found.mistaken] == []
    assert found.wrong


@pytest.mark.parametrize(
    ("graph", "formula", "truth"),
    [
        (SQUARE, "x * grad(y) + grad(y) * x", "equal"),
        (SQUARE, "2 * x", "equal"),  # for this incoming gradient
        (SQUARE, "2 * x * grad(y)**2", "wrong"),
        (SQUARE, "2.00000000001 * x * grad(y)", "wrong"),
        (SQUARE, "where(x == round(x), x, 2 * x) * grad(y)", "wrong"),
        (SQUARE, "2 * x * grad(y) * min(n, 3) / n", "wrong"),
        (SQUARE, "2 * exp(log(x)) * grad(y)", "partial"),
        (SQUARE, "2 * x * grad(y) * isfinite(log(x))", "wrong"),
        (SQUARE, "(2 * x * grad(y)).sum()", "wrong"),
        (SQUARE, "2 * z * grad(y)", "no formula"),
        (RELU, "grad(y) * (x >= 0)", "equal"),  # another convention
        (RELU, "grad(y) * (x > -5)", "wrong"),
        (RELU, "grad(y) * (x > 1e-6)", "wrong"),
    ],
)
def test_truth(graph: Graph, formula: str, truth: str) -> None:
    assert Judge.of(graph).truth(item(graph, formula)) == truth


def test_a_wrong_formula_that_is_stated_to_be_right_is_told() -> None:
    graph = Graph("x", SQUARE.inputs, SQUARE.graph, SQUARE.right, dims={"n": 3}, backward={"y": "randn(n)"},
                  spelled={"x": ["3 * x * grad(y)"]}, wrong={"x": [("slips", "(x + x) * grad(y)")]})  # fmt: skip
    assert [one.formula for one in questions(graph, 5).mistaken] == ["3 * x * grad(y)", "(x + x) * grad(y)"]


def test_a_graph_whose_formula_is_wrong_has_no_points() -> None:
    graph = Graph("x", SQUARE.inputs, SQUARE.graph, {"x": "3 * x * grad(y)"}, dims={"n": 3}, backward={"y": "randn(n)"})
    judge = Judge.of(graph)
    assert judge.dropped > 50
    assert "x at" in judge.disagreements[0]


def test_points_vary_what_is_open() -> None:
    found = points(SQUARE)
    assert {1} < {point.sizes["n"] for point in found}
    assert max(point.sizes["n"] for point in found) > 7
    assert is_fixed(SQUARE)
    assert {point.free for point in found} == {True, False}
    assert len({point.mode for point in found}) > 10
    assert words(SQUARE) == {"n": 3}
    assert "sizes {'n': 3}" in str(found[0])


def test_what_a_formula_speaks_of() -> None:
    assert mentions("grad(y) * x.sum()") >= {"grad__y", "x"}
    assert leading_to("2 * d", {"d": "c + 1", "c": "grad(y)"}) >= {"d", "c", "grad__y"}
    assert speaks_of_a_root(SQUARE, "2 * d", {"d": "grad(y)"})
    assert not speaks_of_a_root(SQUARE, "2 * x", {})


def test_the_evaluator_reads_the_case_language() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert evaluate("min(n, 3) / n", {"n": 6}) == 0.5
    assert evaluate("x.max()", {"x": x}) == 4
    assert evaluate("F.relu(-x).sum() + linalg.det(x)", {"x": x}) == pytest.approx(-2)
    assert torch.equal(evaluate("grad(x) @ x.T", {"x": x, "grad__x": x}), x @ x.T)


def test_fifty_digits_tell_a_near_miss_from_a_spelling() -> None:
    names = points(SQUARE, 1)[0].names
    assert digits.differ("2.00000000000000000001 * x * grad(y)", "2 * x * grad(y)", SQUARE, names)
    assert not digits.differ("x * grad(y) / 0.5", "2 * x * grad(y)", SQUARE, names)
    assert not digits.differ("no_such(x)", "2 * x * grad(y)", SQUARE, names)


def test_slips_are_other_formulas() -> None:
    found = list(slips.slipped(SQUARE, "(x - y.mean(0, keepdim=True)) ** 2 / n * grad(y)"))
    texts = [mutant.formula for mutant in found]
    assert len(set(texts)) == len(texts) > 40
    assert "(y.mean(0, keepdim=True) - x) ** 2 / n * grad(y)" in texts
    assert "(x - y.mean(0)) ** 2 / n * grad(y)" in texts


@pytest.mark.parametrize("name", ["gradcheck", *others()])
def test_everybody_can_tell_right_from_wrong(name: str) -> None:
    point = Judge.of(SQUARE).points[0]
    right, gross = item(SQUARE, "2 * x * grad(y)", "right"), item(SQUARE, "5 * x * grad(y)")
    if name == "gradcheck":
        assert gradcheck(right).passed
        assert not gradcheck(gross).passed
        assert gradcheck(item(SQUARE, "2 * x +")).status == "invalid"
    else:  # in a process of its own: JAX leaves threads, which no fork of other tests survives
        tool = others()[name]
        with ForkedWorker((lambda: [tool(right, point), tool(gross, point)],)) as worker:
            assert worker.submit(call_inherited, 0).result() == ["right", "wrong"]


def test_a_formula_of_one_incoming_gradient_is_asked_as_a_sum() -> None:
    point = Judge.of(SQUARE).points[0]
    assert others()["torch, slow"](item(SQUARE, "2 * x"), point) == "right"
    assert others()["torch, slow"](item(SQUARE, "3 * x"), point) == "wrong"
    assert others()["torch, slow"](item(SQUARE, "grad(x)", BY_HAND[0]), point) == "not asked"


def test_results_are_counted_and_listed() -> None:
    results = report.Results(graphs=1)
    results.wrong = [(item(SQUARE, "a"), Verdict("passed", proved=True)), (item(SQUARE, "b"), Verdict("failed"))]
    results.right = [(item(SQUARE, "c", "right").under(seed=3), Verdict("failed", why="because"))]
    rows = [str(row) for row in report._rows(results, full=False)]
    assert "| 1 of 2 | 0 | **no** |" in rows[0]
    assert "seed 3: 1" in rows[2]
    assert [line.split("\t")[:2] for line in report.listed(results)] == [["missed", "proved"], ["flagged", "failed"]]


def test_a_sample_is_held(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.exam.tools.find_spec", lambda name: None)  # JAX must not be loaded here
    report.main(["--sample", "3", "--list", "--only", "matrix cubed"])
    printed = capsys.readouterr().out
    assert "exam: wrong formulas missed" in printed
    assert "torch, slow" in printed


def test_what_no_graph_is_called_is_an_error_with_the_names_near_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        report.main(["--only", "relu7"])
    assert "relu6" in capsys.readouterr().err


def test_a_spelling_is_asked_under_every_option() -> None:
    graph = next(graph for graph in GRAPHS if graph.spelled and graph.in_half_precision and not graph.steps)
    item = next(spellings.spellings(graph))
    kinds = [kind for kind, _ in spellings.under_each_option(item)]
    assert kinds.count("seeds") == 14
    assert {"float32", "float16", "bfloat16", "oracle numeric", "order 2", "mode both"} <= {*kinds}
