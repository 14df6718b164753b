"""Which form of an op a class understands, and why it has none."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.checks.result import CaseResult
from gradcheck.engines.resolve import adapt
from gradcheck.engines.tensor_class.engine import TensorClassEngine
from gradcheck.engines.tensor_class.op_lookup import NoForm
from tests.engines.dialects import sound
from tests.engines.dialects.test_dialects import judged

X = np.array([[1.0, 2.0], [3.0, 4.0]])
SUM = "    def sum(self):"
TANH = "    def tanh(self):"


def form_of(engine: TensorClassEngine, name: str, *args: Any) -> str:
    op = TABLE[name]
    wrapped = tuple(engine.leaf(arg, True) if isinstance(arg, np.ndarray) else arg for arg in args)
    return engine.calls.lookup.form(op, op.bind(wrapped, {})).label


def reason(engine: TensorClassEngine, name: str, *args: Any) -> str:
    with pytest.raises(NoForm) as caught:
        form_of(engine, name, *args)
    assert caught.value.lacks == name
    return caught.value.message


def test_operators_methods_and_synonyms_are_found(variant: Callable[..., type]) -> None:
    engine = adapt(variant((TANH, "    def log_sum_exp(self):\n        return self\n\n" + TANH)), "mine")
    assert form_of(engine, "add", X, X) == "operator add"
    assert form_of(engine, "tanh", X) == ".tanh()"
    assert form_of(engine, "matmul", X, X) == "operator matmul"


def test_a_form_that_returns_what_it_should_is_preferred(variant: Callable[..., type]) -> None:
    """`swapaxes(0, 1)` comes after `transpose(0, 1)`, which is wrong here."""
    both = "    def transpose(self, i, j):\n        return Tensor(-self.data.T)\n\n"
    both += "    def swapaxes(self, i, j):\n        return Tensor(self.data.T)\n\n"
    assert form_of(adapt(variant((SUM, both + SUM)), "mine"), "transpose", X, 0, 1) == ".swapaxes(…)"


def test_a_total_may_have_to_name_all_dimensions(variant: Callable[..., type]) -> None:
    over = "    def sum(self, *dims):\n        return Tensor(self.data.sum(dims)) if dims else self\n\n"
    over += "    def total(self):"
    engine = adapt(variant((SUM, over)), "mine")
    assert form_of(engine, "sum", X) == ".sum(…)"
    over = over.replace("*dims", "dims=()")
    assert reason(adapt(variant((SUM, over)), "mine"), "sum", X) == "its sum is over no dimension where none is named"


def test_a_total_of_another_argument_is_no_total(variant: Callable[..., type]) -> None:
    """A number is taken for the tensor that is summed, and not for a dimension."""
    other = "    def sum(self, tensor):\n        return Tensor(np.sum(getattr(tensor, 'data', tensor)))\n\n"
    assert reason(adapt(variant((SUM, other + "    def total(self):")), "mine"), "sum", X[0])


def test_why_there_is_none(variant: Callable[..., type]) -> None:
    methods = (
        "    def exp(self):\n        return 3\n\n    def softplus(self):\n        return Tensor(self.data + 1)\n\n"
    )
    methods += "    def log(self, *args, **kwargs):\n        raise NotImplementedError('later')\n\n"
    engine = adapt(variant((SUM, methods + SUM)), "mine")
    assert reason(engine, "sin", X) == "it has no sin"
    assert reason(engine, "sum", X, 0).startswith("its sum does not take these arguments: TypeError")
    assert reason(engine, "exp", X) == "its exp does not take these arguments: TypeError: it returned a int"
    assert reason(engine, "log", X) == "its log does not take these arguments: NotImplementedError: later"
    assert reason(engine, "softplus", X) == "its softplus follows another convention than torch's"
    assert reason(engine, "max", X, 0) == "gradcheck does not call its max, which returns several tensors"


def test_what_is_known_is_not_tried_again(variant: Callable[..., type]) -> None:
    counting = f"{TANH}\n        Tensor.calls = getattr(Tensor, 'calls', 0) + 1"
    kind: Any = variant((TANH, counting))
    engine = adapt(kind, "mine")
    form_of(engine, "tanh", X)
    before = kind.calls
    form_of(engine, "tanh", 2 * X)
    assert kind.calls == before
    form_of(engine, "tanh", X[None, None])  # of another number of dimensions
    assert kind.calls == before + 1


def test_a_flag_that_is_mistaken_for_a_dimension_is_noticed(
    variant: Callable[..., type], check: Callable[..., CaseResult]
) -> None:
    kind = variant(("def sum(self):", "def sum(self, average=False):"))  # sum(0) adds everything up
    found = check(kind, "inputs: {x: [[1, 2], [3, 4]]}\ngraph: {y: x.sum(0), z: y.sum()}\n")
    assert found.status == "unsupported"
    assert {c.lacks for c in found.comparisons if c.lacks} == {"sum"}


def test_a_wrong_forward_is_wrong_and_not_lacking(
    variant: Callable[..., type], check: Callable[..., CaseResult]
) -> None:
    kind = variant(("np.tanh(self.data)", "np.tanh(2 * self.data)"))
    found = check(kind, "inputs: {x: [1, 2]}\ngraph: {y: tanh(x), z: y.sum()}\n")
    assert found.status == "failed"
    assert any(c.what == "value" and c.tensor == "y" and c.status == "failed" for c in found.comparisons)


def test_trying_out_leaves_no_trace_in_the_graph(check: Callable[..., CaseResult]) -> None:
    """An engine that counts children as they are made would wait for ever for one that was only tried."""

    class Counting:
        def __init__(self, data: Any, makers: tuple[Any, ...] = ()) -> None:
            self.data, self.makers, self.children, self.grad = np.asarray(data), makers, 0, None
            for maker in makers:
                maker.children += 1

        def __add__(self, other: Any) -> Counting:
            return Counting(self.data + other.data, (self, other))

        def sum(self) -> Counting:
            return Counting(self.data.sum(), (self,))

        def backward(self, gradient: Any = None) -> None:
            self.grad = np.ones(()) if gradient is None else gradient
            ready = [self]
            while ready:
                tensor = ready.pop()
                for maker in tensor.makers:
                    share = np.broadcast_to(tensor.grad, maker.data.shape)
                    maker.grad = share if maker.grad is None else maker.grad + share
                    maker.children -= 1
                    if not maker.children:
                        ready.append(maker)

    assert check(Counting, "inputs: {x: [1, 2]}\ngraph: {y: x + x, z: y + x, loss: z.sum()}\n").status == "passed"


def test_a_slip_in_the_librarys_own_code_is_no_lack(
    variant: Callable[..., type], check: Callable[..., CaseResult]
) -> None:
    """It asks its own tensor for what that has not. Of a number without `data`, it is the number that does not fit."""
    slip = variant(("result = np.tanh(self.data)", "result = np.tanh(self.dat)"))
    assert form_of(adapt(slip, "mine"), "tanh", X) == ".tanh()"
    case = check(slip, "inputs: {x: [1, 2]}\ngraph: {y: tanh(x), z: y.sum()}\n")
    assert (case.status, case.errors[0].kind) == ("failed", "engine_error")
    no_numbers = variant(("return value if isinstance(value, Tensor) else type(self)(value)", "return value"))
    assert check(no_numbers, "inputs: {x: [1, 2]}\ngraph: {y: x * 2 + 1, z: y.sum()}\n").status == "passed"


def test_a_method_where_is_that_of_what_is_chosen(variant: Callable[..., type]) -> None:
    where = "    def where(self, condition, other):\n"
    where += "        return Tensor(np.where(condition, self.data, other.data))\n\n"
    engine = adapt(variant((TANH, where + TANH)), "mine")
    assert form_of(engine, "where", np.array([[True, False], [True, True]]), X, 2 * X) == ".where(…)"


def test_a_bound_of_none_means_something_else_to_others(variant: Callable[..., type]) -> None:
    clip = "    def clip(self, low, high):\n        low = np.nan if low is None else low\n"
    clip += "        return Tensor(np.minimum(np.maximum(self.data, low), high))\n\n"
    engine = adapt(variant((TANH, clip + TANH)), "mine")
    assert form_of(engine, "clamp", X, 1.0, 2.0) == ".clip(…)"
    assert reason(engine, "clamp", X, None, 2.0).startswith("its clamp does not take these arguments")


CLIP = """    def clip(self, low, high):
        def share(g):
            return g * (self.data > low) * (self.data < high)
        return Tensor(np.clip(self.data, low, high), [(self, share)])

