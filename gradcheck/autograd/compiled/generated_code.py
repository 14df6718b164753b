"""Code of plans: Python functions made of what a trace has written down."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from gradcheck.autograd.compiled.buffer_release import LARGE, let_go, written_over
from gradcheck.autograd.compiled.tracing import ArrayTrace, TensorTrace, Traced, TracedArray, Untraceable
from gradcheck.autograd.modes import is_recording, silently
from gradcheck.autograd.node import Node, form_of, nodes_in
from gradcheck.autograd.op import Op
from gradcheck.autograd.pullback import cotangent_of, fit


@lru_cache(maxsize=4096)
def _code(source: str) -> CodeType:
    return compile(source, "<plan>", "exec")


def _made(name: str, parameters: str, body: list[str], names: dict[str, Any]) -> Any:
    """The function of this body. Graphs differ in constants and shapes more often than in code; but Python adapts code
    to what it meets, so each function has a copy of its own."""
    source = f"def {name}({parameters}):\n    " + "\n    ".join(body)
    space = {**names, "ndarray": np.ndarray, "asarray": np.asarray}
    exec(_code(source), space)
    function: Any = space[name]
    function.__code__ = function.__code__.replace()
    return function


def applied(kind: type[Node], op: Op, bound: tuple[Any, ...], plan: Callable[[int | None], Any]) -> Callable[..., Any]:
    """A function of an op's tensors that computes it and links the result to them."""
    trace = ArrayTrace()
    leaves = nodes_in(bound)
    given = iter([TracedArray(leaf.data, f"x{i}", trace) for i, leaf in enumerate(leaves)])
    result = trace.apply(op, tuple(_replaced(arg, given) for arg in bound))
    if result.name.startswith("x"):  # a result is an array of its own
        raise Untraceable
    count = len(leaves)
    parameters = ", ".join(f"a{i}" for i in range(count))
    lines = [f"let_go(({parameters},), {result.size})"] if result.size >= LARGE else []
    arrays = ", ".join(f"a{i}.array" for i in range(count))
    lines += ["node = new(kind)", f"node.array = silently(compute, {arrays})", "node.form = form"]
    names = {"let_go": let_go, "new": object.__new__, "kind": kind, "op": op, "form": form_of(result.data)}
    names |= {"silently": silently, "is_recording": is_recording, "compute": _computed(trace, result, count)}
    if op.rules and result.data.dtype.kind == "f":
        floats = [i for i, leaf in enumerate(leaves) if leaf.data.dtype.kind == "f"]
        lines += _linked(count, floats, names, plan)
    lines += ["node.grad = node.creation_op = node.plan = node.second = None", "node.first = ()"]
    lines += ["node.requires_grad = node.freed = node.retains_grad = False", "return node"]
    return _made("apply", parameters, lines, names)  # type: ignore[no-any-return]


def _computed(trace: ArrayTrace, result: Traced, count: int) -> Callable[..., Any]:
    """A function of the arrays that does what the trace has written down; where that is one call, what is called."""
    parameters = [f"x{i}" for i in range(count)]
    lines = trace.code([result])
    if len(lines) == 1:
        name, _, rest = lines[0].removeprefix(f"{result.name} = ").partition("(")
        if rest == f"{', '.join(parameters)})" and name in trace.names:
            return trace.names[name]  # type: ignore[no-any-return]
    return _made("compute", ", ".join(parameters), [*lines, f"return {result.name}"], trace.names)  # type: ignore[no-any-return]


def _linked(count: int, floats: list[int], names: dict[str, Any], plan: Callable[[int | None], Any]) -> list[str]:
    """The lines that link the result to tensors that require a gradient: to one of them, or to all."""
    every = f"({', '.join(f'a{i}' for i in range(count))})"
    ways = []
    for i in floats:
        names[f"plan{i}"] = plan(i)
        others = [f"not a{j}.requires_grad" for j in floats if j != i]
        second = "None" if count == 1 else f"a{1 - i}" if count == 2 else every
        ways.append((" and ".join([f"a{i}.requires_grad", *others]), f"plan{i}", f"a{i}", second))
    if len(floats) > 1:
        names["plan"] = plan(None)
        pair = ("a0", "a1") if count == 2 else (every, "None")
        wanting = " or ".join(f"a{i}.requires_grad" for i in floats)
        ways = [(wanting, "plan", *pair)] if len(floats) > 2 else [*ways, (wanting, "plan", *pair)]
    lines = ["if is_recording():"]
    for condition, how, first, second in ways:
        lines += [f"    if {condition}:", "        node.grad = None", "        node.requires_grad = True"]
        lines += ["        node.creation_op = op", f"        node.plan = {how}", f"        node.first = {first}"]
        lines += [
            f"        node.second = {second}",
            "        node.freed = node.retains_grad = False",
            "        return node",
        ]
    return lines


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
    body = [*trace.code(parts), f"return ({names},)" if type(made) is tuple else f"return {names}"]
    return _made("compose", parameters, body, trace.names)  # type: ignore[no-any-return]


