"""What torch takes as each argument: all of the table against torch, and what is said of the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE, Op
from gradcheck.engines.torch import Torch
from gradcheck.errors import ArgumentError, DtypeMismatch, TensorError, Unsupported
from gradcheck.language.evaluation.argument_kinds import check_kinds, holds_tensor, kinds_of
from gradcheck.language.evaluation.evaluate import evaluate, program
from gradcheck.language.evaluation.host import NUMPY, OpCall, apply
from gradcheck.language.expr.nodes import Call
from gradcheck.language.expr.parser import parse
from gradcheck.language.random_streams import RANDOM_OPS, RandomHost, stream
from tests.samples import samples
from tests.tables import for_each_by_family

#: What is put in the place of each argument in turn.
OTHERS: dict[str, Any] = {
    "an integer": 2,
    "a float": 0.5,
    "a boolean": True,
    "None": None,
    "a text": "abc",
    "a list": [0.5, 1.5],
    "several": (np.ones((2, 3)), np.ones((2, 3))),
    "a vector": np.array([2.0]),
    "a scalar": np.array(1.5),
}
#: The same, of ops that load when asked for: what torch calls inside only and is checked by nobody, drivers and norms
#: that only other devices have, numbers that its own reductions cannot mask, and True for the number 1.
_RARE = """
    _native_batch_norm_legit:training _softmax_backward_data:grad_output _softmax_backward_data:output
    _softmax_backward_data:input_dtype _unsafe_masked_index:input _unsafe_masked_index:fill
    max_pool2d_with_indices_backward:padding max_pool2d_with_indices_backward:dilation
    linalg.svd:driver linalg.cond:p fft.fftshift:input fft.ifftshift:input
    masked.amax:input masked.amin:input masked.logsumexp:input masked.mean:input masked.norm:input masked.prod:input
    masked.std:input masked.sum:input masked.var:input narrow:start narrow_copy:start slice_scatter:start
"""
#: Ops of which torch refuses more than a kind of value: ranks, other arguments beside it, numbers that do not do.
MORE = frozenset(
    {
        *((name, parameter) for name in ("type", "to") for parameter in ("input", "dtype")),
        ("triplet_margin_loss", "anchor"),
        ("triplet_margin_loss", "positive"),
        ("triplet_margin_loss", "negative"),
        ("soft_margin_loss", "input"),
        ("arange", "step"),
        ("tensor", "data"),
        ("linalg.matrix_norm", "ord"),
        ("linalg.norm", "ord"),
        *((name, "dim") for name in ("var", "std", "var_mean", "std_mean")),
        *((name, "keepdim") for name in ("max", "min", "prod", "sum", "mean")),  # it is read off the text
        *((name, "unbiased") for name in ("var_mean", "std_mean")),
        *((name, "stable") for name in ("sort", "argsort")),
        ("linalg.vecdot", "x"),
        *(tuple(entry.split(":")) for entry in _RARE.split()),
    }
)


def application(text: str) -> OpCall:
    found = program(parse(text))[-1][1]
    assert isinstance(found, OpCall)
    return found


def call_of(op: Op) -> Call | None:
    """The op's first sample, where it is a call of the op alone."""
    expr = parse(samples(op)[0])
    return expr if isinstance(expr, Call) and expr.op == op.name else None


