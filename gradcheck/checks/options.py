"""The options of a run, and the engines that it names."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from numbers import Integral, Real
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.checks.baseline import Baseline
from gradcheck.checks.isolation.time_limit import today
from gradcheck.checks.result import CaseResult
from gradcheck.engines.base import Engine
from gradcheck.engines.resolve import InstalledSpec, resolve_engine
from gradcheck.errors import UsageError
from gradcheck.interrupts import marked_interrupts
from gradcheck.language.case import STDIN, Case, StatedTolerance
from gradcheck.language.shell_words import quoted

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from gradcheck.cache.cache import Cache

#: When the numeric oracle runs: for gradients that failed, for all gradients, or never.
ORACLES = ("auto", "numeric", "none")
#: Which derivatives of engines are compared: gradients, Jacobian-vector products, or both.
MODES = ("reverse", "forward", "both")


#: The tested engines and the reference, as a run names them.
EngineNames = tuple[tuple[str | Engine, ...], str | Engine]


@dataclass(frozen=True, slots=True)
class ShrinkEffort:
    """Limits for shrinking failing cases."""

    cases: int
    candidates: int  # for each case, counted in small ones (see `shrinking.shrinker.CandidateBudget`)
    total_candidates: int
    shrinks_claims: bool  # whether cases that fail by a claim of their file are shrunk, in sizes and numbers


#: By default, and with `--shrink`.
QUICK, THOROUGH = (
    ShrinkEffort(3, 100, 200, shrinks_claims=False),
    ShrinkEffort(1_000, 2_000, 120_000, shrinks_claims=True),
)


@dataclass(frozen=True, slots=True)
class Override:
    """Other options for the cases of some files."""

    patterns: tuple[str, ...]  # absolute paths of files and folders, with `*` for anything
    choices: Mapping[str, Any]  # by field of `Options`

    def applies_to(self, case: Case) -> bool:
        """Return whether the case is in such a file."""
        files = {os.path.abspath(case.place.file), os.path.realpath(case.place.file)}
        patterns = (text for pattern in self.patterns for text in (pattern, f"{pattern}{os.sep}*"))
        return any(fnmatchcase(file, pattern) for pattern in patterns for file in files)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one run; None keeps a case's own. Raises UsageError."""

    engines: Sequence[str | Engine] = ("core",)  # names as for `--engine`, or engines
    reference: str | Engine = "torch"
    dtype: str | None = None
    rtol: float | None = None  # `rtol` and `atol` replace every tolerance
    atol: float | None = None
    seed: int | None = None
    trials: int | None = None
    timeout: float | None = None  # seconds for each case
    memory: int | None = None  # bytes on top of what the process has; half of the machine's by default
    oracle: str = "auto"  # checks "numeric" every gradient, "auto" failed ones, "none" no gradient
    mode: str = "reverse"  # gradients, "forward" Jacobian-vector products, or "both" and their agreement
    order: int = 1  # 2 adds gradients of gradients
    power: bool = False  # measures the mutation score of passing cases
    derived: bool = False  # notes formulas that equal the derived ones
    maxfail: int | None = None  # stops after so many failed, crashed or invalid cases
    shrink: ShrinkEffort | None = None  # looks for smallest reproductions
    explained: bool = True  # False: only verdicts count
    corrected: bool = True  # False: no suggestions
    jobs: int = 1  # processes; no choice of them changes a result
    in_workers: bool = False  # gives a single job its own process
    executor: str | Callable[[], Executor] | None = None  # as for `--executor`, or a factory
    allow_code: bool = False  # runs Python that cases name
    device: str = "cpu"  # of torch
    baseline: Baseline | None = None  # known failures, and agreements for drift
    fail_on_drift: bool = False
    overrides: tuple[Override, ...] = ()  # the last that applies wins
    isolated: bool = False  # whether the command that reproduces a case reads no configuration file
    today: str = field(default_factory=today)
    cache: Cache | None = None  # results that need not be computed again
    #: Options with overrides applied, by their places: validating them again takes as long as comparing a few tensors.
    _overridden: dict[tuple[int, ...], Options] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.shrink, bool):
            object.__setattr__(self, "shrink", THOROUGH if self.shrink else None)
        if self.oracle not in ORACLES:
            raise UsageError(f"there is no oracle {self.oracle!r}", hint=f"there are {', '.join(ORACLES)}")
        if self.mode not in MODES:
            raise UsageError(f"there is no mode {self.mode!r}", hint=f"there are {', '.join(MODES)}")
        if self.order not in (1, 2):
            raise UsageError(f"gradients of order {self.order} are not checked", hint="those of order 1 and 2 are")
        if self.dtype is not None and not dtypes.is_differentiable(dtypes.BY_NAME.get(self.dtype, np.dtype(bool))):
            raise UsageError(f"a case cannot run in the dtype {self.dtype!r}", hint="it is a floating or complex one")
        for name in ("rtol", "atol", "trials", "timeout", "memory"):
            number = getattr(self, name)
            if number is not None and not (isinstance(number, Real) and 0 <= float(number) < np.inf):
                raise UsageError(f"{name} is {number!r}", hint="it is a finite number, and not negative")
        for name in ("seed", "trials", "jobs", "maxfail"):
            if not isinstance(number := getattr(self, name), (Integral, NoneType)):
                raise UsageError(f"{name} is {number!r}", hint="it is a whole number")
        if self.jobs < 1:
            raise UsageError(f"{self.jobs} processes check nothing", hint="one is the least")
        if self.maxfail is not None and self.maxfail < 1:
            raise UsageError(f"maxfail is {self.maxfail}", hint="one is the least, and None runs all cases")
        if not self.engines:
            raise UsageError("no engine is to be checked", hint="name one, such as core")

    @property
    def engine_names(self) -> EngineNames:
        """The engines and the reference, as a key."""
        return tuple(self.engines), self.reference

    @property
    def tolerance(self) -> StatedTolerance | None:
        """The tolerance that replaces every other; None if the run has none."""
        measured = self.baseline is not None and self.baseline.measures_drift
        silent = self.rtol is None and self.atol is None and not measured
        return None if silent else StatedTolerance(self.rtol, self.atol, measured)

    def apply_baseline(self, found: CaseResult) -> CaseResult:
        """Return the result as the baseline, if any, changes it."""
        return found if self.baseline is None else self.baseline.apply_to(found, self.fail_on_drift)

    def override_values(self, name: str) -> list[Any]:
        """Return the values that overrides choose for a field."""
        return [one.choices[name] for one in self.overrides if name in one.choices]

    @property
    def uses_workers(self) -> bool:
        """True if other processes than the run's own check the cases."""
        return self.jobs > 1 or self.in_workers or self.executor is not None

    @property
    def limits_time(self) -> bool:
        """True if any case has a time limit."""
        return self.timeout is not None or bool(self.override_values("timeout"))

    @property
    def max_memory(self) -> int | None:
        """The largest memory limit of any case; None for the default."""
        sizes = [self.memory, *self.override_values("memory")]
        return None if None in sizes else max(sizes)

    def of(self, case: Case) -> Options:
        """Return the options that apply to one case."""
        if not self.overrides:
            return self
        held = tuple(place for place, one in enumerate(self.overrides) if one.applies_to(case))
        if held not in self._overridden:
            choices = {name: value for place in held for name, value in self.overrides[place].choices.items()}
            self._overridden[held] = replace(self, overrides=(), **choices)
        return self._overridden[held]

    def apply(self, case: Case) -> Case:
        """Return the case in the run's dtype; a complex case stays complex."""
        if self.dtype is None or self.dtype == case.dtype:
            return case
        wanted = dtypes.BY_NAME[self.dtype]
        if dtypes.BY_NAME[case.dtype].kind == "c":
            wanted = dtypes.complex_of(wanted)
        return replace(case, dtype=wanted.name)

    def seed_of(self, case: Case) -> int:
        """Return the seed that the case is drawn with."""
        return case.seed if self.seed is None else self.seed

    def reproduce(self, case: Case) -> str:
        """Return the shell command that checks this case alone."""
        which = case.place.file if case.place.file == STDIN else quoted(case.id)
        return " ".join(["gradcheck run", which, f"--seed {self.seed_of(case)}", *self._words()])

    def _words(self) -> list[str]:
        """Return the options that differ from the defaults, as typed."""
        names = (*self.engines, self.reference)
        words = ["--isolated"] if self.isolated or any(isinstance(one, InstalledSpec) for one in names) else []
        if list(self.engines) != ["core"]:
            words += [f"--engine {_word(chosen)}" for chosen in self.engines]
        if self.reference != "torch":
            words.append(f"--reference {_word(self.reference)}")
        pairs = {"dtype": self.dtype, "rtol": self.rtol, "atol": self.atol, "trials": self.trials}
        words += [f"--{name} {value}" for name, value in pairs.items() if value is not None]
        words += [f"--oracle {self.oracle}"] if self.oracle != "auto" else []
        words += [f"--mode {self.mode}"] if self.mode != "reverse" else []
        words += [f"--order {self.order}"] if self.order != 1 else []
        words += ["--allow-code"] if self.allow_code else []
        words += [f"--device {_word(self.device)}"] if self.device != "cpu" else []
        return words


