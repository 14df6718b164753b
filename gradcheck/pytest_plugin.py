"""pytest's plugin: every case is an item, and a failure shows the report.

It collects `*.gradcheck.yaml`, files that the ini option `gradcheck_files` names (files, folders, `*` for anything),
and case files on the command line. Options are those of the project's configuration. Importing this module imports
neither NumPy nor torch: the first case file does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gradcheck.checks.options import Options
    from gradcheck.checks.result import CaseResult
    from gradcheck.errors import InvalidCase
    from gradcheck.language.case import Case

_SUFFIXES = (".yaml", ".yml")
_ALWAYS = ("*.gradcheck.yaml", "*.gradcheck.yml")
#: The name of an item for the errors of a file.
_FILE = "the file itself"


class CaseFailed(Exception):
    """An exception with the report of a case that failed."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the ini option `gradcheck_files`."""
    parser.addini("gradcheck_files", "files of gradcheck's cases, besides *.gradcheck.yaml", type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Refuse an entry of `gradcheck_files` that no file can match."""
    for entry in config.getini("gradcheck_files"):
        is_pattern = any(letter in entry for letter in "*?[") or ("/" not in entry and entry.endswith(_SUFFIXES))
        if not (is_pattern or (config.rootpath / entry).exists()):
            raise pytest.UsageError(f"gradcheck_files: there is no {_without_commands(entry)} in {config.rootpath}")


@pytest.fixture
def check_function(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Return `gradcheck.testing.check_function`, in the test's `dtype` if any."""
    from gradcheck.testing import check_function

    dtype = getattr(getattr(request.node, "callspec", None), "params", {}).get("dtype")
    if dtype is None:
        return check_function

    def in_dtype(*code: Any, choices: Mapping[str, Any] | None = None, **given: Any) -> Any:
        __tracebackhide__ = True
        return check_function(*code, choices={"dtypes": [dtype], **(choices or {})}, **given)

    return in_dtype


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Return a collector for a case file."""
    if file_path.suffix.lower() not in _SUFFIXES:
        return None
    if not (parent.session.isinitpath(file_path) or _is_named(file_path, parent.config)):
        return None
    file: CaseFile = CaseFile.from_parent(parent, path=file_path)
    shown = _without_commands(file.nodeid)  # pytest prints ids as they are
    return (
        file
        if shown == file.nodeid
        else CaseFile.from_parent(parent, path=file_path, nodeid=shown, name=_without_commands(file.name))
    )


def _without_commands(text: str) -> str:
    """Return the text without commands to a terminal or a service."""
    from gradcheck.cli.output import without_commands
    from gradcheck.reports.safe_text import plain

    return without_commands(plain(text))


def _is_named(path: Path, config: pytest.Config) -> bool:
    inside, name = _inside(path, config), path.stem + path.suffix.lower()
    patterns = [*_ALWAYS, *(_inside(entry, config) for entry in config.getini("gradcheck_files"))]
    return any(
        fnmatch(name, pattern) or fnmatch(inside, pattern) or pattern == "." or inside.startswith(f"{pattern}/")
        for pattern in patterns
    )


def _inside(path: str | Path, config: pytest.Config) -> str:
    """Return a path or pattern as seen from the root: `cases` for `./cases/`."""
    return os.path.relpath(config.rootpath / path, config.rootpath).replace(os.sep, "/")


class CaseFile(pytest.File):
    """A case file."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item a case, and one for all errors of the file."""
        from gradcheck.language.loader import load

        found = load([os.path.relpath(self.path)])
        if found.errors:
            yield CaseItem.from_parent(self, name=_FILE, work=list(found.errors))
        for case in found.cases:
            yield CaseItem.from_parent(self, name=_without_commands(case.name), work=case)


class CaseItem(pytest.Item):
    """A case, or the errors of a file."""

    def __init__(self, *, work: Case | list[InvalidCase], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.work = work
        self.extra_keyword_matches.update(getattr(work, "tags", ()))

    def runtest(self) -> None:
        """Run the case. Raises CaseFailed, or pytest's exception for its status."""
        from gradcheck.cli.output import without_commands

        found = _checker(self.config)(self.work)
        if found.status in ("skipped", "unsupported"):
            raise _skipped(without_commands(_reason(found)))
        if found.status == "xfailed":
            pytest.xfail(without_commands(_reason(found)))
        if found.status != "passed":
            raise CaseFailed(without_commands(_report(found)))
        told = _remarks(found)
        if told:
            self.add_report_section("call", "gradcheck", without_commands(told))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the report, or the reason of an expected failure."""
        if isinstance(excinfo.value, (CaseFailed, pytest.xfail.Exception)):
            return str(excinfo.value)
        from gradcheck.errors import GradcheckError

        if isinstance(excinfo.value, GradcheckError):  # it may quote a configuration
            return _without_commands(str(excinfo.value))
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Return where the case begins."""
        place = self.work[0].place if isinstance(self.work, list) else self.work.place
        assert self.parent is not None
        is_safe = _without_commands(str(self.path)) == str(self.path)
        file = self.path if is_safe else self.config.rootpath / self.parent.nodeid
        return file, max(0, place.line - 1), self.name


def _skipped(reason: str) -> BaseException:
    """Return the exception of a skip, which pytest shows at the case's place."""
    skipped: Any = pytest.skip.Exception(reason)
    skipped._use_item_location = True
    found: BaseException = skipped
    return found


#: The function that checks a case, made once for a session.
_CHECKER_KEY = pytest.StashKey[Callable[[Any], "CaseResult"]]()


def _checker(config: pytest.Config) -> Callable[[Any], CaseResult]:
    if _CHECKER_KEY not in config.stash:
        from gradcheck.cli.project_options import project_options
        from gradcheck.cli.supervisor import runs_foreign_code

        options = project_options(config.rootpath)
        choices = ({name: getattr(options, name) for name in ("engines", "reference", "allow_code")},)
        foreign = runs_foreign_code(*choices, *(one.choices for one in options.overrides))
        config.stash[_CHECKER_KEY] = (
            _separate_process_checker(options)
            if foreign and not config.getoption("usepdb", False)
            else _in_process_checker(options)
        )
    return config.stash[_CHECKER_KEY]


def _in_process_checker(options: Options) -> Callable[[Any], CaseResult]:
    from gradcheck.checks.options import engines_of
    from gradcheck.checks.scheduling.sequential import engine_sessions, make_checker

    engines = engines_of(options)
    check = make_checker(options, engines)

    def alone(work: Any) -> CaseResult:
        with engine_sessions(options, engines):
            return options.apply_baseline(check(work))

    return alone


def _separate_process_checker(options: Options) -> Callable[[Any], CaseResult]:
    """Return a function that checks a case in a process of its own."""
    # user code that ends its process does not end pytest
    from gradcheck.checks.scheduling.run import run
    from gradcheck.language.case import Loaded

    chosen = replace(options, in_workers=True)

    def alone(work: Any) -> CaseResult:
        source = Loaded((), tuple(work)) if isinstance(work, list) else Loaded((work,), ())
        return run(source, chosen).cases[0]

    return alone


def _report(found: CaseResult) -> str:
    from gradcheck.reports import Look
    from gradcheck.reports.failed_case import failed_case_lines

    _, *lines = failed_case_lines(found, Look(width=100))  # the first names the case, as pytest does
    return dedent("\n".join(line.plain.rstrip() for line in lines))


def _remarks(found: CaseResult) -> str:
    """Return the remarks on a case, such as drift, which `-rP` shows."""
    from gradcheck.reports.located_messages import remark_messages

    return "\n".join(remark.message for remark in remark_messages(found))


def _reason(found: CaseResult) -> str:
    from gradcheck.reports.phrases.comparison_text import status_reason

    return status_reason(found) or found.status
