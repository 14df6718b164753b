"""Case: what a case file says, checked, with a place for every part of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from gradcheck.errors import InvalidCase, Place
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import free_names, gradient_names

#: What stands for the standard input in the place of a file.
STDIN = "-"


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor as a file gives it: written out (`array`, an ndarray), or an expression over creators.

    `dtype` is the one it states for itself; empty, it takes the case's where that applies.
    """

    array: Any = None
    expr: Expr | None = None
    dtype: str = ""
    place: Place = field(default_factory=Place, compare=False)
    text: str = field(default="", compare=False)  # the expression, where it stands at its place just as it is


@dataclass(frozen=True, slots=True)
class Claim:
    """An expression that a file states: a graph entry, a formula, an intermediate step, a check."""

    text: str
    expr: Expr
    place: Place = field(default_factory=Place, compare=False)
    is_verbatim: bool = field(default=False, compare=False)  # whether the text stands at its place just as it is

    @classmethod
    def of(cls, expr: Expr) -> Claim:
        """The claim that states this expression, in the text that the printer gives it."""
        return cls(to_text(expr), expr)


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A part of what the file states: the text that begins at the claim's place, and the part's first and last place in
    it."""

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
    """Return the text with all edits, no two of which may overlap."""
    for edit in sorted(edits, reverse=True):
        text = edit.apply_to(text)
    return text


@dataclass(frozen=True, slots=True)
class StatedTolerance:
    """`None` leaves the dtype's own. A run that asks how near two come that agree has it `measured`."""

    rtol: float | None = None
    atol: float | None = None
    measured: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One action, and what must be true after it. `roots` maps a root to its incoming gradient, or None for 1."""

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


@dataclass(frozen=True, slots=True)
class Implementation:
    """Somebody's own code for an entry of the graph: a callable, or a forward and its backward.

    References are `FILE.py:NAME`, the file beside the case's own, or `module:NAME`; `loaded` is the callable itself, or
    the pair, where it was handed over in Python.
    """

    entry: str
    call: str
    backward: str = ""
    arguments: tuple[Claim, ...] | None = None  # None: the names of its parameters, or the operands in order
    dtypes: tuple[str, ...] = ()  # empty: the case's
    tolerance: StatedTolerance | None = None
    place: Place = field(default_factory=Place, compare=False)
    loaded: Any = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """In reports: how the person called it."""
        return self.call


@dataclass(frozen=True, slots=True)
class Generalize:
    """How formulas are re-verified; `dims` holds inclusive bounds of sizes."""

    trials: int = 3
    dims: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    #: Whether engines are compared wherever formulas would be: at literals moved, at numbers with a structure.
    thorough: bool = False


#: What a claim may be called in `only` of `xfail`, with ` of NAME` behind it or alone: as reports name its kind.
XFAIL_CLAIMS = (
    *("raises", "value", "expected_value", "node", "gradient", "expected", "formula"),
    *("node_jvp", "jvp", "dot_product", "gradient2", "code", "wrong_formula", "check"),
)
#: Errors that may be named there, too, beyond those that a step may ask for.
XFAIL_ERRORS = ("code_raised", "engine_error", "recursion", "not_raised", "bad_argument", "too_large")


@dataclass(frozen=True, slots=True)
class ExpectedFailure:
    """That a case must fail, and why: in all of these claims and no others, where any are named (`formula of b`, `b`
    for any claim about it, `check`, a text of the file); until the end of a day, where there is one (ISO 8601)."""

    reason: str
    only: tuple[str, ...] = ()
    until: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One case. Mappings keep the file's order."""

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
    #: Where keys stand that have no place of their own: "expected.x" -> Place.
    places: Mapping[str, Place] = field(default_factory=dict, compare=False)

    @property
    def is_expected_to_fail(self) -> bool:
        """Whether it must fail, wherever that be: then nobody asks what mends it."""
        return self.xfail is not None and not self.xfail.only

    def let_steps_of(self, formula: Expr) -> tuple[str, ...]:
        """The names of `let` that a formula is made of, directly or by others, in the file's order."""
        if not self.let:
            return ()
        needed = set(free_names(formula))
        for name in reversed(list(self.let)):
            if name in needed:
                needed.update(free_names(self.let[name].expr))
        return tuple(name for name in self.let if name in needed)

    def gradients_in(self, formula: Expr) -> set[str]:
        """Return the tensors whose gradients a formula uses, by its steps too."""
        found, known = set(gradient_names(formula)), step_gradients(self.let)
        return found.union(*[known[name] for name in free_names(formula) if name in known])


def step_gradients(let: Mapping[str, Claim]) -> dict[str, frozenset[str]]:
    """Return for each step the tensors whose gradients it uses, by other steps too."""
    found: dict[str, frozenset[str]] = {}
    for name, step in let.items():
        own = frozenset(gradient_names(step.expr))
        found[name] = own.union(*[found[other] for other in free_names(step.expr) if other in found])
    return found


class Loaded(NamedTuple):
    """What came of reading some paths: the cases that are valid, and every error of the others, in order."""

    cases: tuple[Case, ...]
    errors: tuple[InvalidCase, ...]


#: What a run takes up: a case, or all errors of one file.
CaseOrErrors = Case | list[InvalidCase]
