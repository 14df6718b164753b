"""The catalogue of mistakes: every kind in the order in which it is told, and the functions that recognise it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gradcheck.checks.failures.diagnosis.evidence import Evidence, Guess

Predict = Callable[[Evidence], Iterator[Guess]]

#: Every kind of mistake, the more specific first, and what it means. Where two explain the same numbers, the first is
#: told first.
KINDS = {
    "mutated": "an array is changed in place while others still use it",
    "stale": "what an earlier pass left behind takes part again",
    "detached": "nothing arrives",
    "overwritten": "contributions replace each other where they should add up",
    "use_dropped": "the contribution of one use is missing",
    "counted_twice": "the contribution of one use is added twice",
    "passed_on_early": "a tensor passes its gradient on before all of its children have reported",
    "path_dropped": "a path of the graph is left out",
    "sign": "the sign is wrong",
    "mean_for_sum": "averaged over what should be summed",
    "incoming_ignored": "the incoming gradient plays no part",
    "forward_value": "the op's value stands where its derivative belongs",
    "no_centring": "the term that centres the gradient is missing",
    "swapped": "arguments are swapped, or two gradients are",
    "transposed": "transposed",
    "operand_transposed": "computed with a factor that is transposed, or is not where it should be",
    "conjugate": "the complex conjugate",
    "flipped": "back to front along an axis",
    "off_by_one": "one place further along an axis, or at an index that is off by one",
    "incoming_passed_on": "the incoming gradient is passed on as it is",
    "mixed_up": "the gradient of another tensor stands here, or has been added",
    "permuted": "the axes are in another order",
    "reshaped": "the right numbers in another shape or order",
    "broadcast_not_undone": "not summed over the axes along which the argument was broadcast",
    "summed": "summed over an axis where it should not be",
    "saved_value": "computed from an argument that has been overwritten, or from the result instead of it",
    "truncated": "rounded to integers on the way",
    "dtype": "computed in a lower precision",
    "nan": "NaN appears where the gradient is finite",
    "factor": "off by a constant factor",
}
#: Kinds that no single tensor shows: they are found out by running an engine again.
OF_ENGINES = {
    "not_deterministic": "the same pass gives other gradients each time",
    "input_mutated": "an op changes its arguments",
    "recursion": "the backward pass calls itself, and long graphs are too deep for that",
}
_RANK = {kind: rank for rank, kind in enumerate(KINDS)}


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One way of recognising one kind of mistake. `covers` are kinds that say nothing more once it fits."""

    kind: str
    predict: Predict
    covers: tuple[str, ...] = ()


CATALOGUE: list[Hypothesis] = []


def hypothesis(kind: str, *, covers: tuple[str, ...] = ()) -> Callable[[Predict], Predict]:
    """Enter a function into the catalogue: from the evidence at one point it yields what the mistake would give."""

    if kind not in KINDS:
        raise ValueError(f"there is no kind of mistake {kind!r}; add it to KINDS, at its rank")

    def enter(predict: Predict) -> Predict:
        CATALOGUE.append(Hypothesis(kind, predict, covers))
        CATALOGUE.sort(key=lambda entry: _RANK[entry.kind])  # stable: within a kind, in the order of definition
        return predict

    return enter
