"""Explanations of what fails at other numbers or sizes only, as a broadcast does that goes wrong where a size is 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from gradcheck.checks.claims.operations import WrongNode, check_nodes
from gradcheck.checks.result import Comparison
from gradcheck.engines.base import Engine
from gradcheck.engines.core import applications_of
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw

#: How many drawings of a trial are tried, until one is that in which the claim failed.
_ATTEMPTS = 5
#: What a trial can say about the engine, and about the derivation.
_SUBJECTS = ("gradient", "formula")

#: Explains a problem's comparisons: the function of `causes.py` with all but these given.
Explain = Callable[[Problem, list[Comparison], Sequence[WrongNode], int], list[Comparison]]


def explain_trial(
    case: Case,
    comparisons: Sequence[Comparison],
    engines: Sequence[Engine],
    reference: Engine,
    explain: Explain,
) -> list[Comparison]:
    """The comparisons, those of the first trial that fails explained, if the case's own numbers show nothing.

    Ops that are wrong alone at the trial's numbers are added to them.
    """
    failed = [c for c in comparisons if c.status == "failed" and c.what in _SUBJECTS]
    if not failed or any(c.trial is None for c in comparisons if c.status == "failed"):
        return list(comparisons)
    number = failed[0].trial
    problem = _redrawn(case, failed[0], reference)
    if problem is None:
        return list(comparisons)
    places = [place for place, c in enumerate(comparisons) if c.trial == number]
    own = [replace(comparisons[place], trial=None) for place in places]
    applications, wrong = applications_of(problem), list[WrongNode]()
    nodes = check_nodes(problem, applications, engines, reference, into=wrong)
    own += [node for node in nodes if node.status == "failed"]
    told = [replace(c, trial=number) for c in explain(problem, own, wrong, len(applications))]
    changed = list(comparisons)
    for place, c in zip(places, told, strict=False):
        changed[place] = c
    return changed + told[len(places) :]


def _redrawn(case: Case, failed: Comparison, reference: Engine) -> Problem | None:
    """The problem of the trial in which this failed."""
    trial = failed.trial or {}
    for problem in islice(_drawings(case, int(trial["seed"]), int(trial["trial"]) - 1), _ATTEMPTS + 1):
        if dict(problem.sizes) != dict(trial["sizes"]):
            continue
        states = reference.evaluate(problem).states
        want = states[failed.step].gradients.get(failed.tensor) if failed.step < len(states) else None
        if want is not None and failed.want_array is not None and np.array_equal(want, failed.want_array):
            return problem
    return None


def _drawings(case: Case, seed: int, number: int) -> Iterator[Problem]:
    for attempt in range(_ATTEMPTS):
        try:
            yield draw(case, seed, number, attempt=attempt)
        except GradcheckError:  # these sizes do not go together
            continue
    try:
        yield draw(case, seed, nudged=True)
    except GradcheckError:
        return
