"""The configuration: gradcheck.toml, pyproject.toml, and `GRADCHECK_*`.

The keys are the long names of `run`'s options, and `paths`. The nearest gradcheck.toml, or `[tool.gradcheck]` in
pyproject.toml, upwards counts. The command line wins, then the environment, then the file; for some cases, an override
for their paths wins over the rest of the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from glob import escape
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from gradcheck.cli.options import ISOLATED, RUN
from gradcheck.cli.setting_values import brief, kind_of, read_value, setting_text
from gradcheck.errors import Place, UsageError
from gradcheck.language.suggest import did_you_mean
from gradcheck.project_links import belongs_to_others, is_environment, is_project
from gradcheck.safe_files import read_regular

#: The most bytes of a file of settings, some of which tomllib reads in quadratic time.
_MOST_BYTES = 1_000_000
#: A key of many parts, which tomllib reads in quadratic time.
_LONG_KEY = re.compile(r"""(?<![\w.\\-])(?:(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""")
#: A key at the beginning of a line, in quotes or without.
_KEY = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=]+))\s*=""")
#: The keys of overrides: all that concern one case alone.
OVERRIDABLE = (
    *("engine", "reference", "dtype", "rtol", "atol", "seed", "trials"),
    *("timeout", "memory", "oracle", "mode", "order", "allow-code"),
)
_PREFIX = "GRADCHECK_"
_ISOLATED = "GRADCHECK_ISOLATED"
#: The parameters that name code.
_CODE = ("engines", "reference", "executor")
_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")
#: The key of overrides in a file, and of the configuration in a context.
_OVERRIDES = "overrides"


@cache
def option_keys() -> dict[str, click.Option]:
    """Return the keys besides `paths`, each with its option of `run`."""
    return {option.key: option.parameter() for option in RUN}


@dataclass(frozen=True, slots=True)
class Setting:
    """A value by the name of its parameter, its text, and where it was set."""

    key: str
    value: Any
    text: str
    where: str

    @property
    def is_of_file(self) -> bool:
        """True if it stands in a file, not in the environment."""
        return not self.where.startswith(_PREFIX)


@dataclass(frozen=True, slots=True)
class Configuration:
    """All settings by parameter name, and overrides for patterns of paths."""

    settings: Mapping[str, Setting] = field(default_factory=dict)
    overrides: tuple[tuple[tuple[str, ...], Mapping[str, Setting]], ...] = ()
    isolated: bool = False

    def trusted(self, name: str, value: Any, is_of_settings: bool = True) -> Any:
        """Return engines or an executor as they may be looked for.

        From the environment, or isolated, `MODULE:NAME` is an installed package: a folder can have a module of its
        name.
        """
        setting = self.settings.get(name)
        of_environment = is_of_settings and setting is not None and not setting.is_of_file
        if name not in _CODE or not (self.isolated or of_environment):
            return value
        from gradcheck.engines.resolve import InstalledSpec

        if isinstance(value, str):
            return InstalledSpec(value)
        return tuple(map(InstalledSpec, value)) if value else value


class ConfiguredCommand(click.Command):
    """A command with defaults from the configuration, unless `--isolated`."""

    # a file of settings can name code to run and files to write

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params.append(ISOLATED.parameter())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the configuration first, except for help. Raises UsageError."""
        if not ctx.resilient_parsing and not {"-h", "--help"} & set(args):
            known = load_configuration(isolated="--isolated" in args)
            if known.isolated and ctx.find_root().obj is not None:  # not of a program that calls a command
                os.environ["PYTHONSAFEPATH"] = "1"  # for processes that an engine or an executor starts
            own = {param.name for param in self.params}
            ctx.default_map = {name: one.value for name, one in known.settings.items() if name in own}
            ctx.meta[_OVERRIDES] = known
        return super().parse_args(ctx, args)


def overrides_of(ctx: click.Context) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield patterns and settings that the command line does not override."""
    known: Configuration = ctx.meta.get(_OVERRIDES, Configuration())
    for patterns, settings in known.overrides:
        values = {
            name: one.value
            for name, one in settings.items()
            if ctx.get_parameter_source(name) is not ParameterSource.COMMANDLINE
            and (name not in known.settings or known.settings[name].is_of_file)
        }
        if values:
            yield patterns, values


def current_configuration() -> Configuration:
    """Return the configuration of the running command."""
    found: Configuration = click.get_current_context().meta.get(_OVERRIDES, Configuration())
    return found


def load_configuration(start: Path | None = None, *, isolated: bool = False) -> Configuration:
    """Return a folder's configuration; isolated, the environment's alone."""
    isolated = isolated or is_isolated()
    file = None if isolated else _find_settings_file(start or Path.cwd())
    found = file.read() if file is not None else Configuration()
    return Configuration({**found.settings, **_environment()}, found.overrides, isolated)


# The environment ---------------------------------------------------------------------------------------


def is_isolated() -> bool:
    """Return whether the environment forbids files of settings."""
    return bool(_parse_value(os.environ.get(_ISOLATED, ""), ISOLATED.parameter(), _ISOLATED))


def _environment() -> dict[str, Setting]:
    """Return options from names such as GRADCHECK_JOBS; commas part values."""
    names = {_PREFIX + key.upper().replace("-", "_"): key for key in ("paths", *option_keys())}
    found: dict[str, Setting] = {}
    for name, text in os.environ.items():
        if not name.startswith(_PREFIX) or name == _ISOLATED:
            continue
        if name not in names:
            raise UsageError(f"unknown setting {name}", hint=did_you_mean(name, names, "gradcheck config shows all"))
        key = names[name]
        texts = tuple(part.strip() for part in text.split(",") if part.strip())
        if key == "paths":
            if not texts:
                raise UsageError(f"{name} cannot be empty", hint="unset it")
            found[key] = Setting(key, texts, text, name)
            continue
        option = option_keys()[key]
        assert option.name is not None
        values = [_parse_value(one, option, name) for one in (texts or ("",) if option.multiple else (text,))]
        found[option.name] = Setting(key, tuple(values) if option.multiple else values[0], text, name)
    return found


def _parse_value(text: str, option: click.Option, name: str) -> Any:
    word = text.lower()
    if option.is_flag or (option.count and not word.isdecimal()):
        if word not in (*_YES, *_NO):
            wanted = "true, false or a whole number" if option.count else "true or false"
            raise UsageError(f"{name} cannot be {text!r:.60}", hint=f"it must be {wanted}")
        return int(word in _YES) if option.count else word in _YES
    return read_value(text, name, option)


# The file ----------------------------------------------------------------------------------------------


def _find_settings_file(start: Path) -> _SettingsFile | None:
    """Return the nearest file upwards; gradcheck.toml before pyproject.toml."""
    folder = start.resolve()
    for parent in (folder, *folder.parents):
        for name in ("gradcheck.toml", "pyproject.toml"):
            if os.path.lexists(parent / name) and not os.path.isdir(parent / name):
                file = _SettingsFile(parent / name)
                if file.section is not None:
                    if belongs_to_others(file.path, folder):
                        message = f"'{file.path}' belongs to another user, and could run their code"
                        raise UsageError(message, hint="--isolated reads no configuration")
                    return file
    return None


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value and bool(value.strip())


class _SettingsFile:
    """A file of settings: its text, and gradcheck's table, None without one."""

    def __init__(self, path: Path) -> None:
        import tomllib  # here, since help does without

        self.path, self.name, self.is_gradcheck_toml = path, os.path.relpath(path), path.name == "gradcheck.toml"
        try:
            self.text = read_regular(path, _MOST_BYTES).decode("utf-8")
            self._refuse_long_keys()
            data = tomllib.loads(self.text)
        except OSError as error:
            raise UsageError(f"{self.name}: cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{self.name}: is not UTF-8 text") from error
        except tomllib.TOMLDecodeError as error:
            found = re.search(r"^(.*?) \(at line (\d+), column (\d+)\)$", str(error))
            place = Place(self.name, int(found[2]), int(found[3])) if found else Place(self.name)
            raise UsageError(f"{place}: {found[1] if found else error}") from error
        except (ValueError, RecursionError) as error:  # numbers and nesting beyond Python's limits
            long = re.search(r"(?<![\d_])\d[\d_]{4000}", self.text)
            place = Place(self.name, self.text.count("\n", 0, long.start()) + 1, 1) if long else Place(self.name)
            what = "a number of more digits than can be read" if long else "nested too deeply to be read"
            raise UsageError(f"{place}: {what}") from error
        tool = data.get("tool", {})
        own = tool.get("gradcheck") if isinstance(tool, dict) else None
        self.section: Any = data if self.is_gradcheck_toml else own

    def _refuse_long_keys(self) -> None:
        """Raise UsageError for a key of more than 100 parts."""
        if found := _LONG_KEY.search(self.text):
            line = self.text.count("\n", 0, found.start()) + 1
            raise UsageError(f"{Place(self.name, line, 1)}: a key of more than 100 parts, which cannot be read")

    def read(self) -> Configuration:
        if not isinstance(self.section, dict):
            raise UsageError(f"{self.name}: tool.gradcheck must be a table", hint="write it as [tool.gradcheck]")
        own = {key: value for key, value in self.section.items() if key != _OVERRIDES}
        return Configuration(self._settings(own, ("paths", *option_keys())), tuple(self._overrides()))

    def _overrides(self) -> Iterator[tuple[tuple[str, ...], Mapping[str, Setting]]]:
        tables = self.section.get(_OVERRIDES, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            hint = f"write each as [[{'' if self.is_gradcheck_toml else 'tool.gradcheck.'}overrides]]"
            raise UsageError(f"{self._place(_OVERRIDES)}: overrides must be tables", hint=hint)
        for number, table in enumerate(tables):
            if "paths" not in table:
                place = self._place("", number)
                raise UsageError(f"{place}: an override names no paths", hint='such as paths = ["cases/slow"]')
            found = dict(self._settings(table, ("paths", *OVERRIDABLE), number))
            paths = found.pop("paths").value
            for path in paths:
                if not (set("*?[") & set(path) or os.path.exists(path)):
                    raise UsageError(f"{self._place('paths', number)}: there is no '{path}' to override options for")
            texts = (escape(path) if os.path.lexists(path) else path for path in paths)
            yield tuple(os.path.normpath(os.path.join(escape(os.getcwd()), text)) for text in texts), found

    def _settings(self, table: Mapping[str, Any], known: tuple[str, ...], number: int = -1) -> dict[str, Setting]:
        """Return the settings of one table; `number` counts override tables."""
        found: dict[str, Setting] = {}
        for word, value in table.items():
            place = self._place(word, number)
            key = word if word in known else word.replace("_", "-")
            if key not in known:
                hint = did_you_mean(key, known, f"the keys are {', '.join(known)}")
                where = self.name if self.is_gradcheck_toml else "[tool.gradcheck]"
                raise UsageError(f"{place}: unknown key '{key}' in {where}", hint=hint)
            option = option_keys().get(key)
            name = option.name if option is not None and option.name else key
            converted = self._paths(value, place) if option is None else self._converted(key, value, option, place)
            found[name] = Setting(key, converted, setting_text(value), str(place))
        return found

    def _place(self, key: str, override: int = -1) -> Place:
        """Return the place of a key, or of a table of overrides without one."""
        return self._key_places.get((override, key), Place(self.name))

    @cached_property
    def _key_places(self) -> dict[tuple[int, str], Place]:
        """The places of keys, by the number of their overrides (-1: none)."""
        found: dict[tuple[int, str], Place] = {}
        inside: int | None = -1 if self.is_gradcheck_toml else None
        seen = 0
        for number, line in enumerate(self.text.splitlines(), 1):
            place = Place(self.name, number, 1 + len(line) - len(line.lstrip()))
            if header := re.match(r"\s*\[+([^\[\]=]*)\]", line):
                name = re.sub(r"[\s\"']", "", header[1]).removeprefix("tool.gradcheck.")
                inside = -1 if name == "tool.gradcheck" else None
                if name == _OVERRIDES:
                    inside, seen = seen, seen + 1
                    found.setdefault((-1, _OVERRIDES), place)
                    found[inside, ""] = place
            elif inside is not None and (key := _KEY.match(line)):
                found.setdefault((inside, key[1] or key[2] or key[3] or ""), place)
        return found

    def _paths(self, value: Any, place: Place) -> tuple[str, ...]:
        """Return paths relative to the working directory, from those in the file."""
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not texts or not all(map(_is_path, texts)):
            hint = 'such as paths = ["cases"]'
            raise UsageError(f"{place}: paths must be a list of texts, not {brief(value)}", hint=hint)
        return tuple(os.path.relpath(self.path.parent / text) for text in texts)

    def _converted(self, key: str, value: Any, option: click.Option, place: Place) -> Any:
        items = value if option.multiple and isinstance(value, list) else [value]
        kind, wanted = kind_of(option)
        for item in items:
            if (isinstance(item, bool) and bool not in kind) or not isinstance(item, kind):
                raise UsageError(f"{place}: {key} cannot be {brief(item)}", hint=f"it must be {wanted}")
        try:
            converted = tuple(self._item(key, item, option) for item in items)
        except UsageError as error:
            raise UsageError(f"{place}: {error.message}", hint=error.hint) from error
        return converted if option.multiple else converted[0]

    def _item(self, key: str, item: Any, option: click.Option) -> Any:
        """Return a value as on the command line; files as seen from this file."""
        converted = read_value(item, key, option)
        if option.name in ("engines", "reference"):
            return self._engine(converted)
        if isinstance(option.type, click.Path):
            return self._own_file(converted)
        return (converted[0], self._own_file(converted[1])) if option.name == "reports" else converted

    def _own_file(self, path: Path) -> Path:
        """Return a file below the folder of settings; text elsewhere may be code."""
        inside = Path(os.path.relpath(self.path.parent / path, self.path.parent))
        named = inside.parts[:-1] if inside.suffix else inside.parts  # `.known.json` may be a baseline, `.git` none
        folders = [self.path.parent / one for one in inside.parents]
        of_others = any(map(is_environment, folders)) or any(is_project(one, of_others=True) for one in folders[:-1])
        if inside.is_absolute() or of_others or any(part.startswith(".") for part in named):
            raise UsageError(f"'{path}' is hidden or not of the project of {self.name}", hint="name it as an option")
        return Path(os.path.relpath(self.path.parent / path))

    def _engine(self, spec: str) -> str:
        where, colon, attribute = spec.rpartition(":")
        path = self.path.parent / where
        return f"{os.path.relpath(path)}{colon}{attribute}" if where.endswith(".py") and os.path.isfile(path) else spec
