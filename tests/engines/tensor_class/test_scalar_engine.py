"""Classes that hold one number: small cases are written out number by number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.checks.result import CaseResult
from gradcheck.engines.base import Application
from gradcheck.engines.resolve import adapt
from gradcheck.engines.tensor_class.scalar_engine import MAX_NUMBERS, ScalarClassEngine
from gradcheck.errors import Unsupported

Check = Callable[..., CaseResult]


@pytest.fixture
def engine(number: type) -> ScalarClassEngine:
    found = adapt(number, "mine")
    assert isinstance(found, ScalarClassEngine)
    return found


@pytest.mark.parametrize(
    "graph",
    [
        "{y: x * x + 2 * x, z: y.sum()}",
        "{y: x @ x.T, z: y.sum()}",
        "{y: 'x.reshape(3, 2)', z: (y * y).mean()}",
        "{y: 'x[1] * x[0, 1]', z: y.sum()}",
        "{y: 'where(x > 2, x, 3 * x)', z: y.sum()}",
        "{y: 'stack([x, x * x])', z: y.sum(), w: '(y * x).sum() + z'}",
        "{y: '-x', z: (y - x).sum()}",
        "{y: x.detach() * x, z: y.sum()}",
    ],
)
def test_graphs_are_written_out(number: type, check: Check, graph: str) -> None:
    found = check(number, f"inputs: {{x: [[1, 2, 3], [4, 5, 6]]}}\ngraph: {graph}\n")
    assert found.status == "passed", [c for c in found.comparisons if c.status != "passed"]


@pytest.mark.parametrize("graph", ["{y: x.double()}", "{y: atleast_1d(x)}", "{y: 'cartesian_prod(x)'}"])
def test_what_gives_its_operand_back_leaves_an_inputs_gradient_to_be_read(
    number: type, check: Check, graph: str
) -> None:
    found = check(number, f"inputs: {{x: [1.5, 2]}}\ngraph: {graph}\nbackward: {{y: [2, -3]}}\n")
    assert found.status == "passed"
    assert "x" in {c.tensor for c in found.comparisons if c.what == "gradient"}


def test_incoming_gradients_and_several_roots(number: type, check: Check) -> None:
    text = "inputs: {x: [1, 2]}\ngraph: {y: x * x, z: y * x}\nbackward: {y: [1, 10], z: [0.5, 1]}\n"
    assert check(number, text).status == "passed"


def test_a_tensor_is_an_array_of_numbers_and_a_constant_is_plain(engine: ScalarClassEngine) -> None:
    x = engine.leaf(np.array([1.0, 2.0]), True)
    assert [value.data for value in x.tensor] == [1, 2]
    assert engine.leaf(np.array([1.0, 2.0]), False).tensor is None
    assert engine.leaf(np.array([1, 2]), False).tensor is None


def test_a_constant_is_the_classs_own_where_plain_numbers_raise(number: type, check: Check) -> None:
    """`__rsub__` calls itself: `1 - x` is the class's mistake, and `c - x` is none."""

    class Reflecting(number):  # type: ignore[valid-type, misc]
        def __sub__(self, other: Any) -> Any:
            return self + other * -1

        def __rsub__(self, other: Any) -> Any:
            return other - self

    start = "inputs: {x: [1, 2]}\nconstants: {c: [3, 4]}\n"
    assert check(Reflecting, f"{start}graph: {{y: c - x}}\nbackward: {{y: [2, -3]}}\n").status == "passed"
    found = check(Reflecting, f"{start}graph: {{y: 1 - x}}\nbackward: {{y: [2, -3]}}\n")
    assert {error.kind for error in found.errors} == {"recursion"}
    found = check(Reflecting, f"{start}graph: {{g: x.sin(), y: g * x + (1 - g) * x}}\nbackward: {{y: [2, -3]}}\n")
    assert {c.cause.fault.kind for c in found.comparisons if c.cause} == {"it_raises"}  # not its gradient rule


def test_what_its_code_rejects_is_lacking(number: type, check: Check) -> None:
    class Positive(number):  # type: ignore[valid-type, misc]
        def exp(self) -> Any:
            if self.data < 0:
                raise ValueError("only positive numbers")
            return self * 1.0

    found = check(Positive, "inputs: {x: [1, -2]}\ngraph: {y: x.exp().sum()}\n")
    assert found.status == "unsupported", [c for c in found.comparisons if c.status != "passed"]
    assert {c.lacks for c in found.comparisons if c.engine == "mine"} == {"exp"}


