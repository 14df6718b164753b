"""The results of a run: comparisons, cases and the whole run, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar, cast

import numpy as np

from gradcheck.checks.mutation_score import MutationScore
from gradcheck.engines.base import Application, Engine, Pullback
from gradcheck.errors import Place
from gradcheck.facts import Fact
from gradcheck.language.case import Case, Edit, TextSpan
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.problem import Problem
from gradcheck.printable_result import PrintableResult

Status = Literal["passed", "failed", "undecided", "unsupported", "not_differentiable"]
CaseStatus = Literal["passed", "failed", "invalid", "crashed", "skipped", "xfailed", "xpassed", "unsupported"]
#: The reference of a derivation's step that is compared with its own corrected form: no engine computes a step.
MEANT = "meant"
#: A trial draws numbers and sizes, moves literals, varies incoming gradients, or seeks the other side of a branch.
TrialKind = Literal["drawn", "moved", "incoming", "branch"]
#: The statuses of a case that make a run fail, the worst first.
PROBLEM_STATUSES: tuple[CaseStatus, ...] = ("crashed", "invalid", "failed", "xpassed")
Made = TypeVar("Made")


def fast_replace(known: Made, **fields: Any) -> Made:
    """Replace fields of a frozen dataclass without slots, ten times faster."""
    return _made(type(known), {**vars(known), **fields})


def _made(kind: type[Made], fields: dict[str, Any]) -> Made:
    made = object.__new__(kind)
    object.__setattr__(made, "__dict__", fields)
    return made


@dataclass(frozen=True, slots=True)
class Trial:
    """The numbers and sizes of a trial, and how they were drawn."""

    number: int  # from 1
    seed: int
    sizes: Mapping[str, int]
    attempt: int = 0  # drawings before it that did not fit
    kind: TrialKind = "drawn"
    resized: bool = False  # whether some size is not the case's own
    problem: Problem | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Subject:
    """The claim, tensor, step, engine and reference of a comparison."""

    what: ClaimKind
    tensor: str  # of an op alone, the graph entry
    step: int = 0  # from 0, after which it is compared
    engine: str = ""  # the name of the engine with the claim, or "case"
    reference: str = ""  # what it is compared with: "torch", "case", …
    place: Place = field(default_factory=Place)  # where the file makes the claim, or defines the tensor
    formula: str = ""  # its text, or a check's
    trial: Trial | None = None  # None: the case's own numbers

    def of(self, tensor: str, **changed: Any) -> Subject:
        """Return the subject with another tensor and these fields."""
        return _made(Subject, {**vars(self), "tensor": tensor, **changed})

    def passed(self, **found: Any) -> Comparison:
        """Return a passing comparison, the usual one, faster than its class."""
        return _made(Comparison, {"subject": self, "status": "passed", **found})

    def failed(self, mismatch: Fact | None = None, **found: Any) -> Comparison:
        """Return a failed comparison, with the mismatch."""
        return Comparison(self, "failed", mismatch=mismatch, **found)


@dataclass(frozen=True, slots=True)
class Operation:
    """An op application with its cotangents, None where it cannot have one."""

    application: Application
    cotangents: tuple[np.ndarray | None, ...]


@dataclass(frozen=True, slots=True)
class WrongOperation:
    """A wrong gradient of one op alone, in two engines."""

    number: int
    operation: Operation
    index: int  # of the gradient, among those of the op's tensors
    engine: Engine
    mine: Pullback
    theirs: Pullback
    inside: str = ""  # an op that the engine composes it of

    @property
    def application(self) -> Application:
        """The op and its arguments."""
        return self.operation.application


@dataclass(frozen=True, slots=True)
class Cause:
    """The first place of an error; its consequences have the same origin."""

    origin: Fact
    what: Fact

    @property
    def fault(self) -> Fact:
        """The fault alone, without the count of ops that are right."""
        return cast(Fact, self.what["what"]) if self.what.kind == "among_operations" else self.what


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A likely mistake or suggestion, of a kind in `docs/diagnoses.md`."""

    kind: str
    message: Fact
    confidence: str = ""  # "confirmed" or "possible", of a mistake that was recognised
    evidence: Fact | None = None
    formula: str = ""  # the formula that is suggested
    edit: Edit | None = None  # of the text of the formula that is wrong, which makes that of it
    tried: tuple[str, ...] = ()  # the kinds of mistakes that do not explain it, where none does


