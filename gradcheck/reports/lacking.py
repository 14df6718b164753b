"""What engines lack, in a sentence each; every report for people says it alike."""

from __future__ import annotations

from gradcheck.checks.lacking import lacking, lacks_of
from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.reports.text import plain


def lacking_lines(result: RunResult) -> list[str]:
    """`mine.Tensor lacks: matmul, softmax (14 of 60 cases)`."""
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
