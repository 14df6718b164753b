"""What torch refuses, the core refuses: calls of every op with an argument changed, each asked of both.

In each call that the entry of an op shows, one argument after the other is exchanged: tensors for others of each dtype,
of other ranks and sizes, with other numbers in them; numbers, words, flags and lists for each other; arguments are left
out and given too often. `--list` prints every call that torch refuses and the core computes, `--stricter` the other way
round; `--op NAME` looks at one op.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from benchmarks.timing import Row
from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.autograd.op import TABLE, Op, whole_table
from gradcheck.engines.core import Core
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.recording import convert
from gradcheck.engines.torch import Torch
from gradcheck.errors import GradcheckError
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NumPy, OpCall, apply
from gradcheck.language.expr.parser import parse
from gradcheck.language.random_streams import RANDOM_OPS

_DOUBLE = np.dtype(np.float64)
#: How many calls may be computed that torch refuses.
_OF_A_THOUSAND = 3
#: No larger tensor is asked for.
_ELEMENTS = 10**5
#: What torch says where it has no code, or no memory, for what it would take.
_EXCUSES = ("memory", "allocate")
_CRASH = "an unexpected"
#: In place of what is no tensor.
_PLAIN: tuple[Any, ...] = (
    *(0, 1, -1, 2, 3, -3, 100, -100, 2**40, 0.5, -0.5, 1.0, float("nan"), float("inf"), 1j, True, False, None),
    *("sum", "mean", "none", "nonsense", "ij,jk->ik", [], [0], [0, 0], [-1], [1, 0], [2, 3], [-5], [0.5]),
    *((), (0, 1), [None]),
    *(slice(None), *map(np.dtype, ("float32", "int64", "complex128", "bool"))),
)
#: What settings are given, by name, where the call has none.
_SETTINGS: dict[str, tuple[Any, ...]] = {
    "dim": (0, -1, 5, (0, 1), None, (), "0"),
    "keepdim": (True,),
    "reduction": ("none", "sum", "avg"),
    "dtype": tuple(map(np.dtype, ("float32", "int64", "complex128", "bool"))),
    "correction": (2,),
    "alpha": (2, 0.5),
}


class Probe(NamedTuple):
    """A call: an op's arguments, as they stand, and by name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __str__(self) -> str:
        named = (f"{name}={_shown(value)}" for name, value in self.kwargs.items())
        return ", ".join([*map(_shown, self.args), *named])


@dataclass(slots=True)
class Tally:
    """How calls went, and those that torch alone refuses, or the core alone."""

    refused: int = 0
    taken: int = 0
    accepted: list[tuple[str, str]] = field(default_factory=list)
    stricter: list[tuple[str, str]] = field(default_factory=list)


def main(arguments: Sequence[str]) -> int:
    """The figures; 1 where the core computes what torch refuses."""
    parser = argparse.ArgumentParser("python -m benchmarks probing", description=__doc__)
    parser.add_argument("--op", help="this op alone")
    parser.add_argument("--list", action="store_true", help="every call that the core computes and torch refuses")
    parser.add_argument("--stricter", action="store_true", help="every call that torch computes and the core refuses")
    given = parser.parse_args(arguments)
    found = probe([TABLE[given.op]] if given.op else _ops())
    for wanted, calls in ((given.list, found.accepted), (given.stricter, found.stricter)):
        for call, words in calls if wanted else ():
            print(f"{call}: {words}")
    print(_details(found))
    return 1 if found.accepted else 0


def rows() -> Iterator[Row]:
    """All ops."""
    found = probe(_ops())
    measured = f"{len(found.accepted):,} of {found.refused:,}"
    few = 1000 * len(found.accepted) <= _OF_A_THOUSAND * found.refused
    what, promised = "calls that torch refuses and the core computes", f"≤ {_OF_A_THOUSAND} in 1,000"
    yield Row(what, measured, promised, few, _details(found))


