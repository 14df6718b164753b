"""Find a tensor of the entry that a gradient is off by as a factor."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from itertools import combinations

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.implementations.op_mistakes import MOST_OPS, EntryTape, outputs_of
from gradcheck.checks.points.point import Point

_Function = Callable[[np.ndarray], np.ndarray]


def _sigmoid(t: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-t)))


#: The functions that are tried; `{}` stands for the array.
_FUNCTIONS: tuple[tuple[str, _Function], ...] = (
    ("{}", lambda t: t),
    ("{} ** 2", lambda t: t * t),
    ("1 - {}", lambda t: 1 - t),
    ("1 + {}", lambda t: 1 + t),
    ("1 - {} ** 2", lambda t: 1 - t * t),
    ("{} * (1 - {})", lambda t: t * (1 - t)),
    ("abs({})", np.abs),
    ("exp({})", np.exp),
    ("log({})", lambda t: np.log(np.abs(t))),
    ("sqrt({})", lambda t: np.sqrt(np.abs(t))),
    ("sigmoid({})", _sigmoid),
    ("sigmoid({}) * (1 - sigmoid({}))", lambda t: _sigmoid(t) * (1 - _sigmoid(t))),
    ("1 - tanh({}) ** 2", lambda t: 1 - np.tanh(t) ** 2),
)
#: The fewest wrong numbers, and the tolerance.
_FEWEST, _NEAR = 3, 1e-6
#: The limit for arrays.
_MOST_ARRAYS = 60


def factors_on_tape(
    name: str, point: Point, got: np.ndarray, want: np.ndarray, right: np.ndarray
) -> Iterator[tuple[Hashable, str]]:
    """Yield factors of the whole gradient, then of each op's share.

    Each has a key that is equal at all points, and a text."""
    if want.dtype.kind == "c":
        return
    tape = EntryTape(point)
    target = tape.leaf(name)
    known = list(_arrays(tape, point))
    for text in _matching(got, want, ~right, known):
        yield ("whole", text), text
    if target is None or len(tape.nodes) > MOST_OPS:
        return
    tape.sweep()
    off = got - want
    for (number, index), _, part in tape.parts(target):
        if part.shape == want.shape:
            for text in _matching(off + part, part, off != 0, known):
                yield (number, index, text), f"{text} at {tape.nodes[number].op.name}"


def _arrays(tape: EntryTape, point: Point) -> Iterator[tuple[str, np.ndarray]]:
    given = {**point.problem.inputs, **point.problem.constants}
    named = {name: wide(array) for name, array in given.items() if array.dtype.kind in "fbiuV"}
    yield from named.items()
    for number, node in enumerate(tape.nodes[:_MOST_ARRAYS]):
        for array in outputs_of(node):
            if array.dtype.kind in "fV":
                yield f"{node.op.name}()" if node.op.name else str(number), wide(array)
    for (one, a), (other, b) in combinations(list(named.items())[:6], 2):
        if a.shape == b.shape:
            yield f"({one} - {other})", a - b


def _matching(got: np.ndarray, want: np.ndarray, wrong: np.ndarray, known: list[tuple[str, np.ndarray]]) -> list[str]:
    """Return the texts of factors that turn `want` into `got`."""
    wrong = wrong & ((want != 0) | (got != 0))
    if np.count_nonzero(wrong) < _FEWEST or not want[wrong].all():
        return []
    ratios = (got / want)[wrong]
    if not np.isfinite(ratios).all():
        return []
    is_one_number = bool(np.ptp(ratios) <= _NEAR * float(np.max(np.abs(ratios))))
    known = [pair for pair in known if pair[1].size == 1] if is_one_number else known  # it may vary from point to point
    texts, rows = [], []
    slab = tuple(slice(int(p.min()), int(p.max()) + 1) for p in np.nonzero(wrong))
    for text, array in known:
        values = _spread(array, wrong, slab)
        if values is None:
            continue
        for form, function in _FUNCTIONS:
            row = function(values)
            if np.isfinite(row).all() and row.all():
                texts.append(form.format(*[text] * form.count("{}")))
                rows.append(row)
    if not rows:
        return []
    table = np.array(rows)
    found = [texts[i] for i in _equal(table, ratios)] + [f"1 / ({texts[i]})" for i in _equal(1 / table, ratios)]
    if is_one_number:
        return found
    found = found or _quotients(table, texts, ratios)
    return found or [
        text
        for by, form in (
            (ratios * table, "{:.5g} / ({})"),
            (ratios / table, "{:.5g} * ({})"),
            ((1 / ratios - 1) * table, "{1} / ({1} + {0:.5g})"),  # as of an epsilon in a divisor
            ((ratios - 1) * table, "({1} + {0:.5g}) / {1}"),
        )
        for text in _with_a_number(by, texts, form)
    ]


def _with_a_number(products: np.ndarray, texts: list[str], form: str) -> list[str]:
    """Return the texts of products that are one constant."""
    numbers = products[:, 0]
    same = np.all(np.abs(products - numbers[:, None]) <= _NEAR * np.abs(numbers[:, None]), axis=1)
    return [form.format(numbers[i], texts[i]) for i in np.flatnonzero(same)]


def _equal(table: np.ndarray, row: np.ndarray) -> list[int]:
    return [int(i) for i in np.flatnonzero(np.all(np.abs(table - row) <= _NEAR * np.abs(row), axis=1))]


def _quotients(table: np.ndarray, texts: list[str], ratios: np.ndarray) -> list[str]:
    tops = np.log(np.abs(table[:, 0]))
    order = np.argsort(tops)
    wanted = np.log(np.abs(table[:, 0] * ratios[0]))
    places = np.searchsorted(tops[order], wanted - _NEAR)
    found = []
    for below, place in enumerate(places):
        while place < len(order) and tops[order[place]] <= wanted[below] + _NEAR:
            top = order[place]
            if top != below and np.allclose(table[top], table[below] * ratios, rtol=_NEAR, atol=0):
                found.append(f"({texts[top]}) / ({texts[below]})")
            place += 1
    return found


def _spread(array: np.ndarray, wrong: np.ndarray, slab: tuple[slice, ...]) -> np.ndarray | None:
    """Return the array's numbers at wrong elements, if it broadcasts there."""
    for mask in (wrong, wrong[slab]):
        for shape in (array.shape, array.shape + (1,) * (mask.ndim - array.ndim)):
            try:
                return np.asarray(np.broadcast_to(array.reshape(shape), mask.shape)[mask], dtype=float)
            except ValueError:
                continue
    return None
