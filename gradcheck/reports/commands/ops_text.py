"""The output of `gradcheck ops`: the op table, one op, or the whole page."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import gradcheck.oracles.exact.prove  # noqa: F401 (it fills the table of actions)
from gradcheck.autograd.dtypes import BY_NAME, is_differentiable
from gradcheck.autograd.families import FAMILIES, named_families
from gradcheck.autograd.op import ALIASES, Op, whole_table
from gradcheck.checks.op_oracles import OpOracles, op_oracles
from gradcheck.oracles.exact.dual_numbers import EXACT_RULES
from gradcheck.reports.number_formats import format_number
from gradcheck.reports.safe_text import truncate


def _rule(entry: Op) -> str:
    return "composite" if entry.composite else "yes" if any(entry.rules) else "no"


def _independent_checks(entry: Op) -> str:
    """Return which oracles know the op's derivative, and in which modes."""
    if entry.composite or not any(entry.rules):
        return "its parts'" if entry.composite else ""
    numeric = "complex step" if entry.analytic else "differences"
    exact = "exact, " if entry.name in EXACT_RULES else ""
    return f"{exact}{numeric}, forward, order 2"


def _aliases(entry: Op) -> str:
    return ", ".join(alias for alias, name in ALIASES.items() if name == entry.name)


def _domain(entry: Op) -> str:
    """Return `[-3, 3] x [0.3, 3]`; nothing for arguments with structure."""
    bounds = ([format_number("value", bound) for bound in pair] for pair in entry.domain)
    return " x ".join(f"[{low}, {high}]" for low, high in bounds) if entry.elementwise else ""


#: The columns and their widths; a terminal cuts longer cells, a pipe does not.
_COLUMNS: dict[str, tuple[int, Callable[[Op], str]]] = {
    "SIGNATURE": (36, lambda entry: entry.signature),
    "RULE": (9, _rule),
    "ORACLES": (36, _independent_checks),
    "KINKS": (24, lambda entry: entry.kinks),
    "TORCH": (24, lambda entry: entry.torch),
    "ALIASES": (16, _aliases),
    "DOMAIN": (20, _domain),
    "DOC": (80, lambda entry: entry.doc.partition("\n")[0]),
}
#: The columns that a narrow terminal drops, in this order.
_OPTIONAL_COLUMNS = ("DOMAIN", "ALIASES", "TORCH", "KINKS", "ORACLES")
#: The least width of the doc column.
_DOC = 24


def op_table(room: int | None, ops: Iterable[Op] | None = None) -> list[str]:
    """Return a line for each of these ops, by default of all.

    `room` is a terminal's number of columns: only columns of the table that fit are shown. None is a pipe: all columns,
    uncut.
    """
    rows = [{title: title for title in _COLUMNS}]
    rows += [
        {title: cell(entry) for title, (_, cell) in _COLUMNS.items()}
        for entry in sorted(whole_table().values() if ops is None else ops, key=lambda entry: entry.name)
    ]
    widths = {title: min(most, max(len(row[title]) for row in rows)) for title, (most, _) in _COLUMNS.items()}
    if room is not None:
        widths = _fitting(widths, room)
    return ["  ".join(_cell(row[title], most, room) for title, most in widths.items()).rstrip() for row in rows]


def op_families(room: int) -> list[str]:
    """Return a line for each family of ops, and one for those of rare ones."""
    families = named_families()
    rare = [name for family, name in zip(FAMILIES, families, strict=True) if "." in family]
    common = {name: " ".join(names) for name, names in families.items() if name not in rare}
    width = max(map(len, common))
    lines = [truncate(f"{name.ljust(width)}  {names}", room) for name, names in common.items()]
    lines += ["", *textwrap.wrap(f"used by few: {', '.join(rare)}", room, subsequent_indent="  ")]
    return [*lines, "", "gradcheck ops FAMILY lists its ops, gradcheck ops NAME tells all about one"]


def _fitting(widths: dict[str, int], room: int) -> dict[str, int]:
    """Drop columns that have no room; the doc column gets the rest."""
    kept = dict(widths)
    taken = sum(width + 2 for title, width in kept.items() if title != "DOC")
    for title in _OPTIONAL_COLUMNS:
        if taken + _DOC > room:
            taken -= kept.pop(title) + 2
    return kept | {"DOC": room - taken}


def _cell(text: str, most: int, room: int | None) -> str:
    return text.ljust(most) if room is None or len(text) <= most else text[: most - 3] + "..."


