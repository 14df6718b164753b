"""What a trial draws: other sizes and other numbers, at which a case's claims are verified again.

A trial draws afresh what the case says symbolically, and keeps the rest:

- a creator, as in `x: randn(n, 3)`, gives other numbers, from the stream of its name, the trial and the attempt: in the
  second of three trials some are tiny and some large, in the third some are integers and zeros (`Spread`);
- a size that values, `shapes` or the graph are written with gives another. Over three trials each is once 1, since
  broadcasting hides there, and once more than 7, and each two of them are once equal and once different;
- a literal that has a shape in `shapes` gives other numbers in the new size, and with it a literal incoming gradient;
- any other literal keeps its numbers, unless it is `moved`.

Where what was drawn does not fit the graph, `sampling.draw` is asked for another attempt: every other one draws
ordinary numbers, from `FIRST_OWN_SIZE_ATTEMPT` on half of the sizes are the case's own, and at `LAST_ATTEMPT` all of
them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gradcheck.autograd.dtypes import largest_finite
from gradcheck.language.array_structures import Structure
from gradcheck.language.case import Case, Value
from gradcheck.language.expr.nodes import Attribute, Call, Expr, Name
from gradcheck.language.expr.traverse import free_names, ops_in
from gradcheck.language.random_streams import RANDOM_OPS, stream

#: The sizes that are drawn where nothing else is said, and those that one trial draws beyond them.
BOUNDS, LARGE = (1, 7), (8, 10)
_PRIMES = (2, 3, 5, 7)
_OTHERS = (4, 6)
FIRST_OWN_SIZE_ATTEMPT, LAST_ATTEMPT = 6, 14

#: How far apart the numbers of a normal creator are: as they come, from tiny to large, or with integers and zeros.
Spread = Literal["ordinary", "scales", "integers"]
_SPREADS: tuple[Spread, ...] = ("ordinary", "scales", "integers")
#: How far literals are moved.
LiteralChange = Literal["near", "anywhere", "ordinary"]


@dataclass(frozen=True, slots=True)
class Variation:
    """What else is drawn anew, though the file writes it out: its literal inputs, its incoming gradients; and how."""

    literals: LiteralChange | None = None
    incoming: bool = False
    #: What all that is drawn is made to be besides: sorted, equal.
    structure: Structure | None = None


#: Only what the file leaves open is drawn.
NO_VARIATION = Variation()


def trials(case: Case, count: int | None = None) -> range:
    """The trials to verify the case with, `count` instead of its own number: none unless `generalize` applies and
    something changes."""
    if case.generalize is None or not can_vary_in_trials(case):
        return range(0)
    return range(case.generalize.trials if count is None else count)


def can_vary_in_trials(case: Case) -> bool:
    """Whether a trial differs from the case itself in anything."""
    if case.shapes or symbolic_sizes(case):
        return True
    steps = [value for step in case.steps for value in (*step.roots.values(), *step.inputs.values())]
    values = (*case.inputs.values(), *case.constants.values(), *steps)
    return any(v is not None and v.expr is not None and not RANDOM_OPS.isdisjoint(ops_in(v.expr)) for v in values)


# Sizes ------------------------------------------------------------------------------------------


def symbolic_sizes(case: Case) -> list[str]:
    """The sizes that a trial draws: the words of `shapes`, and the `dims` that values, shapes or the graph are written
    with."""
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
    """Those of them that no value and no shape is written with: an exponent, or what a sum is divided by."""
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
    """Every size in trial `trial`; the symbolic ones are drawn, for another `attempt` others. `held` stay."""
    sizes = {**case.symbol_sizes, **case.dims}
    words = [word for word in symbolic_sizes(case) if word not in held]
    if not words or attempt >= LAST_ATTEMPT:
        return sizes
    bounds = dict.fromkeys(words, BOUNDS)
    stated = {} if case.generalize is None else case.generalize.dims
    bounds.update((word, stated[word]) for word in words if word in stated)
    generator = stream(seed, "sizes", trial, attempt // 2)
    if attempt >= FIRST_OWN_SIZE_ATTEMPT:
        bounds = {word: limits for word, limits in bounds.items() if generator.random() < 0.5}
    if trial == 1:
        return {**sizes, **_equal_sizes(generator, bounds, stated)}
    if trial > 2 and trial % 2 == 0:
        return {**sizes, **{word: _mixed_size(generator, *limits) for word, limits in bounds.items()}}
    order = _shuffled(generator) if attempt > 1 else _size_order(seed, trial)
    own = {word: sizes[word] for word in stated}  # of the few sizes within bounds, another is taken
    drawn = _distinct_sizes(generator, bounds, order, own if attempt < FIRST_OWN_SIZE_ATTEMPT else {})
    half = {0: 1, 2: 0}.get(trial)  # one half of the words is 1 in the first trial, the other in the third
    ones = [word for place, word in enumerate(words) if word in bounds and place % 2 == half]
    return {**sizes, **drawn, **{word: 1 for word in ones if bounds[word][0] <= 1 <= bounds[word][1]}}


def _equal_sizes(
    generator: np.random.Generator, bounds: Mapping[str, tuple[int, int]], stated: Mapping[str, tuple[int, int]]
) -> dict[str, int]:
    """The same size for all words, above 7, or what is nearest to it within the bounds that are stated for a word."""
    size = int(generator.choice(range(LARGE[0], LARGE[1] + 1, 2)))  # even, since most others are odd
    return {word: min(max(size, stated[word][0]), stated[word][1]) if word in stated else size for word in bounds}


def _size_order(seed: int, trial: int) -> list[int]:
    """Which sizes come first: the primes in an order of their own in each trial, so that no word keeps its size."""
    order = _shuffled(stream(seed, "sizes"))
    primes = order[: len(_PRIMES)]
    return primes[trial:] + primes[:trial] + order[len(_PRIMES) :]


def _shuffled(generator: np.random.Generator) -> list[int]:
    return [int(size) for size in (*generator.permutation(_PRIMES), *generator.permutation(_OTHERS))]


def _distinct_sizes(
    generator: np.random.Generator, bounds: Mapping[str, tuple[int, int]], order: list[int], avoided: Mapping[str, int]
) -> dict[str, int]:
    """A size for each word: the first in `order` that is free and within its bounds, or else any that is free; the one
    that is `avoided` only where there is no other."""
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


# Numbers ----------------------------------------------------------------------------------------


def redraw_literal(array: np.ndarray, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """Other numbers in place of those of a literal: standard normal ones, complex with variance 1; integers and
    booleans from their own range."""
    if array.dtype.kind in "biu":
        if not array.size:
            return np.zeros(shape, array.dtype)
        return generator.integers(int(array.min()), int(array.max()), shape, endpoint=True).astype(array.dtype)
    numbers: Any = generator.standard_normal(shape)
    if array.dtype.kind == "c":
        numbers = (numbers + 1j * generator.standard_normal(shape)) * np.sqrt(0.5)
    return np.asarray(numbers).astype(array.dtype)


def move_numbers(array: np.ndarray, generator: np.random.Generator, reach: LiteralChange) -> np.ndarray:
    """Numbers in place of those of a literal, at which a graph may be defined where it is at these.

    Near them, they have the same signs, and a zero becomes one that is small beside the others; what is symmetric
    stays so. Anywhere, they have other signs and sizes, up to three times the largest, and no structure is kept;
    ordinary ones are so about 1, whatever those are.
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
    """Whether an incoming gradient has no freedom of its own: it is written out, 1, or made of creators such as `ones`
    and of sizes. What is made of random numbers, or of tensors' values, states its structure."""
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
        if not isinstance(node, Attribute):  # of shapes alone
            waiting += node.children[1:] if is_like else node.children
    return True


