"""What may have been meant by a wrong formula: the nearest right one, found by search.

`suggestion` goes about it and verifies what is found; `search` looks one and two `edits` away, among the `operands`
that a case offers, in an `expression_pool` where each expression is evaluated once. It may ask for derived formulas; it
knows nothing of engines and of why other claims fail. Another slip that people make is a function in `edits`, with its
cost.
"""

from __future__ import annotations

from gradcheck.checks.failures.correction.suggestion import suggest

__all__ = ["suggest"]