def _word(chosen: str | Engine) -> str:
    if isinstance(chosen, str):
        return chosen if chosen.isidentifier() else quoted(chosen)
    return chosen.name if chosen.name.isidentifier() else quoted(chosen.name)


@dataclass(frozen=True, slots=True)
class Engines:
    """The tested engines of a run and their reference."""

    tested: tuple[Engine, ...]
    reference: Engine
    of_overrides: Mapping[EngineNames, Engines] = field(default_factory=dict, compare=False)
    specs: Mapping[str, Engine] = field(default_factory=dict, compare=False)  # by the text after `--engine`
    all: tuple[Engine, ...] = field(init=False, compare=False, repr=False)  # the reference and the tested ones, once

    def __post_init__(self) -> None:
        object.__setattr__(self, "all", tuple(dict.fromkeys((self.reference, *self.tested))))

    @property
    def all_with_overrides(self) -> tuple[Engine, ...]:
        """All engines, those of overrides too; each once."""
        return tuple(dict.fromkeys((*self.all, *(one for other in self.of_overrides.values() for one in other.all))))

    def of(self, options: Options) -> Engines:
        """Return the engines for a case with these options."""
        return self.of_overrides.get(options.engine_names, self) if self.of_overrides else self

    def only(self, names: Sequence[str]) -> Engines:
        """Return the engines with these names or texts; all without any."""
        if not names and not self.of_overrides:
            return self
        meant = [self.specs.get(name) for name in names]
        return Engines(tuple(e for e in self.tested if not names or e.name in names or e in meant), self.reference)


