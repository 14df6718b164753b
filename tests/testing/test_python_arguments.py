"""Operands among the arguments of Python calls."""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from gradcheck.engines.implementation.code_kinds import code_of
from gradcheck.errors import UsageError
from gradcheck.testing import check_function, gradcheck
from gradcheck.testing.python_arguments import own_parameters, split_arguments, with_named_sizes
from tests.engines.implementation import layers

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


class Linear(torch.autograd.Function):
    factor = 1

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, w)
        return x @ w.t()

    @classmethod
    def backward(cls, ctx: Any, g: torch.Tensor) -> Any:
        x, w = ctx.saved_tensors
        return g @ w, cls.factor * g.t() @ x


class Doubled(Linear):
    factor = 2


class Layer(torch.nn.Module):
    def __init__(self, function: Any = Linear) -> None:
        super().__init__()
        self.function = function
        self.weight = torch.nn.Parameter(torch.randn(5, 3))
        self.bias = torch.nn.Parameter(torch.randn(5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function.apply(x, self.weight) + self.bias  # type: ignore[no-any-return]


X = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
WAYS: dict[str, Callable[[Layer], None]] = {
    "a shape": lambda layer: check_function(layer, x=(4, 3)) and None,
    "a tensor": lambda layer: check_function(layer, x=X) and None,
    "given": lambda layer: check_function(layer, x=(4, 3), weight=(5, 3)) and None,
    "inside": lambda layer: check_function(torch.nn.Sequential(torch.nn.Tanh(), layer), x=(4, 3)) and None,
    "mentioned": lambda layer: check_function(lambda x: layer(x), x=(4, 3)) and None,
    "a method": lambda layer: check_function(layer.forward, x=(4, 3)) and None,
    "specified": lambda layer: check_function(layer, x=(4, 3), spec="x @ weight.T + bias") and None,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_parameters_gradient_is_checked(way: str) -> None:
    WAYS[way](Layer())
    with pytest.raises(AssertionError, match=r"gradient of (module_1_)?weight: .* differs"):
        WAYS[way](Layer(Doubled))


def test_parameters_are_contiguous_where_inputs_are_not() -> None:
    """torch's batch norm computes other numbers with a weight that is not."""
    check_function(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)), x=(4, 2))


def test_so_is_that_of_a_module_among_the_arguments() -> None:
    for wrong, right in (
        (lambda: check_function(lambda m, x: m(x), m=Layer(Doubled).double(), x=X), Layer().double()),
        (lambda: check_function(lambda m, x: m[0](x), m=[Layer(Doubled).double()], x=X), [Layer().double()]),
    ):
        with pytest.raises(AssertionError, match=r"gradient of weight: .* differs"):
            wrong()
        check_function(lambda m, x: (m[0] if isinstance(m, list) else m)(x), m=right, x=X)


KINDS = [
    layers.Affine,
    layers.InDicts,
    layers.InLists,
    layers.OfParameters,
    layers.StoresAll,
    layers.ReturnsAll,
    layers.ReturnsByName,
    layers.ReturnsList,
    layers.ReturnsMapping,
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_layers_own_gradients_are_checked(kind: type) -> None:
    check_function(kind(), x=(2, 3))
    with pytest.raises(AssertionError, match=r"gradient of (W|params_0): .* differs"):
        check_function(layers.wrong(kind)(), x=(2, 3))


class Doubles:
    """A layer without parameters that returns an empty list of their gradients."""

    def forward(self, x: Any, factor: float = 1.0, save: bool = False) -> Any:
        self.factor = factor if save else None
        return factor * x

    def backward(self, dout: Any) -> Any:
        return dout * self.factor, []


def test_a_layer_without_parameters_may_return_an_empty_list() -> None:
    layer = Doubles()
    check_function(partial(layer.forward, factor=3.0, save=True), layer.backward, x=(2, 3), spec="3 * x")


def test_a_method_in_a_partial_is_one_of_its_layer() -> None:
    for kind in (layers.Affine, layers.wrong(layers.Affine)):
        layer = kind()
        layer.forward(np.ones((2, 3)))
        forward, backward = partial(layer.forward), partial(layer.backward)
        if kind is layers.Affine:
            check_function(forward, backward, x=(2, 3), spec="x @ W + b")
        else:
            with pytest.raises(AssertionError, match=r"gradient of W: .* differs"):
                check_function(forward, backward, x=(2, 3))


def test_so_are_those_of_layers_inside_of_a_layer() -> None:
    check_function(layers.OfLayers(), x=(2, 3))
    with pytest.raises(AssertionError, match=r"gradient of (W1|layers_0_W): .* differs"):
        check_function(layers.OfLayers(layers.wrong(layers.Affine)), x=(2, 3))


def test_a_layer_is_compared_with_a_specification() -> None:
    layer = layers.Affine()
    check_function(layer, x=(2, 3), spec="x @ W + b")
    check_function(layer.forward, layer.backward, x=(2, 3), W=(3, 4), b=(4,), spec="x @ W + b")
    with pytest.raises(AssertionError, match=r"gradient of W: .* differs from torch"):
        check_function(layers.wrong(layers.Affine), x=(2, 3), spec="x @ W + b")


def test_a_layers_parameter_without_a_gradient_is_named() -> None:
    found = check_function(layers.Forgets(), x=(2, 3))
    notes = [note for c in found.cases[0].comparisons for note in c.notes if note.kind == "parameters_unchecked"]
    assert [note["names"] for note in notes] == [("W",)]


@pytest.mark.parametrize("factor", [1, 2])
@pytest.mark.parametrize("is_flat", [False, True])
def test_a_pair_may_take_a_dict_of_parameters(factor: int, is_flat: bool) -> None:
    def forward(x: Any, params: Any) -> Any:
        return x @ params["W"] + params["b"], (x, params)

    def backward(dout: Any, cache: Any) -> Any:
        x, params = cache
        dx, grads = dout @ params["W"].T, {"dW": factor * x.T @ dout, "db": dout.sum(0)}
        return {"dx": dx, **grads} if is_flat else (dx, grads)

    params = {"W": layers.RANDOM.standard_normal((3, 4)), "b": np.zeros(4)}
    if factor == 1:
        check_function(forward, backward, x=np.ones((2, 3)), params=params)
        return
    with pytest.raises(AssertionError, match=r"gradient of params_W: .* differs"):
        check_function(forward, backward, x=np.ones((2, 3)), params=params)


def test_a_backward_that_changes_a_parameter_fails() -> None:
    class Learns(layers.Affine):
        def backward(self, dout: Any) -> Any:
            found = super().backward(dout)
            self.W -= 0.1 * self.dW
            return found

    with pytest.raises(AssertionError, match="changes its argument W in place"):
        check_function(Learns(), x=(2, 3))


def test_the_module_stays_as_it_was() -> None:
    layer = Layer()
    before = layer.weight.detach().clone()
    check_function(layer, x=(4, 3))
    assert layer.weight.dtype is torch.float32
    assert torch.equal(layer.weight, before)


def test_one_that_the_specification_does_not_mention_is_named() -> None:
    found = check_function(torch.nn.LayerNorm(3), x=(4, 3), spec="F.layer_norm(x, [3])")
    notes = [note for c in found.cases[0].comparisons for note in c.notes if note.kind == "parameters_unchecked"]
    assert [note["names"] for note in notes] == [("weight", "bias")]


def test_parameters_are_at_least_as_precise_as_what_is_given() -> None:
    code = code_of(Layer(), None, "layer")
    assert own_parameters(code, {"x": (4, 3)}, None)["weight"].dtype == np.float64
    assert own_parameters(code, {"x": X}, None)["weight"].dtype == np.float64
    assert own_parameters(code, {"x": X.detach().float()}, None)["weight"].dtype == np.float32
    assert set(own_parameters(code, {"x": (4, 3), "weight": (5, 3)}, None)) == {"bias"}
    assert set(own_parameters(code, {"x": (4, 3)}, "x @ weight.T")) == {"weight"}


class _NewScale:
    """A layer as its author makes it: its scale is 1, and its backward forgets it."""

    def __init__(self, is_right: bool) -> None:
        self.scale, self.dscale, self.is_right = np.ones(3), np.zeros(3), is_right

    def forward(self, x: Any) -> Any:
        self.x = x
        return self.x * self.scale

    def backward(self, g: Any) -> Any:
        self.dscale = (g * self.x).sum(0)
        return g * self.scale if self.is_right else g


def test_a_factor_of_1_is_moved() -> None:
    check_function(_NewScale(is_right=True), x=(4, 3))
    layer = _NewScale(is_right=False)
    with pytest.raises(AssertionError, match="gradient of x"):
        check_function(layer, x=(4, 3))
    assert np.all(layer.scale == 1)


class Scaled(torch.autograd.Function):
    """`x * by`, with a gradient of `by` that is wrong, or none."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, by: torch.Tensor, wrong: float | None) -> torch.Tensor:
        ctx.save_for_backward(x, by)
        ctx.wrong = wrong
        return x * by

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        x, by = ctx.saved_tensors
        return g * by, None if ctx.wrong is None else ctx.wrong * (g * x).sum(), None


@pytest.mark.parametrize("spec", [None, "x * by"])
def test_a_tensor_without_a_gradient_beside_a_shape_is_constant(spec: str | None) -> None:
    found = check_function(Scaled.apply, x=(4, 3), by=torch.tensor(0.5, dtype=F64), wrong=None, spec=spec)
    notes = [note for one in found.cases[0].comparisons for note in one.notes if note.kind == "results_constant"]
    assert [note["names"] for note in notes] == [("by",)]


def test_the_result_need_not_have_the_shape_of_the_first_input() -> None:
    by = torch.tensor(0.5)
    choices = {"dtypes": ["float32"]}
    check_function(lambda x, y, by: Scaled.apply(x * y, by, None), x=(3,), y=(4, 3), by=by, choices=choices)


@pytest.mark.parametrize("asks", [False, True])
def test_a_gradient_that_arrives_is_checked(asks: bool) -> None:
    by = torch.tensor(0.5, dtype=F64, requires_grad=asks)
    check_function(Scaled.apply, x=(4, 3), by=by, wrong=1.0)
    with pytest.raises(AssertionError, match="gradient of by"):
        check_function(Scaled.apply, x=(4, 3), by=by, wrong=2.0)


@pytest.mark.parametrize(
    "given", [{"x": (4, 3), "requires": True}, {"x": torch.ones(4, 3, dtype=F64), "requires": False}]
)
def test_a_gradient_that_is_due_and_missing_fails(given: dict[str, Any]) -> None:
    by = torch.tensor(0.5, dtype=F64, requires_grad=given["requires"])
    with pytest.raises(AssertionError, match="gradient of by"):
        check_function(Scaled.apply, x=given["x"], by=by, wrong=None)