"""


def test_a_bound_of_none_that_has_no_gradient_is_a_lack(variant: Callable[..., type]) -> None:
    """NumPy clips, and the rule compares with None."""
    engine = adapt(variant((TANH, CLIP + TANH)), "mine")
    assert engine.capabilities.seed == "array"
    assert form_of(engine, "clamp", X, 1.0, 2.0) == ".clip(…)"
    assert "not supported between instances of" in reason(engine, "clamp", X, None, 2.0)


def test_a_dimension_of_a_single_number_may_have_no_gradient(variant: Callable[..., type]) -> None:
    """NumPy sums a single number over its dimension 0; the rule cannot say of which shape that was."""
    total = "return type(self)(self.data.sum(), [(self, lambda g: np.broadcast_to(g, self.data.shape).copy())])"
    over = (
        "g = lambda g: g if axis is None else np.expand_dims(g, axis)\n        return type(self)(self.data.sum(axis), "
    )
    over += "[(self, lambda h: np.broadcast_to(g(h), self.data.shape).copy())])"
    engine = adapt(variant((total, over), (SUM, "    def sum(self, axis=None):")), "mine")
    assert engine.capabilities.seed == "array"
    assert form_of(engine, "sum", X, 0) == ".sum(axis=…)"
    assert "cannot broadcast" in reason(engine, "sum", np.array(2.0), 0)


def test_a_matmul_that_is_dot_is_none_for_batches(variant: Callable[..., type]) -> None:
    only_matrices = "        if self.data.ndim != 2 or other.data.ndim != 2:\n"
    only_matrices += '            raise NotImplementedError("matrices only")\n'
    dot = (("self.data @ other.data,", "np.dot(self.data, other.data),"), (only_matrices, ""))
    engine = adapt(variant(*dot), "mine")
    assert form_of(engine, "matmul", X, X) == "operator matmul"
    assert "NumPy's dot" in reason(engine, "matmul", np.ones((2, 3, 4)), np.ones((2, 4, 2)))


def test_a_setting_at_its_default_is_another_form_than_one_that_is_given(
    variant: Callable[..., type], check: Callable[..., CaseResult]
) -> None:
    leaky = "    def leaky_relu(self, slope=0.01):\n        k = np.where(self.data > 0, 1.0, slope)\n"
    leaky += "        return Tensor(self.data * k, [(self, lambda g: g * k)])\n\n"
    text = "inputs: {x: [1.0, -2.0]}\ngraph: {y: 'F.leaky_relu(x) + F.leaky_relu(x, 0.2)', z: y.sum()}\n"
    assert check(variant((TANH, leaky + TANH)), text).status == "passed"


def test_an_approximation_is_another_convention(variant: Callable[..., type]) -> None:
    gelu = "    def gelu(self):\n        k = 1 + 3e-5 * np.sign(self.data)\n"
    gelu += "        return Tensor((k * self.data / (1 + np.exp(-1.702 * self.data))).astype(self.data.dtype))\n\n"
    engine = adapt(variant((TANH, gelu + TANH)), "mine")
    assert "another convention" in reason(engine, "gelu", X)
    assert "another convention" in reason(engine, "gelu", X.astype(np.float32))


def test_another_slope_below_zero_is_another_convention(variant: Callable[..., type]) -> None:
    """Above, all slopes are one."""
    body = "return Tensor(np.where(self.data > 0, 1, slope) * self.data)"
    leaky = "    def leaky_relu(self, slope={}):\n        " + body + "\n\n"
    assert form_of(adapt(variant((TANH, leaky.format(0.01) + TANH)), "mine"), "leaky_relu", X) == ".leaky_relu()"
    told = reason(adapt(variant((TANH, leaky.format(0.02) + TANH)), "mine"), "leaky_relu", X)
    assert "another convention" in told


class Indexed(sound.Tensor):
    """An index is a tuple, or a number."""

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, np.ndarray):
            raise IndexError("no tuple")
        whole = np.zeros(self.data.shape)

        def rule(g: Any) -> Any:
            np.add.at(whole, key, g)
            return (whole,)

        return self.new(self.data[key], (self,), rule)


class Sliced(Indexed):
    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, (int, slice)):
            raise IndexError("no slice")
        return super().__getitem__(key)


def test_an_array_as_an_index_may_have_to_be_in_a_tuple_or_is_a_lack() -> None:
    assert judged(Indexed, "an index").status == "passed"
    assert judged(Sliced, "an index").status == judged(Ranges, "an index").status == "unsupported"


class Ranges(Indexed):
    """An index without `start` is a number."""

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(key if isinstance(key, int) else slice(key.start, key.stop))


class Reduced(sound.Tensor):
    """Dimensions are a tuple: a number is right in the forward pass alone."""

    def sum(self, dim: Any = None) -> Any:
        kept = self.data.sum(axis=dim, keepdims=True).shape

        def rule(g: Any) -> Any:
            assert dim is None or [*dim]
            return (np.broadcast_to(g.reshape(kept), self.data.shape).copy(),)

        return self.new(self.data.sum(axis=dim), (self,), rule)


class Failing(Reduced):
    def sum(self, dim: Any = None) -> Any:
        return super().sum(dim if dim is None else 0)


def test_a_dimension_may_have_to_be_a_tuple_for_right_gradients() -> None:
    assert judged(Reduced, "rows").status == "passed"
    assert judged(Failing, "rows").status == "failed"


class Dotted(sound.Tensor):
    """A product of unlike shapes is NumPy's dot."""

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, sound.Tensor) and other.data.shape != self.data.shape:
            return self.new(np.dot(self.data, other.data))
        return super().__mul__(other)


