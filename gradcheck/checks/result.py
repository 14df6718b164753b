"""What a run finds out: comparisons, and what they make of a case. Facts and numbers; `reports` finds the words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import numpy as np

from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.mutation_score import MutationScore
from gradcheck.engines.base import Application, Engine, Pullback
from gradcheck.errors import Place
from gradcheck.facts import Fact
from gradcheck.language.case import Case, Edit, TextSpan
from gradcheck.language.problem import Problem
from gradcheck.notebook_repr import NotebookRepr

Status = Literal["passed", "failed", "undecided", "unsupported", "not_differentiable"]
CaseStatus = Literal["passed", "failed", "invalid", "crashed", "skipped", "xfailed", "xpassed", "unsupported"]
#: In place of a reference, where a step of a derivation is held against itself without a slip: nobody computes what has
#: no name.
MEANT = "meant"
#: What differs at a trial from the case's own numbers: what it draws, its literal inputs, its incoming gradients, or
#: what it takes to come to the other side of a branch.
TrialKind = Literal["drawn", "moved", "incoming", "branch"]
#: Statuses with which a case cannot pass.
FAILING_STATUSES = ("failed", "undecided")


Made = TypeVar("Made")


def fast_replace(known: Made, **fields: Any) -> Made:
    """As `dataclasses.replace` makes it, of a dataclass without slots, in a tenth of the time: a frozen one sets each
    of its fields by a call."""
    return _made(type(known), {**vars(known), **fields})


def _made(kind: type[Made], fields: dict[str, Any]) -> Made:
    """One of a dataclass without slots that has these fields; all others are as its class has them."""
    made = object.__new__(kind)
    object.__setattr__(made, "__dict__", fields)
    return made


@dataclass(frozen=True, slots=True)
class Trial:
    """Which other numbers a claim was tried at: the trial's number (from 1), the seed, the symbolic sizes, and how many
    drawings before it did not fit. `problem` holds the numbers themselves."""

    number: int
    seed: int
    sizes: Mapping[str, int]
    attempt: int = 0
    kind: TrialKind = "drawn"
    resized: bool = False  # whether some size is not the case's own
    problem: Problem | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Subject:
    """What a comparison is about: which claim, about which tensor, after which step, of whom against whom."""

    what: ClaimKind
    tensor: str  # of an op alone, the graph entry
    step: int = 0  # from 0, after which it is compared
    engine: str = ""  # who made the claim: an engine's name, or "case"
    reference: str = ""  # what it is compared with: "torch", "case", …
    place: Place = field(default_factory=Place)  # where the file makes the claim, or defines the tensor
    formula: str = ""  # its text, or a check's
    trial: Trial | None = None  # None: the case's own numbers

    def of(self, tensor: str, **changed: Any) -> Subject:
        """The same about another tensor, of which these fields are given."""
        return _made(Subject, {**vars(self), "tensor": tensor, **changed})

    def passed(self, **found: Any) -> Comparison:
        """A comparison that holds; `found` are further fields of it. Most are such, and what a field is by default they
        have from their class: to set thirty fields takes as long as to compare."""
        found["subject"], found["status"] = self, "passed"
        return _made(Comparison, found)

    def failed(self, mismatch: Fact | None = None, **found: Any) -> Comparison:
        """A comparison that does not hold, and why."""
        return Comparison(self, "failed", mismatch=mismatch, **found)


@dataclass(frozen=True, slots=True)
class Operation:
    """An application with the incoming gradients it is tried with, None for outputs that cannot have one."""

    application: Application
    cotangents: tuple[np.ndarray | None, ...]


@dataclass(frozen=True, slots=True)
class WrongOperation:
    """A gradient of one op alone that is wrong: the op's place among the applications, and who says what."""

    number: int
    operation: Operation
    index: int  # of the gradient, among those of the op's tensors
    engine: Engine
    mine: Pullback
    theirs: Pullback
    inside: str = ""  # the op that the engine makes of it, among others

    @property
    def application(self) -> Application:
        """The op, and what it is applied to."""
        return self.operation.application


