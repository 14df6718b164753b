"""Find the sizes of a case that can change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from gradcheck.errors import GradcheckError, TooLarge
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import MOST_IN_TRIALS, draw, graph_values
from gradcheck.language.trial_draws import graph_sizes, size_bounds, symbolic_sizes


def stuck_sizes(problem: Problem) -> frozenset[str]:
    """Return sizes that cannot change alone: the graph fails at others."""
    return frozenset(
        word for word in symbolic_sizes(problem.case) if not any(map(_evaluates, _resized_problems(problem, word)))
    )


def pinned_sizes(problem: Problem) -> frozenset[str]:
    """Return stuck sizes of literals, which broadcasting hides at 1."""
    case, sizes = problem.case, problem.sizes
    written = [word for word in symbolic_sizes(case) if literal_of_size(case, sizes[word])]
    return stuck_sizes(problem).intersection(written) if written else frozenset()


def structural_sizes(problem: Problem, fits: Callable[[Problem], bool]) -> frozenset[str]:
    """Return sizes in the graph only that a claim takes from a literal.

    If such a size changes, the claim's shape is wrong. `fits` checks the shapes of all claims."""
    return frozenset(
        word
        for word in graph_sizes(problem.case)
        if not all(fits(changed) for changed in _resized_problems(problem, word) if _evaluates(changed))
    )


def literal_of_size(case: Case, size: int) -> str:
    """Return the first literal with this size; "" if there is none."""
    for name, value in (*case.inputs.items(), *case.constants.items()):
        if value.array is not None and name not in case.shapes and size in value.array.shape:
            return name
    return ""


def unvaried_sizes(own: Problem, drawn: Sequence[Problem]) -> list[Fact]:
    """Return a fact for each symbolic size that no trial changes."""
    if not drawn:
        return []
    case, sizes = own.case, own.sizes
    fixed = [word for word in symbolic_sizes(case) if all(one.sizes[word] == sizes[word] for one in drawn)]
    return [_unvaried(own, word, literal_of_size(case, sizes[word])) for word in fixed]


def _unvaried(own: Problem, word: str, tensor: str) -> Fact:
    """Return that a size stays: of a literal, or others are too large."""
    with suppress(GradcheckError):
        try:
            least = size_bounds(own.case).get(word, (1, 1))[0]
            draw(own.case, own.seed, 0, attempt=1, sizes={**own.sizes, word: least})
        except TooLarge:
            return fact("size_stays_small", size=word, value=own.sizes[word], most=MOST_IN_TRIALS)
    return fact("size_stays", size=word, value=own.sizes[word], tensor=tensor)


def _resized_problems(problem: Problem, word: str) -> Iterator[Problem]:
    """Yield the problem drawn with a few other sizes for this word."""
    case, own = problem.case, problem.sizes[word]
    low, high = size_bounds(case).get(word, (1, own + 2 + own))
    for size in dict.fromkeys((own + 1, 2 * own, own + 2)):
        if low <= size <= high:
            sizes: Mapping[str, int] = {**problem.sizes, word: size}
            try:
                yield draw(case, problem.seed, 0, attempt=1, sizes=sizes)
            except GradcheckError:
                continue


def _evaluates(problem: Problem) -> bool:
    try:
        graph_values(problem.case, problem.environment())
    except GradcheckError:
        return False
    return True
