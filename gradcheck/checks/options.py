"""Options: what a run is told, in one list; and the engines that it names."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.checks.baseline import Baseline
from gradcheck.checks.isolation.time_limit import today
from gradcheck.checks.result import CaseResult
from gradcheck.engines.base import Engine
from gradcheck.engines.resolve import resolve_engine
from gradcheck.errors import UsageError
from gradcheck.language.case import STDIN, Case, StatedTolerance

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from gradcheck.cache.cache import Cache

#: Who is asked beyond the engines: the numeric oracle about what failed, about every gradient, or nobody.
ORACLES = ("auto", "numeric", "none")
#: Which derivatives of engines are compared: gradients, Jacobian-vector products, or both, and with each other.
MODES = ("reverse", "forward", "both")


#: The engines that are tested, and the reference, as a run names them.
EngineNames = tuple[tuple[str | Engine, ...], str | Engine]


@dataclass(frozen=True, slots=True)
class ShrinkEffort:
    """How many failing cases are shrunk, with how many candidates each and together (counted in small ones, see
    `shrinking.shrinker.Budget`); and whether those that fail by what their file claims are too, of which only sizes and
    numbers can be made smaller."""

    cases: int
    candidates: int
    total_candidates: int
    shrinks_claims: bool


#: What is done unasked, and what `--shrink` does.
QUICK, THOROUGH = (
    ShrinkEffort(3, 100, 200, shrinks_claims=False),
    ShrinkEffort(1_000, 2_000, 120_000, shrinks_claims=True),
)


@dataclass(frozen=True, slots=True)
class Override:
    """Other choices, fields of `Options` by name, for the cases of some files: `patterns` are absolute paths of files
    and folders, with `*` for anything."""

    patterns: tuple[str, ...]
    choices: Mapping[str, Any]

    def applies_to(self, case: Case) -> bool:
        """Whether the case stands in such a file."""
        file = os.path.abspath(case.place.file)
        return any(fnmatchcase(file, pattern) or fnmatchcase(file, f"{pattern}{os.sep}*") for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class Options:
    """One run's choices; None leaves each case's own. Raises UsageError for choices that make no sense.

    `engines` are tested, against `reference`: names (what `--engine` takes) or engines. `rtol` and `atol` replace every
    tolerance, `seed` every case's own, `dtype` every case's; `timeout` is in seconds, for each case; `memory` in bytes,
    what a case may take besides what is there, by default half of the machine's. `oracle` "numeric" checks every
    gradient against differences of the forward too, not only what failed ("auto"); "none" never asks. `mode` says which
    derivatives engines are held to: gradients ("reverse"), Jacobian-vector products ("forward"), or both, and that they
    agree. `order` 2 checks gradients of gradients too. `power` plants faults in what passes and counts those that are
    caught; `derived` notes which formulas equal the derived ones. The run stops after `maxfail` cases that failed,
    crashed or are invalid. `shrink` looks for the smallest reproductions of failures. Unless `explained`, only verdicts
    count, and no failure is looked into; unless `corrected`, nothing is suggested instead of what is wrong. Cases are
    checked in so many processes as there are `jobs`, or by the `executor`: what `--executor` takes, or what makes one.
    With `in_workers`, one job has a process of its own, too. None of these changes what is found. Python that cases
    name runs only with `allow_code`; torch computes on the `device`. What is in the `baseline` is known to fail; what
    has drifted since it was written is told, and with `fail_on_drift` fails; what is in the `cache` need not be
    computed again. Where an override is for a case, its choices hold for it; of several, the last. `today` (ISO 8601)
    is past the date of an `xfail`, or not.
    """

    engines: Sequence[str | Engine] = ("core",)
    reference: str | Engine = "torch"
    dtype: str | None = None
    rtol: float | None = None
    atol: float | None = None
    seed: int | None = None
    trials: int | None = None
    timeout: float | None = None
    memory: int | None = None
    oracle: str = "auto"
    mode: str = "reverse"
    order: int = 1
    power: bool = False
    derived: bool = False
    maxfail: int | None = None
    shrink: ShrinkEffort | None = None
    explained: bool = True
    corrected: bool = True
    jobs: int = 1
    in_workers: bool = False
    executor: str | Callable[[], Executor] | None = None
    allow_code: bool = False
    device: str = "cpu"
    baseline: Baseline | None = None
    fail_on_drift: bool = False
    overrides: tuple[Override, ...] = ()
    today: str = field(default_factory=today)
    cache: Cache | None = None

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
            if number is not None and not number >= 0:
                raise UsageError(f"{name} is {number}, and cannot be negative")
        if self.jobs < 1:
            raise UsageError(f"{self.jobs} processes check nothing", hint="one is the least")
        if not self.engines:
            raise UsageError("no engine is to be checked", hint="name one, such as core")

    @property
    def engine_names(self) -> EngineNames:
        """What says which engines are asked."""
        return tuple(self.engines), self.reference

    @property
    def tolerance(self) -> StatedTolerance | None:
        """What replaces every tolerance; None where the run says nothing."""
        measured = self.baseline is not None and self.baseline.measures_drift
        silent = self.rtol is None and self.atol is None and not measured
        return None if silent else StatedTolerance(self.rtol, self.atol, measured)

    def apply_baseline(self, found: CaseResult) -> CaseResult:
        """The result as the baseline, if there is one, would have it."""
        return found if self.baseline is None else self.baseline.apply_to(found, self.fail_on_drift)

    def override_values(self, name: str) -> list[Any]:
        """What overrides choose for it, each that does."""
        return [one.choices[name] for one in self.overrides if name in one.choices]

    @property
    def uses_workers(self) -> bool:
        """Whether cases are checked by other processes than the run's own."""
        return self.jobs > 1 or self.in_workers or self.executor is not None

    @property
    def limits_time(self) -> bool:
        """Whether any case has a limit to its time."""
        return self.timeout is not None or bool(self.override_values("timeout"))

    @property
    def max_memory(self) -> int | None:
        """What any case may take; None for what is usual."""
        sizes = [self.memory, *self.override_values("memory")]
        return None if None in sizes else max(sizes)

    def of(self, case: Case) -> Options:
        """Those that hold for one case."""
        if not self.overrides:
            return self
        held = tuple([one for one in self.overrides if one.applies_to(case)])
        key = (id(self), *map(id, held))
        known = _CACHED_OPTIONS.get(key)
        if known is None:
            choices = {name: value for one in held for name, value in one.choices.items()}
            if len(_CACHED_OPTIONS) >= _MAX_CACHED_OPTIONS:
                _CACHED_OPTIONS.clear()
            known = _CACHED_OPTIONS[key] = (replace(self, overrides=(), **choices), self, held)
        return known[0]

    def apply(self, case: Case) -> Case:
        """The case in the run's dtype; a complex case stays complex."""
        if self.dtype is None or self.dtype == case.dtype:
            return case
        wanted = dtypes.BY_NAME[self.dtype]
        if dtypes.BY_NAME[case.dtype].kind == "c":
            wanted = dtypes.complex_of(wanted)
        return replace(case, dtype=wanted.name)

    def seed_of(self, case: Case) -> int:
        """The seed that the case is drawn with."""
        return case.seed if self.seed is None else self.seed

    def reproduce(self, case: Case) -> str:
        """The command that checks this case alone, as it was checked here; quoted for a shell."""
        which = case.place.file if case.place.file == STDIN else quoted(case.id)
        return " ".join(["gradcheck run", which, f"--seed {self.seed_of(case)}", *self._words()])

    def _words(self) -> list[str]:
        """What differs from the defaults, as on the command line."""
        words: list[str] = []
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
        words += [f"--device {self.device}"] if self.device != "cpu" else []
        return words


