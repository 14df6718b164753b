"""The draws of a trial: other sizes and numbers, to verify claims again.

A trial draws afresh what the case says symbolically, and keeps the rest:

- A creator, as in `x: randn(n, 3)`, gives other numbers, from the stream of its name, the trial and the attempt. In the
  second of three trials some are tiny and some large, in the third some are integers and zeros (`Spread`).
- A size that values, `shapes` or the graph use gives another. Over three trials each is once 1, since broadcasting
  hides there, and once more than 7, and each two of them are once equal and once different.
- A literal with an entry in `shapes` gives other numbers in the new size, and so does its literal incoming gradient.
- Any other literal keeps its numbers, unless a `Variation` moves it.

If a draw does not fit the graph, `sampling.draw` makes another attempt. Every other one draws ordinary numbers, from
`FIRST_OWN_SIZE_ATTEMPT` on half of the sizes are the case's own, and at `LAST_ATTEMPT` all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from gradcheck.autograd.dtypes import largest_finite
from gradcheck.language.array_structures import Structure
from gradcheck.language.case import Case, Generalize, Value
from gradcheck.language.expr.nodes import Attribute, Call, Expr, Name
from gradcheck.language.expr.traverse import free_names, ops_in
from gradcheck.language.random_streams import RANDOM_OPS, stream

#: The default range of sizes, and the sizes that one trial draws beyond it.
BOUNDS, LARGE = (1, 7), (8, 10)
_PRIMES = (2, 3, 5, 7)
_OTHERS = (4, 6)
FIRST_OWN_SIZE_ATTEMPT, LAST_ATTEMPT = 6, 14

#: The spread of normal numbers: as drawn, from tiny to large, or with integers and zeros.
Spread = Literal["ordinary", "scales", "integers"]
_SPREADS: tuple[Spread, ...] = ("ordinary", "scales", "integers")
#: The range in which literals move.
LiteralChange = Literal["near", "anywhere", "ordinary"]


@dataclass(frozen=True, slots=True)
class Variation:
    """Written numbers to redraw: literal inputs and incoming gradients."""

    literals: LiteralChange | None = None
    incoming: bool = False
    #: The structure of all draws, such as sorted or equal.
    structure: Structure | None = None


#: Draw only what the file leaves open.
NO_VARIATION = Variation()


def is_general(case: Case) -> bool:
    """Return whether the case's claims must hold at other numbers and sizes."""
    return case.generalize is not None


def is_thorough(case: Case) -> bool:
    """Return whether engines are compared wherever formulas are."""
    return case.generalize is not None and case.generalize.thorough


def size_bounds(case: Case) -> Mapping[str, tuple[int, int]]:
    """Return the inclusive bounds that the file states for sizes in trials."""
    return {} if case.generalize is None else case.generalize.dims


def listed_sizes(case: Case) -> Mapping[str, tuple[int, ...]]:
    """Return the values of sizes that have a few only."""
    return {} if case.generalize is None else case.generalize.listed


def with_trials(case: Case, *, thorough: bool = False) -> Case:
    """Return the case with trials, the default ones unless it states others."""
    return replace(case, generalize=replace(case.generalize or Generalize(), thorough=thorough))


def without_trials(case: Case) -> Case:
    """Return the case with claims about its own numbers only."""
    return replace(case, generalize=None)


def trials(case: Case, count: int | None = None) -> range:
    """Return the trials of a case: none unless they apply and vary something."""
    if case.generalize is None or not can_vary_in_trials(case):
        return range(0)
    return range(case.generalize.trials if count is None else count)


def can_vary_in_trials(case: Case) -> bool:
    """Return whether a trial differs from the case itself in anything."""
    if case.shapes or symbolic_sizes(case):
        return True
    steps = [value for step in case.steps for value in (*step.roots.values(), *step.inputs.values())]
    values = (*case.inputs.values(), *case.constants.values(), *steps)
    return any(v is not None and v.expr is not None and not RANDOM_OPS.isdisjoint(ops_in(v.expr)) for v in values)


def symbolic_sizes(case: Case) -> list[str]:
    """Return the sizes in `shapes`, and the `dims` that values or graph use."""
    used = _used_in(_value_expressions(case)) | _used_in(claim.expr for claim in case.graph.values())
    for shape in case.shapes.values():
        if isinstance(shape, tuple):
            used.update(size for size in shape if isinstance(size, str))
    used -= {*case.inputs, *case.constants, *case.graph}
    return [
        *(word for word in case.dims if word in used),
        *(word for word in case.symbol_sizes if word not in case.dims),
    ]


