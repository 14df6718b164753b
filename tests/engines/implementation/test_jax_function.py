"""Functions of JAX."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcheck import run
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.loader import load_text
from gradcheck.testing import check_function
from tests.engines.elsewhere import Elsewhere
from tests.engines.implementation.build import with_code
from tests.paths import ROOT


def test_its_own_rule_is_asked_in_double_precision(elsewhere: Elsewhere) -> None:
    elsewhere("jax", asked_in_double_precision)


def asked_in_double_precision() -> None:
    import jax

    from gradcheck.engines.implementation.jax_function import JaxFunction

    @jax.custom_vjp
    def double(x: Any) -> Any:
        return 2 * x

    double.defvjp(lambda x: (2 * x, None), lambda kept, g: (7 * g,))
    results, several, pull = JaxFunction(double)([np.ones(2) / 3], [True])
    assert not several
    assert np.array_equal(results[0], [2 / 3, 2 / 3])
    assert np.array_equal(np.asarray(pull([np.ones(2)])[0]), [7, 7])


def test_numbers_of_single_precision_are_taken_as_by_jax_alone(elsewhere: Elsewhere) -> None:
    """In double precision, quotients of integers would be doubles, which a rule of single precision does not expect."""
    elsewhere("jax", asked_in_single_precision)


def asked_in_single_precision() -> None:
    import jax

    from gradcheck.engines.implementation.jax_function import JaxFunction

    seen = []

    @jax.custom_jvp
    def share(x: Any) -> Any:
        return x * (1 / jax.numpy.arange(1, 3))

    @share.defjvp
    def share_jvp(primals: Any, tangents: Any) -> Any:
        found = share(*primals)
        seen.append(found.dtype)
        return found, tangents[0] * np.array([1, 0.5], np.float32)

    _, _, pull = JaxFunction(share)([np.ones(2, np.float32)], [True])
    assert np.array_equal(np.asarray(pull([np.ones(2, np.float32)])[0]), [1, 0.5])
    assert set(map(str, seen)) == {"float32"}


def test_results_may_be_nested_and_integers(elsewhere: Elsewhere) -> None:
    elsewhere("jax", nested_results)


def nested_results() -> None:
    import jax.numpy

    from gradcheck.engines.implementation.jax_function import JaxFunction

    function = JaxFunction(lambda x: {"a": 2 * x, "b": (jax.numpy.argsort(x), 3 * x)})
    results, several, pull = function([np.array([2.0, 1.0])], [True])
    assert several
    assert [one.tolist() for one in results] == [[4, 2], [1, 0], [6, 3]]
    assert np.asarray(pull([np.ones(2), np.zeros(2), np.ones(2)])[0]).tolist() == [5, 5]


def test_a_function_is_compiled_once_unless_it_needs_values(elsewhere: Elsewhere) -> None:
    elsewhere("jax", compiled_once)


def compiled_once() -> None:
    from gradcheck.engines.implementation.jax_function import JaxFunction

    calls: list[Any] = []

    def counted(x: Any) -> Any:
        calls.append(x)
        return x * x

    function = JaxFunction(counted)
    for _ in range(3):
        assert function([np.full(2, 3.0)], [False])[0][0].tolist() == [9, 9]
    assert len(calls) == 1
    branches = JaxFunction(lambda x: 2 * x if x.sum() > 0 else 3 * x)
    for factor, sign in ((2, 1), (3, -1)):
        (pulled,) = branches([np.full(2, float(sign))], [True])[2]([np.ones(2)])
        assert np.asarray(pulled).tolist() == [factor, factor]


def test_arguments_by_name_stay_so(elsewhere: Elsewhere) -> None:
    assert elsewhere("jax", by_name) == "passed"


def by_name() -> str:
    import jax

    from gradcheck.testing import check_function

    def scaled(x: Any, *, w: Any) -> Any:
        return jax.numpy.sin(x) * w

    return check_function(scaled, x=(3,), w=(3,), spec="sin(x) * w").cases[0].status


def test_arguments_may_be_nested(elsewhere: Elsewhere) -> None:
    assert elsewhere("jax", nested_arguments) == ["passed", "gradient of params_w"]


def nested_arguments() -> list[str]:
    import jax

    from gradcheck.testing import check_function

    def verdict(factor: float) -> str:
        dot = jax.custom_vjp(lambda x, w: x @ w)
        dot.defvjp(lambda x, w: (x @ w, (x, w)), lambda kept, g: (g @ kept[1].T, factor * kept[0].T @ g))
        params = {"w": np.eye(3) + 0.5, "b": np.ones(3)}
        try:
            found = check_function(lambda params, x: dot(x, params["w"]) + params["b"], params=params, x=np.eye(3))
        except AssertionError as error:
            return "gradient of params_w" if "gradient of params_w" in str(error) else str(error)
        return found.cases[0].status

    return [verdict(1.0), verdict(2.0)]


RULES = """
import jax