def test_a_product_in_the_manner_of_numpys_matrices_is_a_matrix_product() -> None:
    class Matrix(sound.Tensor):
        __matmul__ = None

        def __mul__(self, other: Any) -> Any:
            return super().__matmul__(other) if isinstance(other, sound.Tensor) else super().__mul__(other)

    engine = adapt(Matrix, "mine")
    assert form_of(engine, "matmul", X, X) == "operator mul"
    assert reason(engine, "mul", X, X) == "its mul is NumPy's dot, which differs where there are arrays"
    assert form_of(engine, "mul", X, 2.0) == "operator mul"
    elementwise = adapt(type("Elementwise", (sound.Tensor,), {"__matmul__": None}), "mine")
    assert reason(elementwise, "matmul", X, X).startswith("its matmul does not take these arguments: TypeError")


@pytest.mark.parametrize("other", [[1.0, 2.0, 3.0], [[1.0], [2.0]]])
def test_a_product_that_is_no_product_of_unlike_shapes_is_a_lack(other: Any) -> None:
    engine = adapt(Dotted, "mine")
    a = np.ones((2, 3))
    assert form_of(engine, "mul", a, a) == "operator mul"
    assert re.search("NumPy's dot|not aligned", reason(engine, "mul", a, np.array(other)))
    assert form_of(engine, "mul", a, a) == "operator mul"


def test_a_logarithm_to_a_base_of_its_own_is_another_op() -> None:
    class Tens(sound.Tensor):
        def log(self, base: float = 10.0) -> Any:
            return type(self)(np.log(self.data) / np.log(base))

    with pytest.raises(NoForm, match="to a base of its own"):
        form_of(adapt(Tens, "mine"), "log", X)

    class Off(sound.Tensor):
        def log(self) -> Any:
            return type(self)(np.log(self.data) / np.log(10.0))

    assert form_of(adapt(Off, "mine"), "log", X)