def test_numbers_have_their_own_gradients(engine: ScalarClassEngine) -> None:
    x = engine.leaf(np.array([1.0, 2.0]), True)
    (y,) = (x * x,)
    y.retain_grad()
    engine.backward([y], [np.array([1.0, 10.0])], True)
    assert (x.grad.tolist(), y.grad.tolist()) == ([2, 40], [1, 10])
    x.grad = None
    assert x.grad.tolist() == [0, 0]
    x.grad = np.array([7.0, 8.0])
    assert x.grad.tolist() == [7, 8]
    assert engine.current_values(x).tolist() == [1, 2]


def lacks(engine: ScalarClassEngine, name: str, *args: object) -> str:
    with pytest.raises(Unsupported) as caught:
        engine.apply(TABLE[name], TABLE[name].bind(args, {}))
    return caught.value.lacks


def test_what_cannot_be_written_out_is_lacking(engine: ScalarClassEngine) -> None:
    x = engine.leaf(np.ones((2, 2)), True)
    assert lacks(engine, "exp", x) == "exp"
    assert lacks(engine, "softmax", x, 0) == "softmax"
    assert lacks(engine, "add", x, engine.leaf(np.ones((3, 3)), True)) == "shapes"
    wide = engine.leaf(np.ones((40, 100)), True)
    assert lacks(engine, "matmul", wide, np.ones((100, 40))) == "large tensors"
    assert lacks(engine, "mul", wide, engine.leaf(np.ones((2, 1, 1)), True)) == "large tensors"


def test_too_many_numbers_and_other_precisions_are_lacking(engine: ScalarClassEngine) -> None:
    for array, what in ((np.ones(MAX_NUMBERS + 1), "large tensors"), (np.ones(2, np.float32), "float32")):
        with pytest.raises(Unsupported) as caught:
            engine.leaf(array, True)
        assert caught.value.lacks == what


def test_passes_from_what_is_no_number_of_its_own(engine: ScalarClassEngine) -> None:
    x = engine.leaf(np.ones(2), True)
    plain = engine.gather(np.array(3.0, object))
    with pytest.raises(Unsupported) as caught:
        engine.backward([plain], [None], True)
    assert caught.value.lacks == "passes from constants"
    with pytest.raises(Unsupported) as caught:
        engine.backward([x], [None], True)
    assert caught.value.lacks == "tensors of several numbers"
    with pytest.raises(Unsupported) as caught:
        engine.backward([engine.leaf(np.ones(0), True)], [np.ones(0)], True)
    assert caught.value.lacks == "empty tensors"


def test_sums_of_many_terms_are_no_deep_chains(engine: ScalarClassEngine) -> None:
    x = engine.leaf(np.ones(2_000), True)
    engine.backward([x], [np.full(2_000, 3.0)], True)  # the class recurses
    assert set(x.grad.tolist()) == {3}


@pytest.mark.parametrize(
    "graph",
    ["{y: 'cumsum(x * 2, 0)', z: (y * x).sum()}", "{y: 'cumulative_trapezoid(x)', z: (y * y).sum()}"],
)
def test_a_number_of_which_others_are_made_on_the_way_has_no_gradient_of_its_own(
    number: type, check: Check, graph: str
) -> None:
    found = check(number, f"inputs: {{x: [1, 2, 3]}}\ngraph: {graph}\n")
    assert found.status == "passed", [c for c in found.comparisons if c.status != "passed"]
    assert {c.tensor for c in found.comparisons if c.what == "gradient"} == {"x", "z"}


@pytest.fixture
def powered(number: Any, monkeypatch: pytest.MonkeyPatch) -> type:
    """A class whose numbers have powers, and divide by them as micrograd's do."""

    def power(self: Any, exponent: float) -> Any:
        return number(self.data**exponent, ((self, exponent * self.data ** (exponent - 1)),))

    monkeypatch.setattr(number, "__pow__", power, raising=False)
    monkeypatch.setattr(number, "__truediv__", lambda self, other: self * other**-1, raising=False)
    found: type = number
    return found


_STATISTICS = "inputs: {x: [[1, 2], [3, 6]]}\nconstants: {m: [0.0, 0.0], v: [1.0, 1.0]}\n"


def test_statistics_that_move_in_place_are_not_asked_for(powered: type, check: Check) -> None:
    graph = "graph: {{y: 'F.batch_norm(x, m, v, training={})', z: 'F.batch_norm(x, m, v) * x'}}\n"
    graph += "backward: {{z: [[1, 2], [3, 4]]}}\n"
    assert check(powered, _STATISTICS + graph.format("False")).status == "passed"
    assert check(powered, _STATISTICS + graph.format("True")).status == "unsupported"


