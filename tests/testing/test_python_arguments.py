"""Operands among the arguments of Python calls."""

from __future__ import annotations

import functools
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from gradcheck.errors import UsageError
from gradcheck.testing import check_function, gradcheck
from gradcheck.testing.python_arguments import split_arguments, with_named_sizes

F64 = torch.float64
Pair = namedtuple("Pair", "first second")


def _tensor(*shape: int, seed: int = 0) -> torch.Tensor:
    made = torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))
    return made.requires_grad_()


class Affine(torch.autograd.Function):
    """`a * x @ w`, plus a bias if there is one."""

    factor = 1.0  # of the gradient of w

    @classmethod
    def twice(cls) -> type:
        return type("Wrong", (cls,), {"factor": 2.0})

    @staticmethod
    def forward(ctx: Any, x: Any, w: Any, b: Any, a: float, keep: bool) -> Any:
        ctx.save_for_backward(x, w)
        ctx.a, ctx.has_bias = a, b is not None
        y = a * x @ w
        return y if b is None else y + b

    @classmethod
    def backward(cls, ctx: Any, g: Any) -> Any:
        x, w = ctx.saved_tensors
        dw = ctx._forward_cls.factor * ctx.a * x.T @ g
        return ctx.a * g @ w.T, dw, g.sum(0) if ctx.has_bias else None, None, None


class Noise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, generator: Any, power: int) -> Any:
        mask = torch.rand(x.shape, generator=generator, dtype=x.dtype)
        ctx.save_for_backward(mask)
        ctx.power = power
        return x * mask

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0] ** ctx.power, None, None


#: A call for right and, where there is one, for wrong code.
CALLS: dict[str, Any] = {
    "None, a number, a truth value": lambda f: gradcheck(f.apply, (_tensor(3, 4), _tensor(4, 2), None, 0.5, True)),
    "a list": lambda f: gradcheck(lambda l: f.apply(*l, None, 0.5, True), ([_tensor(3, 4), _tensor(4, 2)],)),
    "a dict": lambda f: gradcheck(
        lambda d: f.apply(d["x"], d["w"], None, d["a"], True), ({"x": _tensor(3, 4), "w": _tensor(4, 2), "a": 2.0},)
    ),
    "a named tuple": lambda f: gradcheck(
        lambda p: f.apply(p.first, p.second, None, 0.5, True), (Pair(_tensor(3, 4), _tensor(4, 2)),)
    ),
    "names": lambda f: check_function(f.apply, x=(3, 4), w=(4, 2), b=None, a=0.5, keep=True),
    "names and a specification": lambda f: check_function(
        f.apply, x=(3, 4), w=(4, 2), b=None, a=0.5, keep=True, spec="a * x @ w"
    ),
    "partial": lambda f: gradcheck(
        functools.partial(lambda x, w, a: f.apply(x, w, None, a, True), a=3.0), (_tensor(3, 4), _tensor(4, 2))
    ),
    "nested results": lambda f: gradcheck(
        lambda x, w: {"a": None, "b": [x.sin(), (f.apply(x, w, None, 0.5, True), 3)]}, (_tensor(3, 4), _tensor(4, 2))
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_arguments_that_are_no_operands_are_handed_on(name: str) -> None:
    CALLS[name](Affine)
    with pytest.raises(AssertionError, match=r"gradient of (w|x1|x0_1|x0_w)\b"):
        CALLS[name](Affine.twice())


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (F.leaky_relu, (_tensor(3, 4), 0.1)),
        (F.mse_loss, (_tensor(3), _tensor(3, seed=1), None, None, "sum")),
        (lambda x, dtype: x.to(dtype).sin(), (_tensor(3), F64)),
        (lambda x, dims: x.sum(dims), (_tensor(3, 2, 2), (0, 2))),
        (
            lambda x, modules: modules[1](modules[0](x)),
            (_tensor(2, 4), [torch.nn.Linear(4, 3).double(), torch.nn.Tanh()]),
        ),
        (
            lambda x, m, v: F.batch_norm(x, m, v, training=True),
            (_tensor(5, 3), torch.zeros(3, dtype=F64), torch.ones(3, dtype=F64)),
        ),
        (lambda x, a: torch.sparse.mm(a, x), (_tensor(3, 2), torch.eye(3, dtype=F64).to_sparse())),
        (lambda x: (None, x * 2), (_tensor(3),)),
        (torch.max, (_tensor(3, 4), 1)),
    ],
)
def test_right_code_passes_with_any_arguments(function: Any, arguments: Any) -> None:
    assert gradcheck(function, arguments)


