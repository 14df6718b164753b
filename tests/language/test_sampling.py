"""From cases to arrays: deterministic, each name by its own stream, in the right dtypes, at every size."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest

from gradcheck.autograd import dtypes
from gradcheck.errors import InvalidCase, TensorError, TooLarge
from gradcheck.language.case import Case
from gradcheck.language.loader import load_text
from gradcheck.language.problem import DrawSettings, Problem
from gradcheck.language.sampling import claimed_array, draw, graph_values, literal_problem
from gradcheck.language.trial_draws import Variation


def one(text: str) -> Case:
    cases, errors = load_text(text, "f.yaml")
    assert [str(e) for e in errors] == []
    return cases[0]


def of(inputs: str, graph: str = "{y: x * 2}", **sections: str) -> Case:
    rest = "".join(f"{name}: {text}\n" for name, text in sections.items())
    return one(f"inputs: {inputs}\ngraph: {graph}\n{rest}")


def same(a: Problem, b: Problem) -> bool:
    names = [*a.inputs, *a.constants]
    return all(np.array_equal(a.environment()[name], b.environment()[name]) for name in names)


# Streams -----------------------------------------------------------------------------------------


def test_the_stream_of_a_name_is_what_the_docs_say() -> None:
    problem = draw(of("{x: 'randn(2, 3)'}", seed="5"))
    expected = np.random.Generator(np.random.PCG64(int.from_bytes(sha256(b"5/x").digest(), "big")))
    assert np.array_equal(problem.inputs["x"], expected.standard_normal((2, 3)))
    assert problem.seed == 5


def test_creators_of_one_expression_draw_one_after_the_other() -> None:
    x = draw(of("{x: 'stack([randn(3), randn(3)])'}")).inputs["x"]
    assert not np.array_equal(x[0], x[1])
    assert np.array_equal(x.ravel(), draw(of("{x: randn(6)}")).inputs["x"])


def test_adding_an_input_changes_no_other() -> None:
    before = draw(of("{x: randn(3), w: randn(3)}", constants="{c: randn(3)}"))
    after = draw(of("{v: randn(3), w: randn(3), u: randn(9), x: randn(3)}", constants="{d: rand(2), c: randn(3)}"))
    for name in ("x", "w", "c"):
        assert np.array_equal(before.environment()[name], after.environment()[name])
    assert not np.array_equal(before.inputs["x"], before.inputs["w"])


def test_drawing_is_deterministic_and_a_seed_changes_it() -> None:
    case = of("{x: randn(3)}")
    assert same(draw(case), draw(case))
    assert same(draw(case, seed=0), draw(case))
    assert not same(draw(case, seed=1), draw(case))
    assert not same(draw(case, trial=0), draw(case, trial=1))
    assert not same(draw(case, trial=0), draw(case, trial=0, attempt=1))
    assert same(draw(case, trial=0), draw(case, trial=0))
    assert draw(case, seed=-3).seed == -3


def test_a_problem_says_by_what_it_was_drawn() -> None:
    case = one("inputs: {x: randn(3), y: [1, 2, 3]}\ngraph: {z: x * y}\n")
    assert draw(case).draw_settings == DrawSettings()
    problem = draw(case, 7, 2, attempt=3, variation=Variation("near"))
    assert problem.draw_settings == DrawSettings(seed=7, trial=2, attempt=3, variation=Variation("near"))
    by = problem.draw_settings
    assert same(problem, draw(case, by.seed, by.trial, attempt=by.attempt, variation=by.variation))


# Values ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "complex64", "complex128"])
def test_dtypes(dtype: str) -> None:
    case = of(
        "{x: [1, 2], w: randn(2), v: 3, u: arange(2), f: {values: [1], dtype: float32}}",
        constants="{i: [0, 1], m: [true], c: [.5], r: abs(rand(2)) > 0.5, k: 'randint(0, 3, [2])', z: zeros(2), s: 2.}",
        dtype=dtype,
    )
    problem = draw(case)
    main = dtypes.BY_NAME[dtype]
    assert problem.dtype == main
    assert {name: a.dtype for name, a in problem.inputs.items()} == {
        "x": main, "w": main, "v": main, "u": main, "f": np.float32,
    }  # fmt: skip
    assert {name: a.dtype for name, a in problem.constants.items()} == {
        "i": np.int64, "m": np.bool_, "c": main, "r": np.bool_, "k": np.int64, "z": main, "s": main,
    }  # fmt: skip
    assert all(type(a) is np.ndarray for a in [*problem.inputs.values(), *problem.constants.values()])


def test_complex_normals_have_variance_one() -> None:
    x = draw(of("{x: randn(20000)}", dtype="complex128")).inputs["x"]
    assert abs(np.mean(np.abs(x) ** 2) - 1) < 0.03
    assert abs(np.mean(x.real**2) - 0.5) < 0.03


def test_complex_constants_in_a_real_case() -> None:
    constants = draw(of("{x: 1}", constants="{c: 1 + 2j, d: ['3j', 1]}", dtype="float32")).constants
    assert constants["c"].dtype == constants["d"].dtype == np.complex64
    with pytest.raises(InvalidCase, match="complex"):
        draw(of("{x: 1 + 2j}"))


def test_values_use_sizes_and_the_names_above() -> None:
    problem = draw(
        of("{a: 'randn(n, n)', s: a @ a.T + n * eye(n), x: '[1, n]'}", dims="{n: 3}", constants="{h: s / 2}")
    )
    a, s = problem.inputs["a"], problem.inputs["s"]
    assert np.array_equal(s, a @ a.T + 3 * np.eye(3))
    assert np.array_equal(problem.constants["h"], s / 2)
    assert problem.inputs["x"].tolist() == [1, 3]


def test_constants_above_inputs_come_first() -> None:
    problem = draw(one("constants: {c: [1, 2]}\ninputs: {x: c * 2.5}\ngraph: {y: x}\n"))
    assert problem.inputs["x"].tolist() == [2.5, 5]


def test_arrays_are_copies() -> None:
    case = of("{x: [1.5, 2], w: x}")
    problem = draw(case)
    problem.inputs["x"][0] = 9
    assert problem.inputs["w"][0] == 1.5
    assert draw(case).inputs["x"][0] == 1.5


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ("{x: 'randn(2, 3) @ randn(2, 3)'}", "cannot be multiplied"),
        ("{x: 'randn(2)[5]'}", "index"),
        ("{x: 'max(randn(2, 2), 1)'}", "several tensors"),
        ("{x: \"'text'\"}", "not a tensor"),
        ("{x: 'zeros(n * n * n * n)'}", "1,000,000,000,000"),
        ("{x: linalg.inv(zeros(2, 2))}", ""),
    ],
)
def test_what_cannot_be_drawn(inputs: str, message: str) -> None:
    cases, errors = load_text(f"inputs: {inputs}\ndims: {{n: 1000}}\ngraph: {{y: x * 2}}\n", "f.yaml")
    if cases:
        with pytest.raises(InvalidCase, match=message) as caught:
            draw(cases[0])
        errors = [caught.value]
    assert message in errors[0].message
    assert errors[0].place.line == 1
    assert errors[0].place.column >= 13


# Incoming gradients and steps --------------------------------------------------------------------


def test_incoming_gradients() -> None:
    case = of("{x: [1, 2, 3]}", "{y: x * 2, z: y.sum()}", backward="{y: [1, 2, 3], z: null, x: randn_like(y) * 0 + y}")
    (seeds,) = draw(case).seeds
    assert seeds["z"] is None
    assert seeds["y"] is not None
    assert seeds["x"] is not None
    assert seeds["y"].tolist() == [1, 2, 3]
    assert seeds["x"].tolist() == [2, 4, 6]
    assert seeds["y"].dtype == np.float64


def test_incoming_gradients_have_the_dtype_of_their_root() -> None:
    case = of("{x: [1, 2]}", "{y: x * 2, z: abs(y).sum()}", backward="{y: [1, '2j'], z: 2}", dtype="complex64")
    (seeds,) = draw(case).seeds
    assert seeds["y"] is not None
    assert seeds["z"] is not None
    assert seeds["y"].dtype == np.complex64
    assert seeds["z"].dtype == np.float32


def test_the_graph_is_evaluated_again_after_a_forward_step() -> None:
    steps = "[{backward: {y: y * 1}}, {forward: {x: [5, 6]}}, {backward: {y: y * 1}}, {zero_grad: all}]"
    problem = draw(of("{x: [1, 2]}", steps=steps))
    assert [len(seeds) for seeds in problem.seeds] == [1, 0, 1, 0]
    assert [list(new) for new in problem.forwards] == [[], ["x"], [], []]
    first, third = problem.seeds[0]["y"], problem.seeds[2]["y"]
    assert first is not None
    assert third is not None
    assert (first.tolist(), third.tolist()) == ([2, 4], [10, 12])


def test_each_step_draws_its_own() -> None:
    steps = "[{backward: {y: randn_like(y)}}, {backward: {y: randn_like(y)}}]"
    first, second = (seeds["y"] for seeds in draw(of("{x: [1, 2]}", steps=steps)).seeds)
    assert first is not None
    assert not np.array_equal(first, second)


def test_a_graph_is_not_evaluated_without_need() -> None:
    draw(of("{x: [1, 2]}", "{y: x @ randn_wide}", constants="{randn_wide: [1, 2, 3]}", backward="{y: 1}"))


def test_a_trial_of_a_huge_size_is_refused_before_it_is_drawn() -> None:
    case = of("{x: [[1, 2]]}", shapes="{x: [a, a2]}", generalize="{dims: {a: [90000, 90000], a2: [90000, 90000]}}")
    with pytest.raises(TooLarge, match="8,100,000,000"):
        draw(case, trial=0)


def test_incoming_gradients_without_shapes_keep_their_numbers() -> None:
    case = of("{x: randn(3)}", backward="{y: [1, 2, 3]}")
    (seeds,) = draw(case, trial=0).seeds
    assert seeds["y"] is not None
    assert seeds["y"].tolist() == [1, 2, 3]


def test_what_is_claimed() -> None:
    case = of(
        "{x: [1, 2]}", expected="{x: ones_like(x) * n, y: [1, 1]}", dims="{n: 2}", values="{y: 'inv(zeros(1, 1))'}"
    )
    problem = draw(case)
    found = {name: claimed_array(problem, value) for name, value in case.expected.items() if value is not None}
    assert found["x"].tolist() == [2, 2]
    assert found["y"].tolist() == [1, 1]
    with pytest.raises(InvalidCase, match="ingular") as caught:
        claimed_array(problem, case.values["y"])
    assert caught.value.place.line > 0


def test_the_values_of_a_graph_leave_the_given_arrays_alone() -> None:
    case = one("inputs: {x: [[1, 2], [3, 4]]}\ngraph: {y: x * 2, z: y.sum()}\n")
    names = {"x": np.array([[1.0, 2.0], [3.0, 4.0]])}
    values = graph_values(case, names)
    assert (values["y"].tolist(), float(values["z"])) == ([[2, 4], [6, 8]], 20)
    assert list(names) == ["x"]
    assert values["x"] is not names["x"]


def test_a_problem_of_our_own_is_what_its_texts_say() -> None:
    problem = literal_problem("own", {"x": [1.0, 2.0]}, {"y": "x * x"}, {"y": [3.0, 4.0]})
    assert problem.inputs["x"].tolist() == [1, 2]
    assert problem.case.graph["y"].text == "x * x"
    assert [seed.tolist() for seed in problem.seeds[0].values() if seed is not None] == [[3, 4]]


def test_sizes_that_are_given_are_not_drawn() -> None:
    case = one("dims: {n: 3, m: 2}\ninputs: {x: 'randn(n, m)'}\ngraph: {y: x.sum()}\n")
    assert draw(case, trial=0, sizes={"n": 5}).sizes == {"n": 5, "m": 2}


def test_an_incoming_gradient_of_a_graph_that_cannot_be_computed_is_none() -> None:
    """Engines say what is wrong with the graph; nobody's case has crashed."""
    case = one("{inputs: {x: 'zeros(2, 2)'}, graph: {y: inv(x)}, backward: {y: 'randn_like(y)'}}")
    assert draw(case).seeds == ({"y": None},)


def test_an_incoming_gradient_without_a_graph_is_none_and_in_a_trial_an_error() -> None:
    case = of("{x: 'randn(n, 3)'}", "{y: 'x @ x'}", dims="{n: 2}", backward="{y: 'ones_like(y)'}")
    assert draw(case).seeds == ({"y": None},)
    with pytest.raises(TensorError):
        draw(case, trial=0, sizes={"n": 2})


def test_a_real_gradient_of_a_complex_case_stays_real() -> None:
    case = of("{x: 'randn(2)'}", "{y: abs(x)}", dtype="complex64", backward="{y: 'ones_like(y)'}")
    assert draw(case).seeds[0]["y"].dtype == np.float32
