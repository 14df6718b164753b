"""Counterexamples: true, small, from the smallest sizes upwards, and none where a formula is right."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from gradcheck.checks.failures.correction.suggestion import core_gradients
from gradcheck.engines.core import Core
from gradcheck.errors import InvalidCase
from gradcheck.language.case import Case, Claim
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.traverse import gradient_names
from gradcheck.language.loader import load
from gradcheck.language.sampling import draw
from gradcheck.oracles.numeric import counterexample as module
from gradcheck.oracles.numeric.counterexample import (
    WORK,
    Counterexample,
    counterexample,
    smallest_sizes,
    with_small_integers,
)
from gradcheck.oracles.numeric.work_budget import WorkBudget
from tests.claims import shipped_cases
from tests.from_text import case_of
from tests.oracles.exact.small import claim
from tests.sampling import sample

TEXT = """
name: numbers
dims: {m: 4, n: 5}
inputs: {x: "randn(m, n)", s: x @ x.T}
constants:
  w: randn(n)
  half: [0.5, 1.5]
  index: "randint(0, m, [n])"
graph: {y: "(s.sum() + x.sum()) * w", z: y * half.sum()}
backward: {z: "randn(n)"}
"""


@pytest.fixture
def case(tmp_path: Path) -> Case:
    path = tmp_path / "case.yaml"
    path.write_text(TEXT)
    return load([path]).cases[0]


def test_sizes_grow_by_their_sum(case: Case) -> None:
    sizes = [tuple(one.values()) for one in smallest_sizes(case) if one is not None]
    assert sizes[:4] == [(1, 1), (1, 2), (2, 1), (1, 3)]
    assert [sum(one) for one in sizes] == sorted(sum(one) for one in sizes)
    assert len(set(sizes)) == len(sizes) == 49
    assert sizes[-1] == (7, 7)


def test_limits_of_the_case_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "case.yaml"
    path.write_text(TEXT + "formulas: {x: 0 * x}\ngeneralize: {dims: {m: [2, 3], n: [4, 4]}}\n")
    (limited,) = load([path]).cases
    assert list(smallest_sizes(limited)) == [{"m": 2, "n": 4}, {"m": 3, "n": 4}]


def test_a_case_without_symbolic_sizes_has_its_own(tmp_path: Path) -> None:
    path = tmp_path / "case.yaml"
    path.write_text("name: fixed\ninputs: {x: [1, 2]}\ngraph: {y: x.sum()}\n")
    (fixed,) = load([path]).cases
    assert list(smallest_sizes(fixed)) == [None]


def test_numbers(case: Case) -> None:
    problem = with_small_integers(case, {"m": 2, "n": 3}, np.random.default_rng(0), (-2, -1, 1, 2))
    x = problem.inputs["x"]
    assert x.shape == (2, 3)
    assert set(np.abs(x).ravel()) <= {1, 2}
    assert len(set(x.ravel()[:4])) == 4  # different ones as long as there are any
    assert np.array_equal(problem.inputs["s"], x @ x.T)
    assert np.all(problem.constants["w"] == np.rint(problem.constants["w"]))
    assert problem.constants["half"].tolist() == [0.5, 1.5]
    assert problem.constants["index"].dtype == np.int64
    seed = problem.seeds[0]["z"]
    assert seed is not None
    assert np.all(seed == np.rint(seed))
    assert problem.dtype == np.float64


def test_too_many_numbers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "case.yaml"
    path.write_text("name: large\ninputs: {x: 'randn(20, 20)'}\ngraph: {y: x.sum()}\n")
    (large,) = load([path]).cases
    with pytest.raises(InvalidCase):
        with_small_integers(large, None, np.random.default_rng(0), (1, 2))


def test_a_stated_domain_is_kept() -> None:
    case = case_of("""
        inputs: {p: "rand(6)", q: "uniform(0.5, 2.5, [4])", r: "uniform(-0.2, 0.2, [5])", s: "uniform(7, 20, [3])"}
        graph: {y: p.sum() + q.sum() + r.sum() + s.sum()}
    """)
    for integers in ((1, 2, 3), (-3, -2, -1, 1, 2, 3)):
        drawn = with_small_integers(case, None, np.random.default_rng(0), integers).inputs
        assert set(drawn["p"].tolist()) == {0.25, 0.5, 0.75}
        assert set(drawn["q"].tolist()) == {1, 2}
        assert np.all(np.abs(drawn["r"]) <= 0.2)
        assert np.all((drawn["s"] >= 7) & (drawn["s"] == np.round(drawn["s"])))


CASES = [case for case in shipped_cases().cases if case.dtype == "float64"]
#: What is wrong in them cannot be told at small integers, and why: the case, the tensor, how the formula begins.
NOT_TOLD = {
    ("straight pieces of gates", "x", "where((x > -3)"): "x is a multiple of 4; at 0 it is right",
    ("pooling by the largest", "x", "where(x == repeat"): "wrong at ties alone, which are kinks: nothing is told there",
}
#: Right at the case's own numbers alone, which are written out in the formula.
OWN_NUMBERS = {"running statistics"}


def speaks_of_complex(case: Case, name: str, claim: Claim) -> bool:
    """Whether the gradient, or one that the formula is made of, is complex although the case is of real numbers."""
    exprs = (claim.expr, *(case.let[step].expr for step in case.let_steps_of(claim.expr)))
    values = Core().evaluate(draw(case)).states[-1].values
    return any(one in values and values[one].dtype.kind == "c" for one in {name, *chain(*map(gradient_names, exprs))})


def is_told(case: Case, name: str, claim: Claim) -> bool:
    return not any((case.name, name) == (at, of) and claim.text.startswith(text) for at, of, text in NOT_TOLD)


ALL_WRONG = [(case, name, wrong) for case in CASES for name, claims in case.wrong_formulas.items() for wrong in claims]
COMPLEX = [one for one in ALL_WRONG if "complex" in one[0].tags and speaks_of_complex(*one)]
TOLD = [one for one in ALL_WRONG if is_told(*one) and not any(one is other for other in COMPLEX)]
WRONG = sample(TOLD, 3)
RIGHT = [
    (case, name, right)
    for case in CASES
    if case.name not in OWN_NUMBERS
    for name, claims in case.formulas.items()
    for right in claims
][::3]


def written(text: str, tmp_path: Path) -> Case:
    path = tmp_path / "case.yaml"
    path.write_text(text)
    loaded = load([path])
    assert not loaded.errors
    return loaded.cases[0]


def found(case: Case, name: str, text: str) -> Counterexample:
    example = counterexample(case, name, claim(text))
    assert example is not None
    return example


@pytest.mark.parametrize(("case", "name", "wrong"), WRONG, ids=[f"{case.id} {name}" for case, name, _ in WRONG])
def test_what_is_wrong_in_shipped_cases(case: Case, name: str, wrong: Claim) -> None:
    example = counterexample(case, name, wrong, quick=core_gradients)
    assert example is not None
    assert example.claimed != example.true
    assert sum(array.size for array in example.inputs.values()) <= 200


@pytest.mark.parametrize(("case", "name", "wrong"), COMPLEX, ids=[f"{case.id} {name}" for case, name, _ in COMPLEX])
def test_what_is_made_of_complex_gradients_has_none(case: Case, name: str, wrong: Claim) -> None:
    """Nor a warning that half of a number was left out."""
    assert counterexample(case, name, wrong, WorkBudget(WORK // 20)) is None


def test_what_is_not_told_is_there() -> None:
    assert len(COMPLEX) >= 3
    assert len(ALL_WRONG) - len(COMPLEX) - len(TOLD) == len(NOT_TOLD)


@pytest.mark.parametrize(
    ("case", "name", "right"), RIGHT[::3], ids=[f"{case.id} {name}" for case, name, _ in RIGHT[::3]]
)
def test_what_is_right_has_none(case: Case, name: str, right: Claim) -> None:
    assert counterexample(case, name, right, WorkBudget(WORK // 20)) is None


MATRIX = """
name: product
dims: {m: 4, k: 5, n: 6}
inputs: {a: "randn(m, k)", b: "randn(k, n)"}
graph: {c: a @ b, loss: c.sum()}
"""


def test_the_smallest_sizes(tmp_path: Path) -> None:
    """ones(m, n) @ b.T is right; its transpose has another shape as soon as m is not k; 2 of it is wrong at once."""
    case = written(MATRIX, tmp_path)
    example = found(case, "a", "2 * ones(m, n) @ b.T")
    assert example.sizes == {"m": 1, "k": 1, "n": 1}
    assert example.index == (0, 0)
    assert example.claimed == 2 * example.true == 2 * example.inputs["b"][0, 0]
    transposed = found(case, "a", "(ones(m, n) @ b.T).T")
    assert sum(transposed.sizes.values()) == 4
    assert transposed.index is None
    assert transposed.claimed == transposed.true[::-1]


def test_small_integers(tmp_path: Path) -> None:
    example = found(written(MATRIX, tmp_path), "b", "a.T @ ones(m, n) * a.sum()")
    for array in example.inputs.values():
        assert np.all(array == np.rint(array))
        assert np.all(np.abs(array) <= 3)
        assert np.all(array != 0)


def test_it_can_be_checked_by_hand(tmp_path: Path) -> None:
    """What it says of claim and truth follows from its inputs."""
    case = written(MATRIX.replace("a @ b", "(a @ b) ** 2"), tmp_path)
    example = found(case, "a", "2 * (a @ b) @ b")
    a, b = example.inputs["a"], example.inputs["b"]
    truth = 2 * (a @ b) @ b.T
    if example.index is None:
        assert example.true == truth.shape
    else:
        assert example.true == truth[example.index]
        assert example.claimed == (2 * (a @ b) @ b)[example.index]


@pytest.mark.parametrize(
    ("entry", "formula", "simple"),
    [
        ("sigmoid(x)", "y * (1 + y)", True),  # at 0, where it is a half
        ("x ** 3", "2 * x ** 2", True),
        ("tanh(x)", "1 - y * y * y", False),  # at 0 it is right
    ],
)
def test_it_takes_no_more_than_a_pencil_where_that_can_be(
    tmp_path: Path, entry: str, formula: str, simple: bool
) -> None:
    text = f"name: one op\ndims: {{n: 3}}\ninputs: {{x: randn(n)}}\ngraph: {{y: {entry}, loss: y.sum()}}\n"
    example = found(written(text, tmp_path), "x", formula)
    assert example.is_hand_checkable is simple
    if simple:
        assert {abs(12 * value) % 1 for value in (example.claimed, example.true)} == {0}


def test_many_numbers_are_not_for_a_pencil(tmp_path: Path) -> None:
    text = "name: wide\ninputs: {x: 'randn(5, 6)'}\ngraph: {y: (x * x).sum()}\n"
    assert not found(written(text, tmp_path), "x", "x").is_hand_checkable


def test_right_at_the_cases_own_sizes(tmp_path: Path) -> None:
    """What hides a size behind another's needs sizes that differ; 1 alone does not show it."""
    text = """
name: means
dims: {m: 2, n: 2}
inputs: {x: "randn(m, n)"}
graph: {y: x.mean(dim=1).sum()}
"""
    example = found(written(text, tmp_path), "x", "ones(m, n) / m")
    assert sum(example.sizes.values()) == 3
    assert (example.claimed, example.true) == (1 / example.sizes["m"], 1 / example.sizes["n"])


