"""The catalogue of mistakes: every kind in the order in which it is told, and the functions that recognise it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gradcheck.checks.failures.diagnosis.evidence import Evidence, Guess

Predict = Callable[[Evidence], Iterator[Guess]]

#: Every kind of mistake, the more specific first: where two explain the same numbers, the first is told first. What
#: each means stands in `MEANINGS` in `reports/phrases/diagnoses`.
KINDS = [
    "mutated",
    "stale",
    "detached",
    "overwritten",
    "use_dropped",
    "counted_twice",
    "passed_on_early",
    "path_dropped",
    "sign",
    "mean_for_sum",
    "incoming_ignored",
    "forward_value",
    "no_centring",
    "swapped",
    "transposed",
    "operand_transposed",
    "conjugate",
    "flipped",
    "off_by_one",
    "incoming_passed_on",
    "mixed_up",
    "permuted",
    "reshaped",
    "broadcast_not_undone",
    "summed",
    "saved_value",
    "truncated",
    "dtype",
    "nan",
    "factor",
]
#: Kinds that no single tensor shows: they are found out by running an engine again (see `failures/engine_faults`).
OF_ENGINES = ("not_deterministic", "input_mutated", "recursion")


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One way of recognising one kind of mistake. `covers` are kinds that say nothing more once it fits."""

    kind: str
    predict: Predict
    covers: tuple[str, ...] = ()


CATALOGUE: list[Hypothesis] = []


def hypothesis(kind: str, *, covers: tuple[str, ...] = ()) -> Callable[[Predict], Predict]:
    """Enter a function into the catalogue: from the evidence at one point it yields what the mistake would give.

    Raises ValueError for a kind that is not among KINDS.
    """
    if kind not in KINDS:
        raise ValueError(f"there is no kind of mistake {kind!r}; add it to KINDS, at its rank")

    def enter(predict: Predict) -> Predict:
        CATALOGUE.append(Hypothesis(kind, predict, covers))
        CATALOGUE.sort(key=lambda entry: KINDS.index(entry.kind))  # stable: within a kind, in order of definition
        return predict

    return enter
