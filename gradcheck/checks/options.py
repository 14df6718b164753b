"""What a run is told: engines, dtype, tolerances, seeds and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gradcheck.autograd import dtypes
from gradcheck.engines.base import Engine
from gradcheck.engines.resolve import engine
from gradcheck.errors import UsageError
from gradcheck.language.case import Case, Tolerance

#: Who is asked beyond the engines: the numeric oracle about what failed, about every gradient, or nobody.
ORACLES = ("auto", "numeric", "none")


@dataclass(frozen=True, slots=True)
class Settings:
    """One run's choices; None leaves each case's own."""

    engines: tuple[Engine, ...]
    reference: Engine
    dtype: str | None = None
    tolerance: Tolerance | None = None
    seed: int | None = None
    trials: int | None = None
    timeout: float | None = None
    oracle: str = "auto"
    order: int = 1
    power: bool = False  # plant faults in what passes, and count those that are caught
    derived: bool = False  # say which formulas equal the derived ones
    evidence: bool = True  # whether failures are explained; without, only the verdict counts
    options: str = ""  # the same as on the command line, for the reproduce command

    def apply(self, case: Case) -> Case:
        """The case in the run's dtype; a complex case stays complex."""
        if self.dtype is None or self.dtype == case.dtype:
            return case
        wanted = dtypes.BY_NAME[self.dtype]
        if dtypes.BY_NAME[case.dtype].kind == "c":
            wanted = dtypes.complex_of(wanted)
        return replace(case, dtype=wanted.name)

    def reproduce(self, case: Case) -> str:
        """The command that checks this case alone, as it was checked here; quoted for a shell."""
        seed = case.seed if self.seed is None else self.seed
        return f"gradcheck run {quoted(case.id)} --seed {seed}{self.options}"


def settings(
    engines: Sequence[str | Engine],
    reference: str | Engine,
    dtype: str | None,
    rtol: float | None,
    atol: float | None,
    seed: int | None,
    trials: int | None,
    timeout: float | None,
    oracle: str = "auto",
    order: int = 1,
    power: bool = False,
    derived: bool = False,
) -> Settings:
    """Checked choices. Raises UsageError."""
    if oracle not in ORACLES:
        raise UsageError(f"there is no oracle {oracle!r}", hint=f"there are {', '.join(ORACLES)}")
    if order not in (1, 2):
        raise UsageError(f"gradients of order {order} are not checked", hint="those of order 1 and 2 are")
    if dtype is not None and (dtype not in dtypes.BY_NAME or not dtypes.is_differentiable(dtypes.BY_NAME[dtype])):
        raise UsageError(f"a case cannot run in the dtype {dtype!r}", hint="it is a floating or complex one")
    for name, number in (("rtol", rtol), ("atol", atol), ("trials", trials), ("timeout", timeout)):
        if number is not None and not number >= 0:
            raise UsageError(f"{name} is {number}, and cannot be negative")
    if not engines:
        raise UsageError("no engine is to be checked", hint="name one, such as core")
    known: dict[str, Engine] = {}

    def found(chosen: str | Engine) -> Engine:
        if not isinstance(chosen, str):
            return chosen
        if chosen not in known:
            known[chosen] = engine(chosen)
        return known[chosen]

    tested, judge = tuple(dict.fromkeys(found(chosen) for chosen in engines)), found(reference)
    _tell_apart((*tested, judge), {id(engine): spec for spec, engine in known.items()})
    return Settings(
        engines=tested,
        reference=judge,
        dtype=dtype,
        tolerance=None if rtol is None and atol is None else Tolerance(rtol, atol),
        seed=seed,
        trials=trials,
        timeout=timeout,
        oracle=oracle,
        order=order,
        power=power,
        derived=derived,
        options=_options(engines, reference, dtype, rtol, atol, trials, oracle, order),
    )


def _tell_apart(engines: Sequence[Engine], specs: Mapping[int, str]) -> None:
    """Give engines of one name (`a/mine.py:Tensor` and `b/mine.py:Tensor`) the names by which they were asked for."""
    by_name: dict[str, dict[int, Engine]] = {}
    for each in engines:
        by_name.setdefault(each.name, {})[id(each)] = each
    for name, alike in by_name.items():
        for number, (key, each) in enumerate(alike.items()):
            if len(alike) > 1:
                each.name = specs.get(key, f"{name} {number + 1}" if number else name)


def _options(
    engines: Sequence[str | Engine],
    reference: str | Engine,
    dtype: str | None,
    rtol: float | None,
    atol: float | None,
    trials: int | None,
    oracle: str,
    order: int,
) -> str:
    words: list[str] = []
    if list(engines) != ["core"]:
        words += [f"--engine {_word(chosen)}" for chosen in engines]
    if reference != "torch":
        words.append(f"--reference {_word(reference)}")
    pairs = (("dtype", dtype), ("rtol", rtol), ("atol", atol), ("trials", trials))
    words += [f"--{name} {value}" for name, value in pairs if value is not None]
    words += [f"--oracle {oracle}"] if oracle != "auto" else []
    words += [f"--order {order}"] if order != 1 else []
    return "".join(f" {word}" for word in words)


def _word(chosen: str | Engine) -> str:
    return quoted(chosen) if isinstance(chosen, str) and not chosen.isidentifier() else _name(chosen)


def _name(chosen: str | Engine) -> str:
    return chosen if isinstance(chosen, str) else chosen.name


def quoted(text: str) -> str:
    """One word of a shell, always in single quotes."""
    return "'" + text.replace("'", "'\"'\"'") + "'"