#: Creates the run's engines in this process, which may need them only for failures.
MakeEngines = Callable[[], Engines]


@marked_interrupts()
def engines_of(options: Options) -> Engines:
    """Return the engines that a run names. Raises UsageError."""
    known: dict[str, Engine] = {}

    def found(chosen: str | Engine) -> Engine:
        if not isinstance(chosen, str):
            return chosen
        if chosen not in known:
            known[chosen] = _on_device(options.device, resolve_engine(chosen))
        return known[chosen]

    def named(names: EngineNames) -> Engines:
        return Engines(tuple(dict.fromkeys(map(found, names[0]))), found(names[1]), specs=known)

    tested = [options.engines, *options.override_values("engines")]
    reference = [options.reference, *filter(None, options.override_values("reference"))]
    combinations = [(tuple(some), one) for some in tested for one in reference]
    engines = replace(named(combinations[0]), of_overrides={names: named(names) for names in combinations[1:]})
    _tell_apart(engines, {id(engine): spec for spec, engine in known.items()})
    return engines


def _on_device(device: str, chosen: Engine) -> Engine:
    """Return torch on this device, others unchanged. Raises UsageError."""
    if device == "cpu" or chosen.name != "torch":
        return chosen
    from gradcheck.engines.torch import Torch
    from gradcheck.engines.torch_devices import device_of

    return Torch(device_of(device)) if type(chosen) is Torch else chosen


def _tell_apart(engines: Engines, specs: Mapping[int, str]) -> None:
    """Rename engines of one name (`a/mine.py:Tensor`, `b/mine.py:Tensor`)."""
    by_name: dict[str, dict[int, Engine]] = {}
    for each in engines.all_with_overrides:
        by_name.setdefault(each.name, {})[id(each)] = each
    for name, alike in by_name.items():
        for number, (key, each) in enumerate(alike.items()):
            if len(alike) > 1:
                each.name = specs.get(key, f"{name} {number + 1}" if number else name)
