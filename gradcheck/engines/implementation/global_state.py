"""Global state of the process, restored or captured around user code."""

from __future__ import annotations

import builtins
import ctypes
import math
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, NoReturn

import numpy as np
import torch

from gradcheck.engines.tensor_class.user_code_guard import LIMIT, Output

#: The bytes of NumPy's MT19937: 624 words, and the position among them.
_TWISTER_BYTES = 4 * 625
_STDOUT = 1


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def _device() -> torch.device:
    """Return the default device.

    `torch.get_default_device` raises in torch 2.4 once the default has been restored."""
    return torch.empty(0).device


#: The getter and the setter of each state.
_STATES: tuple[tuple[Callable[[], Any], Callable[[Any], object]], ...] = (
    (_folder, os.chdir),
    (np.geterr, lambda known: np.seterr(**known)),
    (np.get_printoptions, lambda known: np.set_printoptions(**known)),
    (torch.get_default_dtype, torch.set_default_dtype),
    (_device, lambda device: torch.set_default_device(None if device.type == "cpu" else device)),
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.is_anomaly_enabled, torch.set_anomaly_enabled),
    (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
)


@contextmanager
def restore_global_state() -> Iterator[None]:
    """Restore all state after the block; make `os._exit` raise SystemExit.

    So no run looks complete that ended early. A fork of the process ends here."""
    known = [ask() for ask, _ in _STATES]
    process, leave = os.getpid(), os._exit

    def end(status: int) -> NoReturn:
        if os.getpid() == process:
            raise SystemExit(status)
        leave(status)

    os._exit = end
    try:
        yield
    finally:
        os._exit = leave
        if os.getpid() != process:
            leave(1)
        for before, (ask, settle) in zip(known, _STATES, strict=True):
            if before != "" and ask() != before:
                settle(before)


# Replaced functions -------------------------------------------------------------------------------


#: The watched modules and classes, with their names.
_OWNERS: tuple[tuple[str, Any], ...] = (
    ("torch", torch),
    ("torch.Tensor", torch.Tensor),
    ("torch.nn.functional", torch.nn.functional),
    ("torch.linalg", torch.linalg),
    ("torch.autograd", torch.autograd),
    ("torch.autograd.Function", torch.autograd.Function),
    ("numpy", np),
    ("numpy.linalg", np.linalg),
    ("math", math),
    ("builtins", builtins),
)
_MISSING = object()


class Patches:
    """The functions as they are now."""

    def __init__(self) -> None:
        self._known = [dict(vars(owner)) for _, owner in _OWNERS]

    def undo(self) -> tuple[str, ...]:
        """Restore replaced functions, and return their names; additions stay."""
        found: list[str] = []
        for (text, owner), known in zip(_OWNERS, self._known, strict=True):
            now = vars(owner)
            changed = [name for name, value in known.items() if now.get(name, _MISSING) is not value]
            for name in changed:
                setattr(owner, name, known[name])
            if isinstance(owner, type):  # an added attribute hides an inherited one
                added = [name for name in now if name not in known]
                for name in added:
                    delattr(owner, name)
                changed += added
            found += [f"{text}.{name}" for name in changed if not name.startswith("_")]
        return tuple(found)


class RandomStates:
    """States of the random generators of Python, NumPy and torch, as they are.

    Code that draws from them gives the same numbers at each call if they are restored before it."""

    def __init__(self) -> None:
        self._python = random.getstate()
        self._numpy: Any = np.random.get_state(legacy=False)
        self._numpy_memory = _numpy_memory()
        self._torch = torch.get_rng_state()
        has_cuda = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
        self._cuda = torch.cuda.get_rng_state_all() if has_cuda else None

    def restore(self) -> None:
        """Set all generators to these states."""
        random.setstate(self._python)
        if self._has_numpy_moved():
            np.random.set_state(self._numpy)
        torch.set_rng_state(self._torch)
        if self._cuda is not None:
            torch.cuda.set_rng_state_all(self._cuda)

    def have_moved(self) -> bool:
        """Return whether a generator has been used since."""
        is_same = random.getstate() == self._python and torch.equal(torch.get_rng_state(), self._torch)
        cuda = [] if self._cuda is None else zip(torch.cuda.get_rng_state_all(), self._cuda, strict=True)
        return not is_same or self._has_numpy_moved() or not all(torch.equal(now, before) for now, before in cuda)

    def _has_numpy_moved(self) -> bool:
        """Return whether NumPy's state may differ; setting it takes 100 us."""
        holds_a_number = self._numpy.get("has_gauss", 1)  # which is drawn without a trace in memory
        return bool(holds_a_number) or self._numpy_memory is None or _numpy_memory() != self._numpy_memory


def _numpy_memory() -> bytes | None:
    address = _twister_address(np.random.get_bit_generator() if hasattr(np.random, "get_bit_generator") else None)
    return ctypes.string_at(address, _TWISTER_BYTES) if address else None


@cache
def _twister_address(generator: Any) -> int:
    """Return the address of a Mersenne twister's state, 0 for others."""
    return int(generator.ctypes.state_address) if isinstance(generator, np.random.MT19937) else 0


@contextmanager
def capture_stdout(output: Output) -> Iterator[None]:
    """Write Python's and C's output to `output` during the block.

    A kernel's `printf` writes to file descriptor 1."""
    with output.capturing():
        _flush()
        try:
            known, file = os.dup(_STDOUT), _file(os.getpid())
        except OSError:  # there is no stdout
            yield
            return
        start = os.lseek(file, 0, os.SEEK_CUR)
        try:
            os.dup2(file, _STDOUT)
            yield
        finally:
            _flush()
            os.dup2(known, _STDOUT)
            os.close(known)
            _take(file, start, output)


def _take(file: int, start: int, output: Output) -> None:
    """Move the text after `start` from the file to the output."""
    if os.lseek(file, 0, os.SEEK_CUR) > start:
        output.write(os.pread(file, LIMIT, start).decode(errors="replace"))
        os.ftruncate(file, start)
        os.lseek(file, start, os.SEEK_SET)


@cache
def _file(process: int) -> int:
    """Return an unlinked temporary file of this process."""
    file, path = tempfile.mkstemp()
    with suppress(OSError):
        os.unlink(path)
    return file


@cache
def _c_library() -> Any:
    with suppress(OSError):
        return ctypes.CDLL(None)
    return None


def _flush() -> None:
    with suppress(OSError, ValueError, AttributeError):
        assert sys.__stdout__ is not None
        sys.__stdout__.flush()
    if _c_library() is not None:
        _c_library().fflush(None)
