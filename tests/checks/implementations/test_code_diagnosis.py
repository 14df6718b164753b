"""Why gradients of code are wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.checks.scheduling.run import run
from gradcheck.testing import check_function
from tests.engines.implementation import functions
from tests.engines.implementation.build import AFFINE, TANH, with_code

Z = np.array([1 + 2j, 0.5 - 1j])
MULTIPLIED = "multiplies by the conjugate of the derivative"
_X = np.array([[0.4, -1.1, 0.9], [1.7, 0.2, -0.6]])


def kinds(backward: Any) -> dict[str, str]:
    (found,) = run(with_code(AFFINE, (functions.affine_forward, backward)), allow_code=True).cases
    return {c.tensor: c.diagnoses[0].kind for c in found.comparisons if c.diagnoses}


@pytest.mark.parametrize(
    ("backward", "kind"),
    [
        (lambda g, c: (-g @ c[1].T, c[0].T @ g, g.sum(0)), {"x": "sign"}),
        (lambda g, c: (g @ c[1].T, 2 * c[0].T @ g, g.sum(0)), {"w": "factor"}),
        (lambda g, c: (g @ c[1].T, c[0].T @ g, g), {"b": "broadcast_not_undone"}),
        (lambda g, c: (g @ c[1].T, (c[0].T @ g).T, g.sum(0)), {"w": "transposed"}),
        (lambda g, c: (g @ c[1].T, c[0].T @ g, None), {"b": "detached"}),
    ],
)
def test_the_catalogue_knows_them(backward: Any, kind: dict[str, str]) -> None:
    assert kinds(backward) == kind


def test_nothing_is_explained_where_the_run_does_not_ask() -> None:
    case = with_code(AFFINE, (functions.affine_forward, functions.not_summed))
    (found,) = run(case, allow_code=True, explained=False).cases
    assert not any(c.diagnoses for c in found.comparisons)


def test_a_table_whose_gradients_are_assigned_is_named() -> None:
    def forward(w: Any, i: Any) -> Any:
        return w[i], (w, i)

    def backward(g: Any, cache: Any) -> Any:
        w, i = cache
        dw = np.zeros_like(w)
        dw[i] += g
        return dw

    case = 'inputs: {w: "randn(4, 3)"}\nconstants: {i: [2, 0, 2, 2]}\ngraph: {y: "F.embedding(i, w)"}'
    (found,) = run(with_code(case, (forward, backward)), allow_code=True).cases
    assert {d.kind for c in found.comparisons for d in c.diagnoses} == {"overwritten"}


def test_float32_in_one_part_of_the_gradient_is_named() -> None:
    class Rounds(functions.Tanh):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (y,) = ctx.saved_tensors
            return g * (1 - (y.float() * y.float()).to(y.dtype))

    (found,) = run(with_code(TANH, Rounds.apply), allow_code=True).cases
    facts = [d.message for c in found.comparisons for d in c.diagnoses]
    assert facts
    assert all(f.kind == "computed_in_dtype" and f["dtype"] == "float32" for f in facts)


def test_float32_inside_numpy_is_no_pattern_of_the_numbers() -> None:
    case = 'dims: {n: 3, d: 4}\ninputs: {x: "randn(n, d)"}\ngraph: {y: relu(x) ** 2}'

    def backward(g: Any, x: Any) -> Any:
        return (2 * np.maximum(x, 0)).astype(np.float32).astype(x.dtype) * g

    (found,) = run(with_code(case, (lambda x: np.maximum(x, 0) ** 2, backward)), allow_code=True).cases
    assert {d.kind for c in found.comparisons for d in c.diagnoses} <= {"dtype", "unknown"}


def test_what_is_not_linear_in_what_comes_in_is_told() -> None:
    class Clips(functions.Tanh):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (y,) = ctx.saved_tensors
            return g.clamp(-0.4, 0.4) * (1 - y * y)

    (found,) = run(with_code(TANH, Clips.apply), allow_code=True).cases
    assert "not_linear" in {d.kind for c in found.comparisons for d in c.diagnoses}


def test_a_factor_is_told_in_its_sizes() -> None:
    def mean(g: Any, cache: Any) -> Any:
        dx, dw, db = functions.affine_backward(g, cache)
        return dx, dw, db / len(g)

    (found,) = run(with_code(AFFINE, (functions.affine_forward, mean)), allow_code=True).cases
    told = [d.message for c in found.comparisons if c.tensor == "b" for d in c.diagnoses]
    assert dict(told[0].data)["powers"] == (("n", -1.0),)


@pytest.mark.parametrize(
    ("graph", "backward", "kinds"),
    [
        ("x ** 2 + w", lambda g, c: (g, g), ["incoming_passed_on"]),  # it is also the gradient of w, and of the result
        ("tanh(x) + w - w", lambda g, c: (g, None), ["incoming_passed_on"]),
        ("x * w", lambda g, c: (g * c[0], g * c[0]), ["swapped"]),
    ],
)
def test_a_gradient_that_equals_another_has_one_cause(graph: str, backward: Any, kinds: list[str]) -> None:
    forwards = {"x ** 2 + w": lambda x, w: x**2 + w, "x * w": lambda x, w: x * w}
    forward = forwards.get(graph, lambda x, w: np.tanh(x))
    case = f'inputs: {{x: "randn(2, 3)", w: "randn(2, 3)"}}\ngraph: {{y: {graph}}}'
    (found,) = run(with_code(case, (lambda x, w: (forward(x, w), (x, w)), backward)), allow_code=True).cases
    (failed,) = (c for c in found.comparisons if c.diagnoses)
    assert [one.kind for one in failed.diagnoses] == kinds


def test_a_reshape_in_place_of_a_transpose_is_named() -> None:
    case = 'inputs: {x: "randn(4, 3)", w: "randn(3, 2)"}\ngraph: {y: x @ w}'

    def backward(g: Any, c: Any) -> Any:
        x, w = c
        return g @ w.reshape(2, 3), x.T @ g

    (found,) = run(with_code(case, (lambda x, w: (x @ w, (x, w)), backward)), allow_code=True, trials=0).cases
    messages = [d.message for c in found.comparisons for d in c.diagnoses]
    assert [(one.kind, one["position"]) for one in messages] == [("tensor_reshaped", 1)]


def _largest_of_windows(x: Any) -> Any:
    windows = x.reshape(x.shape[0], -1, 2)
    return windows.max(2), x


def _each_of_the_largest(g: Any, x: Any) -> Any:
    windows = x.reshape(x.shape[0], -1, 2)
    return ((windows == windows.max(2, keepdims=True)) * g[:, :, None]).reshape(x.shape)


class _LargestOfRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        found = x.amax(1)
        ctx.save_for_backward(x, found)
        return found

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        x, found = ctx.saved_tensors
        return (x == found[:, None]) * g[:, None]


def _wrong(*arguments: Any, **inputs: Any) -> str:
    with pytest.raises(AssertionError) as failed:
        check_function(*arguments, **inputs)
    return " ".join(str(failed.value).split())


def test_the_whole_gradient_to_each_of_equal_numbers_is_named() -> None:
    why = "each of several equal numbers gets the whole gradient"
    assert why in _wrong(_largest_of_windows, _each_of_the_largest, x=(4, 6))
    assert why in _wrong(_LargestOfRows.apply, x=(4, 3), spec="amax(x, 1)")


class _Squared(torch.autograd.Function):
    """A matrix product whose gradient is transposed where the matrix is symmetric."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return torch.from_numpy(x.numpy(force=True) @ x.numpy(force=True))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return (g @ x + x @ g).mT


