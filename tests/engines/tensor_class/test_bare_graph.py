from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.engines.resolve import adapt
from gradcheck.engines.tensor_class.bare_graph import accepts_seeds, evaluate_on_bare_graph
from gradcheck.engines.tensor_class.engine import TensorClassEngine
from gradcheck.language.sampling import literal_problem
from tests.engines.dialects import arrays, figures, sound


class Halves(arrays.TotalsOnly):
    """Wrong: a sum passes half of its gradient on, and a pass starts from a total alone."""

    def sum(self) -> Any:
        return self.new(self.data.sum(), (self,), lambda g: (np.broadcast_to(g / 2, self.data.shape).copy(),))


class ToldToKeep(sound.Tensor):
    kept = False

    def retain_grad(self) -> None:
        self.kept = True


def engine_of(kind: type) -> TensorClassEngine:
    found = adapt(kind, "mine")
    assert isinstance(found, TensorClassEngine)
    return found


_PROBLEM = literal_problem("squares", {"a": [1.0, 2.0]}, {"p": "a * a", "q": "p * a"}, {"q": [0.5, 2.0]})


def test_roots_get_what_is_given_where_the_class_can_make_a_total() -> None:
    for kind in (sound.Tensor, arrays.Ones, arrays.TotalsOnly, figures.Value):
        assert accepts_seeds(engine_of(kind), [np.ones(2)], [np.array([0.5, 2.0])]), kind


def test_they_do_not_where_the_total_is_wrong_already() -> None:
    assert not accepts_seeds(engine_of(Halves), [np.ones(2)], [np.array([0.5, 2.0])])
    refused = evaluate_on_bare_graph(engine_of(Halves), _PROBLEM).error
    assert refused is not None
    assert refused.kind == "unsupported"


class StopsAtProducts(figures.Value):
    """Wrong: the pass of a product is that of its one op."""

    def __mul__(self, other: Any) -> Any:
        made = super().__mul__(other)
        made.backward, made.step = made.step, lambda: None
        return made


def test_nor_where_a_pass_stops_at_the_total() -> None:
    engine = engine_of(StopsAtProducts)
    assert not engine.capabilities.not_understood
    assert not accepts_seeds(engine, [np.ones(())], [np.array(0.5)])
    assert accepts_seeds(engine, [np.ones(())], [np.array(1.0)])


def test_no_gradient_is_asked_to_be_kept() -> None:
    engine = engine_of(ToldToKeep)
    with_all, bare = engine.evaluate(_PROBLEM), engine.evaluate_bare(_PROBLEM)
    assert not with_all.states[0].unread
    assert bare.states[0].unread == {"p", "q"}
    for evaluation in (with_all, bare):
        np.testing.assert_allclose(evaluation.states[0].gradients["a"], [1.5, 24.0])  # type: ignore[arg-type]


def test_several_roots_are_passed_from_one_after_another_where_an_incoming_gradient_is_taken() -> None:
    """Beside the bare graph there is one pass from their total, by products and sums that the case does not have."""

    class NoTotals(sound.Tensor):
        def sum(self) -> Any:
            return self.new(self.data.sum(), (self,), lambda g: (np.zeros_like(self.data),))

    problem = literal_problem(
        "two roots", {"a": [1.0, 2.0]}, {"p": "a * a", "q": "p * a"}, {"p": [1, 0], "q": [0.5, 2.0]}
    )
    engine = engine_of(NoTotals)
    assert not np.any(engine.evaluate(problem).states[0].gradients["a"])
    np.testing.assert_allclose(engine.evaluate_bare(problem).states[0].gradients["a"], [3.5, 24.0])  # type: ignore[arg-type]
