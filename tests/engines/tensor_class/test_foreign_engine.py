"""Whatever an engine does costs one case, and is told as what it is."""

from __future__ import annotations

from functools import partial, partialmethod
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.lib.mixins import NDArrayOperatorsMixin

from gradcheck import run
from gradcheck.autograd.op import TABLE
from gradcheck.engines.base import Application
from gradcheck.engines.resolve import adapt
from gradcheck.engines.tensor_class.call_forms import Library
from gradcheck.engines.tensor_class.foreign_engine import methods_called
from gradcheck.errors import Unsupported
from gradcheck.facts import fact
from gradcheck.language.loader import load_text
from gradcheck.reports import Look, render
from gradcheck.reports.phrases import say

CASE = "inputs: {x: [[1, 2, 3], [4, 5, 6]]}\ngraph: {y: x * x + x, loss: y.sum()}\n"
KEEP = "tensor.grad = whole if tensor.grad is None else tensor.grad + whole"
START = "        arrived = {self"
SLEEP = "__import__('time').sleep(9_999)"


@pytest.mark.parametrize(
    "instead",
    [
        "tensor.grad = whole.T",
        "tensor.grad = np.sum(whole)",
        "tensor.grad = whole[None]",
        "tensor.grad = 'a text'",
        "tensor.grad = np.array([object()])",
        "tensor.grad = [[1.0, 2.0], [3.0]]",
        "tensor.grad = np.asarray(whole).astype(int)",
        "tensor.grad = whole * np.nan",
    ],
)
def test_gradients_of_any_kind_fail_and_crash_nothing(variant: Any, check: Any, instead: str) -> None:
    at_times = f"{instead} if np.shape(whole) == (2, 3) else whole"
    assert check(variant((KEEP, at_times)), CASE).status == "failed"


@pytest.mark.parametrize("instead", ["pass", "tensor.grad = 'a text'", "tensor.grad = np.sin(whole)"])
def test_what_is_never_right_is_not_understood(variant: Any, check: Any, instead: str) -> None:
    found = check(variant((KEEP, instead)), CASE)
    assert found.status == "unsupported"
    assert any("not understood" in say(c.mismatch) for c in found.comparisons)


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        ("ZeroDivisionError('no')", "engine_error"),
        ("SystemExit(3)", "engine_error"),
        ("RecursionError()", "recursion"),
        ("KeyError('x')", "engine_error"),
    ],
)
def test_an_exception_is_a_failure_of_its_own_kind(variant: Any, check: Any, raised: str, kind: str) -> None:
    found = check(variant((START, f"        if len(self.makers) == 1:\n            raise {raised}\n{START}")), CASE)
    assert found.status == "failed"
    assert [error.kind for error in found.errors] == [kind]


def test_what_is_not_implemented_is_lacking(variant: Any, check: Any) -> None:
    found = check(variant((START, f"        raise NotImplementedError('no backward of mul')\n{START}")), CASE)
    assert found.status == "unsupported"


ENDLESS_RULE = ("lambda g: g * np.conj(1 - result**2)", f"lambda g: {SLEEP}")


@pytest.mark.parametrize(
    "loop", ["while True: pass", f"while True:\n          try:\n            {SLEEP}\n          except: pass"]
)
def test_an_endless_loop_costs_one_case(variant: Any, loop: str) -> None:
    kind = variant((START, f"        if self.data.sum() > 50:\n         {loop}\n{START}"))
    text = CASE + "---\nname: small\ninputs: {x: [1, 2]}\ngraph: {loss: x.sum()}\n"
    cases, errors = load_text(text, "case.yaml")
    assert not errors
    result = run(cases, engines=[adapt(kind, "mine")], timeout=4.0)
    assert [case.status for case in result.cases] == ["crashed", "passed"]
    assert result.cases[0].errors[0].kind == "timeout"


def test_somebodys_engine_has_a_time_limit_unless_the_run_has_its_own(variant: Any) -> None:
    engine = adapt(variant((START, f"        while self.data.size: {SLEEP}\n{START}")), "mine")
    assert engine.timeout > 0
    engine.timeout = 3.0
    cases, _ = load_text(CASE, "case.yaml")
    (found,) = run(cases, engines=[engine]).cases
    inside = "its add, which was tried,"
    assert found.errors[0].message == fact("ran_out_of_time_inside", seconds=3.0, inside=inside)


@pytest.mark.parametrize("endless", [("result = np.tanh", f"{SLEEP}\n        result = np.tanh"), ENDLESS_RULE])
def test_an_op_that_never_returns_is_told_and_asked_no_more(variant: Any, endless: tuple[str, str]) -> None:
    """It is tried first while the class is learned: the first case is out of time, and says of what; the others are
    judged without it."""
    text = "inputs: {x: [1, 2]}\ngraph: {loss: x.sum()}\n---\nname: again\ninputs: {x: [1, 2]}\n"
    text += (
        "graph: {y: x * x, loss: y.sum()}\n---\nname: with it\ninputs: {x: [1, 2]}\ngraph: {y: tanh(x), l: y.sum()}\n"
    )
    cases, errors = load_text(text, "case.yaml")
    assert not errors
    engine = adapt(variant(endless), "mine")
    result = run(cases, engines=[engine], timeout=4.0)
    assert [case.status for case in result.cases] == ["crashed", "passed", "unsupported"]
    assert result.cases[0].errors[0].message["inside"] == "its tanh, which was tried,"
    assert {c.lacks for c in result.cases[2].comparisons} == {"tanh", ""}


