"""Mistakes in one op's rule: wrong roles, or a missing centring term."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.families import PRODUCTS
from gradcheck.checks.closeness.compare import nearly_equal
from gradcheck.checks.failures.diagnosis.catalogue import Evidence, Guess, Rule, hypothesis, rule_hypothesis
from gradcheck.engines.base import Application
from gradcheck.facts import fact

#: The most tensors of an op that are exchanged or changed.
_MOST_TENSORS = 8


@hypothesis("incoming_ignored")
def ones_for_incoming(e: Evidence) -> Iterator[Guess]:
    """Ones stand for the cotangent, as if the result were the root."""
    if e.rule is not None:
        ones = [None if c is None else np.ones_like(c) for c in e.rule.cotangents]
        found = fact("incoming_is_ignored", instead=fact("ones_in_its_place"))
        answer = e.rule.right_gradient(e.rule.application, ones)
        yield Guess("ones", found, answer)
        if answer is not None and answer.size > 1 and np.all(answer == answer.flat[0]):
            yield Guess("one", found, np.asarray(answer.flat[0]))
    for instead, gradient in e.reseeded.items():
        yield Guess(instead, fact("incoming_is_ignored", instead=instead), gradient)


@hypothesis("incoming_passed_on", covers=("mixed_up", "saved_value", "summed"))
def incoming_passed_on(e: Evidence) -> Iterator[Guess]:
    """The cotangent is passed on, in the argument's shape or a single number."""
    if e.rule is not None and e.rule.incoming is not None:
        reduced = _sum_to_shape(e.rule.incoming, e.rule.tensor.shape)
        yield Guess("incoming", fact("incoming_is_passed_on"), reduced)
        if e.rule.incoming.ndim == 0 and np.ptp(np.abs(e.want)) > 0:  # of a mean it is a factor
            yield Guess("single", fact("incoming_is_passed_on"), e.rule.incoming)
            yield Guess("spread", fact("incoming_is_spread"), np.broadcast_to(e.rule.incoming, e.want.shape))
        return
    for root, seed in e.seeds.items():
        reduced = _sum_to_shape(seed, e.want.shape)
        # a sum is rather the gradient of an argument that was broadcast
        is_another = reduced is not None and any(nearly_equal(other, reduced) for other in e.others.values())
        if reduced is seed or not is_another:
            yield Guess(("incoming", root), fact("incoming_is_passed_on"), reduced)


@rule_hypothesis("forward_value")
def forward_value(e: Evidence, rule: Rule) -> Iterator[Guess]:
    """The op's value stands for its derivative."""
    if rule.output is None or rule.incoming is None:
        return
    output, incoming = rule.output, rule.incoming
    name = rule.application.op.name
    if output.shape != incoming.shape:
        return
    shape = rule.tensor.shape
    found = fact("value_for_derivative", op=name)
    yield Guess("value", found, _sum_to_shape(incoming * output, shape))
    yield Guess("conj", found, _sum_to_shape(incoming * np.conj(output), shape))
    yield Guess("alone", fact("value_alone", op=name), _sum_to_shape(output, shape))


@rule_hypothesis("swapped", covers=("operand_transposed", "mixed_up"))
def swapped_gradients(e: Evidence, rule: Rule) -> Iterator[Guess]:
    """The gradient is another tensor's; no proof if the tensors are equal."""
    mine, tensors = rule.index, rule.tensors
    for index, other in enumerate(rule.right_gradients[:_MOST_TENSORS]):
        if index != mine and other is not None:
            reduced = other if other.shape == e.want.shape else _sum_to_shape(other, e.want.shape)
            found = fact("gradient_of_other_tensor", got=index, want=mine)
            is_one = len(tensors) == len(rule.right_gradients) and np.array_equal(tensors[index], rule.tensor)
            yield Guess(("gradient", index), found, reduced, not is_one)


@rule_hypothesis("swapped", covers=("operand_transposed",))
def swapped_operands(e: Evidence, rule: Rule) -> Iterator[Guess]:
    """Two tensors of the op are exchanged."""
    tensors = rule.tensors
    for other in range(len(tensors[:_MOST_TENSORS])):
        mine = rule.position
        if other == mine or tensors[other].dtype != tensors[mine].dtype:
            continue
        if rule.application.op.elementwise and tensors[other].shape != tensors[mine].shape:
            pairs = np.broadcast_arrays(tensors[mine], tensors[other])
            exchanged = rule.gradient_with_tensors({mine: pairs[1].copy(), other: pairs[0].copy()})
            exchanged = None if exchanged is None else _sum_to_shape(exchanged, e.want.shape)
        else:
            exchanged = rule.gradient_with_tensors({mine: tensors[other], other: tensors[mine]})
        found = fact("arguments_swapped", one=other, other=mine, gradients=False)
        yield Guess(("operands", other), found, exchanged)
        swapped = rule.application_with({mine: tensors[other], other: tensors[mine]})
        partners = rule.reference_pullback(swapped, rule.cotangents)
        if len(partners) == 2 == len(tensors) and rule.application.op.name not in PRODUCTS:  # their factors are
            found = fact("arguments_swapped", one=other, other=mine, gradients=True)
            yield Guess(("both", other), found, partners[1 - rule.index])