class _OfSubject(Generic[Made]):
    """A field of a comparison's subject, read from the comparison."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, c: Comparison, owner: type) -> Made:
        return cast(Made, getattr(c.subject, self._name))


@dataclass(frozen=True)
class Comparison:
    """The outcome of one claim; numbers are those of the worst element."""

    subject: Subject
    status: Status
    shape: tuple[int, ...] = ()
    dtype: str = ""
    elements: int = 0
    mismatch: Fact | None = None  # a difference in shape, dtype or exception
    notes: tuple[Fact, ...] = ()
    max_abs: float | None = None
    max_rel: float | None = None
    max_ulp: float | None = None
    agreement: float | None = None  # relative error within the base tolerance, if measured
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
    verdict: Fact | None = None  # on failure, which side is wrong
    diagnoses: tuple[Diagnosis, ...] = ()
    lacks: str = ""  # the missing feature, if the status is "unsupported"
    reference_lacks: bool = False  # whether the reference lacks it
    operation: WrongOperation | None = field(default=None, repr=False, compare=False)  # of an op alone, on failure
    cause: Cause | None = None  # where gradients go wrong first, if this failure shows it
    consequence_of: Fact | None = None  # the origin of the error that causes this one
    part: TextSpan | None = None  # the wrong part of the text at its place
    code: Place | None = None  # the start of the engine's own function for it

    what = _OfSubject[ClaimKind]()
    tensor, engine, reference, formula = _OfSubject[str](), _OfSubject[str](), _OfSubject[str](), _OfSubject[str]()
    step, place, trial = _OfSubject[int](), _OfSubject[Place](), _OfSubject[Trial | None]()

    def with_subject(self, **changed: Any) -> Comparison:
        """Return the comparison with these fields of its subject changed."""
        return replace(self, subject=replace(self.subject, **changed))

    def with_notes(self, *notes: Fact) -> Comparison:
        """Return the comparison with more notes."""
        return replace(self, notes=(*self.notes, *notes)) if notes else self

    def without_numbers(self, status: Status, **changed: Any) -> Comparison:
        """Return it with this status, without the numbers that differ."""
        return replace(self.without_arrays(), status=status, mismatched=0, **changed)

    def without_arrays(self) -> Comparison:
        """Return it without the whole tensors."""
        return replace(self, got_array=None, want_array=None, mask=None) if self.bytes_of_arrays else self

    @property
    def bytes_of_arrays(self) -> int:
        """The bytes of the tensors kept for reports."""
        return sum(array.nbytes for array in (self.got_array, self.want_array, self.mask) if array is not None)

    @property
    def wrong_step(self) -> str:
        """The step of the derivation that is at fault, or ""."""
        return str(self.cause.origin["name"]) if self.cause is not None and self.cause.origin.kind == "step" else ""

    @property
    def passes_by_wrong_reference(self) -> bool:
        """True if it passes because the reference is wrong here."""
        return self.status == "passed" and self.verdict is not None and self.verdict.kind == "reference_wrong"

    @property
    def is_failing(self) -> bool:
        """True if it failed or is undecided, so that its case cannot pass."""
        return self.status in ("failed", "undecided")

    def has_note(self, kind: str) -> bool:
        """Return whether it has a note of this kind."""
        return any(note.kind == kind for note in self.notes)


@dataclass(frozen=True, slots=True)
class Failure:
    """An error of a case that belongs to none of its tensors."""

    kind: str
    message: Fact
    place: Place = field(default_factory=Place)
    hint: str = ""  # of the error that was raised
    details: str = ""  # a traceback, for crashes of gradcheck or of an engine
    own_words: tuple[tuple[str, str], ...] = ()  # messages by engine
    text: str = ""  # the text at the place, if known


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The smallest case that fails in the same way, as a file and as Python."""

    case: str
    operations: int  # op applications in its graph
    snippet: str = ""
    file: str = ""  # where the case file is, if it was written
    complete: bool = True  # whether the search ended before its budget


