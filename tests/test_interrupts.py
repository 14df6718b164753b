"""The user's interrupt ends a run; a KeyboardInterrupt that checked code raises costs its case alone."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from gradcheck.interrupts import Interrupt, marked_interrupts


def interrupt_this_process() -> None:
    signal.raise_signal(signal.SIGINT)


@contextmanager
def handler(chosen: Any) -> Iterator[None]:
    known = signal.signal(signal.SIGINT, chosen)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, known)


def test_the_users_interrupt_passes_through_whatever_catches_a_keyboard_interrupt() -> None:
    known = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), marked_interrupts(), suppress(Exception, KeyboardInterrupt):
        interrupt_this_process()
    assert signal.getsignal(signal.SIGINT) is known


def test_blocks_may_be_nested_and_the_outermost_counts() -> None:
    with marked_interrupts():
        with pytest.raises(Interrupt), marked_interrupts():
            interrupt_this_process()
        with pytest.raises(Interrupt):
            interrupt_this_process()


def test_a_handler_of_others_decides_as_before() -> None:
    """That of asyncio raises nothing at first; a process that ignores the signal goes on."""
    counted: list[int] = []
    with handler(lambda number, frame: counted.append(number)), marked_interrupts():
        interrupt_this_process()
    assert counted == [signal.SIGINT]
    with handler(signal.SIG_IGN), marked_interrupts():
        interrupt_this_process()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_another_thread_has_no_signals() -> None:
    errors: list[BaseException] = []

    def marked() -> None:
        try:
            with marked_interrupts():
                raise KeyboardInterrupt
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=marked)
    thread.start()
    thread.join()
    assert [type(error) for error in errors] == [KeyboardInterrupt]
