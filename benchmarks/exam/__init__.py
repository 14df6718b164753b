"""The mutation exam: formulas that are wrong in ways that nobody planned for, and right ones in many spellings.

`python -m benchmarks exam` prints how many wrong ones pass and how many right ones are flagged, for gradcheck and for
the checkers of torch, HIPS autograd and JAX. `graphs/` holds the graphs with their right formulas; `wrappers` and
`slips` make wrong ones of them; `truth` says, without gradcheck, what is wrong; `tools` asks. A new graph is an entry
in a file of `graphs/`, a new mistake an entry in `wrappers` or `slips`.
"""

from __future__ import annotations

from benchmarks.exam.report import main, rows

__all__ = ["main", "rows"]