def test_given_arrays_are_diagnosed_where_they_are() -> None:
    x = torch.randn(4, 4, dtype=torch.float64)
    x = (x + x.mT).requires_grad_()
    assert "it is the transpose of what is right" in _wrong(_Squared.apply, x=x)


def _two(x: Any) -> Any:
    first, second = np.zeros_like(x), np.zeros_like(x)
    first[:], second[:] = np.sin(x), x**2  # torch does not follow it
    return first, second, x


def test_code_with_several_results_is_diagnosed() -> None:
    why = _wrong(_two, lambda dy, dz, x: -(dy * np.cos(x) + 2 * dz * x), x=(3, 4))
    assert "the sign is wrong" in why


class _HardSigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return (x + 3).clamp(0, 6) / 6

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g[0] * (x.abs() <= 3)


class _Clipped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.clamp(0, 1)

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g[0] * (x > 0)


@pytest.mark.parametrize(
    ("code", "spec", "cause", "contradicted"),
    [
        (_HardSigmoid, "F.hardsigmoid(x)", "off by the constant factor 6", "passed on as it is"),
        (_Clipped, "clamp(x, 0, 1)", "x >= 0 where (x >= 0) & (x <= 1) belongs", "stands where its derivative"),
    ],
)
def test_a_cause_that_holds_in_one_branch_alone_is_contradicted(
    code: Any, spec: str, cause: str, contradicted: str
) -> None:
    with pytest.raises(AssertionError) as failed:
        check_function(code.apply, x=(5,) if code is _Clipped else (4, 3), spec=spec)
    told = " ".join(str(failed.value).split())
    assert cause in told
    assert contradicted not in told


