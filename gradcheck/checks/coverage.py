"""Which ops, rules, arguments and source lines a run of cases uses.

`sys.settrace` records it, so that a run without `--coverage` costs nothing. Only the current thread is traced.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import gradcheck.autograd.ops
from gradcheck.autograd.op import Op, whole_table
from gradcheck.autograd.pullback import cotangent_of
from gradcheck.engines.library_imports import importing_elsewhere
from gradcheck.language.evaluation.host import _call_host

#: Names of ops, or of their parameters: `("sum", "dim")`.
Names = set[tuple[str, str]]
#: By file, line numbers.
Lines = dict[str, set[int]]


@dataclass(slots=True)
class Coverage:
    """Used and existing ops, rules, arguments and lines."""

    ops: set[str] = field(default_factory=set)
    rules: Names = field(default_factory=set)  # of the core: op and argument
    arguments: Names = field(default_factory=set)  # given another value than their default
    lines: Lines = field(default_factory=dict)
    all_lines: Lines = field(default_factory=dict)

    @property
    def all_rules(self) -> Names:
        """All gradient rules of the op table."""
        pairs = ((op, position) for op in whole_table().values() for position, rule in enumerate(op.rules) if rule)
        return {(op.name, op.parameters[min(at, len(op.parameters) - 1)].name) for op, at in pairs}

    @property
    def all_arguments(self) -> Names:
        """All parameters of the op table that have a default."""
        return {(op.name, p.name) for op in whole_table().values() for p in op.parameters if not p.required}


@contextmanager
def measure_coverage(engines: Sequence[str]) -> Iterator[Coverage]:
    """Record coverage while the block runs; no engine means the core."""
    left = {str(path): _lines_by_function(path) for path in files_of(engines or ("core",))}
    found = Coverage(all_lines={file: set().union(*functions.values()) for file, functions in left.items()})
    notes = {_call_host.__code__: _note_op, cotangent_of.__code__: _note_core_rule}

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if code in notes:
            notes[code](found, frame.f_locals)
        owned = left.get(code.co_filename)
        missing = owned.get((code.co_firstlineno, code.co_name)) if owned else None
        if not missing:  # none of an engine's own, or all of it has run
            return None

        def note(frame: FrameType, event: str, arg: Any) -> Any:
            missing.discard(frame.f_lineno)
            return note if missing else None

        return note(frame, event, arg)

    sys.settrace(trace)
    try:
        yield found
    finally:
        sys.settrace(None)
        for file, functions in left.items():
            found.lines[file] = found.all_lines[file].difference(*functions.values())


def _note_op(found: Coverage, names: dict[str, Any]) -> None:
    """Record an op that a graph applies by an engine, not by a formula."""
    op: Op = names["op"]
    if not type(names["host"]).__module__.startswith("gradcheck.engines"):
        return
    found.ops.add(op.name)
    given = dict(zip((p.name for p in op.parameters), names["args"], strict=False)) | names["kwargs"]
    for parameter in op.parameters:
        if parameter.name in given and not parameter.required:
            value, default = given[parameter.name], parameter.default
            if type(value) is not type(default) or value != default:
                found.arguments.add((op.name, parameter.name))


def _note_core_rule(found: Coverage, names: dict[str, Any]) -> None:
    op, position = names["op"], names["position"]
    found.ops.add(op.name)
    if position < len(op.rules) and op.rules[position] is not None:
        found.rules.add((op.name, op.parameters[min(position, len(op.parameters) - 1)].name))


def files_of(engines: Sequence[str]) -> list[Path]:
    """Return source files: the core's ops, or those an engine's name gives."""
    found: list[Path] = []
    for engine in engines:
        owner, _, name = engine.rpartition(":")
        if engine == "core":
            found += sorted(Path(gradcheck.autograd.ops.__file__).parent.rglob("*.py"))
        elif owner.endswith(".py"):
            found.append(Path(owner).resolve())
        elif owner and name:
            with importing_elsewhere(), suppress(ImportError):  # of the packages around it; the run reports an error
                spec = find_spec(owner)
                found += [Path(spec.origin)] if spec is not None and spec.origin else []
    return found


def lines_of(path: Path) -> set[int]:
    """Return the executable lines inside functions of a file."""
    return set().union(*_lines_by_function(path).values())


def _lines_by_function(path: Path) -> dict[tuple[int, str], set[int]]:
    """Return executable lines by a function's first line and name."""
    found: dict[tuple[int, str], set[int]] = {}
    stack = [compile(path.read_text(encoding="utf-8"), str(path), "exec")]
    while stack:
        code = stack.pop()
        stack += [one for one in code.co_consts if isinstance(one, CodeType)]
        if code.co_name != "<module>" and not {"__qualname__", "__module__"} <= {*code.co_names}:  # nor a class
            lines = {line for _, _, line in code.co_lines() if line}
            inside = lines - {code.co_firstlineno} or lines
            found[code.co_firstlineno, code.co_name] = found.get((code.co_firstlineno, code.co_name), set()) | inside
    return found
