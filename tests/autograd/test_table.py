"""Every op against torch: values, first and second gradients."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.autograd import ALIASES, TABLE, Op, Tensor, dtypes, grad, ops
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.engines.base import Application
from gradcheck.engines.recording import arrays
from gradcheck.errors import ArgumentError, TensorError, Unsupported
from tests.autograd import table
from tests.sampling import evenly_spread
from tests.tables import for_each, for_each_by_family

COMPARED = sorted(name for name, op in TABLE.items() if op.torch and not table.is_random(op))
OWN = sorted(name for name, op in TABLE.items() if not op.torch and not table.is_random(op))
RANDOM = sorted(name for name, op in TABLE.items() if table.is_random(op))


# Against torch -----------------------------------------------------------------------------------


@for_each_by_family(COMPARED)
def test_values_and_gradients_are_torchs(name: str) -> None:
    problems = [problem for call in table.calls(TABLE[name]) for problem in table.disagreements(call)]
    assert not problems, "\n".join(problems)


@for_each_by_family(COMPARED, share=2)
def test_other_dtypes_are_torchs(name: str) -> None:
    for dtype in ("float32", "float16", "bfloat16", "complex128"):
        check_in_dtype(name, dtype)


#: Where torch drops imaginary parts: of what has an order, and of a diagonal that has none.
DROPPED = ("masked.median", "cholesky_inverse")


def check_in_dtype(name: str, dtype: str) -> None:
    """Compare some of the calls that torch takes."""
    problems = []
    for call in evenly_spread(list(table.calls(TABLE[name])), 5):
        cast = table.in_dtype(call, dtypes.BY_NAME[dtype])
        if dtype == "complex128" and "dtype" in call.kwargs:
            continue  # through an imaginary part that was dropped, torch's own gradients are real or complex by chance
        if 0 in (array.size for array in arrays(call.args, call.kwargs)):
            continue  # of no numbers, torch takes dtypes that it has no code for
        if name in DROPPED and dtype == "complex128":
            continue
        if want := torchs_answer(cast):
            problems += table.disagreements(cast, want=want)
    assert not problems, "\n".join([dtype, *problems])


@for_each_by_family(COMPARED, share=2)
def test_gradients_of_gradients_are_torchs(name: str) -> None:
    """Compare the second derivatives that torch has."""
    problems = []
    for call in table.calls(TABLE[name]):
        if want := torchs_answer(call, second_order=True):
            problems += table.disagreements(call, second_order=True, want=want)
    assert not problems, "\n".join(problems)


def torchs_answer(call: Application, *, second_order: bool = False) -> table.Answer | None:
    """None where torch refuses the call."""
    try:
        return table.answer(table.REFERENCE, call, second_order=second_order)
    except (TensorError, Unsupported, RuntimeError):
        return None


@pytest.mark.parametrize("name", OWN)
def test_gradients_of_ops_without_counterpart_are_the_slopes(name: str) -> None:
    """Central differences along a random direction."""
    op = TABLE[name]
    for call in table.calls(op):
        found = list(arrays(call.args, call.kwargs))
        if not any(op.rules) or not found or not dtypes.is_differentiable(found[0].dtype) or not found[0].size:
            continue
        step = 1e-5 * table.drawn_like(found[0], table.generator(op))
        leaf = Tensor(found[0], requires_grad=True)
        out = op(leaf, *call.args[1:], **call.kwargs)
        seed = table.drawn_like(out.data, table.generator(op))
        (gradient,) = grad(out, leaf, seed)
        slope = op(found[0] + step, *call.args[1:], **call.kwargs) - op(found[0] - step, *call.args[1:], **call.kwargs)
        assert gradient is not None
        np.testing.assert_allclose(np.vdot(gradient.data, step), np.vdot(seed, slope) / 2, rtol=1e-5, atol=1e-12)


# Random creators ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RANDOM)
def test_random_creators_draw_from_the_generator(name: str) -> None:
    op = TABLE[name]
    for sample in op.samples:
        call = table.application_in(op, sample, np.random.default_rng(1))
        settings = {key: value for key, value in call.kwargs.items() if key != "generator"}
        with using_default_dtype(table.DOUBLE):
            one, same, other = (op(*call.args, **settings, generator=np.random.default_rng(n)) for n in (1, 1, 2))
            with pytest.raises(ArgumentError, match="under inputs or constants"):
                op(*call.args, **settings)
        np.testing.assert_array_equal(one, same)
        assert one.size < 2 or not np.array_equal(one, other)
        if op.torch:
            want = table.REFERENCE.array(applied_by_torch(Application(op, call.args, settings, sample)))
            assert (one.shape, one.dtype) == (want.shape, want.dtype)


@pytest.mark.parametrize("name", [name for name in RANDOM if "dtype" in {p.name for p in TABLE[name].parameters}])
def test_random_creators_make_the_dtype_that_they_are_asked_for(name: str) -> None:
    op, dtypes_asked = TABLE[name], [np.dtype(np.float32)]
    if name.startswith(("randint", "randperm")):
        dtypes_asked.append(np.dtype(np.int32))
    for sample in op.samples:
        call = table.application_in(op, sample, np.random.default_rng(1))
        for dtype in dtypes_asked:
            kwargs = {**call.kwargs, "generator": np.random.default_rng(1), "dtype": dtype}
            assert op(*call.args, **kwargs).dtype == dtype


def applied_by_torch(call: Application) -> Any:
    with table.TORCH.session(table.DOUBLE):
        leaves = [table.REFERENCE.leaf(array, False) for array in arrays(call.args, call.kwargs)]
        return table.REFERENCE.apply(call, leaves)


# The table itself --------------------------------------------------------------------------------


@for_each(sorted(TABLE))
def test_entry_is_complete(name: str) -> None:
    op = TABLE[name]
    assert op.doc
    assert op.doc.rstrip()[-1] in ".)", f"the doc of {name} is no sentence"
    assert op.samples or (op.elementwise and op.domain) or not op.torch, f"{name} has neither samples nor a domain"
    if op.elementwise and op.domain and not op.masked:
        assert len(op.domain) == len(op.rules), f"{name} needs a domain for each operand"
    assert len(op.rules) <= len(op.parameters)
    if op.torch:
        counterpart(op)


@for_each(sorted(TABLE))
def test_samples_call_the_op(name: str) -> None:
    assert len(list(table.calls(TABLE[name]))) >= len(TABLE[name].samples)


def test_no_family_hides_an_op_of_its_name() -> None:
    for name in [*TABLE, *ALIASES]:
        assert inspect.ismodule(getattr(ops, name)) is False, f"the op {name} is hidden by a module of its name"


def test_aliases_are_torchs_own_names() -> None:
    for alias in ALIASES.keys() - {"inv"}:
        assert any(_found(space, alias) for space in (torch, torch.nn.functional, torch.Tensor)), alias


def _found(space: Any, path: str) -> Any:
    for part in path.split("."):
        space = getattr(space, part, None)
    return space


def counterpart(op: Op) -> Any:
    found = _found(torch, op.torch)
    assert found is not None, f"torch has no {op.torch}"
    return found


#: Parameters by the names that torch's documentation gives them, not those inside.
DOCUMENTED = {"indices_or_sections", "p", "axis", "return_indices"}


def torchs_forms(op: Op) -> list[dict[str, bool]]:
    """Return the counterpart's signatures, and which parameters are named."""
    function = counterpart(op)
    if inspect.isfunction(function):
        signature = inspect.signature(function).parameters
        if not any(p.kind is p.VAR_POSITIONAL for p in signature.values()):
            return [{p.name: p.kind is p.KEYWORD_ONLY for p in signature.values()}]
    path = op.torch.replace("linalg.", "linalg_").rsplit(".", 1)[-1]
    packet = getattr(torch.ops.aten, path, None)
    schemas = [getattr(packet, overload)._schema for overload in (packet.overloads() if packet is not None else ())]
    return [{_documented(op, a.name, i): a.kwarg_only for i, a in enumerate(schema.arguments)} for schema in schemas]