def layer(x, w, b):
    return x @ w + b

right, wrong = jax.custom_vjp(layer), jax.custom_vjp(layer)
right.defvjp(lambda x, w, b: (layer(x, w, b), (x, w)), lambda kept, g: (g @ kept[1].T, kept[0].T @ g, g.sum(0)))
wrong.defvjp(lambda x, w, b: (layer(x, w, b), (x, w)), lambda kept, g: (g @ kept[1].T, kept[0].T @ g, g.mean(0)))
"""
CASE = """
name: {name}
inputs: {{x: [[1, 2, 3], [0.5, -1, 2]], w: [[1, 0.5], [-1, 2], [0, 1]], b: [0.5, -0.5]}}
graph: {{y: x @ w + b}}
generalize: false
implementations: {{y: "rules.py:{name}"}}
"""


def test_a_rule_of_ones_own_in_a_case_file(elsewhere: Elsewhere) -> None:
    """The bias of the wrong one has the mean for the sum."""
    assert elsewhere("jax", judged) == [("passed", []), ("failed", ["b"])]


def judged() -> list[tuple[str, list[str]]]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "rules.py").write_text(RULES)
        text = "---".join(CASE.format(name=name) for name in ("right", "wrong"))
        cases, errors = load_text(text, str(Path(folder, "case.yaml")))
        assert not errors
        found = run(cases, allow_code=True, trials=1, oracle="none").cases
    return [(case.status, [c.tensor for c in case.comparisons if c.status == "failed"]) for case in found]


def test_second_order_of_its_rules() -> None:
    """In a new process, as `forward_mode_held_to_gradients`."""
    code = f"from {__name__} import second_order_of_rules as check; check()"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=300)


def second_order_of_rules() -> None:
    import jax
    from jax.lax import stop_gradient

    def cube(kept: Any, complex_too: bool = False) -> Any:
        size = (lambda x: abs(x) ** 4) if complex_too else (lambda x: x**3)
        made = jax.custom_vjp(size)
        slope = (lambda x: 4 * kept(abs(x) ** 2) * jax.numpy.conj(x)) if complex_too else (lambda x: 3 * kept(x) ** 2)
        made.defvjp(lambda x: (size(x), x), lambda x, g: (g * slope(x),))
        return made

    def silu(kept: Any) -> Any:
        made = jax.custom_jvp(lambda x: x * jax.nn.sigmoid(x))

        @made.defjvp
        def _(primals: Any, tangents: Any) -> Any:
            s = kept(jax.nn.sigmoid(primals[0]))
            return made(primals[0]), (s + primals[0] * s * (1 - s)) * tangents[0]

        return made

    choices: list[tuple[Any, dict[str, Any]]] = [
        (cube, {"x": (4,)}),
        (cube, {"x": (4,), "spec": "x ** 3"}),
        (silu, {"x": (2, 3)}),
        (silu, {"x": (5,), "spec": "x * sigmoid(x)"}),
        (silu, {"x": np.array([0.5, -1, 2], np.float32)}),
        (lambda kept: cube(kept, True), {"x": np.array([1 + 2j, 0.5 - 1j])}),
        (lambda kept: lambda x: (x[0] * 1.0, cube(kept)(x)), {"x": (3,)}),
    ]
    for make, given in choices:
        (case,) = check_function(make(lambda x: x), **given).cases
        assert any(c.what is ClaimKind.GRADIENT2 and c.status == "passed" for c in case.comparisons), given
        with pytest.raises(AssertionError, match="second-order gradient of x"):
            check_function(make(stop_gradient), **given)
    check_function(cube(stop_gradient), x=(4,), choices={"order": 1})


def test_code_that_raises_in_double_precision_alone_is_judged_in_single(elsewhere: Elsewhere) -> None:
    elsewhere("jax", judged_in_single_precision)


def judged_in_single_precision() -> None:
    import jax

    def made(factor: float) -> Any:
        @jax.custom_jvp
        def step(x: Any) -> Any:
            return (x > 1).astype(jax.numpy.float32)

        step.defjvp(lambda primals, tangents: (step(*primals), factor * tangents[0] / (1 + abs(primals[0] - 1)) ** 2))
        return step

    spec = "detach((x > 1).to(float32) - (x - 1) / (1 + abs(x - 1))) + (x - 1) / (1 + abs(x - 1))"
    (case,) = check_function(made(1.0), x="uniform(-1, 3, [5])", spec=spec).cases
    assert any(c.has_note("judged_in_single") for c in case.comparisons)
    (case,) = run(
        with_code(f"inputs: {{x: 'uniform(-1, 3, [5])'}}\ngraph: {{y: '{spec}'}}", made(1.01)), allow_code=True
    ).cases
    assert "gradient" in {str(c.what) for c in case.comparisons if c.status == "failed"}


def test_no_second_order_is_claimed_where_there_is_none(elsewhere: Elsewhere) -> None:
    """Of a rule that calls NumPy, loops until it is done, or converts to NumPy: JAX raises."""
    assert elsewhere("jax", without_second_order) == ["passed"] * 3


def without_second_order() -> list[str]:
    import jax
    import jax.numpy as jnp

    def called(x: Any, g: Any) -> Any:
        return jax.pure_callback(lambda x, g: np.cos(x) * g, jax.ShapeDtypeStruct(x.shape, x.dtype), x, g)

    def looped(x: Any, g: Any) -> Any:
        return jax.lax.while_loop(lambda s: s[1] < 1, lambda s: (s[0] * jnp.cos(x), s[1] + 1), (g, 0))[0]

    def verdict(rule: Any, spec: str | None) -> str:
        sine = jax.custom_vjp(jnp.sin)
        sine.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (rule(x, g),))
        (case,) = check_function(lambda x: sine(x), x=(4,), spec=spec).cases
        assert any(c.has_note("gradients_differentiable_once") for c in case.comparisons)
        return case.status

    rules = [called, looped, lambda x, g: np.asarray(g) * np.cos(np.asarray(x))]
    return [verdict(rule, spec) for rule, spec in zip(rules, ["sin(x)", None, None], strict=True)]


def test_the_pull_back_draws_the_numbers_of_the_forward(elsewhere: Elsewhere) -> None:
    assert elsewhere("jax", drawn_numbers) == "passed"


def drawn_numbers() -> str:
    import jax

    from gradcheck.testing import check_function

    def dropped(x: Any) -> Any:
        return jax.numpy.where(np.random.rand(6) < 0.5, jax.numpy.exp(x), 0.0)

    return check_function(dropped, x=(6,)).cases[0].status


def test_forward_mode_passes_over_integers_among_results(elsewhere: Elsewhere) -> None:
    assert elsewhere("jax", integers_among_results) == "passed"


def integers_among_results() -> str:
    import jax.numpy as jnp

    from gradcheck.testing import check_function

    return check_function(lambda x: (jnp.sin(x), jnp.argsort(x), x**3), x=(4,)).cases[0].status


CONJUGATED = "multiplies by the conjugate of the derivative"


def test_complex_gradients_follow_its_convention(elsewhere: Elsewhere) -> None:
    assert elsewhere("jax", judged_of_jax) == ["passed", "passed", "passed", CONJUGATED]


def judged_of_jax() -> list[str]:
    import jax

    from gradcheck.testing import check_function

    z = np.array([1 + 2j, 0.5 - 1j])

    def square(conjugated: bool) -> Any:
        made = jax.custom_vjp(lambda z: z * z)
        factor = jax.numpy.conj if conjugated else jax.numpy.asarray
        made.defvjp(lambda z: (z * z, z), lambda z, g: (2 * factor(z) * g,))
        return lambda z: made(z)

    def verdict(function: Any, spec: str | None) -> str:
        try:
            return check_function(function, z=z, spec=spec).cases[0].status
        except AssertionError as error:
            return CONJUGATED if CONJUGATED in str(error) else str(error)

    plain = lambda z: jax.numpy.exp(z)  # noqa: E731
    return [verdict(*one) for one in ((square(False), None), (plain, None), (plain, "exp(z)"), (square(True), "z * z"))]


def test_forward_mode_is_held_to_its_gradients() -> None:
    """In a new process: a failing check starts others, which a fork that has JAX's threads cannot."""
    code = f"from {__name__} import forward_mode_held_to_gradients as check; check()"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=300)


def forward_mode_held_to_gradients() -> None:
    import jax

    def root(otherwise: float) -> Any:
        @jax.custom_jvp
        def found(x: Any) -> Any:
            return jax.numpy.sqrt(jax.numpy.maximum(x, 0.5))

        @found.defjvp
        def _(primals: Any, tangents: Any) -> Any:
            y = found(primals[0])
            return y, jax.numpy.where(primals[0] > 0.5, tangents[0] / (2 * y), otherwise)

        return found

    check_function(root(0.0), x=(5,))
    with pytest.raises(AssertionError, match="forward mode"):
        check_function(root(1.0), x=(5,))
