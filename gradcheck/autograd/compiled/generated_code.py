"""Generate a function that applies an op, and one that pulls it back."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from types import CodeType
from typing import Any

import numpy as np

from gradcheck.autograd.compiled.array_tracing import ArrayTrace, TracedArray
from gradcheck.autograd.compiled.buffer_release import LARGE, overwritable, release_dead_values
from gradcheck.autograd.compiled.compiled_node import ArrayForm, CompiledNode, form_of
from gradcheck.autograd.compiled.fast_forwards import RECORDED, SPECIALIZED
from gradcheck.autograd.compiled.tracing import TensorTrace, TracedTensor, Untraceable, flat
from gradcheck.autograd.modes import is_recording, silently
from gradcheck.autograd.op import Op
from gradcheck.autograd.pullback import cotangent_of, fit


@lru_cache(maxsize=4096)
def _code(source: str) -> CodeType:
    return compile(source, "<plan>", "exec")


def define(name: str, parameters: str, body: Sequence[str], names: dict[str, Any]) -> Callable[..., Any]:
    """Return the function with this body.

    Functions differ in constants and shapes more often than in code, so equal code is compiled once. Each function has
    a copy of its own, since Python adapts code to the values it meets.
    """
    source = f"def {name}({parameters}):\n    " + "\n    ".join(body)
    space = {**names, "ndarray": np.ndarray, "asarray": np.asarray}
    exec(_code(source), space)
    function: Any = space[name]
    function.__code__ = function.__code__.replace()
    return function  # type: ignore[no-any-return]


def nodes_in(args: Sequence[Any]) -> list[Any]:
    """Return the tensors, traced ones too, among arguments, in order."""
    return [arg for arg in flat(args) if is_node(arg)]


def is_node(arg: Any) -> bool:
    """Return whether an argument is a tensor, or a traced one."""
    return isinstance(arg, (CompiledNode, TracedTensor))


def places_of(op: Op, bound: Sequence[Any]) -> list[tuple[int, ...]]:
    """Return the places of creators: of an argument, or in a sequence."""
    found: list[tuple[int, ...]] = []
    for position, arg in enumerate(bound):
        if is_node(arg):
            found.append((position,))
        elif position == op.sequence:
            found += [(position, index) for index, item in enumerate(arg) if is_node(item)]
    return found


def _replaced(arg: Any, given: Any) -> Any:
    """Return the argument with the next of `given` for each tensor in it."""
    if isinstance(arg, (list, tuple)):
        return type(arg)([_replaced(item, given) for item in arg])
    return next(given) if is_node(arg) else arg


# Forward ---------------------------------------------------------------------------------------------


def applied(kind: type[CompiledNode], op: Op, bound: tuple[Any, ...], plans: Any) -> Callable[..., Any]:
    """Return a function that computes an op and links the result."""
    trace = ArrayTrace(RECORDED, SPECIALIZED)
    leaves = nodes_in(bound)
    inputs = (TracedArray(leaf.data, f"x{i}", trace) for i, leaf in enumerate(leaves))
    result = trace.apply(op, _replaced(bound, inputs))
    if not result.name.startswith("t"):  # the result must be an array of its own
        raise Untraceable
    return linked(kind, op, (bound, plans), _computed(trace, result, len(leaves)), form_of(result.data))


def _computed(trace: ArrayTrace, result: TracedArray, count: int) -> Callable[..., Any]:
    """Return a function of arrays that runs the trace, or its only call."""
    parameters = ", ".join(f"x{i}" for i in range(count))
    lines = trace.code([result])
    if len(lines) == 1:
        name, _, rest = lines[0].removeprefix(f"{result.name} = ").partition("(")
        if rest == f"{parameters})" and name in trace.names:
            return trace.names[name]  # type: ignore[no-any-return]
    return define("compute", parameters, [*lines, f"return {result.name}"], trace.names)


def linked(
    kind: type[CompiledNode],
    op: Op,
    call: tuple[tuple[Any, ...], Any],
    compute: Callable[..., Any],
    form: ArrayForm,
    operands: Sequence[np.ndarray] = (),
) -> Callable[..., Any]:
    """Return a function of tensors that makes a node of `compute`'s result."""
    (bound, plans), size, trace = call, prod(form.shape), TensorTrace(kind, lambda *_: None)
    inputs = [TracedTensor(leaf.data, f"a{i}", trace) for i, leaf in enumerate(nodes_in(bound))]
    arguments = trace.write_all(_replaced(bound, iter(inputs)))
    names = ", ".join(one.name for one in inputs)
    computed = (
        f"silently(compute, {', '.join([*(f'{one.name}.array' for one in inputs), *map(trace.name_of, operands)])})"
    )
    body = [f"release(({names},), {size})"] if size >= LARGE else []
    body += [
        "node = new(kind)",
        f"node.array = {computed if form.shape else f'asarray({computed})'}",
        "node.form = form",
        "node.grad = None",
        "node.freed = node.retains_grad = False",
    ]
    flags = [f"{one.name}.requires_grad" for one in inputs if one.dtype.kind == "f"]
    if op.rules and flags and form.dtype is not None and form.dtype.kind == "f":
        body += [
            f"if ({' or '.join(flags)}) and is_recording():",
            "    node.requires_grad = True",
            "    node.creation_op = op",
            f"    node.arguments = ({arguments},)",
            f"    node.plan = {_plan(flags, plans, trace.names)}",
            "    return node",
        ]
    body += ["node.requires_grad = False", "node.creation_op = node.plan = None", "node.arguments = ()", "return node"]
    space = {**trace.names, "new": object.__new__, "kind": kind, "op": op, "form": form, "plans": plans}
    space |= {"silently": silently, "is_recording": is_recording, "compute": compute, "release": release_dead_values}
    return define("apply", names, body, space)


