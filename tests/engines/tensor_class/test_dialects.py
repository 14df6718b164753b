"""Tensor classes in many dialects: every word of every table is understood, and none needs an adapter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gradcheck.checks.result import CaseResult
from gradcheck.engines.tensor_class import dialects
from gradcheck.engines.tensor_class.api_discovery import api_of

Variant = Callable[..., type]
Passes = Callable[[Any], bool]

INIT = (
    "def __init__(self, data, makers=()):\n        self.data",
    "def __init__(self, data, makers=(), {flag}):\n        self.data",
)
KEEP = "tensor.grad = whole if tensor.grad is None else tensor.grad + whole"
BACKWARD = "def backward(self, gradient=None):"
SUM = "    def sum(self):"


@pytest.mark.parametrize(
    "flag",
    [
        *("requires_grad=False", "autograd=False", "track_grad=True", "needs_grad=False", "constant=False"),
        "called_as_nobody_else_does=False",
    ],
)
def test_the_flag_for_gradients_has_many_names(variant: Variant, passes: Passes, flag: str) -> None:
    name = flag.partition("=")[0]
    wanted = "False" if name == "constant" else "True"
    skipped = f"            if not tensor.makers and tensor.tracked is not {wanted}:\n                continue\n"
    kind = variant(
        (INIT[0], INIT[1].format(flag=flag)),
        ("        self.grad = None\n", f"        self.grad = None\n        self.tracked = {name}\n"),
        ("            tensor.grad = whole if", f"{skipped}            tensor.grad = whole if"),
    )
    assert passes(kind)


@pytest.mark.parametrize("name", [*dialects.FLAGS, *dialects.OPPOSITE_FLAGS])
def test_every_flag_is_recognised(variant: Variant, name: str) -> None:
    api = api_of(variant((INIT[0], INIT[1].format(flag=f"{name.title()}_=None"))), "Tensor")
    assert (api.grad_flag, api.grad_flag_value) == (f"{name.title()}_", name in dialects.FLAGS)


@pytest.mark.parametrize("name", [*dialects.VALUES, "what_it_holds"])
def test_values_have_many_names_and_others_are_found_by_what_they_are(
    variant: Variant, passes: Passes, name: str
) -> None:
    assert passes(variant((".data", f".{name}")))


@pytest.mark.parametrize("name", [*dialects.VALUE_METHODS, "__array__"])
def test_values_may_be_asked_for(variant: Variant, passes: Passes, name: str) -> None:
    method = f"def {name}(self, dtype=None, copy=None):\n        return self.hidden_.tolist()"
    if name == "__array__":
        method = method.removesuffix(".tolist()")
    assert passes(variant((".data", ".hidden_"), (SUM, f"    {method}\n\n{SUM}")))


@pytest.mark.parametrize("name", dialects.GRADIENTS)
def test_gradients_have_many_names(variant: Variant, passes: Passes, name: str) -> None:
    assert passes(variant((".grad ", f".{name} ")))


@pytest.mark.parametrize("name", ["grad", *dialects.GRADIENT_METHODS])
def test_a_gradient_may_be_a_method(variant: Variant, passes: Passes, name: str) -> None:
    kind = variant((".grad ", "._hidden "), (SUM, f"    def {name}(self):\n        return self._hidden\n\n{SUM}"))
    assert passes(kind)


@pytest.mark.parametrize("name", dialects.BACKWARDS)
def test_the_backward_pass_has_many_names(variant: Variant, passes: Passes, name: str) -> None:
    assert passes(variant((BACKWARD, BACKWARD.replace("backward", name))))


@pytest.mark.parametrize("name", [name for name, keeps in dialects.KEEPING.items() if keeps])
def test_a_graph_is_kept_by_many_names(variant: Variant, check: Callable[..., CaseResult], name: str) -> None:
    freeing = f"        assert not hasattr(self, 'freed')\n        if not {name}:\n            self.freed = True\n"
    kind = variant((BACKWARD, f"def backward(self, gradient=None, {name}=False):\n{freeing}"))
    text = "inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nsteps: [backward: y, backward: y]\n"
    assert check(kind, text).status == "passed"


@pytest.mark.parametrize("name", dialects.CLEARING_METHODS)
def test_a_gradient_that_cannot_be_assigned_is_cleared(
    variant: Variant, check: Callable[..., CaseResult], name: str
) -> None:
    kind = variant(
        (".grad ", "._hidden "),
        (SUM, "    @property\n    def grad(self):\n        return self._hidden\n\n"
              f"    def {name}(self):\n        self._hidden = None\n\n{SUM}"),
    )  # fmt: skip
    text = "inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nsteps: [backward: y, zero_grad: [x, y], backward: y]\n"
    assert check(kind, text).status == "passed"


@pytest.mark.parametrize("name", dialects.MARKS)
def test_a_tensor_may_have_to_be_marked(variant: Variant, passes: Passes, name: str) -> None:
    kind = variant(
        ("        self.grad = None\n", f"        self.grad = None\n        self.{name} = bool(makers)\n"),
        ("            tensor.grad = whole if", f"            if not tensor.{name}:\n                continue\n"
                                              "            tensor.grad = whole if"),
    )  # fmt: skip
    assert passes(kind)


@pytest.mark.parametrize("name", dialects.RETAIN_METHODS)
def test_tensors_that_are_no_leaves_are_told_to_keep_their_gradients(
    variant: Variant, passes: Passes, name: str
) -> None:
    kind = variant(
        ("            tensor.grad = whole if",
         "            if not tensor.makers or hasattr(tensor, 'keeps'):\n              tensor.grad = whole if"),
        (SUM, f"    def {name}(self):\n        self.keeps = True\n\n{SUM}"),
    )  # fmt: skip
    assert passes(kind)


@pytest.mark.parametrize("name", dialects.DETACH_METHODS)
def test_the_librarys_own_detach_is_asked(variant: Variant, check: Callable[..., CaseResult], name: str) -> None:
    kind = variant((SUM, f"    def {name}(self):\n        return Tensor(7 * self.data)\n\n{SUM}"))
    text = "inputs: {x: [1, 2]}\ngraph: {y: (x * x.detach()).sum()}\n"
    assert check(kind, text).status == "failed"
    assert check(variant(), text).status == "passed"


@pytest.mark.parametrize("name", dialects.BASES)
def test_a_view_has_the_gradient_of_its_base(variant: Variant, name: str) -> None:
    api = api_of(variant(), "Tensor")
    tensor = api.make(__import__("numpy").ones(2), True)
    assert not api.is_view(tensor)
    setattr(tensor, name, api.make(tensor.data, True))
    assert api.is_view(tensor)


def test_backward_may_take_a_tensor_and_leave_tensors(
    variant: Variant, passes: Passes, check: Callable[..., CaseResult]
) -> None:
    kind = variant(
        ("else np.asarray(gradient)", "else gradient.data"),
        (KEEP, "tensor.grad = Tensor(whole if tensor.grad is None else tensor.grad.data + whole)"),
    )
    assert passes(kind)
    text = "inputs: {a: [1, 2]}\ngraph: {b: (a * a).sum()}\nbackward: {b: 2.5}\n"
    assert check(kind, text).status == "passed"


@pytest.mark.parametrize("name", [*dialects.SYNONYMS["matmul"], "matmul"])
def test_a_product_of_matrices_may_be_a_method(variant: Variant, passes: Passes, name: str) -> None:
    assert passes(variant(("def __matmul__", f"def {name}")))


def test_backward_may_take_nothing(variant: Variant, passes: Passes, check: Callable[..., CaseResult]) -> None:
    kind = variant((BACKWARD, "def backward(self):\n        gradient = None"))
    assert passes(kind)
    vector = "inputs: {x: [1, 2, 3]}\ngraph: {y: x * x}\nbackward: {y: [1, 0.5, -2]}\nexpected: {x: [2, 2, -12]}\n"
    assert check(kind, vector).status == "passed"


def test_data_may_have_to_be_a_list(variant: Variant, passes: Passes) -> None:
    refusal = "if not makers and isinstance(data, np.ndarray):\n            raise TypeError('lists only')\n        "
    assert passes(variant(("self.data = np.asarray(data)", f"{refusal}self.data = np.asarray(data)")))


def test_a_function_that_makes_tensors_will_do(variant: Variant, passes: Passes) -> None:
    kind = variant()

    def tensor(data: Any) -> Any:
        return kind(data)

    assert passes(tensor)


def test_names_are_written_as_they_are_looked_up() -> None:
    """Flags without underscores and in small letters; an op's synonyms are no names of its own."""
    assert all(name == name.lower().replace("_", "") for name in (*dialects.FLAGS, *dialects.OPPOSITE_FLAGS))
    assert not set(dialects.FLAGS) & set(dialects.OPPOSITE_FLAGS)
    assert all(op not in names for op, names in dialects.SYNONYMS.items())


def test_synonyms_and_conventions_are_of_ops_in_the_table() -> None:
    from gradcheck.autograd.op import lookup
    from gradcheck.autograd.ops import log  # noqa: F401  (fills the table)

    assert [name for name in (*dialects.SYNONYMS, *dialects.AMBIGUOUS) if lookup(name) is None] == []