def test_a_generator_starts_each_call_in_the_same_state() -> None:
    generator = torch.Generator().manual_seed(3)
    assert gradcheck(Noise.apply, (_tensor(3, 4), generator, 1))
    with pytest.raises(AssertionError, match="gradient of x0"):
        gradcheck(Noise.apply, (_tensor(3, 4), generator, 2))


@pytest.mark.parametrize(
    ("value", "is_operand"),
    [
        ((2, 3), True),
        ("uniform(0, 1, [3])", True),
        ("randn(3", True),  # a slip, which the report is about
        (np.ones(2), True),
        (torch.ones(2), True),
        ("sum", False),
        ("ij,jk->ik", False),
        ("nearest-exact", False),
        (0.5, False),
        (np.float64(0.5), False),
        ([2, 3], False),
        ((0.5, 1.0), False),
        (None, False),
        (torch.float32, False),
    ],
)
def test_tensors_shapes_and_creators_are_operands(value: Any, is_operand: bool) -> None:
    found = split_arguments({"x": (3,), "p": value}, None)
    assert ("p" in found.operands, "p" in found.arguments.objects) == (is_operand, not is_operand)
    if not is_operand:
        assert found.arguments.objects["p"] is value


def test_a_specification_gets_the_values_that_it_names() -> None:
    given = {"x": (3,), "a": np.float64(0.5), "dims": [0, 1], "w": [0.5, 1.0], "how": "sum"}
    found = split_arguments(given, "F.mse_loss((a * x).sum(dims), w, reduction=how)")
    assert found.spec == "mse_loss(sum(0.5 * x, [0, 1]), w, reduction='sum')"
    assert list(found.operands) == ["x", "w"]


def test_results_without_a_gradient_are_constant() -> None:
    assert gradcheck(torch.round, _tensor(3))
    with pytest.raises(AssertionError, match="gradient of x0"):
        gradcheck(lambda x: 2 * x.detach(), _tensor(3))
    with pytest.raises(AssertionError, match="no gradient arrived"):
        check_function(lambda x: 2 * x.detach(), x=(3,), spec="2 * x")


def test_without_an_operand_there_is_nothing_to_check() -> None:
    with pytest.raises(UsageError, match="no argument has a gradient"):
        check_function(F.leaky_relu, x=0.5)
    with pytest.raises(UsageError, match=r"layout torch\.sparse_coo requires a gradient"):
        gradcheck(torch.sparse.mm, (torch.eye(3, dtype=F64).to_sparse().requires_grad_(), _tensor(3, 2)))


def test_arguments_go_by_the_names_of_parameters() -> None:
    def scaled(x: Any, power: int = 1, *, factor: float = 1.0) -> Any:
        return factor * x**power

    def spoiled(x: Any, power: int = 1, *, factor: float = 1.0) -> Any:
        return scaled(x, power, factor=factor) + (x - x.detach())

    check_function(scaled, factor=3.0, x=(3,))
    check_function(scaled, anything=(3,), power=3)
    check_function(torch.logsumexp, input=(3, 4), dim=1, keepdim=True)
    with pytest.raises(AssertionError, match="gradient of x"):
        check_function(spoiled, factor=3.0, x=(3,))


def test_a_specification_that_is_a_pair_is_told() -> None:
    with pytest.raises(AssertionError, match="index it first"):
        check_function(lambda x: x.max(-1)[0] ** 2, x=(3, 4), spec="max(x, -1) ** 2")
    check_function(lambda x: x.max(-1)[0] ** 2, x=(3, 4), spec="max(x, -1)[0] ** 2")


