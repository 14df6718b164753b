"""From which tensors, and with which incoming gradients, passes are begun; and which cannot be asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gradcheck.checks.result import CaseResult
from gradcheck.engines.resolve import adapt
from gradcheck.errors import NonScalarBackward, Unsupported

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
