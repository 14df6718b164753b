"""Values of the configuration; `config` adds their places to errors."""

from __future__ import annotations

from typing import Any

import click

from gradcheck.cli.option_types import JobsType, SizeType
from gradcheck.errors import UsageError
from gradcheck.reports.safe_text import truncate

#: The most bits of a number; Python does not print very long ones.
_MOST_BITS = 3_000


def read_value(value: Any, key: str, option: click.Option) -> Any:
    """Return a value as the command line converts it. Raises UsageError."""
    if isinstance(value, str) and not value.strip():
        raise UsageError(f"{key} cannot be empty", hint="leave it out")
    if isinstance(value, str) and "\0" in value:
        raise UsageError(f"{key} cannot hold a NUL character")
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise UsageError(f"{key}: a number of {value.bit_length():,} bits is too long")
    if option.is_flag:
        return value
    try:
        if option.name == "keyword":
            from gradcheck.cli.select import compile_keywords  # here, since most configurations have none

            compile_keywords(value)
        return option.type.convert(value, option, None)
    except click.BadParameter as error:
        text = str(value)
        said = error.message.replace(text, truncate(text, 41)) if len(text) > 60 else error.message
        raise UsageError(f"{key}: {said.rstrip('.')}") from error
    except UsageError as error:
        raise UsageError(f"{key}: {error.message}", hint=error.hint) from error


def kind_of(option: click.Option) -> tuple[tuple[type, ...], str]:
    """Return the TOML types that an option takes, and their name."""
    if option.is_flag:
        return (bool,), "true or false"
    if option.count:
        return (bool, int), "true, false or a whole number"
    if isinstance(option.type, JobsType):
        return (int, str), "a whole number, or 'auto'"
    if isinstance(option.type, SizeType):
        return (int, str), "a size, such as '2GB'"
    if isinstance(option.type, click.types.IntParamType):
        return (int,), "a whole number"
    if isinstance(option.type, click.types.FloatParamType):
        return (int, float), "a number"
    return (str,), "a text"


def brief(value: Any) -> str:
    """Return an invalid value in a few characters."""
    try:
        return truncate(repr(value), 60)
    except ValueError:  # Python does not print very long numbers
        return "a number of so many digits"


def setting_text(value: Any) -> str:
    """Return a valid value as a person writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(setting_text, value)) if isinstance(value, list) else str(value)
