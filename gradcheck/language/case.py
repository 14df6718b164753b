"""Case: the checked content of a case file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias

from gradcheck.errors import InvalidCase, Place
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import free_names, gradient_names

#: The name of the standard input in place of a file.
STDIN = "-"


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor in a file: an `array`, or an expression over creators.

    `dtype` is the one it states itself; if empty, the case's dtype applies.
    """

    array: Any = None
    expr: Expr | None = None
    dtype: str = ""
    place: Place = field(default_factory=Place, compare=False)
    text: str = field(default="", compare=False)  # the expression, if the file has it verbatim


@dataclass(frozen=True, slots=True)
class Claim:
    """An expression in a file: a graph entry, a formula, a step, a check."""

    text: str
    expr: Expr
    place: Place = field(default_factory=Place, compare=False)
    is_verbatim: bool = field(default=False, compare=False)  # the file has the text verbatim

    @classmethod
    def of(cls, expr: Expr) -> Claim:
        """Return the claim of an expression, in the printer's text."""
        return cls(to_text(expr), expr)


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A part of a claim's text, from `start` to `end`."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """A text to write in place of a span of another text."""

    start: int
    end: int
    text: str

    def apply_to(self, text: str) -> str:
        """Return the whole text, changed."""
        return f"{text[: self.start]}{self.text}{text[self.end :]}"


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with all edits, which may not overlap."""
    for edit in sorted(edits, reverse=True):
        text = edit.apply_to(text)
    return text


@dataclass(frozen=True, slots=True)
class StatedTolerance:
    """A tolerance; None is the dtype's own, `measured` marks measuring runs."""

    rtol: float | None = None
    atol: float | None = None
    measured: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """An action and its claims; `roots` maps to incoming gradients, None is 1."""

    action: Literal["backward", "zero_grad", "forward"]
    roots: Mapping[str, Value | None] = field(default_factory=dict)
    retain_graph: bool = True
    names: tuple[str, ...] = ()  # what zero_grad clears; empty for all
    inputs: Mapping[str, Value] = field(default_factory=dict)  # forward's new values
    raises: str | None = None
    values: Mapping[str, Value] = field(default_factory=dict)
    expected: Mapping[str, Value | None] = field(default_factory=dict)
    checks: tuple[Claim, ...] = ()
    place: Place = field(default_factory=Place, compare=False)
    is_implied: bool = field(default=False, compare=False)  # the case states no pass


@dataclass(frozen=True, slots=True)
class CallArguments:
    """The arguments of a Python call, by name and in order.

    `objects` are those that are no tensors of the case: a value that is handed on, or a structure with an `Operand` of
    `engines.implementation.call_arguments` for each tensor in it. `as_torch` calls as torch's `gradcheck` does: by
    position, and with a module's own parameters as they are."""

    names: tuple[str, ...]
    objects: Mapping[str, Any] = field(default_factory=dict)
    as_torch: bool = False


@dataclass(frozen=True, slots=True)
class Implementation:
    """Code for an entry of the graph: a callable, or a forward and backward.

    References are `FILE.py:NAME`, a file beside the case's own, or `module:NAME`. `loaded` is the callable, or the
    pair, if Python code passed it.
    """

    entry: str
    call: str
    backward: str = ""
    arguments: tuple[Claim, ...] | None = None  # None: the names of its parameters, or the operands in order
    dtypes: tuple[str, ...] = ()  # empty: the case's
    tolerance: StatedTolerance | None = None
    order: int | None = None  # 1: no second order; None: as many as the code has
    place: Place = field(default_factory=Place, compare=False)
    loaded: Any = field(default=None, compare=False, repr=False)
    given: CallArguments | None = field(default=None, compare=False, repr=False)  # of a Python call
    operand_dtypes: Mapping[str, str] = field(default_factory=dict)  # by name, where they differ
    autocast: str = ""  # the dtype of `torch.autocast` around its call

    @property
    def name(self) -> str:
        """The name in reports."""
        return self.call


@dataclass(frozen=True, slots=True)
class Generalize:
    """The settings of trials; `dims` holds inclusive bounds of sizes."""

    trials: int = 3
    dims: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    listed: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # sizes that have a few values only
    #: Compare engines in all trials of formulas too, with moved literals and structures.
    thorough: bool = False


DerivativeClaims: TypeAlias = Mapping[str, Mapping[str, tuple[Claim, ...]]]

#: The errors in `only` of `xfail`, beyond kinds of claims and the errors that a step may expect.
XFAIL_ERRORS = ("code_raised", "engine_error", "recursion", "not_raised", "bad_argument", "too_large")


