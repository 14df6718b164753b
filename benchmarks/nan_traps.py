"""Gradients that are NaN in both engines: does a plain run say so, and where?

The graphs are those of issues and forums: square roots, norms and logarithms at 0, exponentials that overflow, masked
rows, beside `where`, which selects numbers and no gradients.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.timing import Row
from gradcheck import run
from gradcheck.checks.result import CaseResult
from gradcheck.engines.torch import Torch
from gradcheck.language.sampling import draw
from gradcheck.reports.located_messages import remark_messages

TRAPS = Path(__file__).with_name("nan_traps.yaml")


def rows() -> Iterator[Row]:
    found = [case for case in run(TRAPS).cases if _is_trap(case)]
    told = [" ".join(remark.message for remark in remark_messages(case)) for case in found]
    silent = [case.name for case, words in zip(found, told, strict=True) if "nan" not in words and "inf" not in words]
    finite = sum("torch is wrong here" in words for words in told)
    written = sum("; write " in words for words in told)
    details = f"silent: {', '.join(silent) or 'none'}; in {finite} the derivative is finite, for {written} of these "
    details += "another entry is written"
    yield Row(
        "gradients that are not finite", f"{len(found) - len(silent)} of {len(found)} told", "all", not silent, details
    )


def _is_trap(case: CaseResult) -> bool:
    """Return whether torch's gradient of an input is NaN or infinite."""
    assert case.case is not None
    (state,) = Torch().evaluate(draw(case.case)).states
    gradients = (state.gradients[name] for name in case.case.inputs)
    return any(one is not None and not np.isfinite(one).all() for one in gradients)
