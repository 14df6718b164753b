"""A Case to the text of a case file, which is read as the same case."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from gradcheck.language.case import (
    DERIVATIVE_SECTIONS,
    Case,
    Claim,
    DerivativeClaims,
    ExpectedFailure,
    Generalize,
    Implementation,
    StatedTolerance,
    Step,
    Value,
)
from gradcheck.language.expr.nodes import Call, Dtype, Expr
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import free_names
from gradcheck.language.loader.yaml_text import resolve

#: A whole number as Python writes a float.
_WHOLE = re.compile(r"(?<![\w.])(-?\d+)\.0(?![\w.])")
#: Plain scalars that every YAML reader takes for text, inside brackets too.
_PLAIN = re.compile(r"-?[A-Za-z0-9_(.][A-Za-z0-9_ .()+*/@^<>=!|&~;$%'-]*")
#: Plain scalars outside of brackets, where brackets and commas are text.
_PLAIN_LINE = re.compile(r"-?[A-Za-z0-9_(.](?:[A-Za-z0-9_ .()+*/@^<>=!|&~;$%'\[\],?\"-]|:(?=[A-Za-z_]))*")


def write(case: Case, remarks: Mapping[str, str] | None = None) -> str:
    """Return the case as YAML; places, comments and spellings are lost.

    The `remarks` are comments behind formulas, by tensor."""
    return "".join(f"{line}\n" for line in _lines(case, remarks or {}))


def _lines(case: Case, remarks: Mapping[str, str]) -> Iterator[str]:
    yield from _plain_keys(case)
    yield from _section("dims", {name: str(size) for name, size in case.dims.items()})
    for section in _leaves(case):
        yield from _section(section, {name: _value(value) for name, value in getattr(case, section).items()})
    yield from _section("graph", _texts(case.graph))
    yield from _passes(case)
    yield from _claims(case.values, case.expected)
    yield from formula_lines(case, remarks)
    for section in DERIVATIVE_SECTIONS:
        yield from _derivatives(section, getattr(case, section))
    yield from _checks(case.checks)
    yield from _section("shapes", {name: _shape(shape) for name, shape in case.shapes.items()})
    yield from _generalize(case)
    yield from _implementations(case)
    yield from _tolerances(case)


def _plain_keys(case: Case) -> Iterator[str]:
    """Yield text, words, numbers and `xfail` that are not the default."""
    for key in fields(case):
        value = getattr(case, key.name)
        if key.name == "id" or value == key.default:
            continue
        if isinstance(value, ExpectedFailure):
            yield f"{key.name}: {_xfail(value)}"
        elif isinstance(value, (str, int)):
            yield f"{key.name}: {scalar(value) if isinstance(value, str) else value}"
        elif isinstance(value, tuple) and all(isinstance(word, str) for word in value):
            yield f"{key.name}: {_words(value)}"


def _xfail(said: ExpectedFailure) -> str:
    if not said.only and not said.until:
        return scalar(said.reason)
    only = f", only: {_words(said.only)}" if said.only else ""
    until = f", until: {said.until}" if said.until else ""
    return f"{{reason: {scalar(said.reason, flow=True)}{only}{until}}}"


def _section(title: str, entries: Mapping[str, str]) -> Iterator[str]:
    if entries:
        yield f"{title}:"
        yield from (f"  {scalar(name)}: {text}" for name, text in entries.items())


def _texts(claims: Mapping[str, Claim]) -> dict[str, str]:
    return {name: scalar(claim.text) for name, claim in claims.items()}


def _words(words: tuple[str, ...]) -> str:
    return f"[{', '.join(scalar(word, flow=True) for word in words)}]"


def _leaves(case: Case) -> list[str]:
    """Return the two sections of leaves in the order that their uses need."""
    used = {name for value in case.inputs.values() if value.expr is not None for name in free_names(value.expr)}
    first = [(v.place.line, v.place.column) for v in (*case.inputs.values(), *case.constants.values())]
    inputs, constants = first[: len(case.inputs)], first[len(case.inputs) :]
    below = bool(constants) and min(constants) < min(inputs)
    return ["constants", "inputs"] if below or not used.isdisjoint(case.constants) else ["inputs", "constants"]


def _passes(case: Case) -> Iterator[str]:
    """Yield `backward` if it suffices, else `steps`; nothing for the default.

    In a case of Jacobians, one that is stated is none: it starts from one number."""
    (step, *rest) = case.steps
    if rest or step != Step("backward", roots=step.roots):
        yield "steps:"
        for one in case.steps:
            lines = _step(one)
            yield f"  - {next(lines)}"
            yield from (f"    {line}" for line in lines)
    elif dict(step.roots) != {list(case.graph)[-1]: None} or (case.states_derivatives and not step.is_implied):
        yield f"backward: {_roots(step.roots)}"


def _roots(roots: Mapping[str, Value | None]) -> str:
    if len(roots) == 1 and None in roots.values():
        return scalar(next(iter(roots)))
    return _mapping({name: _value(value, flow=True) if value else "null" for name, value in roots.items()})


def _step(step: Step) -> Iterator[str]:
    if step.action == "backward":
        yield f"backward: {_roots(step.roots)}"
    elif step.action == "zero_grad":
        yield f"zero_grad: {_words(step.names) if step.names else 'all'}"
    else:
        yield f"forward: {_mapping({name: _value(value, flow=True) for name, value in step.inputs.items()})}"
    if not step.retain_graph:
        yield "retain_graph: false"
    if step.raises:
        yield f"raises: {step.raises}"
    yield from _claims(step.values, step.expected)
    yield from _checks(step.checks)


def _claims(values: Mapping[str, Value], expected: Mapping[str, Value | None]) -> Iterator[str]:
    yield from _section("values", {name: _value(value) for name, value in values.items()})
    yield from _section("expected", {name: _value(value) if value else "null" for name, value in expected.items()})


def _checks(checks: tuple[Claim, ...]) -> Iterator[str]:
    if checks:
        yield "checks:"
        yield from (f"  - {scalar(claim.text)}" for claim in checks)


def formula_lines(case: Case, remarks: Mapping[str, str]) -> Iterator[str]:
    """Yield the sections of formulas and their steps."""
    yield from _section("let", _texts(case.let))
    yield from _derivations("formulas", case.formulas, remarks)
    yield from _derivations("wrong_formulas", case.wrong_formulas, {})


def _derivations(section: str, claims: Mapping[str, tuple[Claim, ...]], remarks: Mapping[str, str]) -> Iterator[str]:
    if claims:
        yield f"{section}:"
    for name, listed in claims.items():
        first, *others = _listed(name, [scalar(claim.text) for claim in listed])
        yield first + (f"  # {remarks[name]}" if name in remarks else "")
        yield from others


def _listed(name: str, texts: list[str]) -> Iterator[str]:
    """Yield an entry of one text, or of a list."""
    if len(texts) == 1:
        yield f"  {scalar(name)}: {texts[0]}"
    else:
        yield f"  {scalar(name)}:"
        yield from (f"    - {text}" for text in texts)


def _derivatives(section: str, claims: DerivativeClaims) -> Iterator[str]:
    if claims:
        yield f"{section}:"
    for name, by in claims.items():
        first, *lines = _derivations(scalar(name), by, {})
        yield f"  {first}"
        yield from (f"  {line}" for line in lines)


def _generalize(case: Case) -> Iterator[str]:
    claims = case.has_general_claims or bool(case.implementations)
    said = case.generalize
    if said is None:
        if claims:
            yield "generalize: false"
    elif said != Generalize():
        sizes = _mapping({word: f"[{low}, {high}]" for word, (low, high) in said.dims.items()})
        yield f"generalize: {{trials: {said.trials}{f', dims: {sizes}' if said.dims else ''}}}"
    elif not claims:
        yield "generalize: true"


def _implementations(case: Case) -> Iterator[str]:
    if case.implementations:
        yield "implementations:"
    for entry in dict.fromkeys(one.entry for one in case.implementations):
        yield from _listed(entry, [_implementation(one) for one in case.implementations if one.entry == entry])


def _implementation(one: Implementation) -> str:
    """Return the reference alone if nothing else is stated."""
    entries = {"call": scalar(one.call, flow=True)}
    if one.backward:
        entries = {"forward": entries["call"], "backward": scalar(one.backward, flow=True)}
    if one.arguments is not None:
        entries["arguments"] = f"[{', '.join(scalar(claim.text, flow=True) for claim in one.arguments)}]"
    if one.dtypes:
        entries["dtypes"] = f"[{', '.join(one.dtypes)}]"
    if one.tolerance is not None:
        entries["tolerance"] = _mapping(_numbers(one.tolerance))
    if one.order is not None:
        entries["order"] = str(one.order)
    if one.autocast:
        entries["autocast"] = one.autocast
    if list(entries) == ["call"]:
        return scalar(one.call)
    return f"{{{', '.join(f'{key}: {text}' for key, text in entries.items())}}}"


def _tolerances(case: Case) -> Iterator[str]:
    entries: dict[str, str] = {}
    for name, tolerance in case.tolerance.items():
        if name:
            entries[name] = _mapping(_numbers(tolerance))
        else:
            entries |= _numbers(tolerance)
    if case.engine_tolerance is not None:
        entries["engines"] = _mapping(_numbers(case.engine_tolerance))
    yield from _section("tolerance", entries)


def _numbers(tolerance: StatedTolerance) -> dict[str, str]:
    pairs = (("rtol", tolerance.rtol), ("atol", tolerance.atol))
    return {key: repr(value) for key, value in pairs if value is not None}


def _value(value: Value, *, flow: bool = False) -> str:
    """Return a number, a list, text, or `{values, shape, dtype}`."""
    if value.expr is not None:
        parts = _parts(value.expr, value.dtype)
        return _mapping(parts) if parts else scalar(to_text(value.expr), flow=flow)
    array = np.asarray(value.array)
    written = _list(array)
    unreadable = array.ndim > 1 and 0 in array.shape[:-1]
    shape = f", shape: {list(array.shape)}" if unreadable else ""
    dtype = f", dtype: {value.dtype}" if value.dtype else ""
    return f"{{values: {'[]' if unreadable else written}{shape}{dtype}}}" if shape or dtype else written


def literal(array: np.ndarray) -> str:
    """Return an array on one line, whole numbers without a point."""
    return _WHOLE.sub(r"\1", _value(Value(array), flow=True))


def _parts(expr: Expr, dtype: str) -> dict[str, str]:
    """Return `values`, `shape` and `dtype`, which the loader joined, if any."""
    shape: dict[str, str] = {}
    inner = expr
    if dtype and isinstance(expr, Call) and expr.op == "reshape" and not expr.kwargs:
        inner, shape = expr.args[0], {"shape": to_text(expr.args[1])}
    if dtype and isinstance(inner, Call) and inner.op == "to" and inner.args[1:] == (Dtype(dtype),):
        return {"values": scalar(to_text(inner.args[0]), flow=True), **shape, "dtype": dtype}
    return {}


def _list(array: np.ndarray) -> str:
    if array.dtype.kind == "V":  # bfloat16
        array = array.astype(np.float64)

    def written(item: Any) -> str:
        return f"[{', '.join(map(written, item))}]" if isinstance(item, list) else _number(item)

    return written(array.tolist())


def _number(value: complex | bool) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, complex):
        return f'"{repr(value).strip("()")}"'
    if math.isfinite(value):
        return repr(value)
    return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"


def _shape(shape: tuple[str | int, ...] | Expr) -> str:
    return f"[{', '.join(map(str, shape))}]" if isinstance(shape, tuple) else scalar(to_text(shape))


def _mapping(entries: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{scalar(name, flow=True)}: {text}' for name, text in entries.items())}}}"


def scalar(text: str, *, flow: bool = False) -> str:
    """Return a scalar that is read as this text, plain or in double quotes."""
    pattern = _PLAIN if flow else _PLAIN_LINE
    if pattern.fullmatch(text) and text == text.strip() and not text.startswith("...") and _is_text(text):
        return text
    return json.dumps(text, ensure_ascii=False)


def _is_text(text: str) -> bool:
    try:
        return isinstance(resolve(text), str)
    except OverflowError:
        return False