def pulled(node: Node, gradient: np.ndarray, plan: Any) -> Callable[[Node, np.ndarray], Any]:
    """A function of a node like this one, and its gradient, that gives what its tensors receive, as the plan has it."""
    op: Any = node.creation_op
    trace = ArrayTrace()
    tensors = plan.tensors(node)
    g, y = TracedArray(gradient, "g", trace), TracedArray(node.array, "y", trace)
    items = [TracedArray(tensor.array, f"x{i}", trace) for i, tensor in enumerate(tensors)]
    given = iter(items)
    values = [_replaced(arg, given) for arg in node.arguments]

    def made(i: int) -> Any:
        position, index = plan.places[i]
        share = cotangent_of(op, position, g, y, values)
        return fit(op, share if index is None else share[index], items[i])

    wanting = [i for i, item in enumerate(items) if item.data.dtype.kind == "f"]
    if plan.wanted is None:
        lines = (_both if len(wanting) == 2 else _each)(made, wanting, trace)
    else:
        lines = _only(made, plan, trace)
    head = ["if type(g) is not ndarray:", "    return general(node, g)"] if not node.shape else []
    head += _taken_apart(len(tensors), plan, lines)
    body = [*head, "try:", *(f"    {line}" for line in lines), "except Exception:", "    return general(node, g)"]
    return _made("pull", "node, g", body, {**trace.names, "general": plan.general, "written_over": written_over})  # type: ignore[no-any-return]


def _taken_apart(count: int, plan: Any, lines: list[str]) -> list[str]:
    """The lines that name a node's parts, as far as the others ask for them."""
    names = [f"a{i}" for i in range(count)]
    if plan.wanted is None:
        found = ["a0 = node.first", "a1 = node.second"] if count == 2 else [f"{', '.join(names)} = node.first"]
    elif count > 2:
        found = [f"{', '.join(names)} = node.second"]
    else:
        found = [f"a{plan.wanted} = node.first", *([f"a{1 - plan.wanted} = node.second"] if count == 2 else [])]
    found += [f"x{i} = a{i}.array" for i in range(count)]
    used = set(re.findall(r"\w+", "\n".join(lines)))
    asked = ["y = node.array"] if "y" in used else []
    for line in reversed(found):
        if used & set(line.partition(" = ")[0].split(", ")):
            used |= set(re.findall(r"\w+", line.partition(" = ")[2]))
            asked.insert(0, line)
    return asked


def _only(made: Callable[[int], Any], plan: Any, trace: ArrayTrace) -> list[str]:
    """The lines that make the share of the only tensor that requires a gradient."""
    share = made(plan.wanted or 0)
    return [*trace.code([share], _given([share])), f"return {trace.written(share)}"]


def _given(shares: list[Any]) -> str:
    """The name of the incoming gradient, where the last share may be written over it."""
    return "g" if shares and min(share.size for share in shares) >= LARGE else ""


def _both(made: Callable[[int], Any], wanting: list[int], trace: ArrayTrace) -> list[str]:
    """The lines that make the shares of the two tensors that do."""
    shares = [made(i) for i in wanting]
    pairs = ", ".join(f"(a{i}, {trace.written(share)})" for i, share in zip(wanting, shares, strict=True))
    asked = " and ".join(f"a{i}.requires_grad" for i in wanting)
    return [
        f"if not ({asked}):",
        "    return general(node, g)",
        *trace.code(shares, _given(shares)),
        f"return ({pairs})",
    ]


def _each(made: Callable[[int], Any], wanting: list[int], trace: ArrayTrace) -> list[str]:
    """The lines that make the shares of those of several tensors that do, in order."""
    body = ["found = []"]
    for i in wanting:
        share = made(i)
        body += [f"if a{i}.requires_grad:", *(f"    {line}" for line in trace.code([share]))]
        body.append(f"    found.append((a{i}, {trace.written(share)}))")
    return [*body, "return found"]