#: Options for one case by those of the run and the overrides that hold, which are kept so that no others have their
#: ids: most cases of a run have the same, and to check them anew takes as long as to compare a few tensors.
_CACHED_OPTIONS: dict[tuple[int, ...], tuple[Options, Options, tuple[Override, ...]]] = {}
_MAX_CACHED_OPTIONS = 64


def _word(chosen: str | Engine) -> str:
    if isinstance(chosen, str):
        return chosen if chosen.isidentifier() else quoted(chosen)
    return chosen.name


def quoted(text: str) -> str:
    """One word of a shell, always in single quotes."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


@dataclass(frozen=True, slots=True)
class Engines:
    """The engines of a run: those that are tested, and the one that they are compared with; and where overrides name
    others, these, by what they name. `all` are the reference and those that are tested, each once."""

    tested: tuple[Engine, ...]
    reference: Engine
    of_overrides: Mapping[EngineNames, Engines] = field(default_factory=dict, compare=False)
    all: tuple[Engine, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "all", tuple(dict.fromkeys((self.reference, *self.tested))))

    @property
    def all_with_overrides(self) -> tuple[Engine, ...]:
        """All of them, those of overrides too; each once."""
        return tuple(dict.fromkeys((*self.all, *(one for other in self.of_overrides.values() for one in other.all))))

    def of(self, options: Options) -> Engines:
        """Those that hold for one case, which has these options."""
        return self.of_overrides.get(options.engine_names, self) if self.of_overrides else self

    def only(self, names: Sequence[str]) -> Engines:
        """Those that are named; all, if none is."""
        if not names and not self.of_overrides:
            return self
        return Engines(tuple(e for e in self.tested if not names or e.name in names), self.reference)


def engines_of(options: Options) -> Engines:
    """The engines that a run names. Raises UsageError where there is no such engine."""
    known: dict[str, Engine] = {}

    def found(chosen: str | Engine) -> Engine:
        if not isinstance(chosen, str):
            return chosen
        if chosen not in known:
            known[chosen] = _on_device(options.device, resolve_engine(chosen))
        return known[chosen]

    def named(names: EngineNames) -> Engines:
        return Engines(tuple(dict.fromkeys(map(found, names[0]))), found(names[1]))

    tested = [options.engines, *options.override_values("engines")]
    reference = [options.reference, *filter(None, options.override_values("reference"))]
    asked = [(tuple(some), one) for some in tested for one in reference]
    engines = replace(named(asked[0]), of_overrides={names: named(names) for names in asked[1:]})
    _tell_apart(engines, {id(engine): spec for spec, engine in known.items()})
    return engines


def _on_device(device: str, chosen: Engine) -> Engine:
    """torch on another device than the CPU; any other engine as it is. Raises UsageError where there is no such one."""
    if device == "cpu":
        return chosen
    from gradcheck.engines.torch import Torch
    from gradcheck.engines.torch_devices import device_of

    return Torch(device_of(device)) if type(chosen) is Torch else chosen


def _tell_apart(engines: Engines, specs: Mapping[int, str]) -> None:
    """Give engines of one name (`a/mine.py:Tensor` and `b/mine.py:Tensor`) the names by which they were asked for."""
    by_name: dict[str, dict[int, Engine]] = {}
    for each in engines.all_with_overrides:
        by_name.setdefault(each.name, {})[id(each)] = each
    for name, alike in by_name.items():
        for number, (key, each) in enumerate(alike.items()):
            if len(alike) > 1:
                each.name = specs.get(key, f"{name} {number + 1}" if number else name)
