"""Regions in words: by which tensor's sign or size those elements stand out at which something holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from gradcheck.facts import Fact, fact

#: At each point the tensors by name, and the elements that are to be told from the others.
PointElements = tuple[Mapping[str, np.ndarray], np.ndarray]

_SIGNS: tuple[tuple[str, Callable[[np.ndarray], np.ndarray]], ...] = (
    ("< 0", lambda x: x < 0),
    ("== 0", lambda x: x == 0),
    ("> 0", lambda x: x > 0),
    ("<= 0", lambda x: x <= 0),
    (">= 0", lambda x: x >= 0),
)


def element_condition(seen: Sequence[PointElements]) -> Fact | None:
    """Where the elements lie, if a tensor's sign or size tells; None where none does."""
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
    """Whether it holds of these elements and of no others."""
    pairs = list(zip(arrays, chosen, strict=True))
    return all(a.shape == mask.shape and np.array_equal(holds(a), mask) for a, mask in pairs)


def _holds_at_some(
    holds: Callable[[np.ndarray], np.ndarray], arrays: list[np.ndarray], chosen: list[np.ndarray]
) -> bool:
    """Whether all elements are chosen where it holds of some, and none where it holds of none."""
    pairs = zip(arrays, chosen, strict=True)
    return all(mask.all() == mask.any() == bool(np.any(holds(a))) for a, mask in pairs)


def _thresholds(arrays: list[np.ndarray], chosen: list[np.ndarray]) -> Iterator[str]:
    """Beyond which number they lie."""
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
    """The number of the fewest digits between two."""
    for digits in range(-3, 12):
        number = round((low + high) / 2, digits)
        if low <= number <= high:
            return number
    return (low + high) / 2
