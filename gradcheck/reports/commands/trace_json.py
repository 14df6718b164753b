"""A traced backward pass as one JSON document: every event, in order."""

from __future__ import annotations

import json
from typing import Any

from gradcheck import __version__
from gradcheck.autograd.tensor import Tensor
from gradcheck.autograd.trace import ArraySummary, Kept, PassedOn, Received, Trace
from gradcheck.checks.derivation import Explanation
from gradcheck.engines.traced_case import TracedCase, TracedStep
from gradcheck.errors import TensorError
from gradcheck.reports.commands.explanation import formula_texts
from gradcheck.reports.commands.trace_text import Labels, is_event_about, tensors_named
from gradcheck.reports.formats.json import SCHEMA, to_json
from gradcheck.reports.tensors import to_printable_dtype


def render(
    traced: TracedCase, *, step: int | None = None, tensor: str = "", explained: Explanation | None = None
) -> str:
    """Return all steps, or the one at `step`; all events, or a `tensor`'s."""
    own = None if explained is None else explained.step
    document = {
        "schema": SCHEMA,
        "gradcheck": __version__,
        "id": traced.case.id,
        "engine": "core",
        "error": _error(traced.error),
        "failed_at": traced.failed_at or None,
        "steps": [
            _step(one, tensor, explained if one.index == own else None)
            for one in traced.steps
            if step is None or one.index == step
        ],
    }
    return json.dumps(to_json(document), allow_nan=False) + "\n"


def _step(one: TracedStep, tensor: str, explained: Explanation | None) -> dict[str, Any]:
    known: dict[str, Any] = {"step": one.index, "action": one.step.action, "error": _error(one.error)}
    known["expected_error"] = one.step.raises
    known |= _pass(one.trace, one.labels, tensor) if one.trace is not None else {}
    return known if explained is None else known | {"formulas": dict(formula_texts(explained))}


def _error(error: TensorError | None) -> dict[str, str] | None:
    return None if error is None else {"kind": error.kind, "message": error.message, "hint": error.hint}


def _pass(trace: Trace, labels: Labels, tensor: str) -> dict[str, Any]:
    names = {one: label.text for one, label in labels.items()}
    chosen = set(tensors_named(labels, tensor)) if tensor else set(labels)
    return {
        "roots": [names[root] for root in trace.roots],
        "freed": None if trace.freed is None else names[trace.freed],
        "tensors": [_tensor(one, labels) for one in labels if one in chosen],
        "events": [_event(event, names) for event in trace.events if is_event_about(event, chosen)],
        "order": [names[one] for one in trace.order],
        "gradients": [_kept(kept, names) for kept in trace.kept if kept.tensor in chosen],
    }


def _tensor(tensor: Tensor, labels: Labels) -> dict[str, Any]:
    label = labels[tensor]
    parts = {"name": label.name, "inside": label.inside, "expression": label.expression, "op": label.op}
    return {"tensor": label.text, **{key: text or None for key, text in parts.items()}}


def _event(event: Received | PassedOn, names: dict[Tensor, str]) -> dict[str, Any]:
    about = {"tensor": names[event.tensor], "gradient": _value(event.gradient)}
    if isinstance(event, PassedOn):
        return {"event": "passes_on", **about, "op": event.op.name}
    return {
        "event": "receives",
        **about,
        "from": None if event.sender is None else names[event.sender],
        "received": event.received,
        "expected": event.expected,
        "total": _value(event.total),
        "ready": event.ready,
    }


def _kept(kept: Kept, names: dict[Tensor, str]) -> dict[str, Any]:
    sums = {"gradient": kept.gradient, "before": kept.before, "now": kept.now}
    return {"tensor": names[kept.tensor], **{key: _value(value) for key, value in sums.items()}}


def _value(value: ArraySummary | None) -> dict[str, Any] | None:
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
