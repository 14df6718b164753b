"""Ways of calling an op: what they are, what they call, and those that are understood."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import ops  # fills the table
from gradcheck.autograd.op import TABLE
from gradcheck.checks.result import CaseResult
from gradcheck.engines.tensor_class import dialects
from gradcheck.engines.tensor_class.call_forms import (
    OPERATORS,
    SHAPED,
    CallForm,
    FormArgument,
    Library,
    MissingName,
    forms,
    names_of,
)
from tests.paths import WRONG_ENGINES

RIGHT = WRONG_ENGINES / "right.py"
NUMPY = Library((np,))
X = np.arange(6.0).reshape(2, 3)
TENSOR = FormArgument(0)


def labels(name: str, *args: Any, ndim: int = 2, library: Library = NUMPY) -> list[str]:
    return [form.label for form in forms(TABLE[name], TABLE[name].bind(args, {}), ndim, library)]


def test_an_operator_comes_first_and_cannot_be_misunderstood() -> None:
    first, *others = forms(TABLE["add"], (X, X, 1), 2, NUMPY)
    assert (first.label, first.exact) == ("operator add", True)
    assert [form.label for form in others if form.exact] == [".add(…)", "add(…)"]
    assert not any(form.kind == "operator" for form in forms(TABLE["add"], (X, X, 2), 2, NUMPY))  # alpha is a setting


def test_settings_are_given_by_keyword_and_by_position() -> None:
    found = labels("sum", X, 0, True)
    for label in (".sum(dim=…, keepdim=…)", ".sum(axis=…, keepdims=…)", ".sum(…)", ".sum(…, keepdims=…)"):
        assert label in found
    assert not any(form.exact for form in forms(TABLE["sum"], (X, 0, True, None), 2, NUMPY))


def test_no_form_leaves_a_setting_out() -> None:
    for name, args in (("sum", (X, 0, True)), ("std", (X, 0, 0)), ("clamp", (X, 0.5, 2.0)), ("sum", (X, 0))):
        op = TABLE[name]
        bound = op.bind(args, {})
        for form in forms(op, bound, 2, NUMPY):
            given, keywords = form.given(bound, ())
            packed = [one[0] if type(one) is tuple else one for one in (*given, *keywords.values())]  # axes=(0,)
            assert all(any(value is one for one in packed) for value in args), form.label


def test_a_name_that_libraries_use_for_different_things_is_not_exact() -> None:
    assert not any(form.exact for form in forms(TABLE["dot"], (X[0], X[0]), 1, NUMPY) if form.kind != "operator")


@pytest.mark.parametrize("op", [op for op in dialects.SYNONYMS if op in TABLE])
def test_synonyms_come_after_the_ops_own_name(op: str) -> None:
    names = names_of(TABLE[op])
    assert names[0] == op.rpartition(".")[2]
    assert set(dialects.SYNONYMS[op]) <= set(names)


def test_where_tensors_have_no_methods_functions_are_called() -> None:
    assert labels("exp", X, library=Library((np,), methods=False)) == ["exp()", "exp_op()"]


def test_what_takes_a_list_is_no_method() -> None:
    assert not any(label.startswith(".") for label in labels("cat", [X, X]))


def called(form: CallForm, *args: Any, shape: tuple[int, ...] = ()) -> Any:
    return form.call(NUMPY, args, shape)


def test_calls() -> None:
    assert np.array_equal(called(CallForm("operator", "matmul", (TENSOR, FormArgument(1))), X, X.T), X @ X.T)
    assert np.array_equal(
        called(CallForm("method", "sum", (TENSOR,), (("axis", FormArgument(1)),)), X, 0), X.sum(axis=0)
    )
    assert np.array_equal(called(CallForm("function", "exp", (TENSOR,)), X), np.exp(X))
    assert np.array_equal(called(CallForm("method", "T", (TENSOR,)), X), X.T)  # a property
    assert called(CallForm("method", "reshape", (TENSOR, FormArgument(spread=True))), X, shape=(3, 2)).shape == (3, 2)
    assert called(CallForm("function", "transpose", (TENSOR, FormArgument(dims=(1, 0)))), X).shape == (3, 2)


@pytest.mark.parametrize(
    "form",
    [
        CallForm("method", "absent", (TENSOR,)),
        CallForm("function", "absent", (TENSOR,)),
        CallForm("method", "T", (TENSOR, FormArgument(1))),  # a property takes no arguments
    ],
)
def test_what_a_library_has_not_is_absent(form: CallForm) -> None:
    with pytest.raises(MissingName):
        called(form, X, 1)


def test_arguments_as_they_are_written_out() -> None:
    form = CallForm("function", "einsum", (TENSOR, FormArgument(1, spread=True)))
    assert form.given(("ij,jk", [1, 2]), ()) == (["ij,jk", 1, 2], {})
    assert "einsum(…)" in labels("einsum", "ij,jk", [X, X.T])


def test_functions_are_looked_up_in_order() -> None:
    first, second = SimpleNamespace(f=len, g=3), SimpleNamespace(f=max, g=min)
    library = Library((first, second))
    assert (library.function("f"), library.function("g")) == (len, min)
    with pytest.raises(MissingName):
        library.function("h")
    broken = ModuleType("broken")
    broken.__getattr__ = lambda name: 1 / 0  # type: ignore[method-assign, assignment]
    library = Library((broken, first), fallback_modules=(second,))
    assert (library.function("f"), library.function("g"), library.home("g")) == (len, min, second)
    with pytest.raises(MissingName):
        library.function("h")


def value_of(name: str, form: CallForm, bound: tuple[Any, ...]) -> Any:
    """What NumPy gives for a form; None where it has no such thing or means something else by it."""
    try:
        return form.call(NUMPY, bound, np.shape(TABLE[name](*bound)))
    except (MissingName, TypeError, ValueError):
        return None


@pytest.mark.parametrize("name", sorted(SHAPED - {"getitem"}))
def test_shapes_and_orders_of_dimensions_are_asked_for(name: str) -> None:
    settings = {"reshape": ((3, 2),), "view": ((3, 2),), "unflatten": (1, (3, 1)), "expand": ((2, 2, 3),)}
    settings |= {"broadcast_to": ((2, 2, 3),), "permute": ((1, 0),), "transpose": (0, 1), "swapaxes": (0, -1)}
    op = TABLE[name]
    bound = op.bind((X, *settings.get(name, ())), {})
    found = [value_of(name, form, bound) for form in forms(op, bound, 2, NUMPY)]
    assert any(value is not None and np.array_equal(value, op(*bound)) for value in found)


@pytest.mark.parametrize("name", ["T", "mT", "t", "H"])
def test_a_transpose_is_asked_for_as_it_is_written_first(name: str) -> None:
    """A class's rule for `x.T` may be right where that for `x.transpose(1, 0)` is not."""
    assert name not in SHAPED or labels(name, X)[0] == f".{name}()"