def _plan(flags: Sequence[str], plans: Any, names: dict[str, Any]) -> str:
    """Return the code of the plan for these flags; add its names."""
    if len(flags) > 2:
        return f"plans[{', '.join(flags)}]"
    for key in ((True,),) if len(flags) == 1 else ((True, True), (True, False), (False, True)):
        names["plan" + "".join(str(int(flag)) for flag in key)] = plans[key]
    return "plan1" if len(flags) == 1 else f"(plan11 if {flags[1]} else plan10) if {flags[0]} else plan01"


def composed(
    kind: type[CompiledNode],
    op: Op,
    bound: tuple[Any, ...],
    compiled: Callable[[Op, tuple[Any, ...]], Callable[..., Any] | None],
) -> Callable[..., Any]:
    """Return a function of tensors that applies a composite op's parts."""
    trace = TensorTrace(kind, compiled)
    leaves = nodes_in(bound)
    inputs = [TracedTensor(leaf.data, f"a{i}", trace) for i, leaf in enumerate(leaves)]
    given = iter(inputs)
    made = op.forward(*[_replaced(arg, given) for arg in bound])
    parts = made if type(made) is tuple else (made,)
    if not all(isinstance(part, TracedTensor) for part in parts):
        raise Untraceable
    names = ", ".join(part.name for part in parts)
    body = [*trace.code(parts), f"return ({names},)" if type(made) is tuple else f"return {names}"]
    return define("compose", ", ".join(one.name for one in inputs), body, trace.names)


# Backward --------------------------------------------------------------------------------------------


def pulled(node: Any, gradient: np.ndarray, general: Callable[..., Any], alone: bool) -> Callable[..., Any]:
    """Return a function of such a node and its gradient: pairs of shares."""
    op, trace = node.creation_op, ArrayTrace(RECORDED, SPECIALIZED)
    tensors, places = nodes_in(node.arguments), places_of(op, node.arguments)
    g, y = TracedArray(gradient, "g", trace), TracedArray(node.array, "y", trace)
    items = [TracedArray(tensor.array, f"x{i}", trace) for i, tensor in enumerate(tensors)]
    values = _replaced(node.arguments, iter(items))
    cotangents: dict[int, Any] = {}
    shares, pairs = [], []
    for i, (tensor, (position, *index)) in enumerate(zip(tensors, places, strict=True)):
        if tensor.requires_grad:
            if position not in cotangents:
                cotangents[position] = cotangent_of(op, position, g, y, values)
            share = cotangents[position][index[0]] if index else cotangents[position]
            shares.append(fit(op, share, items[i]))
            pairs.append(f"(a{i}, {trace.write(shares[-1])})")
    is_large = min(share.size for share in shares) >= LARGE
    lines = [
        *trace.code(shares, "g" if is_large else ""),
        f"return {trace.write(shares[0])}" if alone else f"return ({', '.join(pairs)},)",
    ]
    head = [] if node.shape else ["if type(g) is not ndarray:", "    return general(node, g)"]
    body = [*head, *_parts(places, lines), "try:", *(f"    {line}" for line in lines)]
    body += ["except Exception:", "    return general(node, g)"]
    return define("pull", "node, g", body, {**trace.names, "general": general, "overwritable": overwritable})


def _parts(places: Sequence[tuple[int, ...]], lines: Sequence[str]) -> list[str]:
    """Return the lines that define the parts of a node that other lines use."""
    used = set(re.findall(r"\w+", "\n".join(lines)))
    found = ["y = node.array"] if "y" in used else []
    for i, place in enumerate(places):
        if used & {f"a{i}", f"x{i}"}:
            found.append(f"a{i} = node.arguments{''.join(f'[{index}]' for index in place)}")
        if f"x{i}" in used:
            found.append(f"x{i} = a{i}.array")
    return found