def test_sizes_that_do_not_fit_are_passed_over(tmp_path: Path) -> None:
    text = """
name: heads
dims: {n: 4, h: 2}
inputs: {x: "randn(n)", w: "randn(h)"}
graph: {y: "(x.reshape(h, 2) ** 3).sum() * w.sum()"}
"""
    example = found(written(text, tmp_path), "x", "x ** 2")
    assert example.sizes == {"n": 2, "h": 1}


def test_literals_and_incoming_gradients(tmp_path: Path) -> None:
    text = """
name: literal
inputs: {x: [2.0, 2.0]}
graph: {y: x * x}
backward: {y: [1.0, 1.0]}
shapes: {x: [n]}
"""
    case = written(text, tmp_path)
    own = draw(case)
    assert np.array_equal(evaluate(claim("x * x").expr, own.environment()), [4, 4])
    example = found(case, "x", "x * x * grad(y)")  # right at 2
    assert example.sizes == {"n": 1}
    assert set(example.seeds) == {"y"}
    x, g = example.inputs["x"][0], example.seeds["y"][0]
    assert (example.claimed, example.true) == (x * x * g, 2 * x * g)


def test_leaves_made_of_others_stay_so(tmp_path: Path) -> None:
    text = """
name: symmetric
dims: {n: 3}
inputs: {a: "randn(n, n)", s: a @ a.T + n * eye(n)}
graph: {y: linalg.inv(s).sum()}
"""
    example = found(written(text, tmp_path), "s", "linalg.inv(s)")
    a, s, n = example.inputs["a"], example.inputs["s"], example.sizes["n"]
    assert np.array_equal(s, a @ a.T + n * np.eye(n))


