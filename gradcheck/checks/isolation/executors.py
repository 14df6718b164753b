"""Create the executor for `--executor dask://host:port`, `module:factory`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from gradcheck.engines.library_imports import importing_elsewhere
from gradcheck.engines.resolve import InstalledSpec
from gradcheck.engines.user_modules import module_of_name
from gradcheck.errors import UsageError, exception_text

_DASK = "dask://"


def executor_factory(spec: str) -> Callable[[], Executor]:
    """Return a function that makes the executor. Raises UsageError."""
    if spec.startswith(_DASK):
        return _dask(spec)
    where, _, attribute = spec.rpartition(":")
    if not where or not attribute:
        raise UsageError(f"'{spec}' names no executor", hint="write MODULE:FACTORY or dask://HOST:PORT")
    folder = None if isinstance(spec, InstalledSpec) else Path.cwd()
    try:
        with importing_elsewhere():
            found: Any = module_of_name(where, folder)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:
        raise UsageError(f"{spec} cannot be imported: {type(error).__name__}: {exception_text(error)}") from error
    return lambda: _make_executor(spec, found)


def _make_executor(spec: str, factory: Any) -> Executor:
    try:
        made: Any = factory()
    except Exception as error:
        raise UsageError(f"{spec} makes no executor: {type(error).__name__}: {exception_text(error)}") from error
    if not isinstance(made, Executor):
        hint = "it must return a concurrent.futures.Executor"
        raise UsageError(f"{spec} makes no executor, but a {type(made).__name__}", hint=hint)
    return made


def _dask(spec: str) -> Callable[[], Executor]:
    address = spec.removeprefix(_DASK)
    try:
        with importing_elsewhere():
            distributed: Any = importlib.import_module("distributed")
    except ImportError as error:
        raise UsageError(
            f"dask cannot be imported: {exception_text(error)}", hint="pip install 'gradcheck[dask]'"
        ) from error

    def make() -> Executor:
        try:
            return _Dask(distributed.Client(f"tcp://{address}", timeout="10s"))
        except (OSError, ValueError) as error:
            raise UsageError(f"no scheduler answers at {address}: {error}") from error

    return make


class _Dask(Executor):
    """The executor of a dask client; it closes the client."""

    def __init__(self, client: Any) -> None:
        self._client, self._executor = client, client.get_executor(pure=False)

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call; if its worker is lost, another runs it."""
        future: Future[Any] = self._executor.submit(function, *args, **kwargs)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._executor.shutdown(wait=wait and not cancel_futures)
        self._client.close()
