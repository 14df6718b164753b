"""What is said of a whole run: what engines lack, and the last line, how many cases came out how."""

from __future__ import annotations

from gradcheck.checks.result import CaseResult, CaseStatus, RunResult
from gradcheck.checks.run import lacking, lacks_of
from gradcheck.reports.text import plain

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


def lacking_lines(result: RunResult) -> list[str]:
    """What engines could not express, each once: `mine.Tensor lacks: matmul, softmax (14 of 60 cases)`."""
    return [
        f"{plain(one.engine)} lacks: {', '.join(map(plain, one.words))} ({one.unsupported} of {one.cases} cases)"
        for one in lacking(result)
    ]


def lacks(case: CaseResult) -> str:
    """`lacks softmax`; with several engines, each by name."""
    found = lacks_of(case)
    if len(found) == 1 and case.status == "unsupported":
        return f"lacks {', '.join(map(plain, next(iter(found.values()))))}"
    return "; ".join(f"{plain(engine)} lacks {', '.join(map(plain, words))}" for engine, words in found.items())