def test_endless_recursion_is_said_to_be_that(variant: Any, check: Any) -> None:
    deeper = "    def deeper(self):\n        return self.deeper()\n\n    def sum(self):"
    kind = variant((START, f"        len(self.makers) == 1 and self.deeper()\n{START}"), ("    def sum(self):", deeper))
    found = check(kind, CASE)
    assert [error.kind for error in found.errors] == ["recursion"]


def test_a_changed_input_is_a_failure(variant: Any, check: Any) -> None:
    found = check(
        variant((START, f"        self.makers[0][0].data[...] = 7\n{START}")),
        "inputs: {x: [1, 2]}\ngraph: {y: x.sum()}\n",
    )
    (changed,) = [c for c in found.comparisons if c.mismatch and c.mismatch.kind == "input_changed"]
    assert (changed.what, changed.status, changed.tensor) == ("value", "failed", "x")
    assert changed.got_array is not None
    assert changed.got_array.tolist() == [7, 7]


def test_what_it_prints_is_shown_on_failure_only(variant: Any, capfd: pytest.CaptureFixture[str]) -> None:
    loud = (START, f"        print('pass it on')\n{START}")
    cases, _ = load_text(CASE, "case.yaml")
    fine = run(cases, engines=[adapt(variant(loud), "mine")])
    assert capfd.readouterr() == ("", "")
    assert fine.cases[0].output["mine"].startswith("pass it on\n")
    assert "pass it on" not in render(fine, "full", Look())
    failing = run(
        cases, engines=[adapt(variant(loud, (KEEP, "tensor.grad = (1 + (np.shape(whole) == (2, 3))) * whole")), "mine")]
    )
    text = render(failing, "full", Look())
    assert "  mine printed:\n" in text
    assert "    pass it on\n" in text


def test_what_it_lacks_is_listed_once(variant: Any) -> None:
    ops = ["softmax(x, 1)", "softmax(x * x, 1)", "exp(x)", "x + x"]
    text = "\n---\n".join(
        f"name: c{i}\ninputs: {{x: [[1, 2]]}}\ngraph: {{y: '{op}', z: y.sum()}}" for i, op in enumerate(ops)
    )
    cases, errors = load_text(text, "case.yaml")
    assert not errors
    result = run(cases, engines=[adapt(variant(), "mine")])
    assert [case.status for case in result.cases] == ["unsupported"] * 3 + ["passed"]
    for form in ("full", "concise"):
        text = " ".join(render(result, form, Look()).split())
        assert text.count("mine cannot run 3 of 4 cases; one more feature adds cases: softmax (2), exp (1) ") == 1
    assert result.exit_code == 0


def test_shapes_that_do_not_go_together_are_what_a_case_may_ask_for(variant: Any, check: Any) -> None:
    text = "inputs: {x: [1, 2, 3], y: [1, 2]}\ngraph: {z: x + y, loss: z.sum()}\n"
    text += "steps: [{backward: loss, raises: shape_mismatch}]\n"
    assert check(variant(), text).status == "passed"


def test_a_slip_is_no_refusal(variant: Any, check: Any) -> None:
    """An AttributeError where the case asks for an error is not that error."""
    text = "inputs: {x: [1, 2]}\ngraph: {y: x * x}\nsteps: [{backward: y, raises: non_scalar_backward}]\n"
    assert check(variant(), text).status == "passed"
    slip = variant(('raise ValueError("only', 'raise AttributeError("only'))
    assert check(slip, text).status == "failed"


def test_a_class_of_another_precision_is_held_to_its_own(variant: Any, check: Any) -> None:
    kind = variant(("np.asarray(data)", "np.asarray(data, dtype=np.float32)"))
    engine = adapt(kind, "mine")
    assert engine.own_dtype == "float32"
    with pytest.raises(Unsupported) as caught:
        engine.new(np.ones(2), True)
    assert (caught.value.lacks, caught.value.hint) == ("float64", "run with --dtype float32")
    assert check(kind, CASE, dtype="float64").status == "unsupported"
    assert {c.dtype for c in check(kind, CASE).comparisons if c.what == "gradient"} == {"float32"}
    assert check(kind, CASE).status == check(kind, CASE, dtype="float32").status == "passed"


def test_a_class_that_makes_other_shapes_says_which(variant: Any) -> None:
    engine = adapt(variant(("np.asarray(data)", "np.atleast_2d(data)")), "mine")
    with pytest.raises(Unsupported) as caught:
        engine.new(np.ones(2), True)
    assert caught.value.lacks == "tensors of 1 dimensions"


