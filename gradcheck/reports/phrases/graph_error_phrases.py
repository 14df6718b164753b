"""Phrases on graphs that cannot be computed, and corrections."""

from __future__ import annotations

import re
from math import prod
from typing import Any

from gradcheck.autograd.families import PRODUCTS
from gradcheck.facts import Fact
from gradcheck.reports.phrases.phrase_table import FORMATTERS, add_phrases, join_names
from gradcheck.reports.safe_text import count

_MASKED = ("where", "masked_fill", "masked_select", "bitwise_not")
_RESHAPED = ("view", "reshape")
_shape = FORMATTERS["shape"]
#: Ops whose second argument is labels of the first's columns.
_LABELLED = ("cross_entropy", "nll_loss")


def _graph_error(found: Fact) -> str:
    what = _problem_text(found)
    hint = _hint(found)
    return f"{found['entry']}: {what}{f'; {hint}' if hint else ''}"


def _claim_raised(about: Fact) -> str:
    """Return the error of a claim; the report names the claim before it."""
    found = dict(about.data).get("told")
    if found is None:
        return str(about["text"])
    step = f"the step {found['entry']}: " if found["entry"] else ""
    hint = "" if found["error"] == "shape_mismatch" else _hint(found)
    return f"{step}{_problem_text(found)}{f'; {hint}' if hint else ''}"


def _problem_text(found: Fact) -> str:
    operands, error = found["operands"], found["error"]
    if found["integers"] or found["floats"]:
        return _wrong_kind(found)
    if error == "shape_mismatch" and len(operands) == 2:
        (a, left, _), (b, right, _) = operands
        pair = f"{a} of shape {_shape(left)} and {b} of shape {_shape(right)}"
        if found["op"] in PRODUCTS:
            return f"{pair} cannot be multiplied{_inner_sizes_text(found['op'], left, right)}"
        if found["elementwise"]:
            return f"{pair} do not go together"
    if _is_of_labels(found):
        return _label(operands, found["range"])
    held = zip(operands, found["range"], strict=True)
    shapes = [f"{text} has shape {_shape(shape)}{_range(within)}" for (text, shape, _), within in held]
    why = re.sub(r"^(?:[a-z_.0-9]+: )+", "", found["why"])  # without the ops that raised it
    is_said = any(_shape(shape) in found["why"] for _, shape, _ in operands)
    return f"{found['part']}: {why}" + (f" ({', '.join(shapes)})" if shapes and not is_said else "")


def _range(within: tuple[int, int] | None) -> str:
    return f" and holds {within[0]} to {within[1]}" if within else ""


def _inner_sizes_text(op: str, left: tuple[int, ...], right: tuple[int, ...]) -> str:
    """Return the two sizes that should be equal."""
    if op not in ("matmul", "mm", "bmm") or not left or not right:
        return ""
    rows = right[-2] if len(right) > 1 else right[0]
    return f": {count(left[-1], 'column')}, {count(rows, 'row')}" if left[-1] != rows else ""


def _wrong_kind(found: Fact) -> str:
    names, held = (found["integers"], "integers") if found["integers"] else (found["floats"], "floating numbers")
    verb = "holds" if len(names) == 1 else "hold"
    others = [f"{text} is {dtype}" for text, _, dtype in found["operands"] if text not in names]
    beside = f" ({', '.join(others)})" if others else ""
    return f"{join_names(names)} {verb} {held}, in {found['part']}{beside}"


def _hint(found: Fact) -> str:
    if found["integers"] and found["op"] in _MASKED:
        return f"a mask holds true and false: write {found['integers'][0]}.bool()"
    if found["integers"]:
        return f"write 1.0 for 1 in {join_names(found['integers'])}, or dtype: float64"
    if found["floats"]:
        return f"write 1 for 1.0 in {join_names(found['floats'])}, or dtype: int64"
    if found["meant"]:
        entry = f"{found['meant_in']}: " if found["meant_in"] != found["entry"] else ""
        return f"did you mean  {entry}{found['meant']} ?"
    if _is_of_labels(found):
        return f"labels go from 0 to {_classes(found['operands']) - 1}"
    if found["op"] in _RESHAPED and found["operands"]:
        return f"it has {prod(found['operands'][0][1])} elements; -1 stands for the size that is left over"
    if found["error"] == "shape_mismatch" and found["elementwise"]:
        return "sizes are compared from the right: two are equal, or one of them is 1"
    return str(found["advice"])


def _is_of_labels(found: Fact) -> bool:
    """Return whether labels are out of the range of the scores' classes."""
    operands = found["operands"]
    is_known = len(operands) > 1 and operands[0][1] != () and found["range"][1] is not None
    return found["error"] == "index_out_of_range" and found["op"] in _LABELLED and is_known


def _classes(operands: Any) -> int:
    shape = operands[0][1]
    return int(shape[1] if len(shape) > 1 else shape[0])


def _label(operands: Any, ranges: Any) -> str:
    (scores, shape, _), (text, _, _) = operands[:2]
    low, high = ranges[1] or (0, 0)
    wrong = high if high >= _classes(operands) else low
    return f"{text} holds {wrong}, and {scores} of shape {_shape(shape)} has {_classes(operands)} classes"


def _root_of_many(found: Fact) -> str:
    roots = found["roots"]
    listed_roots = " and ".join(f"{root} has shape {_shape(shape)}" for root, shape in roots)
    name = roots[0][0] if roots else "z"
    return (
        f"{_step(found)}{listed_roots}, and a backward pass without an incoming gradient begins at one number; "
        f"write loss: {name}.sum(), or backward: {{{name}: randn_like({name})}}"
    )


def _complex_root(found: Fact) -> str:
    root = found["root"]
    return (
        f"{_step(found)}{root} is complex, and a backward pass without an incoming gradient begins at a real number; "
        f"write loss: {root}.real, or backward: {{{root}: ones_like({root})}}"
    )


def _step_error(found: Fact) -> str:
    roots = found["roots"]
    advice = found["advice"]
    if found["error"] == "shape_mismatch" and roots:
        advice = f"write {{{roots[0]}: randn_like({roots[0]})}}"
    return f"{_step(found)}{found['text']}{f'; {advice}' if advice else ''}"


def _step(found: Fact) -> str:
    return f"step {found['step']}: " if found["steps"] > 1 else ""


add_phrases(
    {
        "refused": _graph_error,
        "claim_raised": _claim_raised,
        "root_of_many": _root_of_many,
        "complex_root": _complex_root,
        "root_of_none": lambda found: (
            f"{_step(found)}no input reaches {join_names(found['roots'])}, so that there is no gradient"
        ),
        "step_refused": _step_error,
    }
)
