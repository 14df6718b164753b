"""From which tensors, and with which incoming gradients, passes are begun; and which cannot be asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcheck.checks.result import CaseResult
from gradcheck.engines.resolve import adapt, engine_from_spec
from gradcheck.engines.tensor_class.engine import TensorClassEngine
from gradcheck.errors import NonScalarBackward, Unsupported
from gradcheck.language.sampling import literal_problem
from tests.engines.dialects import arrays, figures, sound

Variant = Callable[..., type]
Check = Callable[..., CaseResult]

X = np.array([1.0, 2.0])
BACKWARD = "def backward(self, gradient=None):"
NO_SEED = (BACKWARD, "def backward(self):\n        gradient = None")


def test_several_roots_are_one_pass(variant: Variant, check: Check) -> None:
    text = "inputs: {x: [1, 2]}\ngraph: {y: x * x, z: y * x}\nbackward: {y: [1, 1], z: [2, 3]}\n"
    assert check(variant(), text).status == "passed"
    assert check(variant(NO_SEED), text).status == "passed"


def test_a_graph_that_cannot_be_kept_is_not_asked_for_twice(variant: Variant) -> None:
    once = (BACKWARD, f"{BACKWARD}\n        assert not hasattr(self, 'spent')\n        self.spent = True")
    engine = adapt(variant(once), "mine")
    x = engine.leaf(X, True)
    y = (x * x).sum()
    engine.backward([y], [None], True)
    with pytest.raises(Unsupported) as caught:
        engine.backward([y], [None], True)
    assert caught.value.lacks == "second passes over a graph"
    engine.backward([(x * x).sum()], [None], True)  # another graph


def test_a_graph_is_not_freed_where_nobody_can_be_told(variant: Variant) -> None:
    engine = adapt(variant(), "mine")
    with pytest.raises(Unsupported) as caught:
        engine.backward([engine.leaf(X, True).sum()], [None], False)
    assert caught.value.lacks == "retain_graph"


def test_passes_from_what_is_none_of_its_tensors_are_lacking(variant: Variant) -> None:
    engine = adapt(variant(), "mine")
    with pytest.raises(Unsupported) as caught:
        engine.backward([engine.leaf(X, False)], [None], True)
    assert caught.value.lacks == "a flag for gradients"
    constant = engine.constant(X)
    constant.requires_grad = True
    with pytest.raises(Unsupported) as caught:
        engine.backward([constant], [None], True)
    assert caught.value.lacks == "passes from constants"


def test_a_gradient_of_one_from_several_elements_is_refused_before_it_is_added_up(variant: Variant) -> None:
    engine = adapt(variant(NO_SEED), "mine")
    x = engine.leaf(X, True)
    with pytest.raises(NonScalarBackward):
        engine.backward([x * 2, x * 3], [None, np.ones(2)], True)


def test_one_element_of_two_dimensions_may_need_its_gradient(variant: Variant, check: Check) -> None:
    seeding = ("if gradient is None and self.data.size != 1:", "if gradient is None and self.data.ndim:")
    assert check(variant(seeding), "inputs: {x: [[2]]}\ngraph: {y: x * x}\n").status == "passed"


def test_a_total_that_its_own_pass_refuses_is_a_lack(variant: Variant, check: Check) -> None:
    total = "return type(self)(self.data.sum(), [("
    refuse = ("gradient = None", "gradient = None\n        assert self.data.shape == (), 'scalars only'")
    kind = variant((total, "return type(self)(self.data.sum().reshape(1), [("), NO_SEED, refuse)
    assert check(kind, "inputs: {x: 3.0}\ngraph: {y: x * x}\n").status == "passed"
    assert check(kind, "inputs: {x: [1, 2]}\ngraph: {y: x.sum()}\n").status == "unsupported"


def test_an_op_that_gives_its_operand_back_is_no_root(variant: Variant, check: Check) -> None:
    """A reshape to the shape it has already, of a class whose passes go from no leaf."""
    same = "    def reshape(self, *shape):\n        return self if shape == self.data.shape else 1 / 0\n\n"
    same += "    def sum(self):"
    no_leaf = (BACKWARD, f"{BACKWARD}\n        self.makers[0]")
    kind = variant(("    def sum(self):", same), no_leaf)
    text = "inputs: {x: [1, 2]}\ngraph: {y: 'x.reshape(2) * x', z: y.sum()}\n"
    found = check(kind, text)
    assert found.status == "passed", found.comparisons


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
        assert engine_of(kind).accepts_seeds([np.ones(2)], [np.array([0.5, 2.0])]), kind


def test_they_do_not_where_the_total_is_wrong_already() -> None:
    assert not engine_of(Halves).accepts_seeds([np.ones(2)], [np.array([0.5, 2.0])])
    refused = engine_of(Halves).evaluate_bare(_PROBLEM).error
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
    assert not engine.accepts_seeds([np.ones(())], [np.array(0.5)])
    assert engine.accepts_seeds([np.ones(())], [np.array(1.0)])


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


PROBLEM = literal_problem("squares", {"a": [1.0, 2.0]}, {"p": "a * a", "q": "p * a"}, {"q": [0.5, 2.0]})
#: Recursive, with what a node passes on in a list: the gradient is set where a pass begins, and in a helper.
CLASS = """
import numpy as np

class Tensor:
    def __init__(self, data, parents=()):
        self.data, self.parents, self.grad = np.asarray(data, float), parents, None

    def __mul__(self, other):
        return Tensor(self.data * other.data, [(self, lambda g: g * other.data), (other, lambda g: g * self.data)])

    def __add__(self, other):
        return Tensor(self.data + other.data, [(self, lambda g: g), (other, lambda g: g)])

    def receive(self, share):
        {receive}

    def backward(self, g):
        order, seen = [], set()

        def walk(one):
            if one not in seen:
                seen.add(one)
                for parent, _ in one.parents:
                    walk(parent)
                order.append(one)

        walk(self)
        self.grad = np.array(g)
        for one in reversed(order):
            for parent, share in one.parents:
                parent.receive(share(one.grad))
"""


def line_of(folder: Path, kind: str, receive: str) -> tuple[str, str]:
    """The file and the text of the line that is blamed."""
    (folder / "mine.py").write_text(CLASS.replace("{receive}", receive))
    engine = engine_from_spec(f"{folder / 'mine.py'}:Tensor")
    assert isinstance(engine, TensorClassEngine)
    place = engine.line_of_mistake(kind, PROBLEM)
    assert place is not None
    return Path(place.file).name, Path(place.file).read_text().splitlines()[place.line - 1].strip()


@pytest.mark.parametrize(
    ("kind", "receive", "blamed"),
    [
        ("overwritten", "self.grad = share", "self.grad = share"),
        ("overwritten", "self.grad = share if self.grad is None else self.grad + share", "self.grad = np.array(g)"),
        (
            "overwritten",
            "if self.grad is None:\n            self.grad = share\n        else:\n            self.grad = 1.0 * share",
            "self.grad = 1.0 * share",
        ),
        ("passed_on_early", "self.grad = share", "def backward(self, g):"),
    ],
)
def test_the_statement_is_blamed_or_where_the_pass_begins(tmp_path: Path, kind: str, receive: str, blamed: str) -> None:
    assert line_of(tmp_path, kind, receive) == ("mine.py", blamed)


def test_what_adds_in_place_is_found(tmp_path: Path) -> None:
    receive = """if self.grad is None:
            self.grad = share
        else:
            self.grad += share"""
    assert line_of(tmp_path, "mutated", receive) == ("mine.py", "self.grad += share")