def in_torch(engine: Torch, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(in_torch(engine, one) for one in value)
    return engine.leaf(value, False) if isinstance(value, np.ndarray) else value


def refused(call: OpCall, given: list[Any], host: Any) -> bool:
    try:
        apply(call, given, host, 10**6)
    except (TensorError, Unsupported):
        return True
    return False


@pytest.mark.filterwarnings("ignore")  # torch's own
@for_each_by_family(sorted(op.name for op in TABLE.values() if op.torch and op.name not in RANDOM_OPS))
def test_what_torch_refuses_of_an_op_is_refused(name: str) -> None:
    op, engine = TABLE[name], Torch()
    expr = call_of(op)
    if expr is None:
        return
    host = RandomHost(stream(0, name), np.dtype(np.float64))
    base, named = [evaluate(arg, {}, host) for arg in expr.args], {k: evaluate(v, {}, host) for k, v in expr.kwargs}
    unlike = set()
    with engine.session(np.dtype(np.float64)):
        for place, parameter in enumerate(op.parameters):
            if parameter.name == op.variadic or (name, parameter.name) in MORE:
                continue
            for what, value in OTHERS.items():
                args, others = list(base), dict(named)
                if place < len(base):
                    args[place] = value
                else:
                    others[parameter.name] = value
                call, given = OpCall.of(name, len(args), tuple(others)), [*args, *others.values()]
                theirs = in_torch(engine, given)
                if not refused(call, given, NUMPY) and refused(call, theirs, engine.host):
                    unlike.add(f"{parameter.name}: {what}")
    assert unlike == set()


@pytest.mark.parametrize(
    ("text", "given", "hint"),
    [
        ("max(a, b)", [0, np.ones(2)], "write relu(x) or clamp(x, min=0)"),
        ("maximum(a, b)", [np.ones(2), 3], "write clamp(x, min=3)"),
        ("minimum(a, b)", [2.5, np.ones(2)], "write clamp(x, max=2.5)"),
        ("atan2(a, b)", [1, np.ones(2)], "write full_like(x, 1) for 1"),
        ("mse_loss(a, b)", [np.ones(2), 1], "write full_like(x, 1) for 1"),
        ("celu(a, b)", [np.ones(2), np.ones(2)], "its signature is celu(input, alpha=1.0)"),
        ("hstack(a)", [np.ones(2)], "write hstack([x, y])"),
        ("cat(a)", [np.ones(2)], "write cat([x, y])"),
    ],
)
def test_what_torch_refuses_is_refused(text: str, given: list[Any], hint: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        apply(application(text), given, NUMPY, 10)
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("max(a, b)", [np.ones((2, 2)), 1]),
        ("pow(a, b)", [2, np.ones(2)]),
        ("xlogy(a, b)", [2, np.ones(2)]),
        ("fmod(a, b)", [np.ones(2), 2]),
        ("celu(a, b)", [np.ones(2), np.array(2.0)]),
        ("div(a, b, rounding_mode=c)", [7, np.ones(2), "floor"]),
    ],
)
def test_what_torch_takes_is_taken(text: str, given: list[Any]) -> None:
    apply(application(text), given, NUMPY, 10)


@pytest.mark.parametrize(
    ("text", "given", "message"),
    [
        ("sum(a, dim=b, keepdim=c)", [np.ones(2), 0, 1], "sum takes True or False as keepdim, not an integer"),
        ("mse_loss(a, b, reduction=c)", [np.ones(2), np.ones(2), 1], "mse_loss takes a word in quotes as reduction"),
        ("clamp(a, b, c)", [np.ones(2), 2, np.ones(2)], "clamp takes two numbers or two tensors as min and max"),
        ("hardtanh(a, b)", [np.ones(2), np.ones(2)], "hardtanh takes a real number as min_val, not a tensor"),
        ("max(a, dim=b)", [np.ones(2), np.ones(2)], "max takes an integer as dim, not a tensor"),
        ("max(a, dim=b)", [np.ones(2), None], "max takes no None as dim"),
        ("relu(a)", [(np.ones(2), np.ones(2))], "relu takes a tensor as its first argument, not several tensors"),
        ("tril(a, b)", [np.ones((2, 2)), True], "tril takes an integer as diagonal, not a boolean"),
        ("full(a, b)", [2, 1.0], "full takes a list of sizes as size, not an integer"),
        ("ones(a, dtype=b)", [2, [1]], "ones takes a dtype as dtype, not a list"),
        ("elu(a, b)", [np.ones(2), 1j], "elu takes a number as alpha, not a complex number"),
    ],
)
def test_what_is_said(text: str, given: list[Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        apply(application(text), given, NUMPY, 100)
    assert caught.value.message.startswith(message)


def test_a_number_that_needs_a_gradient_is_none() -> None:
    engine = Torch()
    x, a = engine.leaf(np.ones(2), True), engine.leaf(np.array(2.0), True)
    with pytest.raises(ArgumentError, match="elu takes a number as alpha, not a tensor that needs a gradient"):
        apply(application("elu(a, b)"), [x, a], engine.host, 100)


def test_booleans_where_floats_are_needed_have_the_wrong_dtype() -> None:
    with pytest.raises(DtypeMismatch, match="dist takes floating numbers as other, not bool"):
        apply(application("dist(a, b)"), [np.ones(2), np.ones(2, bool)], NUMPY, 100)


def test_kinds_are_known_of_the_arguments_that_are_given() -> None:
    op = TABLE["sum"]
    kinds = kinds_of(op, 1, ("keepdim", "dim"))
    assert [(one.place, one.parameter.name, one.kind) for one in kinds] == [
        (0, "input", "tensor"),
        (1, "keepdim", "flag"),
        (2, "dim", "dimension"),
    ]
    check_kinds(op, kinds, [np.ones(2), True, 0])


def test_what_holds_a_tensor() -> None:
    assert holds_tensor([1, (np.ones(2),)])
    assert not holds_tensor([1, ("x",)])


@pytest.mark.parametrize(
    ("text", "hint"),
    [("maximum(x, 0)", "write relu(x) or clamp(x, min=0)"), ("hypot(x, 2)", "write full_like(x, 2) for 2")],
)
def test_what_to_write_for_a_number(text: str, hint: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        evaluate(parse(text), {"x": np.ones(2)})
    assert refused.value.hint == hint
