"""`docs/ops.md`: the op table as a page, a section a family."""

from __future__ import annotations

from collections.abc import Iterator

from gradcheck.autograd.op import ALIASES, Op, whole_table
from gradcheck.checks.op_oracles import OpOracles, op_oracles

_OPENING = """\
# The ops

<!-- made by `gradcheck ops --format markdown`; a test holds it to the table -->

Every op of the case language, by family. What a person writes is the op's name, after `torch.`, `F.` or nothing, or a
method. `gradcheck ops NAME` has the rule, the domain, samples.

- **torch**: the function that it is held against, below `torch`.
- **witnesses**: who can say what the derivative is without its gradient rule. `exact`: the exact oracle proves formulas
  through it; `complex step` or `differences` of the forward; `forward` mode and `order 2`, gradients of gradients. Of
  an op that is composed of others, what serves all of its parts. An op without any has no derivative.
- **dtypes** in which it can be differentiated: all six, or some of `f64`, `f32`, `f16`, `bf16`, `c128`, `c64`.
- **kinks**: where it has no derivative.
"""
_SHORT = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "complex128": "c128",
    "complex64": "c64",
}
_HEAD = "| op | torch | witnesses | dtypes | kinks |\n|---|---|---|---|---|"


def render() -> str:
    """Return the page."""
    families: dict[str, list[Op]] = {}
    for entry in sorted(whole_table().values(), key=lambda entry: entry.name):
        families.setdefault(entry.forward.__module__.rpartition(".")[2], []).append(entry)
    return "\n".join([_OPENING, *(line for name in sorted(families) for line in _section(name, families[name]))])


def _section(family: str, entries: list[Op]) -> Iterator[str]:
    yield f"## {family.replace('_', ' ').capitalize()}\n\n{_HEAD}"
    yield from map(_line, entries)
    yield ""


def _line(entry: Op) -> str:
    asked = op_oracles(entry)
    others = [alias for alias, name in ALIASES.items() if name == entry.name]
    title = f"`{entry.signature}`" + (f", also {', '.join(f'`{alias}`' for alias in others)}" if others else "")
    cells = (title, f"`{entry.torch}`" if entry.torch else "", ", ".join(asked.names), _dtypes(asked), entry.kinks)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _dtypes(asked: OpOracles) -> str:
    return "all" if len(asked.dtypes) == len(_SHORT) else " ".join(_SHORT[dtype] for dtype in asked.dtypes)