@dataclass(frozen=True, slots=True)
class Cause:
    """Where something goes wrong first, and what is wrong there. What follows from it names the same origin."""

    origin: Fact
    what: Fact


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why a claim is wrong, or what may have been meant: a kind, as in `docs/diagnoses.md`, and what is to be said."""

    kind: str
    message: Fact
    confidence: str = ""  # "confirmed" or "possible", of a mistake that was recognised
    evidence: Fact | None = None
    formula: str = ""  # the formula that is suggested
    edit: Edit | None = None  # of the text of the formula that is wrong, which makes that of it
    tried: tuple[str, ...] = ()  # the kinds of mistakes that do not explain it, where none does


@dataclass(frozen=True)
class Comparison:
    """How one claim about one tensor came out. Index, values and errors are those of the worst element."""

    subject: Subject
    status: Status
    shape: tuple[int, ...] = ()
    dtype: str = ""
    elements: int = 0
    mismatch: Fact | None = None  # how the two differ, where numbers do not say it: a shape, a dtype, an exception
    notes: tuple[Fact, ...] = ()
    max_abs: float | None = None
    max_rel: float | None = None
    max_ulp: float | None = None
    agreement: float | None = None  # where it is measured: the relative error of what is within the base tolerance
    mismatched: int = 0
    worst_index: tuple[int, ...] | None = None
    got: float | complex | None = None
    want: float | complex | None = None
    atol: float | None = None  # absolute, of the worst element
    rtol: float | None = None
    got_array: np.ndarray | None = field(default=None, repr=False, compare=False)  # kept on failure
    want_array: np.ndarray | None = field(default=None, repr=False, compare=False)
    mask: np.ndarray | None = field(default=None, repr=False, compare=False)  # True where they differ
    certificate: Mapping[str, Any] | None = None
    verdict: Fact | None = None  # on failure, who stands alone
    diagnoses: tuple[Diagnosis, ...] = ()
    lacks: str = ""  # what the engine would need, where the status is "unsupported"
    reference_lacks: bool = False  # whether it is the reference that would need it
    operation: WrongOperation | None = field(default=None, repr=False, compare=False)  # of an op alone, on failure
    cause: Cause | None = None  # where gradients go wrong first, if this is the failure that shows it
    consequence_of: Fact | None = None  # the origin but for which this would be right
    part: TextSpan | None = None  # where in the text at its place it goes wrong
    code: Place | None = None  # where the engine's own function begins that computes it

    # The subject's, for short.

    @property
    def what(self) -> ClaimKind:
        return self.subject.what

    @property
    def tensor(self) -> str:
        return self.subject.tensor

    @property
    def step(self) -> int:
        return self.subject.step

    @property
    def engine(self) -> str:
        return self.subject.engine

    @property
    def reference(self) -> str:
        return self.subject.reference

    @property
    def place(self) -> Place:
        return self.subject.place

    @property
    def formula(self) -> str:
        return self.subject.formula

    @property
    def trial(self) -> Trial | None:
        return self.subject.trial

    def with_subject(self, **changed: Any) -> Comparison:
        """The same about another subject, of which these fields are given."""
        return replace(self, subject=replace(self.subject, **changed))

    def with_notes(self, *notes: Fact) -> Comparison:
        """The same with more notes."""
        return replace(self, notes=(*self.notes, *notes)) if notes else self

    @property
    def passes_by_wrong_reference(self) -> bool:
        """Whether it passes because the reference is wrong here, and those who differ from it are right."""
        return self.status == "passed" and self.verdict is not None and self.verdict.kind == "reference_wrong"

    def has_note(self, kind: str) -> bool:
        """Whether a note of this kind of fact is among its notes."""
        return any(note.kind == kind for note in self.notes)


@dataclass(frozen=True, slots=True)
class Failure:
    """An error that belongs to a case but to none of its tensors: invalid, crashed, timed out, unexpectedly raised."""

    kind: str
    message: Fact
    place: Place = field(default_factory=Place)
    hint: str = ""  # as the error that was raised says it
    details: str = ""  # a traceback, for crashes of gradcheck or of an engine
    own_words: tuple[tuple[str, str], ...] = ()  # engines, and what each says of it itself
    text: str = ""  # what stands at the place and is meant, where that is known


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The smallest case found that fails in the same way: as a case file, and as Python where an engine is a Tensor
    class that can be spoken to in a few lines."""

    case: str
    operations: int  # op applications in its graph
    snippet: str = ""
    file: str = ""  # where the case file is, if it was written
    complete: bool = True  # whether nothing smaller was left to try when the budget was spent


@dataclass(frozen=True)
class CaseResult(NotebookRepr):
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
    comparisons: tuple[Comparison, ...] = field(default_factory=tuple)
    incomplete: tuple[Failure, ...] = ()  # what should have explained the verdict, and failed itself
    smallest: Reproduction | None = None
    power: MutationScore | None = None  # where that was asked for
    output: Mapping[str, str] = field(default_factory=dict)  # what engines printed meanwhile, by their names
    warnings: tuple[Fact, ...] = ()  # what libraries warned of meanwhile, each once
    known: Fact | None = None  # what a baseline, or `xfail`, has to do with its status
    drift: tuple[Fact, ...] = ()  # what agrees less well than a baseline remembers
    conventions: tuple[tuple[str, tuple[Fact, ...]], ...] = ()  # by engine, what it does otherwise by design
    cached: bool = False  # whether an earlier run came to it
    case: Case | None = field(default=None, repr=False, compare=False)  # as it was run, where it could be read

    @property
    def wrong_references(self) -> tuple[str, ...]:
        """Those that are wrong here, which is nobody else's failure."""
        return tuple(
            dict.fromkeys(
                str(c.verdict["reference"]) for c in self.comparisons if c.verdict and c.passes_by_wrong_reference
            )
        )


@dataclass(frozen=True, slots=True)
class RunResult(NotebookRepr):
    """All of a run, in the order of files and cases."""

    cases: tuple[CaseResult, ...]
    seconds: float
    environment: Mapping[str, str]
    interrupted: bool = False
    selected: int = 0  # how many there were to run, at least those that ran

    @property
    def conventions(self) -> tuple[tuple[str, Fact], ...]:
        """What engines do otherwise by design, with the engine's name, each once."""
        told = (told for case in self.cases for told in case.conventions)
        return tuple(dict.fromkeys((engine, one) for engine, found in told for one in found))

    @property
    def cached(self) -> int:
        """Of how many cases an earlier run has found the result."""
        return sum(case.cached for case in self.cases)

    def count(self, status: CaseStatus) -> int:
        """How many cases came out so."""
        return sum(case.status == status for case in self.cases)

    @property
    def checked_nothing(self) -> bool:
        """Whether there was no case, or none that an engine could be asked."""
        return not self.cases or {"unsupported"} <= {case.status for case in self.cases} <= {"unsupported", "skipped"}

    @property
    def exit_code(self) -> int:
        """The command line contract's: the highest of 3, 2, 1 wins; 130 when interrupted; 5 for nothing."""
        if self.interrupted:
            return 130
        if self.checked_nothing:
            return 5
        codes = {"crashed": 3, "invalid": 2, "failed": 1, "xpassed": 1}
        return max((codes.get(case.status, 0) for case in self.cases), default=0)
