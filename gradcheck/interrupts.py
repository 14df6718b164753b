"""The user's Ctrl-C, told apart from a KeyboardInterrupt of checked code."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any


class Interrupt(BaseException):
    """The user's own interrupt, in a block of `marked_interrupts`."""


def _interrupt(known: Any, *arguments: Any) -> None:
    try:
        known(*arguments)
    except KeyboardInterrupt as error:
        raise Interrupt from error


@contextmanager
def marked_interrupts() -> Iterator[None]:
    """Have Ctrl-C raise Interrupt in the block, KeyboardInterrupt after it.

    A KeyboardInterrupt in the block is of the code that is checked. Of nested blocks the outermost counts."""
    known = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not callable(known) or isinstance(known, partial):
        yield
        return
    signal.signal(signal.SIGINT, partial(_interrupt, known))
    try:
        yield
    except Interrupt as error:
        raise KeyboardInterrupt from error
    finally:
        signal.signal(signal.SIGINT, known)
