"""Cases in a process of their own, which is ended where it does not end itself.

A deadline interrupts Python, but nothing interrupts one call into NumPy or torch; and where such a call brings its
process down, that process takes all other cases with it. So where a run has a time limit, a fork of this process checks
the cases, one after the other, and hands each result over. One that is late is killed, one that dies is told of, and
another fork goes on with the next case. Only where processes can be forked safely, which is on Linux; elsewhere
deadlines have to do.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from gradcheck.autograd.op import TABLE, Op
from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.limits import OutOfTime
from gradcheck.language.case import Case

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from gradcheck.checks.options import Engines

Item = TypeVar("Item")
Found = TypeVar("Found")
#: Seconds beyond its limit after which a case is no longer waited for.
GRACE = 0.4
#: Libraries whose threads do not survive a fork.
_THREADED = ("jax",)
#: What is sent before a case, and between the check of it and its result.
_BEGINS, _ENDS = b"begins", b"ends"


class ProcessEnded(RuntimeError):
    """The process that checked a case is gone, by a signal or by an exit of its own."""


def can_supervise() -> bool:
    """Whether this process can be forked, and wait for the fork."""
    alone = threading.current_thread() is threading.main_thread()
    return sys.platform.startswith("linux") and alone and not any(name in sys.modules for name in _THREADED)


def supervised(
    work: Sequence[Item],
    check: Callable[[Item], Found],
    lost: Callable[[Item, Exception | OutOfTime, float], Found],
    engines: Engines,
    limit: float,
) -> Iterator[Found]:
    """What `check` makes of each item, in a fork of this process; where that ends without a result, or takes longer
    than `limit` seconds, what `lost` makes of it, why, and the seconds that it took."""
    done = 0
    while done < len(work):
        worker = _Worker(work[done:], check, Transport(work, engines))
        try:
            for item in work[done:]:
                start = time.perf_counter()
                try:
                    yield worker.result(limit)
                except (ProcessEnded, OutOfTime) as error:
                    yield lost(item, error, time.perf_counter() - start)
                    break
                finally:
                    done += 1
        finally:
            worker.end()


class _Worker:
    """A fork that checks items in turn, as long as somebody listens."""

    def __init__(self, work: Sequence[Any], check: Callable[[Any], Any], transport: Transport) -> None:
        from multiprocessing.connection import Pipe

        self.transport = transport
        self.hears, tells = Pipe(duplex=False)
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # that threads of libraries are not forked is known
            self.process = os.fork()
        if not self.process:
            self.hears.close()
            _serve(work, check, transport, tells)
        tells.close()

    def result(self, limit: float) -> Any:
        """That of the next item. Raises ProcessEnded, and OutOfTime where it does not come in time."""
        start = time.monotonic()
        try:
            self.hears.recv_bytes()  # that it begins: what it did before was done in no case's time
            if not self.hears.poll(max(0.0, limit + GRACE - (time.monotonic() - start))):
                raise OutOfTime(limit)
            self.hears.recv_bytes()
            return self.transport.unpack(self.hears.recv_bytes())
        except (EOFError, ConnectionError):
            raise ProcessEnded(self._fate()) from None

    def _fate(self) -> str:
        _, status = os.waitpid(self.process, 0)
        self.process = 0
        code = os.waitstatus_to_exitcode(status)
        return f"by the signal {signal.Signals(-code).name}" if code < 0 else f"with the exit code {code}"

    def end(self) -> None:
        """Whatever it does."""
        self.hears.close()
        if self.process:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
            self.process = 0


def _serve(work: Sequence[Any], check: Callable[[Any], Any], transport: Transport, tells: Connection) -> None:
    """Check every item, and leave without a trace in the process that was forked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for those who supervise
    code = 1
    try:
        for item in work:
            tells.send_bytes(_BEGINS)
            found = check(item)
            tells.send_bytes(_ENDS)
            tells.send_bytes(transport.pack(found))
        code = 0
    except ConnectionError:
        code = 0
    finally:
        os._exit(code)


class Transport:
    """Results as bytes and back, between a process and a fork of it. What both have is not copied: ops, engines, and
    the cases themselves; what has been recorded of a computation stays where it is."""

    def __init__(self, work: Sequence[Any], engines: Engines) -> None:
        self.shared: list[Any] = [*engines.all, *(item for item in work if isinstance(item, Case))]
        self._places = {id(one): place for place, one in enumerate(self.shared)}

    def pack(self, result: Any) -> bytes:
        """Raises what pickle does."""
        buffer = io.BytesIO()
        _Pickler(buffer, self._places).dump(result)
        return buffer.getvalue()

    def unpack(self, data: bytes) -> Any:
        """The result, with what this process has in place of what both share."""
        return _Unpickler(io.BytesIO(data), self.shared).load()


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, places: dict[int, int]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._places = places

    def persistent_id(self, obj: Any) -> Any:
        kind = type(obj)
        if kind is Op:
            return "op", obj.name
        if kind is Tensor:
            return "nothing", None
        place = self._places.get(id(obj))
        return None if place is None else ("shared", place)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, shared: list[Any]) -> None:
        super().__init__(file)
        self._shared = shared

    def persistent_load(self, pid: Any) -> Any:
        kind, which = pid
        if kind == "op":
            return TABLE[which]
        return None if kind == "nothing" else self._shared[which]