def _details(found: Tally) -> str:
    ops = Counter(call.partition("(")[0] for call, _ in found.accepted)
    most = ", ".join(f"{name} {count}" for name, count in ops.most_common(8))
    both = f"torch refuses {found.refused:,} calls and takes {found.taken:,}"
    return (
        f"{both}; the core refuses {len(found.stricter):,} of these, and of those it computes {len(found.accepted):,}"
        + (f": {most}" if most else "")
    )


def _ops() -> list[Op]:
    """Those of the families that most cases use, and that torch has."""
    table = (op for op in whole_table().values() if ".rare_ops." not in op.forward.__module__)
    return [op for op in table if op.torch and op.name not in RANDOM_OPS]


def probe(ops: Sequence[Op]) -> Tally:
    """Every changed call of these ops."""
    found, torch, core = Tally(), Torch(), Core()
    with torch.session(_DOUBLE), using_default_dtype(_DOUBLE), quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in ops:
            seen: set[str] = set()
            for tried in (other for call in _calls(op) for other in _changed(call)):
                if op.name == "getitem" and len(tried.args) != 2:
                    continue  # `x[…]` has two, whatever stands there
                if (text := f"{op.name}({tried})") not in seen:
                    seen.add(text)
                    _ask(op, tried, text, (torch, core), found)
    return found


def _ask(op: Op, tried: Probe, text: str, engines: tuple[DefineByRun, DefineByRun], found: Tally) -> None:
    theirs, ours = (_refusal(op, tried, engine) for engine in engines)
    if theirs is None:
        found.taken += 1
        if ours is not None:
            found.stricter.append((text, ours))
    elif not any(word in theirs for word in _EXCUSES):
        found.refused += 1
        if ours is None or ours.startswith(_CRASH):
            found.accepted.append((text, ours or theirs))


def _refusal(op: Op, tried: Probe, engine: DefineByRun) -> str | None:
    """Why an engine does not compute it; None where it does."""

    def leaf(array: np.ndarray) -> Any:
        return engine.leaf(array, False)

    def given(value: Any) -> Any:
        if isinstance(value, np.dtype):
            return engine.host.dtype(value.name)
        return convert(value, np.ndarray, leaf)

    values = [given(value) for value in (*tried.args, *tried.kwargs.values())]
    try:
        if isinstance(engine, Core) and op.name != "getitem":
            parse(_written(op, tried))  # what is read off the text
        apply(OpCall.of(op.name, len(tried.args), tuple(tried.kwargs)), values, engine.host, _ELEMENTS)
    except GradcheckError as error:
        return error.message
    except Exception as error:  # where no case could come, but nobody should
        return f"{_CRASH} {type(error).__name__}: {error}"
    return None


def _written(op: Op, tried: Probe) -> str:
    """The call as text, every tensor by the same name."""

    def text(value: Any) -> str:
        match value:
            case np.ndarray():
                return "x"
            case np.dtype():
                return f"torch.{value.name}"
            case list() | tuple():
                inner = ", ".join(map(text, value))
                return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
        return repr(value)

    named = (f"{name}={text(value)}" for name, value in tried.kwargs.items())
    return f"torch.{op.name}({', '.join([*map(text, tried.args), *named])})"


# Calls ---------------------------------------------------------------------------------------------------


def _calls(op: Op) -> Iterator[Probe]:
    """What its entry shows: over two shapes from its domain where it is elementwise, and its samples."""
    generator = np.random.default_rng(7)
    if op.elementwise and op.domain:
        for shape in ((2, 3), ()):
            drawn = [np.asarray(generator.uniform(*bounds, shape)) for bounds in op.domain]
            if op.masked:
                drawn[0] = np.asarray(drawn[0] > 0.5)
            yield Probe(tuple(drawn), {})
    for sample in op.samples:
        host = _Watching(generator)
        evaluate(parse(sample), {}, host)
        yield next(probe for name, probe in reversed(host.seen) if name == op.name)


