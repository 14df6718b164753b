"""The choices of `check_function`: its own, and fields of `Options`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from gradcheck.autograd.dtypes import BY_NAME, is_differentiable
from gradcheck.checks.options import Options
from gradcheck.errors import UsageError
from gradcheck.language.case import StatedTolerance
from gradcheck.language.suggest import did_you_mean

#: The choices that are no fields of `Options`, or mean the code alone.
_OWN = ("autocast", "dims", "dtypes", "order", "seed", "sizes", "tolerance")
_OPTIONS = tuple(one.name for one in fields(Options) if one.init and not one.name.startswith("_"))


@dataclass(frozen=True, slots=True)
class FunctionChoices:
    """The choices of one call; `options` are fields of `Options`.

    sizes    by a size of the given shapes, the sizes that may be drawn for it; all sizes under 0"""

    autocast: str = ""
    dims: Mapping[str, int] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ()
    order: int | None = None
    seed: int = 0
    sizes: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    tolerance: StatedTolerance | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def sizes_of(self, size: int) -> tuple[int, ...]:
        """Return the sizes that may be drawn for a size; none if any may."""
        return self.sizes.get(size, self.sizes.get(0, ()))

    def with_fixed_sizes(self, arrays: Iterable[Any]) -> FunctionChoices:
        """Return the choices with the sizes of arrays, which stay as they are."""
        own = {size: (size,) for array in arrays for size in getattr(array, "shape", ())}
        return replace(self, sizes={**own, **self.sizes})


def read_choices(choices: Mapping[str, Any] | None) -> FunctionChoices:
    """Return the choices of a call. Raises UsageError for unknown ones."""
    given = dict(choices or {})
    known = sorted({*_OWN, *_OPTIONS})
    for name in given:
        if name not in known:
            listed = f"choices are {', '.join(sorted(_OWN))}, and fields of Options such as rtol, atol and device"
            raise UsageError(f"check_function has no choice {name!r}", hint=did_you_mean(name, known, listed))
    own = {name: given.pop(name) for name in _OWN if name in given}
    Options(**given, order=own.get("order", 2))  # raises for values that it does not take
    tolerance = own.get("tolerance")
    both = StatedTolerance(tolerance if given.get("rtol") is None else given["rtol"], given.get("atol"))
    for number in (tolerance, both.rtol, both.atol):
        if number is not None and (not isinstance(number, (int, float)) or not 0 <= number < float("inf")):
            raise UsageError(f"a tolerance is {number!r}", hint="it is a finite number such as 1e-5, and not negative")
    autocast = _dtypes([own["autocast"]])[0] if own.get("autocast") else ""
    return FunctionChoices(
        autocast=autocast,
        dims=own.get("dims", {}),
        dtypes=_dtypes(own.get("dtypes", ("float32",) if autocast else ())),  # it leaves float64 as it is
        order=own.get("order"),
        seed=own.get("seed", 0),
        sizes=_sizes(own.get("sizes", {})),
        tolerance=None if both == StatedTolerance() else both,
        options=given,
    )


def _dtypes(said: Any) -> tuple[str, ...]:
    """Return the names of dtypes: a list of names, NumPy's or torch's, or one."""
    listed = said if isinstance(said, Iterable) and not isinstance(said, str) else [said]
    names = tuple(str(getattr(one, "__name__", one)).removeprefix("torch.") for one in listed)
    for name in names:
        if name not in BY_NAME or not is_differentiable(BY_NAME[name]):
            raise UsageError(f"a dtype is {name!r}", hint="it is a floating or complex one, such as 'float32'")
    return names


def _sizes(said: Any) -> dict[int, tuple[int, ...]]:
    """Return a list for all sizes under 0, and each size's own by itself."""
    listed = said if isinstance(said, Mapping) else {0: said} if said else {}
    found = {}
    for size, several in listed.items():
        many = several if isinstance(several, Sequence) and not isinstance(several, str) else [several]
        number = int(str(size).removeprefix("n")) if str(size).removeprefix("n").isdigit() else -1
        if number < 0 or not all(isinstance(one, int) and one >= 0 for one in many):
            raise UsageError(f"sizes are {said!r}", hint="a list, such as [16], or one for each size: {64: [16, 32]}")
        found[number] = tuple(many)
    return found