@hypothesis("swapped", covers=("mixed_up",))
def swapped_in_forward(e: Evidence) -> Iterator[Guess]:
    """The op is computed with its operands exchanged."""
    if e.exchanged is not None:
        yield Guess("value", fact("operands_exchanged"), e.exchanged)


@rule_hypothesis("operand_transposed")
def transposed_operand(e: Evidence, rule: Rule) -> Iterator[Guess]:
    """A square operand, or the cotangent, is transposed before use."""
    for position, tensor in enumerate(rule.tensors[:_MOST_TENSORS]):
        if position != rule.position and _is_square(tensor):
            found, turned = fact("tensor_transposed", position=position), np.swapaxes(tensor, -1, -2).copy()
            yield Guess(position, found, rule.gradient_with_tensors({position: turned}))
    incoming = rule.incoming
    if incoming is not None and _is_square(incoming):
        turned = np.swapaxes(incoming, -1, -2).copy()
        yield Guess("incoming", fact("incoming_transposed"), rule.right_gradient(rule.application, [turned]))
        for position, tensor in enumerate(rule.tensors[:_MOST_TENSORS]):
            if position != rule.position and _is_square(tensor) and tensor.shape == incoming.shape:
                factor = np.swapaxes(tensor, -1, -2)
                yield Guess(("order", position, 1), fact("factors_in_wrong_order"), factor @ incoming)
                yield Guess(("order", position, 2), fact("factors_in_wrong_order"), incoming @ factor)


@rule_hypothesis("operand_transposed")
def reshaped_operand(e: Evidence, rule: Rule) -> Iterator[Guess]:
    """A matrix, or the cotangent, is reshaped to the shape of its transpose."""
    for position, tensor in enumerate(rule.tensors[:_MOST_TENSORS]):
        mixed = _transpose_by_reshape(tensor) if position != rule.position else None
        if mixed is not None:
            found = fact("tensor_reshaped", position=position)
            yield Guess(("reshaped", position), found, rule.gradient_with_tensors({position: mixed}))
    mixed = None if rule.incoming is None else _transpose_by_reshape(rule.incoming)
    if mixed is not None:
        answer = rule.right_gradient(rule.application, [mixed])
        yield Guess(("reshaped", "incoming"), fact("incoming_reshaped"), answer)


def _transpose_by_reshape(tensor: np.ndarray) -> np.ndarray | None:
    """Return the array of which the reshape is the transpose; None for others."""
    if tensor.ndim < 2 or min(tensor.shape[-2:]) < 2 or tensor.shape[-1] == tensor.shape[-2]:
        return None
    rows, columns = tensor.shape[-2:]
    return np.swapaxes(tensor.reshape((*tensor.shape[:-2], columns, rows)), -1, -2).copy()


@rule_hypothesis("saved_value")
def saved_value(e: Evidence, rule: Rule) -> Iterator[Guess]:
    """A saved argument is replaced: by the result, the cotangent, or zeros."""
    output = rule.output
    for position, tensor in enumerate(rule.tensors[:_MOST_TENSORS]):
        if not dtypes.is_differentiable(tensor.dtype):
            continue
        if output is not None and output.shape == tensor.shape:
            found = fact("result_for_tensor", position=position)
            yield Guess(("output", position), found, rule.gradient_with_tensors({position: output}))
        if rule.incoming is not None and rule.incoming.shape == tensor.shape:
            found = fact("incoming_for_tensor", position=position)
            yield Guess(("incoming", position), found, rule.gradient_with_tensors({position: rule.incoming}))
        if not e.is_stated:  # a formula saves nothing that could be cleared
            found = fact("zeros_for_tensor", position=position)
            yield Guess(("zeros", position), found, rule.gradient_with_tensors({position: np.zeros_like(tensor)}))


@hypothesis("conjugate")
def conjugate(e: Evidence) -> Iterator[Guess]:
    """The gradient, or its factor, is conjugated or should be."""
    if e.got is not None and e.want.dtype.kind == "c":
        yield Guess("conj", fact("is_conjugate"), np.conj(e.want))
        if e.rule is not None and e.rule.incoming is not None:
            answer = e.rule.right_gradient(e.rule.application, [np.conj(e.rule.incoming)])
            yield Guess("incoming", fact("derivative_not_conjugated"), None if answer is None else np.conj(answer))


@rule_hypothesis("off_by_one")
def index_off_by_one(e: Evidence, rule: Rule) -> Iterator[Guess]:
    """An integer argument (index, bound, offset) is off by one."""
    for step in (1, -1):
        for where, application in _moved(rule.application, step):
            found = fact("index_off_by_one", argument=where, step=step)
            yield Guess(("index", where, step), found, rule.right_gradient(application))


def _moved(application: Application, step: int) -> Iterator[tuple[int, Application]]:
    for where, arg in enumerate(application.args):
        is_number = application.op.elementwise and isinstance(arg, int)  # no index: a bound, an exponent
        changed = None if is_number else _step(arg, step)
        if changed is not None:
            args = (*application.args[:where], changed, *application.args[where + 1 :])
            yield where, replace(application, args=args, recorded=None)