class _Watching(NumPy):
    """NumPy with random numbers, which notes what it is asked for."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self.seen: list[tuple[str, Probe]] = []

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.seen.append((op.name, Probe(args, kwargs)))
        return op(*args, **kwargs, **({"generator": self._generator} if op.name in RANDOM_OPS else {}))


def _changed(call: Probe) -> Iterator[Probe]:
    """The call with one thing changed, or with one dtype throughout and another in one place."""
    args, kwargs = call
    yield call
    for i, value in enumerate(args):
        yield from (Probe((*args[:i], other, *args[i + 1 :]), kwargs) for other in _others(value))
        yield Probe(args[:i] + args[i + 1 :], kwargs)
    for name, value in kwargs.items():
        yield from (Probe(args, {**kwargs, name: other}) for other in _others(value))
        yield Probe(args, {key: kept for key, kept in kwargs.items() if key != name})
    yield from (Probe((*args, extra), kwargs) for extra in (0, 1, 2.5, None, True, "sum", [0], *args[:1]))
    for name, settings in _SETTINGS.items():
        yield from (Probe(args, {**kwargs, name: value}) for value in settings if name not in kwargs)
    for dtype in dtypes.BY_NAME.values():
        yield _in_dtype(call, dtype)


def _in_dtype(call: Probe, dtype: np.dtype) -> Probe:
    def cast(array: np.ndarray) -> np.ndarray:
        return array.astype(dtype) if dtypes.is_differentiable(array.dtype) else array

    args = tuple(convert(value, np.ndarray, cast) for value in call.args)
    return Probe(args, {name: convert(value, np.ndarray, cast) for name, value in call.kwargs.items()})


def _others(value: Any) -> Iterator[Any]:
    """What may stand in a value's place."""
    if isinstance(value, np.ndarray):
        yield from _tensors(value)
        yield from (1, 0.5, None, True, "sum", [value], (value, value), [])
    elif isinstance(value, (list, tuple)) and any(isinstance(item, np.ndarray) for item in value):
        for i, item in enumerate(value):
            yield from ([*value[:i], other, *value[i + 1 :]] for other in _others(item))
            yield [*value[:i], *value[i + 1 :]]
        yield from (list(value) + list(value), tuple(value), [], 1, None, "sum", value[0])
    else:
        yield from (other for other in _PLAIN if other is not value)
        yield from (np.asarray(2), np.asarray([0, 1]), np.asarray(0.5), np.asarray([True, False]))
        if isinstance(value, (list, tuple)) and value:
            yield from ([*value, 1], [*value[:-1]], list(value)[::-1])
            yield from ([*value[:-1], last] for last in (-7, 0.5, None))


def _tensors(array: np.ndarray) -> Iterator[np.ndarray]:
    """Other dtypes, ranks, sizes and numbers."""
    for dtype in dtypes.BY_NAME.values():
        if dtype != array.dtype:
            yield array.astype(dtype)
    yield from (array[None], array[None, None], array[..., None], array.ravel(), array.T)
    yield np.asarray(array.ravel()[:1].sum())
    if array.ndim and array.size:
        yield from (np.asarray(array[0]), array[:0], array[:1], array[..., :0], array[..., :1])
        yield from (np.concatenate([array, array], axis) for axis in (0, -1))
    if array.dtype.kind in "iu":
        yield from map(np.asarray, (array + 1, array + 100, array - 100, -array - 1, np.zeros_like(array)))
    elif dtypes.is_differentiable(array.dtype):
        yield from map(np.asarray, (array * 0, array * np.nan, -array, array * 1000, np.ones_like(array)))


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        numbers = f" {value.tolist()}" if value.size < 7 and value.dtype.kind in "biu" else ""
        return f"{value.dtype.name}{list(value.shape)}{numbers}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({', '.join(map(_shown, value))})"
    return repr(value)