def test_an_index_is_asked_for_by_the_operator_alone() -> None:
    assert labels("getitem", X, 0) == ["operator getitem"]
    (mixed,) = forms(TABLE["getitem"], (X, (slice(None), np.array([0]))), 2, NUMPY)
    assert not mixed.exact


def test_operators_are_pythons() -> None:
    assert all(np.array_equal(OPERATORS[name](X, X + 1), ops.__getattr__(name)(X, X + 1)) for name in ("sub", "pow"))


@pytest.mark.parametrize("form", ["sum(0)", "sum(dim=0)", "sum(axis=0)", "sum(1, True)", "sum(axis=-1, keepdims=True)"])
@pytest.mark.parametrize("signature", ["dim=None, keepdim=False", "axis=None, keepdims=False"])
def test_sums_are_written_in_torchs_words_and_in_numpys(
    variant: Callable[..., type], check: Callable[..., CaseResult], form: str, signature: str
) -> None:
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


def test_a_method_that_an_array_has_is_no_op_of_a_tensor_that_is_one() -> None:
    class Kept(np.ndarray):
        def dot(self, other: Any) -> Any:
            return super().dot(other)

    tensor = np.ones((2, 2)).view(Kept)
    library = Library(())
    form = CallForm("method", "dot", (FormArgument(0), FormArgument(1)))
    assert form.call(library, [tensor, tensor], ()).tolist() == [[2, 2], [2, 2]]
    with pytest.raises(MissingName):
        CallForm("method", "clip", (FormArgument(0), FormArgument(1), FormArgument(2))).call(
            library, [tensor, 0, 1], ()
        )