def square_of_hips(pulled: Callable[[Any, Any], Any]) -> Any:
    from autograd.extend import defvjp, primitive

    square = primitive(lambda z: z * z)
    defvjp(square, lambda result, z: lambda g: pulled(g, z))
    return square


@pytest.mark.parametrize("spec", [None, "z * z"])
def test_the_derivative_itself_is_right_and_its_conjugate_is_named(spec: str | None) -> None:
    pytest.importorskip("autograd")
    check_function(square_of_hips(lambda g, z: 2 * z * g), z=Z, spec=spec)
    with pytest.raises(AssertionError, match=MULTIPLIED):
        check_function(square_of_hips(lambda g, z: 2 * z.conj() * g), z=Z, spec=spec)


def test_a_conjugated_incoming_gradient_is_another_mistake() -> None:
    pytest.importorskip("autograd")
    with pytest.raises(AssertionError) as failure:
        check_function(square_of_hips(lambda g, z: 2 * z * g.conj()), z=Z)
    assert MULTIPLIED not in str(failure.value)


def test_a_real_number_of_complex_ones_is_diagnosed() -> None:
    """A loss is an array without dimensions, whose conjugate is no array in NumPy."""
    pytest.importorskip("autograd")
    from autograd.extend import defvjp, primitive

    def loss(pulled: Callable[[Any], Any]) -> Any:
        norm = primitive(lambda z: np.sum(np.abs(z) ** 2))
        defvjp(norm, lambda result, z: lambda g: g * pulled(z))
        return norm

    check_function(loss(lambda z: 2 * z.conj()), z=Z)
    with pytest.raises(AssertionError, match=MULTIPLIED):
        check_function(loss(lambda z: 2 * z), z=Z)
    with pytest.raises(AssertionError, match="cause: off by the constant factor 1/2"):
        check_function(loss(lambda z: z.conj()), z=Z)


def _causes(derivative: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        check_function(lambda x: (np.sin(x), x), lambda g, x: g * derivative(x), x=_X)
    return str(caught.value).partition("in Python")[0]


@pytest.mark.parametrize("size", [1e-3, 1e-7])
def test_a_smooth_error_is_no_precision(size: float) -> None:
    text = _causes(lambda x: np.cos(x) + size * np.sin(3 * x) * np.exp(-x * x))
    assert "no known mistake explains it" in text
    assert "computed in" not in text


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_an_error_of_rounding_is(dtype: str) -> None:
    text = _causes(lambda x: (np.cos(x.astype(dtype)) * np.ones(1, dtype)).astype(x.dtype))
    assert f"computed in {dtype}" in text


@pytest.mark.parametrize("spec", [None, "tanh(x)"])
def test_an_error_of_the_search_is_told(monkeypatch: pytest.MonkeyPatch, spec: str | None) -> None:
    def breaks(*_: object) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setattr("gradcheck.checks.implementations.code_diagnosis.diagnose", breaks)
    with pytest.raises(AssertionError) as told:
        check_function(functions.WrongSign.apply, x=(3,), spec=spec)
    text = " ".join(str(told.value).split())
    assert "where it comes from was not found out: IndexError: list index out of range" in text


class _Exponential(torch.autograd.Function):
    """Of the length: the factor 3 is the number of elements at one size alone."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return torch.exp(-torch.sqrt((x * x).sum()))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        length = torch.sqrt((x * x).sum())
        return -3 * g * x / length * torch.exp(-length)


def test_a_factor_is_no_size_that_it_equals_here_alone() -> None:
    with pytest.raises(AssertionError, match=r"off by the constant factor 3\n") as told:
        check_function(_Exponential.apply, x=(3,))
    assert "number of elements" not in str(told.value)


class _WrongBelow(torch.autograd.Function):
    """The gradient of negative numbers is wrong, wherever they stand."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return torch.where(x > 0, torch.sin(x), x**3)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return g * torch.where(x > 0, torch.cos(x), x**2 + x**4)


@pytest.mark.parametrize("numbers", [[-1.1, 0.3, 0.7, 0.2, -0.5], [0.3, -1.1, -0.7, -0.2, 0.5]])
@pytest.mark.parametrize("spec", [None, "where(x > 0, sin(x), x ** 3)"])
def test_numbers_that_stand_together_are_no_place(numbers: list[float], spec: str | None) -> None:
    x = torch.tensor(numbers, dtype=torch.float64, requires_grad=True)
    with pytest.raises(AssertionError) as told:
        check_function(_WrongBelow.apply, x=x, spec=spec)
    assert "slices" not in str(told.value)
    assert "border" not in str(told.value)
