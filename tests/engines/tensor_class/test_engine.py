"""Engines of Tensor classes: kinds, gradients, passes, counted comparisons."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from gradcheck.checks.result import CaseResult
from gradcheck.engines.resolve import adapt
from gradcheck.engines.tensor_class.engine import TensorClassEngine, count_comparisons
from gradcheck.engines.tensor_class.scalar_engine import ScalarClassEngine
from gradcheck.errors import UsageError
from tests.checks.failures.test_traversal_probe import judged
from tests.engines.dialects import arrays, asking

Variant = Callable[..., type]
Check = Callable[..., CaseResult]

X = np.array([1.0, 2.0])
BACKWARD = "def backward(self, gradient=None):"
KEEP = "            tensor.grad = whole if"
NO_SEED = (BACKWARD, "def backward(self):\n        gradient = None")
LEAVES_ONLY = (KEEP, f"            if not tensor.makers:\n  {KEEP}")


def test_of_intermediates_that_keep_no_gradient_nothing_is_asked(variant: Variant, check: Check) -> None:
    kind = variant(LEAVES_ONLY)
    found = check(kind, "inputs: {a: [1, 2]}\ngraph: {p: a * a, loss: p.sum()}\nexpected: {a: [2, 4], p: [1, 1]}\n")
    assert found.status == "passed"
    assert {c.tensor for c in found.comparisons if c.what == "gradient"} == {"a"}
    engine = adapt(kind, "mine")
    x = engine.leaf(X, True)
    y = x * x
    before = y.tensor
    y.retain_grad()
    assert y.unread
    assert y.tensor is before


def test_a_number_where_a_gradient_has_not_arrived_is_zeros(variant: Variant) -> None:
    engine = adapt(variant(("self.grad = None", "self.grad = 0")), "mine")
    x = engine.leaf(X, True)
    assert x.grad.tolist() == [0, 0]
    assert x.initial == 0
    x.tensor.grad = 3
    assert (x.grad.tolist(), x.grad.dtype) == (3, X.dtype)


def test_a_gradient_is_a_copy_and_is_forgotten(variant: Variant) -> None:
    engine = adapt(variant(), "mine")
    x = engine.leaf(X, True)
    engine.backward([x * x], [np.ones(2)], True)
    found = x.grad
    found += 100
    assert x.grad.tolist() == [2, 4]
    x.grad = None
    assert x.grad is None
    x.grad = X
    assert x.grad.tolist() == [1, 2]


def test_what_needs_no_gradient_has_none(variant: Variant) -> None:
    engine = adapt(variant(), "mine")
    c = engine.leaf(X, False)
    c.tensor.grad = X
    assert c.grad is None
    assert engine.constant(X).grad is None


def test_a_gradient_goes_back_as_the_class_keeps_it(variant: Variant) -> None:
    engine = adapt(variant(), "mine")
    x = engine.leaf(X, True)
    x.tensor.grad = engine.make(X, False)
    x.grad = 2 * X
    assert engine.is_tensor(x.tensor.grad)
    assert x.grad.tolist() == [2, 4]


def test_capabilities_are_learned_when_first_asked_for(variant: Variant) -> None:
    looping = variant((BACKWARD, f"{BACKWARD}\n        raise BaseExceptionGroup('late', [KeyboardInterrupt()])"))
    engine = adapt(looping, "mine")
    for _ in range(2):
        with pytest.raises(BaseExceptionGroup):  # as the end of a case's time would
            _ = engine.capabilities
    assert engine.capabilities.not_understood == "its add has not returned and its mul has not returned"


# From a class to its engine -----------------------------------------------------------------------


def test_a_class_of_arrays_and_a_class_of_numbers(variant: Callable[..., type], number: type) -> None:
    assert type(adapt(variant(), "mine.Tensor")) is TensorClassEngine
    engine = adapt(number, "mine.Number")
    assert type(engine) is ScalarClassEngine
    assert engine.name == "mine.Number"


@pytest.mark.parametrize("kind", [int, dict, object])
def test_what_is_no_tensor_class_is_refused(kind: Any) -> None:
    with pytest.raises(UsageError, match=r"cannot be made from an array|has no backward"):
        adapt(kind, "mine")


def test_functions_are_found_in_the_package_and_its_usual_submodules(
    variant: Callable[..., type], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("tinylib", "tinylib.core", "tinylib.functional", "tinylib.core.nn", "tinylib.elsewhere")
    for name in names:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["tinylib.functional"].gelu = len  # type: ignore[attr-defined]
    kind = variant()
    kind.__module__ = "tinylib.core"
    library = adapt(kind, "tinylib.Tensor").library
    *modules, last = library.modules
    assert [module.__name__ for module in modules] == [
        "tinylib",
        "tinylib.functional",
        "tinylib.core",
        "tinylib.core.nn",
    ]
    assert last is kind
    assert library.function("gelu") is len


def test_what_a_class_prints_while_it_is_looked_at_is_dropped(
    variant: Callable[..., type], capfd: pytest.CaptureFixture[str]
) -> None:
    adapt(variant(("        self.data =", "        print('made')\n        self.data =")), "mine")
    assert capfd.readouterr() == ("", "")


def test_gradients_of_complex_numbers_in_another_convention_are_not_judged(variant: Variant, check: Check) -> None:
    other = variant(("np.conj(other.data)", "other.data"), ("np.conj(self.data)", "self.data"))
    text = "dtype: complex128\ninputs: {x: ['1+2j', '2-1j']}\ngraph: {y: x * x}\nbackward: {y: [1, 2]}\n"
    assert check(variant(), text).status == "passed"
    assert check(other, text).status == "unsupported"
    assert check(other, "inputs: {x: [1, 2]}\ngraph: {y: x * x}\nbackward: {y: [1, 2]}\n").status == "passed"


@pytest.mark.parametrize("number", ["1.0", "[1.0]"])
def test_a_pass_may_begin_with_a_plain_number(variant: Variant, number: str) -> None:
    """`self.grad = 1` at a root of several numbers, as at single ones."""
    seeding = ("if gradient is None and self.data.size != 1:", "if False:")
    one = (
        "return np.ones_like(self.data) if gradient is None else np.asarray(gradient)",
        f"return np.asarray({number})",
    )
    kind = variant(NO_SEED, seeding, one)
    engine = adapt(kind, "mine")
    x = engine.leaf(X, True)
    y = x * x
    engine.backward([y], [np.ones(2)], True)
    assert (y.grad.tolist(), x.grad.tolist()) == ([1, 1], [2, 4])


def test_a_pass_begins_with_an_array_only_where_every_op_lets_it(variant: Variant, check: Check) -> None:
    """The rules of sums and products take the 1 that a pass begins with; that of `+` asks for its shape."""
    seeding = ("if gradient is None and self.data.size != 1:", "if False:")
    one = ("return np.ones_like(self.data) if gradient is None else np.asarray(gradient)", "return 1")
    kind = variant(NO_SEED, seeding, one)
    assert not adapt(kind, "mine").capabilities.starts_with_ones
    assert check(kind, "inputs: {x: [1, 2]}\ngraph: {y: x + x}\nbackward: {y: [1, 1]}\n").status == "passed"


#: A second pass after new values: what x had is kept, and added to.
_AGAIN = (
    "inputs: {x: [1, 2]}\ngraph: {y: x * x}\n"
    "steps: [{backward: {y: [1, 1]}}, {forward: {x: [10, 0]}}, {backward: {y: [1, 1]}}]\n"
)


class Kept(arrays.GivenTensors):
    """Reads attributes that only its tensors have."""

    def plain(self) -> Any:
        return self.data

    def receive(self, gradient: Any) -> None:
        self.grad = self.new(gradient if self.grad is None else self.grad.plain() + gradient)


def test_what_is_kept_over_new_values_is_a_tensor_where_gradients_are() -> None:
    found = judged(Kept, _AGAIN)
    assert found.status == "passed"
    assert {c.status for c in found.comparisons if c.step == 2} == {"passed"}


def test_to_what_a_class_computes_once_nothing_is_added() -> None:
    """A number that has a gradient answers with it, whatever is made of it later."""
    found = judged(asking.Asks, _AGAIN)
    assert found.status == "unsupported"
    said = [c.mismatch["got_outcome"]["text"] for c in found.comparisons if c.mismatch]
    assert said == ["Asks adds nothing to a gradient that is there"]


class Node: ...


@dataclass
class Pair:
    left: int


class Keyed:
    def __hash__(self) -> int:
        return 7


def test_searches_of_lists_are_counted() -> None:
    nodes = [Node() for _ in range(10)]
    with count_comparisons([Node]) as count:
        assert Node() not in nodes
        assert count.number == 20  # either is asked
        assert nodes[0] in nodes  # the very same needs no question
        assert nodes[3] in set(nodes)
    assert count.number == 20


def test_classes_are_restored_after_counting() -> None:
    before = Node.__eq__, Node.__hash__, Pair.__eq__, Keyed.__eq__
    with count_comparisons([Node, Pair, Keyed]):
        assert (Node.__hash__, Pair.__eq__, Keyed.__eq__) == before[1:]
        assert Node.__eq__ is not before[0]
        assert Node() != Node()
    assert (Node.__eq__, Node.__hash__, Pair.__eq__, Keyed.__eq__) == before
    assert "__eq__" not in vars(Node)


def test_only_a_modules_own_classes_are_counted() -> None:
    module = ModuleType("theirs")
    own = type("Own", (), {"__module__": "theirs"})
    vars(module).update(Own=own, Node=Node)
    with count_comparisons([module]) as count:
        assert own() not in [own(), own()]
        assert Node() not in [Node()]
    assert count.number == 4