def _step(arg: Any, step: int) -> Any:
    """Return the argument with its integers moved; None without integers."""
    if isinstance(arg, (bool, str)):
        return None
    if isinstance(arg, int):
        return arg + step
    if isinstance(arg, np.ndarray):
        return arg + step if arg.dtype.kind in "iu" else None
    if isinstance(arg, slice):
        start, stop = _step(arg.start, step), _step(arg.stop, step)
        return None if start is None and stop is None else slice(start, stop, arg.step)
    if isinstance(arg, tuple):
        parts = [_step(part, step) for part in arg]
        if any(part is not None for part in parts):
            return tuple(old if new is None else new for old, new in zip(arg, parts, strict=True))
    return None


def _is_square(array: np.ndarray) -> bool:
    return array.ndim >= 2 and array.shape[-1] == array.shape[-2] > 1


def _sum_to_shape(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return the sum to a shape that broadcasts to it, None for other shapes."""
    new = array.ndim - len(shape)
    if new < 0 or any(size not in (1, array.shape[new + axis]) for axis, size in enumerate(shape)):
        return None
    axes = tuple(a for a in range(array.ndim) if a < new or (shape[a - new] == 1 and array.shape[a] != 1))
    return np.asarray(array.sum(axes)).reshape(shape) if axes else array


@rule_hypothesis("no_centring", covers=("incoming_passed_on", "forward_value"))
def softmax(e: Evidence, rule: Rule) -> Iterator[Guess]:
    """The gradient is y * g for softmax, g for its logarithm."""
    name = rule.application.op.name
    if rule.incoming is None or rule.output is None or rule.incoming.shape != rule.tensor.shape:
        return
    if name in ("softmax", "softmin", "log_softmax"):
        factor = 1 if name == "log_softmax" else rule.output if name == "softmax" else -rule.output
        yield Guess(name, fact("no_centring_term", op=name), factor * rule.incoming)


@rule_hypothesis("no_centring", covers=("incoming_passed_on", "forward_value"))
def softmax_diagonal(e: Evidence, rule: Rule) -> Iterator[Guess]:
    """The gradient is y * (1 - y) * g for softmax, as for a sigmoid."""
    name = rule.application.op.name
    if name not in ("softmax", "log_softmax") or rule.incoming is None or rule.output is None:
        return
    y = np.exp(rule.output) if name == "log_softmax" else rule.output
    factor = 1 - y if name == "log_softmax" else y * (1 - y)
    yield Guess("diagonal", fact("softmax_diagonal", op=name), factor * rule.incoming)


@rule_hypothesis("no_centring")
def variance(e: Evidence, rule: Rule) -> Iterator[Guess]:
    """The gradient is c * x for c * (x - mean), with c for each group."""
    if rule.application.op.name not in ("var", "std") or e.want.shape != rule.tensor.shape:
        return
    name = rule.application.op.name
    x, dims = rule.tensor, _dims(rule)
    centred = x - x.mean(dims, keepdims=True)
    factor = (e.want * centred).sum(dims, keepdims=True) / (centred * centred).sum(dims, keepdims=True)
    yield Guess("variance", fact("no_centring_term", op=name), factor * x)


@rule_hypothesis("no_centring")
def layer_norm(e: Evidence, rule: Rule) -> Iterator[Guess]:
    """The mean or the deviation is treated as a constant.

    With n the normalized x and h = g * weight, the gradient is h - h.mean() - n * (h * n).mean(), divided by the
    deviation.
    """
    if rule.incoming is None or rule.application.op.name != "layer_norm" or rule.position:
        return
    given = _arguments(rule)
    dims = tuple(range(-len(given["normalized_shape"]), 0))
    x, weight = rule.tensor, given.get("weight")
    centred = x - x.mean(dims, keepdims=True)
    deviation = np.sqrt((centred * centred).mean(dims, keepdims=True) + given["eps"])
    normal, h = centred / deviation, rule.incoming if weight is None else rule.incoming * weight
    mean, along = h.mean(dims, keepdims=True), normal * (h * normal).mean(dims, keepdims=True)
    yield Guess("both", fact("layer_norm_constants"), h / deviation)
    yield Guess("mean", fact("layer_norm_constant", statistic="mean"), (h - along) / deviation)
    yield Guess("variance", fact("layer_norm_constant", statistic="variance"), (h - mean) / deviation)


def _arguments(rule: Rule) -> dict[str, Any]:
    op = rule.application.op
    bound = op.bind(rule.application.args, dict(rule.application.kwargs))
    return dict(zip((parameter.name for parameter in op.parameters), bound, strict=True))


def _dims(rule: Rule) -> tuple[int, ...]:
    dim, ndim = _arguments(rule).get("dim"), rule.tensor.ndim
    if isinstance(dim, int):
        return (dim % ndim,)
    return tuple(axis % ndim for axis in dim) if dim else tuple(range(ndim))
