"""`gradcheck ops`: the op table, and all about one op."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gradcheck.cli import options

if TYPE_CHECKING:
    from gradcheck.autograd.op import Op

_HEADER = ("SIGNATURE", "RULE", "KINKS", "TORCH", "ALIASES", "DOMAIN", "DOC")
#: Columns that a narrow terminal does without, the first to go first.
_SPARED = ("DOMAIN", "ALIASES", "TORCH", "KINKS")


@click.command("ops")
@click.argument("name", required=False)
@options.verbose
def command(name: str | None, verbose: int) -> None:
    """Show the op table, or everything about one op."""
    from gradcheck.cli.output import write_stdout

    write_stdout("\n".join(_detail(_find(name)) if name else _table()) + "\n")


def _find(name: str) -> Op:
    """By its name or an alias, spelled as in a case: `torch.nn.functional.relu`, `F.relu` and `relu` are one."""
    import gradcheck.autograd.ops  # noqa: F401 (it fills the table)
    from gradcheck.autograd.op import ALIASES, TABLE, lookup
    from gradcheck.errors import UsageError
    from gradcheck.language.suggest import did_you_mean

    short = name
    for prefix in ("torch.", "nn.functional.", "F.", "Tensor."):
        short = short.removeprefix(prefix)
    found = lookup(name) or lookup(short)
    if found is None:
        hint = did_you_mean(short, (*TABLE, *ALIASES), "gradcheck ops lists them all")
        raise UsageError(f"there is no op '{name}'", hint=hint)
    return found


def _aliases() -> dict[str, list[str]]:
    from gradcheck.autograd.op import ALIASES

    known: dict[str, list[str]] = {}
    for alias, name in ALIASES.items():
        known.setdefault(name, []).append(alias)
    return known


def _rule(entry: Op) -> str:
    return "composite" if entry.composite else "yes" if any(entry.rules) else "no"


def _domain(entry: Op) -> str:
    """`[-3, 3] x [0.3, 3]`; of ops whose arguments have structure, nothing: samples show those."""
    return " x ".join(f"[{low:g}, {high:g}]" for low, high in entry.domain) if entry.elementwise else ""


def _table() -> list[str]:
    """A line an op. A terminal gets the columns that it has room for; a pipe gets them all."""
    import sys

    import gradcheck.autograd.ops  # noqa: F401 (it fills the table)
    from gradcheck.autograd.op import TABLE
    from gradcheck.cli.output import is_terminal, width

    aliases = _aliases()
    rows = [_HEADER]
    for name, entry in sorted(TABLE.items()):
        others, doc = ", ".join(aliases.get(name, ())), entry.doc.partition("\n")[0]
        rows.append((entry.signature, _rule(entry), entry.kinks, entry.torch, others, _domain(entry), doc))
    widths = [min(44, max(map(len, column))) for column in zip(*rows, strict=True)]
    room = width() if is_terminal(sys.stdout) else None
    shown = _fitting(widths, room)
    return [_line([row[i] for i in shown], [widths[i] for i in shown], room) for row in rows]


def _fitting(widths: list[int], room: int | None) -> list[int]:
    """Which columns to show; the last, the doc, may be cut short but not below 24."""
    shown = list(range(len(_HEADER)))
    for title in _SPARED:
        if room is None or sum(widths[i] + 2 for i in shown[:-1]) + 24 <= room:
            break
        shown.remove(_HEADER.index(title))
    return shown


def _line(cells: list[str], widths: list[int], room: int | None) -> str:
    *first, last = cells
    padded = "  ".join([*(cell.ljust(room_) for cell, room_ in zip(first, widths, strict=False)), last]).rstrip()
    return padded if room is None or len(padded) <= room else padded[: room - 3] + "..."


def _detail(entry: Op) -> list[str]:
    facts = {
        "gradient rule": {"composite": "none needed: composed of other ops"}.get(_rule(entry), _rule(entry)),
        "elementwise": "yes: broadcasts and promotes dtypes" if entry.elementwise else "no",
        "domain": _domain(entry),
        "kinks": entry.kinks,
        "torch": f"torch.{entry.torch}" if entry.torch else "",
        "aliases": ", ".join(_aliases().get(entry.name, ())),
        "method": f"x.{entry.name}(…)" if entry.method and "." not in entry.name else "",
        "complex": "" if entry.holomorphic else "not holomorphic: the rule handles complex numbers itself",
    }
    lines = [entry.signature, "", *(entry.doc.splitlines() or ["(no description)"]), ""]
    lines += [f"{title + ':':15}{text}" for title, text in facts.items() if text]
    if entry.samples:
        lines += ["", "samples:", *(f"  {sample}" for sample in entry.samples)]
    return lines + _source(entry)


def _source(entry: Op) -> list[str]:
    """The entry as it is written, and its rules where they stand apart from it."""
    import inspect

    written = [entry.forward, *dict.fromkeys(rule for rule in entry.rules if rule is not None)]
    lines: list[str] = []
    seen: set[tuple[str, int]] = set()
    for function in written:
        try:
            source, start = inspect.getsourcelines(function)
        except (OSError, TypeError):  # a NumPy function, or no source files installed
            continue
        place = f"{function.__module__.replace('.', '/')}.py"
        if (place, start) in seen or (function.__name__ == "<lambda>" and seen):
            continue  # a lambda is read in the entry
        seen.add((place, start))
        lines += ["", f"{place}:{start}", *("  " + line.rstrip() for line in source)]
    return lines
