"""Types of option values, which also take values that are converted."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Any

import click

from gradcheck.reports import FORMATS

#: The most processes, and the most characters of a number.
_MOST_JOBS, _LONGEST = 1_024, 1_000


class ReportType(click.ParamType):
    """`FORMAT=PATH`, as a pair."""

    name = "FORMAT=PATH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Path]:
        if isinstance(value, tuple):
            return value
        format, equals, path = value.partition("=")
        if not equals or not path:
            self.fail(f"'{value}' is not FORMAT=PATH, such as junit=report.xml", param, ctx)
        if format not in FORMATS:
            self.fail(f"'{format}' is not a format; there are {', '.join(FORMATS)}", param, ctx)
        return format, Path(path)


class SizeType(click.ParamType):
    """`2GB`, `500 MB`, `1GiB`: bytes."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from gradcheck.checks.isolation.memory_limit import parse_size  # here, since help does without

        try:
            size = value if isinstance(value, int) else parse_size(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if size <= 0:
            self.fail("a case takes some memory", param, ctx)
        return size


class JobsType(click.ParamType):
    """A number of processes, or `auto` for one a core."""

    name = "N|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if value == "auto":
            return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        try:
            number = int(value)
        except ValueError:
            self.fail(f"'{value:.40}' is neither a number nor 'auto'", param, ctx)
        if number < 1:
            self.fail(f"{number} processes check nothing", param, ctx)
        if number > _MOST_JOBS:
            self.fail(f"more than {_MOST_JOBS:,} processes at a time; 'auto' starts one a core", param, ctx)
        return number


class _NumberType(click.ParamType):
    """A number of limited length: Python cannot convert very long ones."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and len(value) > _LONGEST:
            self.fail(f"a number of {len(value):,} characters is too long", param, ctx)
        return super().convert(value, param, ctx)


class WholeType(_NumberType, click.types.IntParamType):
    """A whole number."""


class WholeRange(_NumberType, click.IntRange):
    """A whole number within bounds."""


class FiniteRange(_NumberType, click.FloatRange):
    """A number within bounds that is neither infinite nor NaN."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            number = super().convert(value, param, ctx)
        except OverflowError:  # a whole number from a file
            self.fail("a number that large is no float", param, ctx)
        if not math.isfinite(number):
            self.fail(f"{number} is not finite", param, ctx)
        return number


class ShardType(click.ParamType):
    """`i/n`, as a pair."""

    name = "I/N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        found = re.fullmatch(r"([0-9]{1,18})/([0-9]{1,18})", value)
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            self.fail(f"'{value:.40}' is no part of a whole, such as 1/4", param, ctx)
        return int(found[1]), int(found[2])
