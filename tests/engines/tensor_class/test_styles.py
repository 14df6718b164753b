"""Tensor classes of many styles: none needs an adapter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck.checks.result import CaseResult
from gradcheck.engines.tensor_class.adapt import adapt
from gradcheck.errors import UsageError
from tests.paths import WRONG_ENGINES

CASE = """
inputs: {a: [[1, 2], [3, 4]], b: [[0.5, -1], [2, 1.5]]}
graph:
  p: a @ b
  q: p * a + 2 * b
  loss: (q * p).sum()
"""
RIGHT = WRONG_ENGINES / "right.py"
INIT = (
    "def __init__(self, data, makers=()):\n        self.data",
    "def __init__(self, data, makers=(), {flag}):\n        self.data",
)


def passes(found: CaseResult) -> bool:
    assert found.status == "passed", [c for c in found.comparisons if c.status != "passed"] + list(found.errors)
    assert {c.tensor for c in found.comparisons if c.what == "gradient"} == {"a", "b", "p", "q", "loss"}
    return True


@pytest.mark.parametrize(
    "flag", ["requires_grad=False", "autograd=False", "track_grad=True", "needs_grad=False", "constant=False"]
)
def test_the_flag_for_gradients_has_many_names(variant: Any, check: Any, flag: str) -> None:
    name = flag.partition("=")[0]
    wanted = "False" if name == "constant" else "True"
    kind = variant(
        (INIT[0], INIT[1].format(flag=flag)),
        ("        self.grad = None\n", f"        self.grad = None\n        self.tracked = {name}\n"),
        ("            tensor.grad = whole if", f"            if not tensor.makers and tensor.tracked is not {wanted}:\n"
                                                "                continue\n            tensor.grad = whole if"),
    )  # fmt: skip
    assert passes(check(kind, CASE))


@pytest.mark.parametrize("name", ["value", "values", "_data", "array", "val"])
def test_values_have_many_names(variant: Any, check: Any, name: str) -> None:
    assert passes(check(variant((".data", f".{name}")), CASE))


@pytest.mark.parametrize(
    "method",
    [
        "def numpy(self):\n        return self.hidden_",
        "def __array__(self, dtype=None, copy=None):\n        return self.hidden_",
        "def tolist(self):\n        return self.hidden_.tolist()",
    ],
)
def test_values_may_be_asked_for(variant: Any, check: Any, method: str) -> None:
    kind = variant((".data", ".hidden_"), ("    def sum(self):", f"    {method}\n\n    def sum(self):"))
    assert passes(check(kind, CASE))


def test_backward_may_take_a_tensor_and_leave_tensors(variant: Any, check: Any) -> None:
    kind = variant(
        ("else np.asarray(gradient)", "else gradient.data"),
        ("tensor.grad = whole if tensor.grad is None else tensor.grad + whole",
         "tensor.grad = Tensor(whole if tensor.grad is None else tensor.grad.data + whole)"),
    )  # fmt: skip
    assert passes(check(kind, CASE))
    assert passes(check(kind, CASE + "backward: {loss: 2.5}\n"))


def test_backward_may_take_nothing(variant: Any, check: Any) -> None:
    kind = variant(("def backward(self, gradient=None):", "def backward(self):\n        gradient = None"))
    assert passes(check(kind, CASE))
    vector = "inputs: {x: [1, 2, 3]}\ngraph: {y: x * x}\nbackward: {y: [1, 0.5, -2]}\nexpected: {x: [2, 2, -12]}\n"
    assert check(kind, vector).status == "passed"


def test_several_roots_are_one_pass(variant: Any, check: Any) -> None:
    text = "inputs: {x: [1, 2]}\ngraph: {y: x * x, z: y * x}\nbackward: {y: [1, 1], z: [2, 3]}\n"
    assert check(variant(), text).status == "passed"
    nothing = variant(("def backward(self, gradient=None):", "def backward(self):\n        gradient = None"))
    assert check(nothing, text).status == "passed"


def test_a_gradient_may_be_a_method(variant: Any, check: Any) -> None:
    kind = variant(
        (".grad ", "._g "),
        ("    def sum(self):", "    def grad(self):\n        return self._g\n\n    def sum(self):"),
    )
    assert passes(check(kind, CASE))


def test_data_may_have_to_be_a_list(variant: Any, check: Any) -> None:
    kind = variant(("self.data = np.asarray(data)",
                    "if not makers and isinstance(data, np.ndarray):\n            raise TypeError('lists only')\n"
                    "        self.data = np.asarray(data)"))  # fmt: skip
    assert passes(check(kind, CASE))


@pytest.mark.parametrize("name", ["mm", "matmul", "dot"])
def test_a_product_of_matrices_may_be_a_method(variant: Any, check: Any, name: str) -> None:
    assert passes(check(variant(("def __matmul__", f"def {name}")), CASE))


def test_intermediates_that_keep_no_gradient_are_listened_to(variant: Any, check: Any) -> None:
    kind = variant(
        (
            "            tensor.grad = whole if",
            "            if not tensor.makers:\n              tensor.grad = whole if",
        )
    )
    assert passes(check(kind, CASE))


def test_a_function_that_makes_tensors_will_do(variant: Any, check: Any) -> None:
    kind = variant()

    def tensor(data: Any) -> Any:
        return kind(data)

    assert passes(check(tensor, CASE))


def test_an_engine_that_knows_no_numbers(variant: Any, check: Any) -> None:
    kind = variant(
        (
            "return value if isinstance(value, Tensor) else type(self)(value)",
            "assert isinstance(value, Tensor)\n        return value",
        )
    )
    assert passes(check(kind, CASE))


def test_a_class_of_another_precision_says_which(variant: Any, check: Any) -> None:
    kind = variant(("np.asarray(data)", "np.asarray(data, dtype=np.float32)"))
    found = check(kind, CASE)
    assert found.status == "unsupported"
    assert {c.lacks for c in found.comparisons if c.lacks} == {"float64"}
    assert check(kind, CASE, dtype="float32").status == "passed"


@pytest.mark.parametrize("form", ["sum(0)", "sum(dim=0)", "sum(axis=0)", "sum(1, True)", "sum(axis=-1, keepdims=True)"])
@pytest.mark.parametrize("signature", ["dim=None, keepdim=False", "axis=None, keepdims=False"])
def test_sums_are_written_in_torchs_words_and_in_numpys(variant: Any, check: Any, form: str, signature: str) -> None:
    dim, keep = (part.partition("=")[0] for part in signature.split(", "))
    text = RIGHT.read_text()
    start = text.index("    def sum(self):")
    kind = variant((
        text[start : text.index("    def tanh")],
        f"""    def sum(self, {signature}):
        kept = self.data.sum(axis={dim}, keepdims=True)
        back = lambda g: np.broadcast_to(np.reshape(g, kept.shape), self.data.shape).copy()
        return Tensor(self.data.sum(axis={dim}, keepdims={keep}), [(self, back)])

""",
    ))  # fmt: skip
    text = f"inputs: {{x: [[1, 2, 3], [4, 5, 6]]}}\ngraph: {{y: '(x * x).{form}', z: y.sum()}}\n"
    assert check(kind, text).status == "passed"


def test_a_flag_that_is_mistaken_for_a_dimension_is_noticed(variant: Any, check: Any) -> None:
    kind = variant(("def sum(self):", "def sum(self, average=False):"))  # sum(0) adds everything up
    found = check(kind, "inputs: {x: [[1, 2], [3, 4]]}\ngraph: {y: x.sum(0), z: y.sum()}\n")
    assert found.status == "unsupported"
    assert {c.lacks for c in found.comparisons if c.lacks} == {"sum"}


def test_a_wrong_forward_is_wrong_and_not_lacking(variant: Any, check: Any) -> None:
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


@pytest.mark.parametrize("kind", [int, dict, object])
def test_what_is_no_tensor_class_is_refused(kind: Any) -> None:
    with pytest.raises(UsageError, match=r"cannot be made from an array|has no backward"):
        adapt(kind, "mine")