@dataclass(frozen=True, slots=True)
class ExpectedFailure:
    """An expected failure: its reason, its claims, its last day (ISO 8601).

    `only` names all claims that must fail (`formula of b`, `b` for every claim about it, `check`, a text of the file);
    if empty, any may.
    """

    reason: str
    only: tuple[str, ...] = ()
    until: str = ""


#: The keys of claims about Jacobians and Hessians.
DERIVATIVE_SECTIONS = ("jacobians", "wrong_jacobians", "hessians", "wrong_hessians")


@dataclass(frozen=True, slots=True)
class Case:
    """One case; mappings keep the file's order."""

    id: str  # FILE::NAME
    name: str
    place: Place
    inputs: Mapping[str, Value]
    graph: Mapping[str, Claim]
    steps: tuple[Step, ...]  # `backward: z` is one step
    description: str = ""
    source: str = ""
    tags: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    skip: str | None = None
    xfail: ExpectedFailure | None = None
    dtype: str = "float64"
    seed: int = 0
    dims: Mapping[str, int] = field(default_factory=dict)
    constants: Mapping[str, Value] = field(default_factory=dict)
    values: Mapping[str, Value] = field(default_factory=dict)
    expected: Mapping[str, Value | None] = field(default_factory=dict)
    formulas: Mapping[str, tuple[Claim, ...]] = field(default_factory=dict)
    wrong_formulas: Mapping[str, tuple[Claim, ...]] = field(default_factory=dict)
    #: By the tensor that is differentiated, then by the other: `x`; of Hessians `w`, or `w, b` for a mixed one.
    jacobians: DerivativeClaims = field(default_factory=dict)
    wrong_jacobians: DerivativeClaims = field(default_factory=dict)
    hessians: DerivativeClaims = field(default_factory=dict)
    wrong_hessians: DerivativeClaims = field(default_factory=dict)
    let: Mapping[str, Claim] = field(default_factory=dict)
    checks: tuple[Claim, ...] = ()
    shapes: Mapping[str, tuple[str | int, ...] | Expr] = field(default_factory=dict)
    symbol_sizes: Mapping[str, int] = field(
        default_factory=dict
    )  # the words of `shapes`: their sizes in the file's literals
    generalize: Generalize | None = None
    implementations: tuple[Implementation, ...] = ()
    tolerance: Mapping[str, StatedTolerance] = field(default_factory=dict)  # "" is every tensor's
    engine_tolerance: StatedTolerance | None = None
    #: Places of keys that have no field for it: "expected.x" -> Place.
    places: Mapping[str, Place] = field(default_factory=dict, compare=False)

    @property
    def is_expected_to_fail(self) -> bool:
        """True if any failure is expected, so that no correction is searched."""
        return self.xfail is not None and not self.xfail.only

    @property
    def states_derivatives(self) -> bool:
        """True if it claims a Jacobian or a Hessian."""
        return any(getattr(self, section) for section in DERIVATIVE_SECTIONS)

    @property
    def has_general_claims(self) -> bool:
        """True if it claims anything that may hold at other numbers."""
        checks = self.checks or any(step.checks for step in self.steps)
        return bool(self.formulas or self.wrong_formulas or checks) or self.states_derivatives

    def let_steps_of(self, formula: Expr) -> tuple[str, ...]:
        """Return the `let` steps that a formula uses, by others too, in order."""
        if not self.let:
            return ()
        needed = set(free_names(formula))
        for name in reversed(list(self.let)):
            if name in needed:
                needed.update(free_names(self.let[name].expr))
        return tuple(name for name in self.let if name in needed)

    def gradients_in(self, formula: Expr) -> set[str]:
        """Return the tensors whose gradients a formula uses, by its steps too."""
        used = (formula, *(self.let[name].expr for name in self.let_steps_of(formula)))
        return {name for expr in used for name in gradient_names(expr)}

    def without_claims(self) -> Case:
        """Return the case with nothing claimed at its top level."""
        sections = ("values", "expected", "formulas", "wrong_formulas", "let", *DERIVATIVE_SECTIONS)
        none: dict[str, Any] = {section: {} for section in sections}
        return replace(self, **none, checks=())


class Loaded(NamedTuple):
    """The valid cases of some paths, and all errors, in order."""

    cases: tuple[Case, ...]
    errors: tuple[InvalidCase, ...]


#: A unit of a run: a case, or all errors of one file.
CaseOrErrors = Case | list[InvalidCase]