@dataclass(frozen=True, repr=False)
class CaseResult(PrintableResult):
    """The verdict on a case, or on a file without cases."""

    id: str
    file: str
    name: str  # empty for a file
    status: CaseStatus
    place: Place = field(default_factory=Place)
    seconds: float = 0.0
    seed: int = 0
    reproduce: str = ""
    reason: str = ""  # of skip, xfail
    tags: tuple[str, ...] = ()
    errors: tuple[Failure, ...] = ()
    comparisons: tuple[Comparison, ...] = field(default_factory=tuple)
    incomplete: tuple[Failure, ...] = ()  # errors of the search for explanations
    smallest: Reproduction | None = None
    power: MutationScore | None = None  # with `--power`
    output: Mapping[str, str] = field(default_factory=dict)  # printed text, by engine
    warnings: tuple[Fact, ...] = ()  # of libraries, and likely slips in the graph, each once
    known: Fact | None = None  # why a baseline or `xfail` changed the status
    drift: tuple[Fact, ...] = ()  # claims that agree less than in the baseline
    conventions: tuple[tuple[str, tuple[Fact, ...]], ...] = ()  # conventions, by engine
    cached: bool = False  # whether it comes from the cache
    case: Case | None = field(default=None, compare=False)  # as it was run, if it could be read
    stage_seconds: Mapping[str, float] = field(default_factory=dict, compare=False)  # "explanation" is of failures

    @property
    def is_failing(self) -> bool:
        """True if the status makes a run fail."""
        return self.status in PROBLEM_STATUSES

    @property
    def wrong_references(self) -> tuple[str, ...]:
        """References that are wrong in this case."""
        wrong = (c.verdict for c in self.comparisons if c.passes_by_wrong_reference)
        return tuple(dict.fromkeys(str(verdict["reference"]) for verdict in wrong if verdict))


@dataclass(frozen=True, slots=True, repr=False)
class RunResult(PrintableResult):
    """The results of a run, in the order of files and cases."""

    cases: tuple[CaseResult, ...]
    seconds: float
    environment: Mapping[str, str]
    interrupted: bool = False
    selected: int = 0  # the number of cases to run, at least those that ran

    @property
    def conventions(self) -> tuple[tuple[str, Fact], ...]:
        """Conventions of engines, each once, with the engine's name."""
        return tuple({(engine, one): 0 for case in self.cases for engine, found in case.conventions for one in found})

    @property
    def cached(self) -> int:
        """The number of results from the cache."""
        return sum(case.cached for case in self.cases)

    @property
    def failures(self) -> tuple[CaseResult, ...]:
        """The results that fail the run."""
        return tuple(case for case in self.cases if case.is_failing)

    def count(self, status: CaseStatus) -> int:
        """Return how many cases have this status."""
        return sum(case.status == status for case in self.cases)

    @property
    def checked_nothing(self) -> bool:
        """True if no case ran, or each was skipped or unsupported."""
        return {case.status for case in self.cases} <= {"unsupported", "skipped"}

    @property
    def exit_code(self) -> int:
        """The exit code: the highest of 3, 2, 1; 130 if interrupted, 5 if empty."""
        if self.interrupted or self.checked_nothing:
            return 130 if self.interrupted else 5
        codes = {"crashed": 3, "invalid": 2, "failed": 1, "xpassed": 1}
        return max((codes.get(case.status, 0) for case in self.cases), default=0)