def _documented(op: Op, name: str, position: int) -> str:
    """Return the documented name of a parameter that torch calls `self`."""
    if name != "self":
        return name
    return op.parameters[0].name if position == 0 else "input"


#: The ops of which torch tells the signature.
SIGNED = sorted(name for name, op in TABLE.items() if op.torch and torchs_forms(op))


@for_each(SIGNED)
def test_signature_is_torchs(name: str) -> None:
    """Its names, their order and which must be named, as far as torch tells."""
    op = TABLE[name]
    forms = torchs_forms(op)
    sequence = None if op.sequence is None else op.parameters[op.sequence].name
    mine = {p.name: p.keyword_only for p in op.parameters if p.name not in ("generator", op.variadic, sequence)}
    for parameter, named in mine.items():
        theirs = [form[parameter] for form in forms if parameter in form]
        assert theirs or parameter in DOCUMENTED, f"{name} has no {parameter}: {forms}"
        assert named or not theirs or not all(theirs), f"{name}: {parameter} must be named"
    for form in forms:
        common = [p for p, named in mine.items() if form.get(p) is False and not named]
        assert common == [p for p in form if p in common], f"{name}: {common} are in another order in {list(form)}"


# Wrong rules are seen ----------------------------------------------------------------------------

Mutation = Callable[[Any], Any]
MUTATIONS: dict[str, Mutation] = {
    "scale": lambda share: share * 1.001,
    "negate": lambda share: -share,
    "drop": lambda share: share * 0,
    "transpose": lambda share: ops.reshape(ops.permute(share, tuple(range(share.ndim))[::-1]), share.shape),
    "flip": lambda share: ops.flip(share, tuple(range(share.ndim))),
}
MUTATED = ("mul", "div", "tanh", "sum", "mean", "amax", "cumprod", "where", "logsumexp", "linalg.vector_norm", "matmul")


@pytest.mark.parametrize("mutation", MUTATIONS)
@pytest.mark.parametrize("name", MUTATED)
def test_a_wrong_rule_is_seen(name: str, mutation: str) -> None:
    op = TABLE[name]
    for position, rule in enumerate(op.rules):
        if rule is None:
            continue
        wrong = replace(op, rules=(*op.rules[:position], planted(rule, MUTATIONS[mutation]), *op.rules[position + 1 :]))
        problems = [
            problem
            for call in table.calls(op)
            for problem in table.disagreements(replace(call, op=wrong))
            if "gradient" in problem
        ]
        assert problems, f"{mutation} of rule {position} of {name} goes unseen"


def planted(rule: Any, mutation: Mutation) -> Any:
    return lambda *args: mutation(rule(*args))
