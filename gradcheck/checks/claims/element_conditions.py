"""Describe a set of elements by the sign or size of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from gradcheck.facts import Fact, fact

#: A point's tensors by name, and the mask of the elements.
PointElements = tuple[Mapping[str, np.ndarray], np.ndarray]

_SIGNS: tuple[tuple[str, Callable[[np.ndarray], np.ndarray]], ...] = (
    ("< 0", lambda x: x < 0),
    ("== 0", lambda x: x == 0),
    ("> 0", lambda x: x > 0),
    ("<= 0", lambda x: x <= 0),
    (">= 0", lambda x: x >= 0),
)


def element_condition(seen: Sequence[PointElements]) -> Fact | None:
    """Return the sign or threshold of a tensor that selects the elements."""
    names = [name for name in (seen[0][0] if seen else ()) if all(name in tensors for tensors, _ in seen)]
    for name in names:
        arrays, chosen = [tensors[name] for tensors, _ in seen], [mask for _, mask in seen]
        for text, holds in _SIGNS:
            if _holds_exactly(holds, arrays, chosen):
                return fact("where_element", tensor=name, condition=text)
            if _holds_at_some(holds, arrays, chosen):
                return fact("where_some_element", tensor=name, condition=text)
        for text in _thresholds(arrays, chosen):
            return fact("where_element", tensor=name, condition=text)
    return None


def _holds_exactly(
    holds: Callable[[np.ndarray], np.ndarray], arrays: list[np.ndarray], chosen: list[np.ndarray]
) -> bool:
    pairs = list(zip(arrays, chosen, strict=True))
    return all(a.shape == mask.shape and np.array_equal(holds(a), mask) for a, mask in pairs)


def _holds_at_some(
    holds: Callable[[np.ndarray], np.ndarray], arrays: list[np.ndarray], chosen: list[np.ndarray]
) -> bool:
    """Return whether all are selected if it holds anywhere, else none."""
    pairs = zip(arrays, chosen, strict=True)
    return all(mask.all() == mask.any() == bool(np.any(holds(a))) for a, mask in pairs)


def _thresholds(arrays: list[np.ndarray], chosen: list[np.ndarray]) -> Iterator[str]:
    if any(a.shape != mask.shape for a, mask in zip(arrays, chosen, strict=True)):
        return
    numbers = np.concatenate([a.ravel() for a in arrays])
    mask = np.concatenate([m.ravel() for m in chosen])
    if not mask.any() or mask.all():
        return
    rest = numbers[~mask]
    if np.min(numbers[mask]) > np.max(rest):
        yield f"> {_between(np.max(rest), np.min(numbers[mask])):g}"
    if np.max(numbers[mask]) < np.min(rest):
        yield f"< {_between(np.max(numbers[mask]), np.min(rest)):g}"


def _between(low: float, high: float) -> float:
    """Return the number with the fewest digits between two."""
    for digits in range(-3, 12):
        number = round((low + high) / 2, digits)
        if low <= number <= high:
            return number
    return (low + high) / 2
