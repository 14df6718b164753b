"""What a run finds out: comparisons, and what they make of a case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from gradcheck.errors import Place

What = Literal[
    "value",
    "gradient",
    "expected_value",
    "expected",
    "formula",
    "wrong_formula",
    "check",
    "raises",
    "node",
    "gradient2",
]
Status = Literal["passed", "failed", "undecided", "unsupported", "not_differentiable"]
CaseStatus = Literal["passed", "failed", "invalid", "crashed", "skipped", "xfailed", "xpassed", "unsupported"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One claim about one tensor. Index, values and errors are those of the worst element."""

    what: What
    tensor: str
    status: Status
    step: int = 0
    engine: str = ""  # who made the claim: an engine's name, or "case"
    reference: str = ""  # what it was compared with: "torch", "case", …
    place: Place = field(default_factory=Place)
    shape: tuple[int, ...] = ()
    dtype: str = ""
    max_abs: float | None = None
    max_rel: float | None = None
    max_ulp: float | None = None
    mismatched: int = 0
    elements: int = 0
    worst_index: tuple[int, ...] | None = None
    got: float | complex | None = None
    want: float | complex | None = None
    atol: float | None = None  # absolute, scale multiplied in
    rtol: float | None = None
    formula: str = ""
    message: str = ""  # why, in words, where numbers do not say it: a shape, a dtype, an exception
    notes: tuple[str, ...] = ()  # "none against zeros", "3 NaNs agree", …
    trial: Mapping[str, Any] | None = None  # {"trial": 1, "seed": 0, "sizes": {"n": 3}}, for a generalized claim
    got_array: np.ndarray | None = field(default=None, repr=False, compare=False)  # kept on failure
    want_array: np.ndarray | None = field(default=None, repr=False, compare=False)
    mask: np.ndarray | None = field(default=None, repr=False, compare=False)  # True where they differ
    certificate: Mapping[str, Any] | None = None
    verdict: str = ""  # on failure, who stands alone: "core is wrong: torch and complex step agree to 2e-16"
    diagnoses: tuple[Mapping[str, str], ...] = ()
    lacks: str = ""  # what the engine would need, where the status is "unsupported"
    cause: str = ""  # where gradients go wrong first, in a sentence, if this is the failure that shows it
    consequence_of: str = ""  # the operation or tensor ("matmul at r") but for which this would be right


@dataclass(frozen=True, slots=True)
class Failure:
    """An error that belongs to a case but to none of its tensors: invalid, crashed, timed out, unexpectedly raised."""

    kind: str
    message: str
    place: Place = field(default_factory=Place)
    hint: str = ""
    details: str = ""  # a traceback, for crashes of gradcheck or of an engine


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The smallest case found that fails in the same way: as a case file, and as Python where an engine is a Tensor
    class that can be spoken to in a few lines."""

    case: str
    operations: int  # op applications in its graph
    snippet: str = ""
    file: str = ""  # where the case file is, if it was written
    complete: bool = True  # whether nothing smaller was left to try when time was up


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The verdict on one case, or on one file that could not be read (`name` is then empty)."""

    id: str
    file: str
    name: str
    status: CaseStatus
    place: Place = field(default_factory=Place)
    seconds: float = 0.0
    seed: int = 0
    reproduce: str = ""
    reason: str = ""  # of skip, xfail
    tags: tuple[str, ...] = ()
    errors: tuple[Failure, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    smallest: Reproduction | None = None
    power: Mapping[str, Any] | None = None  # planted faults and how many are caught, where that was asked for
    output: Mapping[str, str] = field(default_factory=dict)  # what engines printed meanwhile, by their names


@dataclass(frozen=True, slots=True)
class RunResult:
    """All of a run, in the order of files and cases."""

    cases: tuple[CaseResult, ...]
    seconds: float
    environment: Mapping[str, str]
    interrupted: bool = False

    def count(self, status: CaseStatus) -> int:
        return sum(case.status == status for case in self.cases)

    @property
    def exit_code(self) -> int:
        """The command line contract's: the highest of 3, 2, 1 wins; 130 when interrupted; 5 for nothing."""
        if self.interrupted:
            return 130
        if not self.cases:
            return 5
        codes = {"crashed": 3, "invalid": 2, "failed": 1, "xpassed": 1}
        return max((codes.get(case.status, 0) for case in self.cases), default=0)
