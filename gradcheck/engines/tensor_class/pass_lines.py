"""The line of a library's own code at which its backward pass goes wrong.

The lines that a pass runs are recorded, and its files are read: `node.grad = share`, run within the pass, is where
gradients are overwritten.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from types import CodeType, FrameType
from typing import Any, TypeGuard

from gradcheck.engines.tensor_class.user_code_guard import is_own_frame
from gradcheck.errors import Place

#: A line: its file, and its number.
Line = tuple[str, int]
#: The statements that are the mistake itself, by its kind.
_STATEMENTS: dict[str, type[ast.Assign | ast.AugAssign]] = {"overwritten": ast.Assign, "mutated": ast.AugAssign}


def line_of_mistake(
    kind: str, names: Collection[str], function: Callable[..., Any], run: Callable[[], object]
) -> Place | None:
    """Return the statement of a mistake, or where the pass begins.

    `names` are of attributes with gradients; `function` begins the pass, and `run` runs it."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if not isinstance(code, CodeType):
        return None
    start = Place(code.co_filename, code.co_firstlineno)
    statement = _STATEMENTS.get(kind)
    if statement is None:
        return start
    runs = _lines_run(code, run)
    known = {line for file in {file for file, _ in runs} for line in _statements(file, statement, names)}
    own = {(code.co_filename, line) for *_, line in code.co_lines()}  # one of these gives the root its gradient
    found = sorted(known & runs.keys(), key=lambda line: (line in own, -runs[line]))
    return Place(*found[0]) if found else start


def _lines_run(start: CodeType, run: Callable[[], object]) -> Counter[Line]:
    """Return how often each of the library's lines runs in a pass."""
    runs: Counter[Line] = Counter()
    depth = 0

    def enter(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal depth
        depth += frame.f_code is start
        return step if depth and is_own_frame(frame) else None

    def step(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal depth
        runs[frame.f_code.co_filename, frame.f_lineno] += event == "line"
        depth -= event == "return" and frame.f_code is start
        return step

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        run()
    finally:
        sys.settrace(before)
    return runs


def _statements(file: str, kind: type[ast.Assign | ast.AugAssign], names: Collection[str]) -> Iterator[Line]:
    """Yield lines that set a gradient, and do not read it on their right.

    What is set where there is none yet, `if node.grad is None`, overwrites nothing."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return
    first = {id(inner) for node in ast.walk(tree) if _asks_for_none(node, names) for inner in node.body}
    for node in ast.walk(tree):
        if not isinstance(node, kind) or isinstance(node.value, ast.Constant):
            continue  # a constant clears it, or begins a pass
        if id(node) in first and kind is ast.Assign:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        held = [one for one in targets if isinstance(one, ast.Attribute) and one.attr in names]
        read = {ast.dump(one.value) for one in ast.walk(node.value) if isinstance(one, ast.Attribute)}
        if held and ast.dump(held[0].value) not in read:
            yield file, node.lineno


def _asks_for_none(node: ast.AST, names: Collection[str]) -> TypeGuard[ast.If]:
    """Return whether a statement is `if node.grad is None`."""
    test = node.test if isinstance(node, ast.If) else None
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Is):
        return False
    return isinstance(test.left, ast.Attribute) and test.left.attr in names