class _Wrapper(torch.Tensor):
    """A tensor around another one, which has no memory of its own."""

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> _Wrapper:
        make: Any = torch.Tensor._make_wrapper_subclass  # type: ignore[attr-defined]
        made: _Wrapper = make(cls, inner.shape, dtype=inner.dtype, requires_grad=True)
        made.inner = inner  # type: ignore[attr-defined]
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        inner = [one.inner if isinstance(one, _Wrapper) else one for one in args]
        found = func(*inner, **(kwargs or {}))
        return _Wrapper(found) if isinstance(found, torch.Tensor) else found


def test_a_tensor_that_does_not_give_its_numbers_is_a_sentence() -> None:
    with pytest.raises(UsageError, match="a _Wrapper does not give its numbers"):
        gradcheck(torch.sin, _Wrapper(torch.ones(2, dtype=F64)))


def test_other_arguments_become_keywords_where_any_are_taken() -> None:
    def scaled(x: torch.Tensor, **settings: float) -> torch.Tensor:
        return x * settings["by"]

    assert check_function(scaled, x=(3,), by=2.0).exit_code == 0


def test_a_tensor_that_the_specification_does_not_name_is_handed_on() -> None:
    low, high = torch.tensor(-1.0), torch.tensor(1.0)
    given = {"x": (4, 3), "low": low, "high": high}
    split = split_arguments(given, "clamp(x, -1, 1)")
    assert list(split.operands) == ["x"]
    check_function(torch.clamp, **given, spec="clamp(x, -1, 1)")
    assert list(split_arguments(given, "clamp(x, low, high)").operands) == ["x", "low", "high"]


@pytest.mark.parametrize(
    ("name", "value", "spec"),
    [
        ("kernel_size", (2, 3), "F.avg_pool2d(x, kernel_size)"),
        ("shape", torch.Size([1, 2, 30]), "reshape(x, shape)"),
        ("dims", (0, 2), "sum(x, dims)"),
    ],
)
def test_a_tuple_for_a_setting_is_no_shape_of_an_input(name: str, value: Any, spec: str) -> None:
    split = split_arguments({"x": (1, 2, 5, 6), name: value}, spec)
    assert list(split.operands) == ["x"]
    assert split.arguments.objects[name] == value


@pytest.mark.parametrize("unnamed", [(np.ones(3),), ((5, 3), 2.0), (None, np.ones(3))])
def test_inputs_without_names_are_told_to_have_some(unnamed: Any) -> None:
    with pytest.raises(UsageError, match="takes its inputs by name"):
        check_function(torch.mul, *unnamed)


@pytest.mark.parametrize("spec", [None, "x * s + t"])
def test_a_size_that_a_creator_writes_varies_with_that_of_a_shape(spec: str | None) -> None:
    seen = set()

    def called(x: torch.Tensor, s: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        seen.add((tuple(x.shape), tuple(s.shape), tuple(t.shape)))
        return x * s + t

    check_function(called, x=(5, 3), s="uniform(0.2, 1, [5, 1])", t="randn(3) / 2", spec=spec)
    assert {x[0] for x, _, _ in seen} > {1, 5}
    assert all(s == (x[0], 1) and t == x[1:] for x, s, t in seen)


def test_numbers_of_a_creator_that_are_no_sizes_stay() -> None:
    sizes: dict[str, int] = {}
    assert with_named_sizes("randint(0, 4, [5]) + 2 * ones(3)", sizes) == "randint(0, 4, [n5]) + 2 * ones(n3)"
    assert with_named_sizes("normal(2, 3, size=[7, 1])", sizes) == "normal(2, 3, size=[n7, 1])"
    assert with_named_sizes("eye(3) + [[4]]", sizes) == "eye(3) + [[4]]"
    assert sizes == {"n5": 5, "n3": 3, "n7": 7}