def test_a_single_number_may_have_dimensions(variant: Any, check: Any) -> None:
    engine = adapt(variant(("np.asarray(data)", "np.atleast_1d(data)")), "mine")
    assert engine.new(np.array(2.0), True).shape == ()
    assert check(variant(("np.asarray(data)", "np.atleast_1d(data)")), CASE).status == "passed"


def test_what_is_not_differentiable_stays_an_array(variant: Any) -> None:
    engine = adapt(variant(), "mine")
    assert engine.leaf(np.array([1, 0]), True).tensor is None
    assert engine.native(TABLE["index_select"], np.array([1, 0])).tolist() == [1, 0]
    assert engine.is_tensor(engine.native(TABLE["add"], np.array([1, 0])))  # beside tensors it is one
    assert engine.native(TABLE["sum"], [engine.constant(np.array([1, 0])), 3])[1] == 3


def test_each_op_alone_begins_a_graph(variant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = adapt(variant(), "mine")
    begun: list[int] = []
    assert not engine.capabilities.not_understood
    monkeypatch.setattr(engine, "new_graph", lambda: begun.append(1))
    x = np.array([1.0, 2.0])
    right, wrong = engine.pull_back(
        [Application(TABLE[name], (x,), {}, "y") for name in ("tanh", "exp")], [[np.ones(2)]] * 2, x.dtype
    )
    assert len(begun) == 2
    assert right.error is None
    assert wrong.error is not None
    assert (wrong.error.kind, wrong.error.lacks, wrong.gradients) == ("unsupported", "exp", (None,))


def test_values_by_now_are_the_librarys(variant: Any) -> None:
    engine = adapt(variant(), "mine")
    x = engine.leaf(np.array([1.0, 2.0]), True)
    x.tensor.data[...] = 7
    assert engine.current_values(x).tolist() == [7, 7]
    assert engine.array(x).tolist() == [1, 2]


class Tensor:
    def __add__(self, other: object) -> Tensor:
        return self

    __radd__ = __add__

    def sum(self, axis: int | None = None) -> Tensor:
        return self

    def mean(self) -> Tensor:
        return helper(self.sum()) + 1

    def __truediv__(self, other: object) -> Tensor:
        return self.T + other

    @property
    def T(self) -> Tensor:  # noqa: N802
        return self

    @staticmethod
    def exp(x: Tensor) -> Tensor:
        return x


def helper(x: Tensor) -> Tensor:
    return Tensor.exp(x)


def softmax(x: Tensor) -> Tensor:
    return x.sum()


LIBRARY = Library((SimpleNamespace(softmax=softmax), Tensor))


def test_methods_in_the_order_of_calls_each_once() -> None:
    found = methods_called(LIBRARY, lambda: Tensor().mean())
    assert list(found) == ["mean", "sum", "exp", "add"]
    assert found["mean"] is Tensor.mean.__code__


def test_operators_properties_and_functions_count() -> None:
    assert list(methods_called(LIBRARY, lambda: Tensor() / 2)) == ["div", "T", "add"]
    assert list(methods_called(LIBRARY, lambda: 1 + Tensor())) == ["add"]
    assert list(methods_called(LIBRARY, lambda: softmax(Tensor()))) == ["softmax", "sum"]


def test_an_op_of_a_registered_class_is_its_forward() -> None:
    class Op:
        @classmethod
        def apply(cls, kind: type[Op], x: Tensor) -> Tensor:
            return kind.forward(x)

        @staticmethod
        def forward(x: Tensor) -> Tensor: ...

    class ReLU(Op):
        @staticmethod
        def forward(x: Tensor) -> Tensor:
            return x

    for method in (partialmethod(ReLU.apply, ReLU), partial(Op.apply, ReLU)):
        found = methods_called(Library((SimpleNamespace(relu=method),)), lambda: ReLU.apply(ReLU, Tensor()))
        assert found == {"relu": ReLU.forward.__code__}
    assert list(methods_called(Library((SimpleNamespace(softmax=partial(softmax)),)), lambda: softmax(Tensor()))) == [
        "softmax"
    ]


def test_a_profiler_that_was_there_stays() -> None:
    import sys

    seen: list[str] = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: seen.append(event))
    try:
        methods_called(LIBRARY, lambda: None)
        Tensor().sum()
    finally:
        sys.setprofile(before)
    assert seen


def test_operators_of_numpys_mixin_are_where_the_class_answers_numpy() -> None:
    """Its operators are one piece of code, in a file of NumPy's."""

    class Mixed(NDArrayOperatorsMixin):
        def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **settings: Any) -> Any:
            return ufunc(*(getattr(one, "data", one) for one in given))

    Mixed.data = np.array(1.5)  # type: ignore[attr-defined]
    found = methods_called(Library((Mixed,)), lambda: Mixed() * 2.0)
    assert found == {"__array_ufunc__": Mixed.__array_ufunc__.__code__}
