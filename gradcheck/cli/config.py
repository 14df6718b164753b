"""`[tool.gradcheck]` of the nearest pyproject.toml that has one: defaults for the options of the same names."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import click

from gradcheck.cli.options import RUN, JobsType
from gradcheck.errors import Place, UsageError
from gradcheck.language.suggest import did_you_mean

#: The keys besides `paths`, each an option of `run`.
KEYS: dict[str, click.Option] = {option.key: option.parameter() for option in RUN if option.key}


class ConfiguredCommand(click.Command):
    """A command whose defaults come from the configuration; an option given by hand wins."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The configuration is read first, but for help. Raises UsageError where it is wrong."""
        if not {"-h", "--help"} & set(args):
            own = {param.name for param in self.params}
            ctx.default_map = {name: value for name, value in read_config().items() if name in own}
        return super().parse_args(ctx, args)


def read_config(start: Path | None = None) -> dict[str, Any]:
    """The configuration for a working directory, by default the process's: values by the names of the options'
    parameters, converted. Raises UsageError where it is wrong."""
    folder = (start or Path.cwd()).resolve()
    for path in (parent / "pyproject.toml" for parent in (folder, *folder.parents)):
        if path.is_file():
            text, section = _section(path)
            if section is not None:
                return _checked(section, path, text)
    return {}


def _section(path: Path) -> tuple[str, Any]:
    """The file's text and its [tool.gradcheck], None where it has none."""
    import tomllib  # here, since help does without

    file = os.path.relpath(path)
    try:
        text = path.read_bytes().decode("utf-8")
        tool = tomllib.loads(text).get("tool", {})
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: is not UTF-8 text") from error
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"^(.*?) \(at line (\d+), column (\d+)\)$", str(error))
        place = Place(file, int(found[2]), int(found[3])) if found else Place(file)
        raise UsageError(f"{place}: {found[1] if found else error}") from error
    return text, tool.get("gradcheck") if isinstance(tool, dict) else None


def _checked(section: Any, path: Path, text: str) -> dict[str, Any]:
    file = os.path.relpath(path)
    if not isinstance(section, dict):
        raise UsageError(f"{file}: tool.gradcheck must be a table", hint="write it as [tool.gradcheck]")
    values: dict[str, Any] = {}
    for key, value in section.items():
        if key == "paths":
            values["paths"] = _paths(value, _place(file, text, key), path.parent)
        elif key in KEYS:
            option = KEYS[key]
            assert option.name is not None
            values[option.name] = _converted(key, value, option, _place(file, text, key))
        else:
            known = ("paths", *KEYS)
            hint = did_you_mean(key, known, f"the keys are {', '.join(known)}")
            raise UsageError(f"{_place(file, text, key)}: unknown key '{key}' in [tool.gradcheck]", hint=hint)
    return values


def _place(file: str, text: str, key: str) -> Place:
    """Where a key of the section stands, as far as a look at its lines tells."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*\[", line):
            inside = re.match(r"\s*\[\s*tool\s*\.\s*gradcheck\s*\]", line) is not None
        elif inside and re.match(rf"""\s*(["']?){re.escape(key)}\1\s*=""", line):
            return Place(file, number, 1 + len(line) - len(line.lstrip()))
    return Place(file)


def _paths(value: Any, place: Place, folder: Path) -> tuple[str, ...]:
    """Relative to the file they stand in, told from the working directory."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise UsageError(f"{place}: paths must be a list of texts, not {value!r}", hint='such as paths = ["cases"]')
    return tuple(os.path.relpath(folder / text) for text in texts)


def _converted(key: str, value: Any, option: click.Option, place: Place) -> Any:
    items = value if option.multiple and isinstance(value, list) else [value]
    kind, wanted = _kind(option)
    for item in items:
        if isinstance(item, bool) or not isinstance(item, kind):
            raise UsageError(f"{place}: {key} cannot be {item!r}", hint=f"it must be {wanted}")
    try:
        converted = tuple(option.type.convert(item, option, None) for item in items)
    except click.BadParameter as error:
        raise UsageError(f"{place}: {key}: {error.message.rstrip('.')}") from error
    return converted if option.multiple else converted[0]


def _kind(option: click.Option) -> tuple[tuple[type, ...], str]:
    """What TOML may hold for an option."""
    if isinstance(option.type, JobsType):
        return (int, str), "a whole number, or 'auto'"
    if isinstance(option.type, click.types.IntParamType):
        return (int,), "a whole number"
    if isinstance(option.type, click.types.FloatParamType):
        return (int, float), "a number"
    return (str,), "a text"
