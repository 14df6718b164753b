"""Arguments as a person gives them, put in the order of an op's signature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck.errors import ArgumentError

if TYPE_CHECKING:
    from gradcheck.autograd.op import Op

#: NumPy's words for torch's; both are taken.
KEYWORD_ALIASES = {"axis": "dim", "keepdims": "keepdim"}


def bind(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments by position, defaults filled in. Raises ArgumentError."""
    values: dict[str, Any] = {}
    positional = [p for p in op.parameters if not p.keyword_only]
    for index, parameter in enumerate(positional):
        if parameter.name == op.variadic:
            rest = args[index:]
            if rest:
                single = len(rest) == 1 and isinstance(rest[0], (list, tuple))
                values[parameter.name] = tuple(rest[0]) if single else tuple(rest)
            break
        if index < len(args):
            values[parameter.name] = args[index]
    else:
        if len(args) > len(positional):
            raise ArgumentError(f"{op.name} takes at most {len(positional)} arguments, {len(args)} were given",
                                hint=f"its signature is {op.signature}")  # fmt: skip
    for name, value in kwargs.items():
        _add_keyword(op, values, name, value)
    bound = []
    for parameter in op.parameters:
        if parameter.name in values:
            bound.append(values[parameter.name])
        elif parameter.required:
            raise ArgumentError(f"{op.name} lacks its argument '{parameter.name}'",
                                hint=f"its signature is {op.signature}")  # fmt: skip
        else:
            bound.append(parameter.default)
    return tuple(bound)


def _add_keyword(op: Op, values: dict[str, Any], name: str, value: Any) -> None:
    names = [p.name for p in op.parameters]
    if name not in names and KEYWORD_ALIASES.get(name) in names:
        name = KEYWORD_ALIASES[name]
    if name not in names:
        raise ArgumentError(f"{op.name} has no argument '{name}'", hint=f"its signature is {op.signature}")
    if name in values:
        raise ArgumentError(f"{op.name} is given its argument '{name}' twice", hint=f"its signature is {op.signature}")
    values[name] = tuple(value) if name == op.variadic and isinstance(value, (list, tuple)) else value
