"""What a formula speaks of, in the order in which it can be computed."""

from __future__ import annotations

import pytest

from gradcheck.errors import Unsupported
from gradcheck.oracles.exact.dependencies import Dependencies
from tests.oracles.exact.small import claim, problem, proofs_of

CHAIN = {"a": "x * x", "b": "a * a", "c": "a + b", "d": "c * c", "y": "d.sum()"}


def test_gradients_come_after_those_that_they_are_made_of() -> None:
    dependencies = Dependencies(problem({"x": (3,)}, CHAIN))
    assert in_order(dependencies, "2 * x * grad(a)") == ["y", "d", "c", "b", "a"]
    assert in_order(dependencies, "grad(c) + grad(d)") == ["y", "d", "c"]
    assert in_order(dependencies, "2 * x") == []
    assert dependencies.children_first(("a", "d"), known={"c"}) == ["b", "a", "y", "d"]


def in_order(dependencies: Dependencies, formula: str) -> list[str]:
    return dependencies.children_first(dependencies.of(claim(formula).expr).gradients)


def test_steps_in_their_order() -> None:
    of = problem({"x": (3,)}, CHAIN, let={"s": "2 * x", "t": "s * grad(c)", "u": "t + s", "v": "u"})
    formula = claim("u * 2").expr
    assert of.case.let_steps_of(formula) == ("s", "t", "u")
    assert Dependencies(of).of(formula).steps == ("s", "t", "u")
    assert Dependencies(of).of(formula).gradients == ("c",)


def test_a_gradient_that_is_not_there() -> None:
    with pytest.raises(Unsupported, match="not derived"):
        Dependencies(problem({"x": (3,)}, {**CHAIN, "z": "x.detach() * 1"}, root="y")).of(claim("grad(z)").expr)


def test_long_chains_do_not_recurse() -> None:
    graph = {"h0": "x * 2", **{f"h{i}": f"h{i - 1} * 2" for i in range(1, 3000)}, "y": "h2999.sum()"}
    dependencies = Dependencies(problem({"x": (1,)}, graph))
    assert len(in_order(dependencies, "grad(h0)")) == 3001
    assert len(dependencies._made_of) == 3001
    claims = [claim(f"grad(h{i}) + 1").expr for i in range(3000)]
    assert sum(len(dependencies.of(one).gradients) for one in claims) == 3000  # and not the square of that


def test_what_comes_in_at_a_root_is_not_derived(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*args: object, **options: object) -> None:
        raise AssertionError("nothing is to be derived")

    monkeypatch.setattr("gradcheck.oracles.exact.dependencies.derive_gradients", never)
    of = problem({"x": (3,)}, {"a": "x * x", "y": "a * 2"})
    assert [proof.status for proof in proofs_of(of, "x", "4 * x * grad(y)", "4 * x * grad(y) + x")] == [
        "proved",
        "refuted",
    ]
    with pytest.raises(AssertionError):
        Dependencies(of).of(claim("2 * x * grad(a)").expr)
