"""Code of plans: Python functions made of what a trace has written down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from gradcheck.autograd.modes import SILENCE, is_recording
from gradcheck.autograd.node import Node
from gradcheck.autograd.op import Op
from gradcheck.autograd.pullback import cotangent_of, fit, pull_arrays
from gradcheck.autograd.tracing import ArrayTrace, TensorTrace, Traced, TracedArray, Untraceable, flat, nodes_in


@lru_cache(maxsize=4096)
def _code(source: str) -> CodeType:
    return compile(source, "<plan>", "exec")


def _made(name: str, parameters: str, body: list[str], names: dict[str, Any]) -> Any:
    """The function of this body. Graphs differ in constants and shapes more often than in code."""
    source = f"def {name}({parameters}):\n    " + "\n    ".join(body)
    space = {**names, "ndarray": np.ndarray, "asarray": np.asarray}
    exec(_code(source), space)
    return space[name]


_TAKE_APART = {1: ["a0 = node.first"], 2: ["a0 = node.first", "a1 = node.second"]}


def applied(kind: type[Node], op: Op, bound: tuple[Any, ...], plan: Any) -> Callable[..., Any]:
    """A function of an op's tensors that computes it and links the result to them."""
    trace = ArrayTrace()
    leaves = nodes_in(bound)
    given = iter([TracedArray(leaf.data, f"x{i}", trace) for i, leaf in enumerate(leaves)])
    result = trace.apply(op, tuple(_replaced(arg, given) for arg in bound))
    count = len(leaves)
    parameters = ", ".join(f"a{i}" for i in range(count))
    wants = " or ".join(f"a{i}.requires_grad" for i in range(count))
    first, second = (parameters, None) if count == 1 else ("a0", "a1") if count == 2 else (f"({parameters})", None)
    body = [*(f"x{i} = a{i}.data" for i in range(count)), "token = silence.set(silent)", "try:"]
    body += [f"    {line}" for line in trace.lines]
    body += ["finally:", "    silence.reset(token)", f"y = {result.name}"]
    if op.rules and result.data.dtype.kind == "f":
        body += [f"if ({wants}) and is_recording():", "    node = new(kind)", "    node.data = y"]
        body += ["    node.grad = None", "    node.requires_grad = True", "    node.creation_op = op"]
        body += ["    node.plan = plan", f"    node.first = {first}", f"    node.second = {second}"]
        body += ["    node.freed = node.retains_grad = False", "    return node"]
    body.append("return wrap(y)")
    names = {"silence": SILENCE[0], "silent": SILENCE[1], "new": object.__new__, "kind": kind, "op": op, "plan": plan}
    return _made("apply", parameters, body, {**trace.names, **names, "wrap": kind.wrap, "is_recording": is_recording})  # type: ignore[no-any-return]


def _replaced(arg: Any, given: Any) -> Any:
    """The argument with the next of `given` for each node in it."""
    if isinstance(arg, (list, tuple)):
        return type(arg)([_replaced(item, given) for item in arg])
    return next(given) if hasattr(arg, "requires_grad") else arg


def composed(
    op: Op,
    bound: tuple[Any, ...],
    nodes: tuple[type[Node], list[Any]],
    plan: Callable[[Op, tuple[Any, ...]], Callable[..., Any] | None],
) -> Callable[..., Any]:
    """A function of a composite's tensors, nodes of one kind, that applies its ops one after the other."""
    kind, leaves = nodes
    trace = TensorTrace(plan, kind)
    given = iter([Traced(leaf.data, f"a{i}", trace, leaf.requires_grad) for i, leaf in enumerate(leaves)])
    made = op.forward(*[_replaced(arg, given) for arg in bound])
    parts = made if type(made) is tuple else (made,)
    if not all(isinstance(part, Traced) for part in parts):
        raise Untraceable
    names = ", ".join(part.name for part in parts)
    parameters = ", ".join(f"a{i}" for i in range(len(leaves)))
    body = [*trace.lines, f"return ({names},)" if type(made) is tuple else f"return {names}"]
    return _made("compose", parameters, body, trace.names)  # type: ignore[no-any-return]


def pulled(node: Node, gradient: np.ndarray, tensors: Sequence[Node]) -> Callable[[Node, np.ndarray], Any]:
    """A function of a node like this one, and its gradient, that gives what each of its tensors receives."""
    op: Any = node.creation_op
    trace = ArrayTrace()
    count = len(tensors)
    g, y = TracedArray(gradient, "g", trace), TracedArray(node.data, "y", trace)
    given = iter([TracedArray(tensor.data, f"x{i}", trace) for i, tensor in enumerate(tensors)])
    values = [_replaced(arg, given) for arg in node.arguments]
    body = ["if type(g) is not ndarray:", "    return general(node, g)", "y = node.data"]
    body += _TAKE_APART.get(count, [f"{', '.join(f'a{i}' for i in range(count))} = node.first"])
    body += [f"x{i} = a{i}.data" for i in range(count)]
    body += ["try:", *(f"    {line}" for line in _shares(op, values, (g, y), trace))]
    body += ["except Exception:", "    return general(node, g)"]  # which has words for it
    names = {**trace.names, "general": pull_arrays}
    return _made("pull", "node, g", body, names)  # type: ignore[no-any-return]


def _shares(op: Op, values: list[Any], results: tuple[Traced, Traced], trace: ArrayTrace) -> list[str]:
    """The lines that make each tensor's share, and give a list of those that want one; one alone always does."""
    body = ["found = []"]
    floats = [item for item in flat(values) if isinstance(item, Traced) and item.data.dtype.kind == "f"]
    for position, value in enumerate(values):
        traced = [item for item in floats if any(item is other for other in flat([value]))]
        if not traced:
            continue
        start = len(trace.lines)
        made = cotangent_of(op, position, *results, values)
        pairs = zip(made, value, strict=True) if position == op.sequence else [(made, value)]
        shares = [(fit(op, share, item), _owner(item)) for share, item in pairs]
        lines = trace.lines[start:]
        if len(floats) == 1:
            share, owner = shares[0]
            return [*lines, f"return (({owner}, {trace.written(share)}),)"]
        wanted = " or ".join(f"{_owner(item)}.requires_grad" for item in traced)
        body += [f"if {wanted}:", *(f"    {line}" for line in lines)]
        for share, owner in shares:
            keep = f"found.append(({owner}, {trace.written(share)}))"
            body.append(f"    {keep}" if len(traced) == 1 else f"    if {owner}.requires_grad: {keep}")
    return [*body, "return found"]


def _owner(item: Traced) -> str:
    return f"a{item.name[1:]}"