def test_parts_that_are_no_numbers_of_the_class_have_no_gradient(powered: type, check: Check) -> None:
    graph = (
        "graph: {r: 'native_batch_norm(x, None, None, m, v, False, 0.1, 3.0)'}\nbackward: {'r[0]': [[1, 2], [3, 4]]}\n"
    )
    found = check(powered, _STATISTICS + graph)
    assert found.status == "passed", [c for c in found.comparisons if c.status != "passed"]


def test_where_pythons_numbers_raise_is_no_failure(powered: type, check: Check) -> None:
    assert check(powered, "inputs: {x: [1, 2]}\ngraph: {y: (x / 4.0).sum()}\n").status == "passed"
    found = check(powered, "inputs: {x: [1, 2]}\ngraph: {y: (x / 0).sum()}\n")
    assert found.status == "unsupported", [c for c in found.comparisons if c.status != "passed"]
    assert {c.lacks for c in found.comparisons if c.engine == "mine"} == {"infinities, and what is no number"}


def test_zeros_beside_a_diagonal_are_numbers_of_the_class(
    powered: type, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(powered, "__radd__")
    found = check(powered, "inputs: {x: [1, 2]}\ngraph: {d: diag(x), y: d.T + d}\nbackward: {y: [[1, 2], [3, 4]]}\n")
    assert found.status == "passed", [c for c in found.comparisons if c.status != "passed"]


def test_what_is_written_out_is_made_of_what_the_numbers_do(engine: ScalarClassEngine) -> None:
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    matmul = Application(TABLE["matmul"], (x, x), {}, "y", outputs=((x.shape, x.dtype),))
    assert {part.op.name for part in engine.parts(matmul, x.dtype).called} == {"add", "mul"}
    product = Application(TABLE["mul"], (x, x), {}, "y", outputs=((x.shape, x.dtype),))
    assert engine.parts(product, x.dtype).called == ()


def test_what_is_written_out_in_right_ops_is_not_blamed(number: type, check: Check) -> None:
    """Here a number passes on again what has come to it on each arrival: wrong where one is used twice."""

    class Early(number):  # type: ignore[misc,valid-type]
        def __add__(self, other: Any) -> Any:
            return Early(self.data + getattr(other, "data", other), ((self, 1.0), (other, 1.0)))

        __radd__ = __add__

        def backward(self, incoming: float = 1.0) -> None:
            self.grad += incoming
            for maker, share in self.makers:
                if isinstance(maker, number):
                    maker.backward(self.grad * share)

    text = "dims: {n: 4}\ninputs: {x: 'randn(n)'}\ngraph: {y: 'cumsum(x, 0)'}\nbackward: {y: 'randn(n)'}\n"
    found = check(Early, text + "formulas: {x: 'grad(y).flip(0).cumsum(0).flip(0)'}\n")
    assert [c for c in found.comparisons if c.status == "failed" and c.what == "node"] == []


def test_what_gives_no_truth_value_orders_nothing(number: type, check: Check) -> None:
    """A tuple, of what the values and the derivatives say, counts as true."""

    class Pairs(number):  # type: ignore[misc]
        def __lt__(self, other: Any) -> Any:
            return float(self.data) < float(getattr(other, "data", other)), None

        def __gt__(self, other: Any) -> Any:
            return float(self.data) > float(getattr(other, "data", other)), None

        __le__, __ge__ = __lt__, __gt__

    found = check(Pairs, "inputs: {a: [1, 5, 0.3]}\ngraph: {y: a.max()}\n")
    assert found.status == "unsupported"
    assert check(Pairs, "inputs: {a: [1, 5, 0.3]}\ngraph: {y: (a * a).sum()}\n").status == "passed"


def test_a_slip_in_an_operator_is_the_classs_own_also_where_a_sum_is_written_out(number: type, check: Check) -> None:
    class Slipping(number):  # type: ignore[valid-type, misc]
        def __add__(self, other: Any) -> Any:
            return missing(self) if getattr(other, "data", 0) == 2.5 else super().__add__(other)  # type: ignore[name-defined]  # noqa: F821

    found = check(Slipping, "inputs: {x: [1, 2.5, 3]}\ngraph: {y: x.sum()}\n")
    (error,) = found.errors
    assert (found.status, error.kind) == ("failed", "engine_error")
    assert "sum, written in its numbers, raised NameError" in str(error)
