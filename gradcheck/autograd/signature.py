"""An op's signature, and the binding of arguments to it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

from gradcheck.errors import ArgumentError

#: NumPy's names of parameters to torch's; both are taken.
KEYWORD_ALIASES = {"axis": "dim", "keepdims": "keepdim"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter; `default` is `inspect.Parameter.empty` if required."""

    name: str
    default: Any = inspect.Parameter.empty
    keyword_only: bool = False

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Signature:
    """A name and its parameters.

    `variadic` names the parameter that takes sizes or tensors written out, as in `x.reshape(2, 3)`, or in one list.
    """

    name: str
    parameters: tuple[Parameter, ...]
    variadic: str | None = None
    #: The defaults that complete positional arguments, by how many arguments are given.
    _fills: dict[int, tuple[Any, ...]] = field(init=False, default_factory=dict)
    #: How many parameters stand before the variadic one, and the defaults behind it; empty without one.
    _around: list[tuple[int, tuple[Any, ...]]] = field(init=False, default_factory=list)
    #: By how many arguments are given and the names of the others: each parameter's place among them, and its default.
    _places: dict[tuple[Any, ...], tuple[tuple[int | None, Any], ...]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        defaults = [p.default for p in self.parameters]
        if self.variadic is not None:
            lead = [p.name for p in self.parameters].index(self.variadic)
            self._around.append((lead, tuple(defaults[lead + 1 :])))
            return
        required = sum(p.required for p in self.parameters)
        positional = sum(not p.keyword_only for p in self.parameters)
        for given in range(required, positional + 1):
            self._fills[given] = tuple(defaults[given:])

    @property
    def signature(self) -> str:
        """Return it in Python's form: `sum(input, dim=None, keepdim=False)`."""
        parts: list[str] = []
        for p in self.parameters:
            if p.keyword_only and "*" not in "".join(parts):
                parts.append("*")
            star = "*" if p.name == self.variadic else ""
            parts.append(star + p.name + ("" if p.required or star else f"={p.default!r}"))
        return f"{self.name}({', '.join(parts)})"

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return all arguments in order, with defaults. Raises ArgumentError."""
        if not kwargs:
            fill = self._fills.get(len(args))
            if fill is not None:
                return args + fill
            for lead, behind in self._around:
                if len(args) > lead:
                    return (*args[:lead], listed(args[lead:]), *behind)
        elif self.variadic is None:
            given = (*args, *kwargs.values())
            places = self._placed(len(args), kwargs)
            return tuple([default if place is None else given[place] for place, default in places])
        values = self._named(args, kwargs)
        return tuple(values.get(parameter.name, parameter.default) for parameter in self.parameters)

    def _placed(self, count: int, kwargs: dict[str, Any]) -> tuple[tuple[int | None, Any], ...]:
        form = (count, *kwargs)
        if form not in self._places:
            places = self._named(tuple(range(count)), dict(zip(kwargs, range(count, count + len(kwargs)), strict=True)))
            self._places[form] = tuple((places.get(p.name), p.default) for p in self.parameters)
        return self._places[form]

    def _named(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        values = self._positional(args)
        for name, value in kwargs.items():
            self._add_keyword(values, name, value)
        for parameter in self.parameters:
            if parameter.name not in values and parameter.required:
                raise self._error(f"lacks its argument '{parameter.name}'")
        return values

    def _positional(self, args: tuple[Any, ...]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        positional = [p.name for p in self.parameters if not p.keyword_only]
        for index, name in enumerate(positional):
            if name == self.variadic:
                if args[index:]:
                    values[name] = listed(args[index:])
                return values
            if index < len(args):
                values[name] = args[index]
        if len(args) > len(positional):
            raise self._error(f"takes at most {len(positional)} arguments, {len(args)} were given")
        return values

    def _add_keyword(self, values: dict[str, Any], name: str, value: Any) -> None:
        names = [p.name for p in self.parameters]
        if name not in names and KEYWORD_ALIASES.get(name) in names:
            name = KEYWORD_ALIASES[name]
        if name not in names:
            raise self._error(f"has no argument '{name}'")
        if name in values:
            raise self._error(f"is given its argument '{name}' twice")
        values[name] = tuple(value) if name == self.variadic and isinstance(value, (list, tuple)) else value

    def _error(self, problem: str) -> ArgumentError:
        return ArgumentError(f"{self.name} {problem}", hint=f"its signature is {self.signature}")


def listed(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return `(2, 3)` for the arguments `2, 3`, and for `[2, 3]`."""
    return tuple(values[0]) if len(values) == 1 and isinstance(values[0], (list, tuple)) else values