def moves_literals(case: Case) -> bool:
    """Whether numbers that the file writes out for its inputs would be `moved`."""
    return any(value.expr is None and name not in case.shapes for name, value in case.inputs.items())


def inner_roots(case: Case) -> set[str]:
    """Roots that others are made of. A formula cannot speak of their own incoming gradients apart from what arrives."""
    roots = {root.partition("[")[0] for step in case.steps for root in step.roots}
    made_of, inner = set(roots), set[str]()
    for name, claim in reversed(list(case.graph.items())):
        if name in made_of:
            below = free_names(claim.expr).keys()
            inner |= roots & below
            made_of |= below
    return inner


def mentions_root_gradient(case: Case, claim: Expr) -> bool:
    """Whether a claim is made of the gradient of a root, directly or by steps of the derivation."""
    roots = {root for step in case.steps for root in step.roots}
    return not roots.isdisjoint(case.gradients_in(claim))


def mentions_inner_gradient(case: Case, claim: Expr) -> bool:
    """Whether a claim is made of a gradient that a backward pass computes, directly or by steps of the derivation."""
    roots = {root for step in case.steps for root in step.roots}
    return bool(case.gradients_in(claim) - roots)


def needs_varied_incoming(case: Case) -> bool:
    """Whether some general claim must hold for other incoming gradients than the file writes out."""
    listed = [claims for section in (case.formulas, case.wrong_formulas) for claims in section.values()]
    claims = [claim for several in (*listed, case.checks) for claim in several]
    rigid = any(is_fixed_incoming(case, value) for step in case.steps for value in step.roots.values())
    return rigid and any(mentions_root_gradient(case, claim.expr) for claim in claims)


def trial_spread(trial: int | None, attempt: int) -> Spread:
    """How far apart the numbers of a trial are: ordinary ones in every other attempt."""
    return "ordinary" if trial is None or attempt % 2 else _SPREADS[trial % 3]


def apply_spread(array: np.ndarray, generator: np.random.Generator, spread: Spread) -> np.ndarray:
    """Standard normal numbers, of which half become tiny or large, or a third integers, zero among them."""
    if spread == "ordinary":
        return array
    if spread == "scales":
        factors = np.where(generator.random(array.shape) < 0.5, 10 ** generator.uniform(-4, 1.2, array.shape), 1.0)
        return np.asarray(array * factors).astype(array.dtype)
    whole = generator.integers(-4, 4, array.shape, endpoint=True)
    return np.where(generator.random(array.shape) < 1 / 3, whole, array).astype(array.dtype)
