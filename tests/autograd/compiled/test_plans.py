"""Plans: how nodes that a compiled function made are pulled back."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from gradcheck.autograd import Tensor, grad, ops
from gradcheck.autograd.compiled.plans import Plans, pull_node
from gradcheck.autograd.compiled.tracing import Untraceable
from gradcheck.autograd.pullback import pull_arrays
from gradcheck.errors import DomainError
from tests.autograd.compiled.kit import leaf, often


def test_whether_a_gradient_is_required_is_asked_when_it_flows() -> None:
    for call in (lambda x, y: x * y, lambda x, y: ops.cat([x, y]), lambda x, y: ops.where(x.detach() > 9, x, y)):
        x, y = leaf(2), Tensor(np.ones(2))
        made = often(partial(call, x, y))
        assert made.plan is not None
        assert made.creators[-2:] == (x, y)
        y.requires_grad_()
        x.requires_grad_(False)
        made.backward(np.ones(made.shape))
        assert x.grad is None
        assert y.grad is not None


def test_errors_of_rules_are_those_of_the_general_way() -> None:
    """The rule of `logdet` needs an inverse, which a singular matrix lacks."""
    x, singular = Tensor(np.eye(2), requires_grad=True), Tensor(np.ones((2, 2)), requires_grad=True)
    with pytest.raises(DomainError) as general:
        grad(ops.logdet(singular), singular, np.ones(()))
    made = often(lambda: ops.logdet(x))
    grad(made, x, np.ones(()))
    assert made.plan is not None
    assert made.plan.pull.__name__ == "pull"
    with pytest.raises(DomainError) as planned:
        grad(ops.logdet(singular), singular, np.ones(()))
    assert str(planned.value) == str(general.value)


def test_a_second_derivative_goes_through_a_plan() -> None:
    x = Tensor(np.array([2.0, 3.0]), requires_grad=True)
    y = often(lambda: ops.exp(x * 1.0))
    (first,) = grad(y, x, np.ones(2), create_graph=True)
    assert first is not None
    (second,) = grad(first, x, np.ones(2))
    assert second is not None
    np.testing.assert_allclose(second.data, np.exp(x.data), rtol=1e-15)


def test_plans_are_told_apart_by_which_tensors_require_a_gradient() -> None:
    x, y = leaf(2), leaf(2)
    plans = Plans(ops.mul, (x, y))
    both, second = plans[True, True], plans[False, True]
    assert (both.wanted, both.unwanted, both.only) == ((0, 1), (), None)
    assert (second.wanted, second.unwanted, second.only) == ((1,), (0,), 1)
    assert plans[True, True] is both


def test_tensors_in_a_sequence_and_beside_it_have_no_plan() -> None:
    x = leaf(2)
    with pytest.raises(Untraceable):
        Plans(replace(ops.mul, sequence=1), (x, [x]))


def test_pulling_a_node_is_what_its_rules_do() -> None:
    x, y, g = leaf(2, 3), leaf(3), np.full((2, 3), 2.0)
    for node in (x * y, ops.cat([x, x]), often(lambda: ops.tanh(x))):
        gradient = np.resize(g, node.shape)
        found, wanted = pull_node(node, gradient), pull_arrays(node, gradient)
        assert [creator for creator, _ in found] == [creator for creator, _ in wanted]
        for (_, mine), (_, want) in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(mine, want, strict=True)