def op_details(entry: Op) -> list[str]:
    """Return everything about one op, with its source."""
    asked = op_oracles(entry)
    facts = {
        "gradient rule": {"composite": "none needed: composed of other ops"}.get(_rule(entry), _rule(entry)),
        "elementwise": "yes: broadcasts and promotes dtypes" if entry.elementwise else "no",
        "oracles": ", ".join(asked.names),
        "dtypes": ", ".join(asked.dtypes),
        "domain": _domain(entry),
        "kinks": entry.kinks,
        "torch": f"torch.{entry.torch}" if entry.torch else "",
        "aliases": _aliases(entry),
        "method": f"x.{entry.name}(…)" if entry.method and "." not in entry.name else "",
        "complex": "" if entry.holomorphic else "not holomorphic: the rule handles complex numbers itself",
    }
    lines = [entry.signature, "", *(entry.doc.splitlines() or ["(no description)"]), ""]
    lines += [f"{title + ':':15}{text}" for title, text in facts.items() if text]
    if entry.samples:
        lines += ["", "samples:", *(f"  {sample}" for sample in entry.samples)]
    return lines + _source(entry)


def _source(entry: Op) -> list[str]:
    written = [entry.forward, *dict.fromkeys(rule for rule in entry.rules if rule is not None)]
    lines: list[str] = []
    seen: set[tuple[str, int]] = set()
    for function in written:
        try:
            find = _statement if function.__name__ == "<lambda>" else inspect.getsourcelines
            source, start = find(function)
        except (OSError, TypeError):  # a NumPy function, or no source files installed
            continue
        if inspect.getsourcefile(function) == inspect.getsourcefile(Op):  # `row` makes a function of a ufunc
            continue
        place = f"{function.__module__.replace('.', '/')}.py"
        if (place, start) in seen or (function.__name__ == "<lambda>" and seen):
            continue  # a lambda is part of the entry
        seen.add((place, start))
        lines += ["", f"{place}:{start}", *("  " + line.rstrip() for line in source)]
    return lines


def _statement(function: Callable[..., Any]) -> tuple[list[str], int]:
    """Return the lines of the statement with a lambda, and the first number."""
    lines, at = inspect.findsource(function)
    for node in ast.parse("".join(lines)).body:
        start = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
        if start <= at + 1 <= (node.end_lineno or 0):
            return lines[start - 1 : node.end_lineno], start
    return inspect.getsourcelines(function)


_OPENING = """\
# The ops

<!-- made by `gradcheck ops --format markdown`; a test holds it to the table -->

Every op of the case language, by family. What a person writes is the op's name, after `torch.`, `F.` or nothing, or a
method. `gradcheck ops NAME` has the rule, the domain, samples.

- **torch**: the function that it is held against, below `torch`.
- **oracles**: independent checks of the derivative, without its gradient rule. `exact`: the exact oracle proves
  formulas through it; `complex step` or `differences` of the forward; `forward` mode and `order 2`, second gradients.
  An op that is composed of others has those that all of its parts have. An op without any has no derivative.
- **dtypes** in which it can be differentiated: all six, or some of `f64`, `f32`, `f16`, `bf16`, `c128`, `c64`.
- **kinks**: where it has no derivative.
"""
#: The dtypes in which ops may be differentiated, in short: `f64`, `bf16`, `c128`.
_SHORT = {name: re.sub("loat|omplex", "", name) for name, dtype in BY_NAME.items() if is_differentiable(dtype)}
_PAGE_HEAD = "| op | torch | oracles | dtypes | kinks |\n|---|---|---|---|---|"


def ops_page() -> str:
    """Return `docs/ops.md`, a section a family."""
    families: dict[str, list[Op]] = {}
    for entry in sorted(whole_table().values(), key=lambda entry: entry.name):
        families.setdefault(entry.forward.__module__.rpartition(".")[2], []).append(entry)
    return "\n".join([_OPENING, *(line for name in sorted(families) for line in _page_section(name, families[name]))])


def _page_section(family: str, entries: list[Op]) -> Iterator[str]:
    yield f"## {family.replace('_', ' ').capitalize()}\n\n{_PAGE_HEAD}"
    yield from map(_page_line, entries)
    yield ""


def _page_line(entry: Op) -> str:
    asked = op_oracles(entry)
    others = [alias for alias, name in ALIASES.items() if name == entry.name]
    title = f"`{entry.signature}`" + (f", also {', '.join(f'`{alias}`' for alias in others)}" if others else "")
    cells = (title, f"`{entry.torch}`" if entry.torch else "", ", ".join(asked.names), _dtypes(asked), entry.kinks)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _dtypes(asked: OpOracles) -> str:
    return "all" if len(asked.dtypes) == len(_SHORT) else " ".join(_SHORT[dtype] for dtype in asked.dtypes)
