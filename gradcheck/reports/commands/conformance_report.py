"""The report of `gradcheck conform`: a table, Markdown, or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gradcheck.checks.conformance.cost import Cost
from gradcheck.checks.conformance.engine_conformance import Conformance, ConformanceStatus, conformance_status
from gradcheck.checks.result import RunResult
from gradcheck.checks.unsupported_features import unsupported_features
from gradcheck.reports import Look
from gradcheck.reports.causes import find_causes
from gradcheck.reports.located_messages import failure_messages
from gradcheck.reports.number_formats import format_error
from gradcheck.reports.overview import overview
from gradcheck.reports.phrases import say
from gradcheck.reports.safe_text import plain, wrap
from gradcheck.reports.summary import unsupported_lines

#: The most right, or lacking, ops that are named.
_NAMED = 40
#: The most wrong cases that are named.
_LISTED = 8
_ORDER: tuple[ConformanceStatus, ...] = ("right", "wrong", "lacking")
_WORDS = {"holds": "ok", "fails": "FAIL", "unsupported": "n/a"}


def render(found: Conformance, look: Look) -> str:
    """Return verdict, causes, properties, ops and cases; with -v all names."""
    lines = [verdict(found), ""]
    for convention in found.conventions:
        lines += wrap(plain(say(convention)), look.width, "  ", "    ")
    if found.backward_pass is not None:
        told = f"the backward pass: {plain(say(found.backward_pass.message))}"
        shown = plain(say(found.backward_pass.evidence))
        lines += [*wrap(told, look.width, "  ", "      "), *wrap(shown, look.width, "      ", "      "), ""]
    lines += [*_cause_lines(found, look), ""] if found.conventions or not found.holds else []
    lines += ["  properties"]
    room = max(len(one.name) for one in found.properties)
    for one in found.properties:
        text = f"{_WORDS[one.status]:6} {one.name.ljust(room)}  {plain(say(one.why))}".rstrip()
        lines += wrap(text, look.width, "    ", " " * 11)
    lines += ["", *_ops(found, look)]
    if found.cases is not None:
        counts = ", ".join(f"{found.count(word)} {word}" for word in _ORDER)
        lines += ["", f"  cases       {counts}"]
        lines += _wrong(found.cases, "id", look)
        for text in unsupported_lines(found.cases):
            lines += wrap(text, look.width, "  gained      ", " " * 14)
    lines += _cost(found)
    return "\n".join([*lines, "", verdict(found)]) + "\n"


def _cost(found: Conformance) -> list[str]:
    if found.cost is None:
        return []
    named = ", ".join(f"{plain(name)} {_time(seconds)}" for name, seconds in found.cost.seconds[1:])
    lines = ["", "  cost", f"    an op      {_time(found.cost.seconds[0][1])}; {named}"]
    if found.cost.bytes_a_node is not None:
        lines.append(f"    a node     {found.cost.bytes_a_node:,.0f} bytes at the peak")
    for one in found.cost.growth:
        calls = ", ".join(f"{number:,}" for number in one.calls)
        sizes = ", ".join(map(str, one.sizes))
        lines.append(f"    {one.graph:10} {sizes} entries: {calls} calls of functions")
    return lines


def _time(seconds: float | None) -> str:
    return "n/a" if seconds is None else f"{format_error(seconds * 1e6)} µs"


def verdict(found: Conformance) -> str:
    """Return the line that the report begins and ends with."""
    wrong = (
        (found.count("wrong"), "case", "cases"),
        (sum(word == "wrong" for word in found.ops.values()), "op", "ops"),
        (sum(one.status == "fails" for one in found.properties), "property", "properties"),
    )
    parts = ["its backward pass"] if found.backward_pass is not None else []
    parts += [f"{number} {one if number == 1 else many}" for number, one, many in wrong if number]
    if found.checked_nothing:
        return f"{plain(found.engine)}: nothing was checked"
    if not parts:
        return f"{plain(found.engine)} conforms in all that it can be asked"
    return f"{plain(found.engine)} is wrong in {', '.join(parts)}"


def _cause_lines(found: Conformance, look: Look) -> list[str]:
    """Return all problems of cases and of calls of ops, by cause."""
    everything = found.all_results
    grouped = find_causes(everything)
    if not grouped.groups and not grouped.cases:
        return []
    noun = "call" if found.cases is None else "case"
    return [line.plain for line in overview(everything, grouped, look, None, noun)]


def _wrong(result: RunResult, name: str, look: Look) -> Iterator[str]:
    """Yield the wrong cases by this attribute; with -v all of them, and why."""
    wrong = [case for case in result.cases if conformance_status(case) == "wrong"]
    told = wrong if look.verbosity > 0 or len(wrong) <= _LISTED else wrong[:_LISTED]
    for case in told:
        reason = f": {failure_messages(case)[0].message}" if look.verbosity > 0 else ""
        yield from wrap(f"wrong: {plain(getattr(case, name))}{reason}", look.width, " " * 14, " " * 16)
    if len(told) < len(wrong):
        yield f"{' ' * 14}and {len(wrong) - len(told)} more (-v lists them)"


def _ops(found: Conformance, look: Look) -> list[str]:
    """Return each op once; without -v only the commonest that are right."""
    made_of = {name: parts for name, parts in found.made_of.items() if found.ops.get(name) == "lacking"}
    of_pass = [name for name in found.ops_not_judged if name not in made_of]
    lines: list[str] = []
    for word in ("wrong", "right", "lacking"):
        names = [name for name, stands in found.ops.items() if stands == word and name not in (*made_of, *of_pass)]
        title = "ops" if not lines else ""
        told = names if word == "wrong" or look.verbosity > 0 else names[:_NAMED]
        more = [f"and {len(names) - len(told)} more (-v lists them)"] if len(told) < len(names) else []
        text = f"{len(names)} {word}" + (f": {', '.join([*told, *more])}" if names else "")
        lines += wrap(text, look.width, f"  {title:12}", " " * 16)
    if made_of:
        made = ", ".join(f"{name} (of {', '.join(parts)})" for name, parts in made_of.items())
        text = f"{len(made_of)} not judged, written in what is wrong: {made}"
        lines += wrap(text, look.width, " " * 14, " " * 16)
    if of_pass:
        text = f"{len(of_pass)} not judged, the backward pass is wrong in them: {', '.join(of_pass)}"
        lines += wrap(text, look.width, " " * 14, " " * 16)
    if look.verbosity > 0:
        lines += _wrong(found.op_results, "name", look)
    return lines


def as_markdown(found: Conformance) -> str:
    """Return a table for a README: what was tried, and how much is right."""
    rows = [("ops", list(found.ops.values()))]
    if found.cases is not None:
        standings = [word for case in found.cases.cases if (word := conformance_status(case)) is not None]
        rows.insert(0, ("cases", standings))
    words: dict[str, ConformanceStatus] = {"holds": "right", "fails": "wrong", "unsupported": "lacking"}
    rows.append(("properties", [words[one.status] for one in found.properties]))
    lines = [f"| {plain(found.engine)} | {' | '.join(_ORDER)} |", "|---|---|---|---|"]
    lines += [f"| {what} | {' | '.join(str(all_.count(word)) for word in _ORDER)} |" for what, all_ in rows]
    return "\n".join([*lines, "", verdict(found) + "."]) + "\n"


def _cost_record(cost: Cost) -> dict[str, Any]:
    growth = {one.graph: {"entries": list(one.sizes), "calls": list(one.calls)} for one in cost.growth}
    return {"seconds_an_op": dict(cost.seconds), "bytes_a_node": cost.bytes_a_node, "growth": growth}


def as_json(found: Conformance) -> str:
    """Return the report as JSON."""
    disease = found.backward_pass
    document: dict[str, Any] = {
        "schema": 1,
        "engine": found.engine,
        "conforms": found.holds,
        "cases": None if found.cases is None else {case.id: case.status for case in found.cases.cases},
        "ops": found.ops,
        "made_of": {name: list(parts) for name, parts in found.made_of.items()},
        "backward_pass": None if disease is None else {"kind": disease.kind, "message": say(disease.message)},
        "not_judged": list(found.ops_not_judged),
        "conventions": [say(one) for one in found.conventions],
        "properties": [{"name": one.name, "status": one.status, "message": say(one.why)} for one in found.properties],
        "cost": None if found.cost is None else _cost_record(found.cost),
        "lacking": []
        if found.cases is None
        else [word for one in unsupported_features(found.cases) for word in one.features],
    }
    return json.dumps(document) + "\n"
