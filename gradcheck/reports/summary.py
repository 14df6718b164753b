"""The last line: how many cases came out how, and how long it took."""

from __future__ import annotations

from gradcheck.checks.result import CaseStatus, RunResult

#: In the order of the line.
_ORDER: tuple[CaseStatus, ...] = (
    "failed",
    "crashed",
    "xpassed",
    "passed",
    "invalid",
    "skipped",
    "xfailed",
    "unsupported",
)


def summary(result: RunResult) -> str:
    """`3 failed, 1997 passed, 1 invalid in 4.2s`."""
    counts = [f"{result.count(status)} {status}" for status in _ORDER if result.count(status)]
    line = f"{', '.join(counts) or 'no cases'} in {duration(result.seconds)}"
    return f"interrupted: {line}" if result.interrupted else line


def duration(seconds: float) -> str:
    """`0.02s`, `4.2s`, `3m 20s`."""
    if seconds < 1:
        return f"{seconds:.2f}s"
    if seconds < 60:
        return f"{seconds:.1f}s"
    return f"{int(seconds // 60)}m {int(seconds % 60)}s"