def graph_sizes(case: Case) -> list[str]:
    """Return the symbolic sizes that only the graph uses, such as exponents."""
    used = _used_in(_value_expressions(case))
    named = {size for shape in case.shapes.values() if isinstance(shape, tuple) for size in shape}
    return [word for word in symbolic_sizes(case) if word not in used and word not in named]


def _value_expressions(case: Case) -> Iterator[Expr]:
    for value in (*case.inputs.values(), *case.constants.values()):
        if value.expr is not None:
            yield value.expr
    yield from (shape for shape in case.shapes.values() if not isinstance(shape, tuple))


def _used_in(written: Iterable[Expr]) -> set[str]:
    return {name for expr in written for name in free_names(expr)}


def trial_sizes(case: Case, seed: int, trial: int, attempt: int = 0, held: Collection[str] = ()) -> dict[str, int]:
    """Return every size in a trial; symbolic ones are drawn, except `held`."""
    sizes = {**case.symbol_sizes, **case.dims}
    listed = listed_sizes(case)
    sizes |= {word: several[(trial + attempt // 2) % len(several)] for word, several in listed.items()}
    words = [word for word in symbolic_sizes(case) if word not in held and word not in listed]
    if not words or attempt >= LAST_ATTEMPT:
        return sizes
    bounds = dict.fromkeys(words, BOUNDS)
    stated = size_bounds(case)
    bounds.update((word, stated[word]) for word in words if word in stated)
    generator = stream(seed, "sizes", trial, attempt // 2)
    if attempt >= FIRST_OWN_SIZE_ATTEMPT:
        bounds = {word: limits for word, limits in bounds.items() if generator.random() < 0.5}
    if trial == 1:  # one size above 7 for all words, or the nearest within bounds
        size = int(generator.choice(range(LARGE[0], LARGE[1] + 1, 2)))  # even, since most of the others are odd
        return sizes | {w: min(max(size, stated[w][0]), stated[w][1]) if w in stated else size for w in bounds}
    if trial > 2 and trial % 2 == 0:
        return {**sizes, **{word: _mixed_size(generator, *limits) for word, limits in bounds.items()}}
    order = _shuffled(generator) if attempt > 1 else _size_order(seed, trial)
    own = {word: sizes[word] for word in stated}  # of the few sizes within bounds, another is taken
    drawn = _distinct_sizes(generator, bounds, order, own if attempt < FIRST_OWN_SIZE_ATTEMPT else {})
    half = {0: 1, 2: 0}.get(trial)  # one half of the words is 1 in the first trial, the other in the third
    ones = [word for place, word in enumerate(words) if word in bounds and place % 2 == half]
    return {**sizes, **drawn, **{word: 1 for word in ones if bounds[word][0] <= 1 <= bounds[word][1]}}


def _size_order(seed: int, trial: int) -> list[int]:
    """Return the sizes by preference; primes rotate, so that sizes change."""
    order = _shuffled(stream(seed, "sizes"))
    primes = order[: len(_PRIMES)]
    return primes[trial:] + primes[:trial] + order[len(_PRIMES) :]


def _shuffled(generator: np.random.Generator) -> list[int]:
    return [int(size) for size in (*generator.permutation(_PRIMES), *generator.permutation(_OTHERS))]


def _distinct_sizes(
    generator: np.random.Generator, bounds: Mapping[str, tuple[int, int]], order: list[int], avoided: Mapping[str, int]
) -> dict[str, int]:
    """Return a size for each word, distinct if bounds allow.

    The first free size in `order` within its bounds wins; an `avoided` one only if there is no other.
    """
    drawn: dict[str, int] = {}
    taken: set[int] = set()
    for word, (low, high) in bounds.items():
        fitting = [size for size in order if low <= size <= high and size not in taken]
        size = next((size for size in fitting if size != avoided.get(word)), next(iter(fitting), None))
        for _ in range(20):
            if size is not None and size not in taken:
                break
            size = int(generator.integers(low, high, endpoint=True))
        assert size is not None
        drawn[word] = size
        taken.add(size)
    return drawn


def _mixed_size(generator: np.random.Generator, low: int, high: int) -> int:
    if low <= 1 <= high and generator.random() < 0.25:
        return 1
    if (low, high) == BOUNDS and generator.random() < 0.25:
        low, high = LARGE
    return int(generator.integers(low, high, endpoint=True))


def redraw_literal(array: np.ndarray, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """Return other numbers for a literal.

    Floats are standard normal, complex ones with variance 1. Integers and booleans stay in their range.
    """
    if array.dtype.kind in "biu":
        if not array.size:
            return np.zeros(shape, array.dtype)
        return generator.integers(int(array.min()), int(array.max()), shape, endpoint=True).astype(array.dtype)
    numbers: Any = generator.standard_normal(shape)
    if array.dtype.kind == "c":
        numbers = (numbers + 1j * generator.standard_normal(shape)) * np.sqrt(0.5)
    return np.asarray(numbers).astype(array.dtype)


def move_numbers(array: np.ndarray, generator: np.random.Generator, reach: LiteralChange) -> np.ndarray:
    """Return moved numbers of a literal, at which a graph may be defined too.

    `near` keeps signs and symmetry, and makes a zero small beside the others. `anywhere` changes signs and sizes, up to
    three times the largest. `ordinary` numbers are about 1.
    """
    if array.dtype.kind in "biu" or not array.size:
        return array
    if reach != "near":
        scale = largest_finite(array) if reach == "anywhere" else 0.0
        scale = scale or 1.0
        return np.asarray(redraw_literal(array, array.shape, generator) * array.dtype.type(scale)).astype(array.dtype)
    factors: Any = generator.uniform(0.5, 1.5, array.shape)
    largest = largest_finite(array) or 1.0
    small = generator.uniform(-0.5, 0.5, array.shape) * largest
    if array.ndim > 1 and array.shape[-1] == array.shape[-2] and np.array_equal(array, array.mT.conj(), equal_nan=True):
        factors, small = np.tril(factors) + np.tril(factors, -1).mT, np.tril(small) + np.tril(small, -1).mT
    elif array.dtype.kind == "c":
        factors = factors * np.exp(1j * generator.uniform(-1, 1, array.shape))
    return np.where(array == 0, small, array * factors).astype(array.dtype)


def is_fixed_incoming(case: Case, incoming: Value | None) -> bool:
    """Return whether an incoming gradient has no freedom of its own.

    It is then written out, 1, or made of sizes and creators such as `ones`. One made of random numbers, or of tensors'
    values, states its structure.
    """
    if incoming is None or incoming.expr is None:
        return True
    if not RANDOM_OPS.isdisjoint(ops_in(incoming.expr)):
        return False
    waiting = [incoming.expr]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Name) and node.name not in case.dims and node.name not in case.symbol_sizes:
            return False
        is_like = isinstance(node, Call) and node.op.endswith("_like")
        if not isinstance(node, Attribute):  # uses shapes alone
            waiting += node.children[1:] if is_like else node.children
    return True


def moves_literals(case: Case) -> bool:
    """Return whether a variation would move literal inputs."""
    return any(value.expr is None and name not in case.shapes for name, value in case.inputs.items())


def inner_roots(case: Case) -> set[str]:
    """Return roots that other roots use.

    A formula cannot tell their own incoming gradient from what arrives.
    """
    roots = {root.partition("[")[0] for step in case.steps for root in step.roots}
    made_of, inner = set(roots), set[str]()
    for name, claim in reversed(list(case.graph.items())):
        if name in made_of:
            below = free_names(claim.expr).keys()
            inner |= roots & below
            made_of |= below
    return inner


def mentions_root_gradient(case: Case, claim: Expr) -> bool:
    """Return whether a claim uses the gradient of a root, by steps too."""
    roots = {root for step in case.steps for root in step.roots}
    return not roots.isdisjoint(case.gradients_in(claim))


def mentions_inner_gradient(case: Case, claim: Expr) -> bool:
    """Return whether a claim uses a computed gradient, by steps too."""
    roots = {root for step in case.steps for root in step.roots}
    return bool(case.gradients_in(claim) - roots)


def needs_varied_incoming(case: Case) -> bool:
    """Return whether a claim must hold for other incoming gradients."""
    listed = [claims for section in (case.formulas, case.wrong_formulas) for claims in section.values()]
    claims = [claim for several in (*listed, case.checks) for claim in several]
    rigid = any(is_fixed_incoming(case, value) for step in case.steps for value in step.roots.values())
    return rigid and any(mentions_root_gradient(case, claim.expr) for claim in claims)


def trial_spread(trial: int | None, attempt: int) -> Spread:
    """Return the spread of a trial; every other attempt is ordinary."""
    return "ordinary" if trial is None or attempt % 2 else _SPREADS[trial % 3]


def apply_spread(array: np.ndarray, generator: np.random.Generator, spread: Spread) -> np.ndarray:
    """Return standard normal numbers with a spread.

    `scales` makes half of them tiny or large, `integers` a third of them integers.
    """
    if spread == "ordinary":
        return array
    if spread == "scales":  # at most 16 times as large: with 1000 times, `exp` overflows
        factors = np.where(generator.random(array.shape) < 0.5, 10 ** generator.uniform(-4, 1.2, array.shape), 1.0)
        return np.asarray(array * factors).astype(array.dtype)
    whole = generator.integers(-4, 4, array.shape, endpoint=True)
    return np.where(generator.random(array.shape) < 1 / 3, whole, array).astype(array.dtype)
