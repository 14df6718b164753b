"""A traced backward pass as an indented tree of gradients."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from rich.cells import cell_len

from gradcheck import __version__
from gradcheck.autograd.tensor import Tensor
from gradcheck.autograd.trace import ArraySummary, Kept, PassedOn, Received, Trace
from gradcheck.checks.derivation import Explanation
from gradcheck.engines.traced_case import Label, TracedCase, TracedStep
from gradcheck.errors import TensorError
from gradcheck.reports import Look
from gradcheck.reports.commands.explanation import formula_texts
from gradcheck.reports.formats.json import SCHEMA, to_json
from gradcheck.reports.safe_text import count, plain, short_line, wrap
from gradcheck.reports.tensors import inline_text, to_printable_dtype, value_range_text

#: The most tensors without -v, and how many are shown of a longer pass at either end.
MAX_TENSORS, FIRST, LAST = 40, 12, 4
#: The deepest indentation of the tree.
MAX_DEPTH = 8
#: The most tensors in the order, and the most gradients that are left.
MAX_LISTED = 24
#: The widest expression and sender in the tree.
MAX_EXPRESSION, MAX_SENDER = 48, 28

Labels = Mapping[Tensor, Label]


def render(
    traced: TracedCase, look: Look, *, step: int | None = None, tensor: str = "", explained: Explanation | None = None
) -> str:
    """Return all steps, or the one at `step`; all events, or a `tensor`'s."""
    # the gradients of the pass that is `explained` are shown with their formulas
    lines = [plain(traced.case.id)]
    if traced.error is not None:
        error = error_text(traced.error)
        lines += _wrap(f"the forward pass stops at {traced.failed_at}: {error}", look)
    for one in traced.steps:
        if step is None or one.index == step:
            own = explained if explained is not None and explained.step == one.index else None
            lines += ["", *_step(one, look, tensor, own)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def tensors_named(labels: Labels, name: str) -> list[Tensor]:
    """Return the tensors of this name, label or expression."""
    return [t for t, label in labels.items() if name in (label.name, label.text, label.expression) and name]


def event_sentences(trace: Trace, labels: Labels) -> list[tuple[Received | PassedOn, str]]:
    """Return every event with its sentence, on one line."""
    tree = _EventTree(labels, Look(width=10**9))
    return [(event, tree.sentence(event)) for event in trace.events]


def kept_gradient_lines(trace: Trace, labels: Labels) -> list[str]:
    """Return the gradients that the pass leaves behind, a line each."""
    return [line.strip() for line in _kept_lines(list(trace.kept), labels, Look(width=10**4))]


def is_event_about(event: Received | PassedOn, chosen: set[Tensor]) -> bool:
    """Return whether a chosen tensor receives a gradient, or passes one on."""
    return event.tensor in chosen or (isinstance(event, Received) and event.sender in chosen)


def _step(one: TracedStep, look: Look, tensor: str, explained: Explanation | None) -> list[str]:
    title = f"step {one.index + 1}: {step_description(one)}"
    lines = _wrap(title, look, indent="")
    if one.trace is not None:
        lines += _pass(one, one.trace, look, tensor)
        lines += _formulas(one.trace, one.labels, explained, look) if explained is not None and not tensor else []
    if one.error is not None:
        asked = "as the case asks" if not one.is_unexpected else "which the case does not ask for"
        lines += _wrap(f"{error_text(one.error)}; {asked}", look)
    return lines


def error_text(error: TensorError) -> str:
    """Return `error shape: …`."""
    return f"error {error.kind}: {plain(str(error))}"


def step_description(one: TracedStep) -> str:
    """Return what a step does."""
    step = one.step
    if step.action == "zero_grad":
        return f"zero_grad {', '.join(step.names) or 'all'}: no gradient is kept there any more"
    if step.action == "forward":
        return "forward again" + (f", with new values of {', '.join(step.inputs)}" if step.inputs else "")
    kept = "" if step.retain_graph else ", and the graph is freed on the way"
    return f"backward from {' and '.join(step.roots)}{kept}"


def _pass(one: TracedStep, trace: Trace, look: Look, tensor: str) -> list[str]:
    labels = one.labels
    if trace.freed is not None:
        text = f"{labels[trace.freed].text} is freed: an earlier pass has thrown away the values saved for its gradient"
        return _wrap(text, look)
    tree = _EventTree(labels, look)
    if tensor:
        chosen = set(tensors_named(labels, tensor))
        lines = tree.lines_about(trace, chosen)
        return lines + _kept_lines([kept for kept in trace.kept if kept.tensor in chosen], labels, look)
    return [*tree.lines(trace), "", *_order(trace, labels, look), *_kept_lines(list(trace.kept), labels, look)]


class _EventTree:
    """The events of one pass, indented by the distance from the root."""

    def __init__(self, labels: Labels, look: Look) -> None:
        self.labels, self.look = labels, look
        self.show_all = look.verbosity > 0
        self._depth: dict[Tensor, int] = {}
        self._number = 0

    def lines(self, trace: Trace) -> list[str]:
        """Return all events, or the first and the last of very many."""
        blocks = self._blocks(trace)
        total = len(blocks) - 1
        if self.show_all or total <= MAX_TENSORS:
            return [line for block in blocks for line in self._block_lines(block)]
        hidden = blocks[FIRST + 1 : len(blocks) - LAST]
        ops = Counter(event.op.name for block in hidden for event, _ in block if isinstance(event, PassedOn))
        shown = ", ".join(f"{number:,} {name}" for name, number in ops.most_common(6))
        text = f"… {len(hidden):,} tensors more ({shown}); -v shows them, --tensor NAME follows one"
        gap = wrap(text, self.look.width, "     ", "         ")
        first = [line for block in blocks[: FIRST + 1] for line in self._block_lines(block)]
        return [*first, *gap, *(line for block in blocks[-LAST:] for line in self._block_lines(block))]

    def lines_about(self, trace: Trace, chosen: set[Tensor]) -> list[str]:
        events = (pair for block in self._blocks(trace) for pair in block if is_event_about(pair[0], chosen))
        lines = [line for pair in events for line in self._lines(*pair)]
        return lines or ["  no gradient arrives there in this pass"]

    def _blocks(self, trace: Trace) -> list[list[tuple[Received | PassedOn, int]]]:
        """Return the incoming gradients, then a block for each tensor's pass-on."""
        blocks: list[list[tuple[Received | PassedOn, int]]] = [[]]
        for event in trace.events:
            if isinstance(event, PassedOn):
                self._number += 1
                blocks.append([])
            elif event.sender is not None:
                self._depth[event.tensor] = self._depth.get(event.sender, 0) + 1  # the last contribution decides
            blocks[-1].append((event, self._number))
        return blocks

    def _block_lines(self, block: list[tuple[Received | PassedOn, int]]) -> Iterator[str]:
        limit = len(block) if self.show_all or len(block) <= MAX_TENSORS else FIRST
        for event, number in block[:limit]:
            yield from self._lines(event, number)
        if limit < len(block):
            yield f"     … {len(block) - limit:,} gradients more are passed on there"

    def _lines(self, event: Received | PassedOn, number: int) -> list[str]:
        if isinstance(event, PassedOn):
            indent = f"{number:>4} " + self._indent(event.tensor)
        else:
            indent = "       " + ("" if event.sender is None else self._indent(event.sender))
        return wrap(self.sentence(event), self.look.width, indent, " " * (len(indent) + 4))

    def sentence(self, event: Received | PassedOn) -> str:
        own = self.labels[event.tensor]
        if isinstance(event, PassedOn):
            return f"{_definition_text(own)}  ({own.op}) passes on {self._value(event.gradient)}"
        sender = "outside" if event.sender is None else _label_text(self.labels[event.sender], MAX_SENDER)
        return f"{_label_text(own)} receives {self._value(event.gradient)} from {sender}: {self._progress_text(event)}"

    def _indent(self, tensor: Tensor) -> str:
        return " " * 2 * min(self._depth.get(tensor, 0), MAX_DEPTH)

    def _progress_text(self, event: Received) -> str:
        progress = f"{event.received} of {event.expected}"
        total = f", together {self._value(event.total)}" if event.received > 1 else ""
        if not event.ready:
            return f"{progress}{total}, waits"
        return f"{progress}{total}, {'keeps it' if event.tensor.creation_op is None else 'ready'}"

    def _value(self, value: ArraySummary) -> str:
        return array_summary(value, 10_000 if self.show_all else 32)


def array_summary(value: ArraySummary, room: int = 32) -> str:
    """Return the numbers if they fit, else `(64, 10) from -0.3 to 2.1`."""
    text = "" if value.array is None else inline_text(value.array)
    if text and cell_len(text) <= room:
        return text
    shape = f"({', '.join(map(str, value.shape))}{',' if len(value.shape) == 1 else ''})"
    return f"{shape} {value_range_text(value)}"


def _definition_text(label: Label) -> str:
    if not label.name:
        return _label_text(label)
    written = f" = {short_line(label.expression, MAX_EXPRESSION)}" if label.expression else ""
    return f"{plain(label.name)}{written}"


def _label_text(label: Label, room: int = MAX_EXPRESSION) -> str:
    """Return a label with a long expression cut, but never its entry."""
    if label.name:
        return plain(label.name)
    return replace(label, expression=short_line(label.expression, room)).text


def _order(trace: Trace, labels: Labels, look: Look) -> list[str]:
    names = [_label_text(labels[tensor], MAX_SENDER) for tensor in trace.order]
    if len(names) > MAX_LISTED and look.verbosity <= 0:
        names = [*names[:FIRST], f"… {count(len(names) - FIRST - LAST, 'more tensor')} …", *names[-LAST:]]
    return _wrap(f"order: {', '.join(names)}", look, hanging="    ") if names else []


def _formulas(trace: Trace, labels: Labels, explained: Explanation, look: Look) -> list[str]:
    kept = {labels[one.tensor].name for one in trace.kept[: len(trace.kept) if look.verbosity > 0 else MAX_LISTED]}
    lines = [""]
    for name, text in formula_texts(explained):
        if name.startswith("let ") or name in kept:
            title = name if name.startswith("let ") else f"{name}.grad"
            lines += _wrap(plain(f"{title} = {text}"), look, hanging="    ")
    return lines if len(lines) > 1 else []


def _kept_lines(kept: list[Kept], labels: Labels, look: Look) -> list[str]:
    """Return the gradients that the pass leaves, as sums where one existed."""
    lines = []
    limit = len(kept) if look.verbosity > 0 else MAX_LISTED
    for one in kept[:limit]:
        room = 10_000 if look.verbosity > 0 else look.width
        now = array_summary(one.now, room)
        sum_of = "" if one.before is None else f"{array_summary(one.before)} + {array_summary(one.gradient)} = "
        lines += _wrap(f"{_label_text(labels[one.tensor])}.grad: {sum_of}{now}", look, hanging="    ")
    if limit < len(kept):
        lines.append(f"  and {count(len(kept) - limit, 'more gradient')}; -v shows them all")
    return lines


def _wrap(text: str, look: Look, indent: str = "  ", hanging: str = "      ") -> list[str]:
    return wrap(text, look.width, indent, hanging)


# The trace as one JSON document: every event, in order ---------------------------------------------


def render_json(
    traced: TracedCase, *, step: int | None = None, tensor: str = "", explained: Explanation | None = None
) -> str:
    """Return all steps, or the one at `step`; all events, or a `tensor`'s."""
    own = None if explained is None else explained.step
    document = {
        "schema": SCHEMA,
        "gradcheck": __version__,
        "id": traced.case.id,
        "engine": "core",
        "error": _error_record(traced.error),
        "failed_at": traced.failed_at or None,
        "steps": [
            _step_record(one, tensor, explained if one.index == own else None)
            for one in traced.steps
            if step is None or one.index == step
        ],
    }
    return json.dumps(to_json(document), allow_nan=False) + "\n"


def _step_record(one: TracedStep, tensor: str, explained: Explanation | None) -> dict[str, Any]:
    known: dict[str, Any] = {"step": one.index, "action": one.step.action, "error": _error_record(one.error)}
    known["expected_error"] = one.step.raises
    known |= _pass_record(one.trace, one.labels, tensor) if one.trace is not None else {}
    return known if explained is None else known | {"formulas": dict(formula_texts(explained))}


def _error_record(error: TensorError | None) -> dict[str, str] | None:
    return None if error is None else {"kind": error.kind, "message": error.message, "hint": error.hint}


def _pass_record(trace: Trace, labels: Labels, tensor: str) -> dict[str, Any]:
    names = {one: label.text for one, label in labels.items()}
    chosen = set(tensors_named(labels, tensor)) if tensor else set(labels)
    return {
        "roots": [names[root] for root in trace.roots],
        "freed": None if trace.freed is None else names[trace.freed],
        "tensors": [_tensor_record(one, labels) for one in labels if one in chosen],
        "events": [_event_record(event, names) for event in trace.events if is_event_about(event, chosen)],
        "order": [names[one] for one in trace.order],
        "gradients": [_kept_record(kept, names) for kept in trace.kept if kept.tensor in chosen],
    }


def _tensor_record(tensor: Tensor, labels: Labels) -> dict[str, Any]:
    label = labels[tensor]
    parts = {"name": label.name, "inside": label.inside, "expression": label.expression, "op": label.op}
    return {"tensor": label.text, **{key: text or None for key, text in parts.items()}}


def _event_record(event: Received | PassedOn, names: dict[Tensor, str]) -> dict[str, Any]:
    about = {"tensor": names[event.tensor], "gradient": _value_record(event.gradient)}
    if isinstance(event, PassedOn):
        return {"event": "passes_on", **about, "op": event.op.name}
    return {
        "event": "receives",
        **about,
        "from": None if event.sender is None else names[event.sender],
        "received": event.received,
        "expected": event.expected,
        "total": _value_record(event.total),
        "ready": event.ready,
    }


def _kept_record(kept: Kept, names: dict[Tensor, str]) -> dict[str, Any]:
    sums = {"gradient": kept.gradient, "before": kept.before, "now": kept.now}
    return {"tensor": names[kept.tensor], **{key: _value_record(value) for key, value in sums.items()}}


def _value_record(value: ArraySummary | None) -> dict[str, Any] | None:
    """Return an array's record; `values` is null for large arrays."""
    if value is None:
        return None
    return {
        "shape": list(value.shape),
        "dtype": str(value.dtype),
        "values": None if value.array is None else to_printable_dtype(value.array).tolist(),
        "low": value.low,
        "high": value.high,
        "norm": value.norm,
    }
