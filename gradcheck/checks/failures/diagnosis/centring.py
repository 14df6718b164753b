"""Softmax, variances and normalizations, whose gradients are centred: the same without the term that centres them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gradcheck.checks.failures.diagnosis.catalogue import hypothesis
from gradcheck.checks.failures.diagnosis.evidence import Evidence, Guess, Rule
from gradcheck.facts import fact


@hypothesis("no_centring", covers=("incoming_passed_on", "forward_value"))
def softmax(e: Evidence) -> Iterator[Guess]:
    """y * g for softmax, g for its logarithm."""
    rule = e.rule
    if rule is None or rule.incoming is None or rule.output is None or rule.incoming.shape != rule.tensor.shape:
        return
    name = rule.application.op.name
    if name == "softmax":
        yield Guess(name, fact("no_centring_term", op=name), rule.output * rule.incoming)
    elif name == "softmin":
        yield Guess(name, fact("no_centring_term", op=name), -rule.output * rule.incoming)
    elif name == "log_softmax":
        yield Guess(name, fact("no_centring_term", op=name), rule.incoming)


@hypothesis("no_centring")
def variance(e: Evidence) -> Iterator[Guess]:
    """The gradient of a variance is c * (x - mean), with one c for each group that it is taken over."""
    rule = e.rule
    if rule is None or rule.application.op.name not in ("var", "std") or e.want.shape != rule.tensor.shape:
        return
    name = rule.application.op.name
    x, dims = rule.tensor, _dims(rule)
    centred = x - x.mean(dims, keepdims=True)
    factor = (e.want * centred).sum(dims, keepdims=True) / (centred * centred).sum(dims, keepdims=True)
    yield Guess("variance", fact("no_centring_term", op=name), factor * x)


@hypothesis("no_centring")
def layer_norm(e: Evidence) -> Iterator[Guess]:
    """With n the normalized x and h = g * weight: h - h.mean() - n * (h * n).mean(), divided by the deviation."""
    rule = e.rule
    if rule is None or rule.incoming is None or rule.application.op.name != "layer_norm" or rule.position:
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
