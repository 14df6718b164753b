"""Insertion of `expected` gradients into a case file.

Comments and layout stay.
"""

from __future__ import annotations

from collections.abc import Mapping

import yaml
from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode

from gradcheck.language.case import Edit, apply_edits
from gradcheck.language.loader.yaml_text import documents

#: A new `expected` goes behind the last of these sections.
_BEFORE = ("inputs", "constants", "graph", "backward", "steps", "values")
#: Rows go on lines of their own where a line would be longer than this.
_WIDTH = 100


def insert_expected(text: str, line: int, values: Mapping[str, str]) -> str:
    """Return the file's text with these values in one document.

    `line`, from 1, is a line of that document. Values are text in YAML's flow style. Raises ValueError if no document
    has that line.
    """
    start = -1
    for piece, first in documents(text):
        if first > line:
            break
        start = text.find(piece, start + 1)
        found = piece
    if start < 0:
        raise ValueError(f"no document has anything on line {line}")
    return Edit(start, start + len(found), _edited(found, values)).apply_to(text)


def _edited(piece: str, values: Mapping[str, str]) -> str:
    try:
        root = yaml.compose(piece, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:  # the file has changed since its cases were read
        raise ValueError("the document cannot be read") from error
    if not isinstance(root, MappingNode):
        raise ValueError("the document is no case")
    known = _entries(root)
    if "expected" not in known:
        return _inserted(piece, root, known, values)
    expected = known["expected"]
    if not isinstance(expected, MappingNode):
        raise ValueError("expected is no mapping")
    there = _entries(expected)
    new = {name: value for name, value in values.items() if name not in there}
    edits = [
        _replaced(key, node, values[key.value])
        for key, node in expected.value
        if isinstance(key, ScalarNode) and key.value in values
    ]
    if new and expected.flow_style:
        at = expected.end_mark.index - 1
        edits.append(Edit(at, at, _flow(new, bool(there))))
    elif new:
        indent = expected.start_mark.column
        at = _line_end(piece, _end(expected))
        edits.append(Edit(at, at, _block(new, indent, piece, at)))
    return apply_edits(piece, edits)


def _inserted(piece: str, root: MappingNode, known: Mapping[str, Node], values: Mapping[str, str]) -> str:
    if root.flow_style:
        at = root.end_mark.index - 1
        return Edit(at, at, f", expected: {{{_flow(values, False)}}}").apply_to(piece)
    last = max((known[key] for key in _BEFORE if key in known), key=_end)
    at = _line_end(piece, _end(last))
    below = [node for node in known.values() if isinstance(node, MappingNode) and not node.flow_style]
    indent = below[0].start_mark.column if below else root.start_mark.column + 2
    head = f"{' ' * root.start_mark.column}expected:\n"
    before = "" if piece[:at].endswith("\n") else "\n"
    return Edit(at, at, before + head + _block(values, indent, piece, len(piece))).apply_to(piece)


def _entries(mapping: MappingNode) -> dict[str, Node]:
    return {key.value: value for key, value in mapping.value if isinstance(key, ScalarNode)}


def _replaced(key: Node, node: Node, value: str) -> Edit:
    """Return the edit that replaces a value; a block list goes behind its key."""
    if isinstance(node, CollectionNode) and not node.flow_style:
        begin, column = int(key.end_mark.index) + 1, int(key.end_mark.column) + 2
        return Edit(begin, _end(node), f" {_break_rows(value, column)}")
    return Edit(int(node.start_mark.index), _end(node), _break_rows(value, int(node.start_mark.column)))


def _end(node: Node) -> int:
    """Return the end of a node.

    YAML ends a block collection only at the next token; here it ends with its last part.
    """
    while isinstance(node, CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return int(node.end_mark.index)


def _line_end(piece: str, at: int) -> int:
    """Return the end of the line at `at`, its comment included."""
    if piece[at - 1 : at] == "\n":  # a block scalar includes its line break
        return at
    end = piece.find("\n", at)
    return len(piece) if end < 0 else end + 1


def _flow(values: Mapping[str, str], follows: bool) -> str:
    return (", " if follows else "") + ", ".join(f"{name}: {value}" for name, value in values.items())


def _block(values: Mapping[str, str], indent: int, piece: str, at: int) -> str:
    lines = [f"{' ' * indent}{name}: {_break_rows(value, indent + len(name) + 2)}\n" for name, value in values.items()]
    before = "" if at == 0 or piece[at - 1] == "\n" or at == len(piece) else "\n"
    return before + "".join(lines)


def _break_rows(value: str, column: int) -> str:
    if column + len(value) <= _WIDTH or "], [" not in value:
        return value
    return value.replace("], [", "],\n" + " " * (column + 1) + "[")