def test_integers_stay_as_they_are_drawn(tmp_path: Path) -> None:
    text = """
name: lookup
dims: {n: 3, k: 4}
inputs: {x: "randn(k, 2)"}
constants: {i: "randint(0, k, [n])"}
graph: {y: "(x[i] ** 2).sum()"}
"""
    example = found(written(text, tmp_path), "x", "2 * x")
    assert example.constants["i"].dtype == np.int64
    assert np.all((example.constants["i"] >= 0) & (example.constants["i"] < example.sizes["k"]))


def test_it_does_no_more_work_than_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case, budget, drawn = written(MATRIX, tmp_path), WorkBudget(WORK // 5), []
    monkeypatch.setattr(module, "with_small_integers", lambda *args: (drawn.append(1), with_small_integers(*args))[1])
    assert counterexample(case, "a", claim("ones(m, n) @ b.T"), budget) is None
    assert budget.is_spent
    assert 10 < len(drawn) < 1000
    assert counterexample(case, "a", claim("0 * a"), WorkBudget(0)) is None


def test_complex_cases_have_none(tmp_path: Path) -> None:
    case = replace(written(MATRIX, tmp_path), dtype="complex128")
    assert counterexample(case, "a", claim("0 * a")) is None


def test_sizes_of_ones_own(tmp_path: Path) -> None:
    case = written(MATRIX, tmp_path)
    problem = draw(case, trial=0, sizes={"m": 2, "n": 7})
    assert problem.inputs["a"].shape[0] == 2
    assert problem.inputs["b"].shape[1] == 7
    assert problem.sizes["m"] == 2


def test_an_incoming_gradient_that_the_claim_is_about_stays() -> None:
    case = case_of("{inputs: {x: [1.0, 2.0]}, graph: {y: x * x}, backward: {y: [5.0, 7.0]}}")
    found = counterexample(case, "x", claim("3 * x"))
    assert found is not None
    assert found.seeds["y"].tolist() == [5, 7]
    spoken = counterexample(case, "x", claim("3 * x * grad(y)"))
    assert spoken is not None
    assert spoken.seeds["y"].tolist() != [5, 7]


def test_sizes_that_no_shape_shows_are_told() -> None:
    case = case_of("{dims: {n: 4}, inputs: {x: [1.0, 2.0]}, graph: {y: (x * x).sum() / n}}")
    found = counterexample(case, "x", claim("2 * x / 4"))
    assert found is not None
    assert list(found.sizes_in_no_shape) == ["n"]


def test_a_shape_that_comes_of_what_is_written_out_is_no_counterexample() -> None:
    """The constant has three elements, and broadcasts what has one."""
    case = case_of("{dims: {n: 3}, inputs: {x: 'randn(n)'}, constants: {m: [1, 2, 3]}, graph: {y: sum(x * m)}}")
    wrong = claim("2 * m")
    assert (found := counterexample(case, "x", wrong)) is not None
    assert found.index is None
    shown = counterexample(case, "x", wrong, of_shape=False)
    assert shown is not None
    assert (shown.inputs["x"].shape, shown.index is None) == ((3,), False)


def test_gradients_that_are_known_otherwise_only_spare_measuring() -> None:
    """What they do not know, a gradient where none flows, is measured; where the formula holds by them, nothing is."""
    case = case_of("{dims: {n: 3}, inputs: {x: 'randn(n)', w: 'randn(n)'}, graph: {u: w * 2, z: (x * x).sum()}}")
    for text in ("3 * x", "3 * x + 0 * grad(u)"):
        assert counterexample(case, "x", claim(text), quick=core_gradients) == counterexample(case, "x", claim(text))
    asked: list[int] = []
    assert (
        counterexample(
            case, "x", claim("3 * x"), quick=lambda problem: asked.append(1) or {"x": 3 * problem.inputs["x"]}
        )
        is None
    )
    assert asked


@pytest.mark.parametrize(("entry", "formula"), [("exp(x) * 1.1", "exp(x)"), ("sigmoid(x)", "y * (1 + y)"), ("x", "x")])
def test_once_one_is_found_only_what_seems_simpler_is_measured(
    monkeypatch: pytest.MonkeyPatch, entry: str, formula: str
) -> None:
    """Where there is none for a pencil, the first; where there is, as many as without such a glimpse or fewer."""
    case = case_of(f"{{dims: {{n: 3}}, inputs: {{x: randn(n)}}, graph: {{y: {entry}, z: y.sum()}}}}")
    measured: list[str] = []
    numeric_gradient = module.numeric_gradient
    monkeypatch.setattr(module, "numeric_gradient", lambda *a: measured.append(a[1]) or numeric_gradient(*a))
    shown = counterexample(case, "x", claim(formula), quick=core_gradients)
    glimpsed = len(measured)
    assert shown is not None
    assert glimpsed == (1 if not shown.is_hand_checkable or formula == "x" else 2)
    assert shown == counterexample(case, "x", claim(formula))
    assert glimpsed <= len(measured) - glimpsed
