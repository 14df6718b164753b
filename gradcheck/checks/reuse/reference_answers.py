"""What the reference has answered about cases, as an earlier run has kept it, and what this run adds.

Whoever checks the cases, here or elsewhere, is given the answers about each, and gives back those that were new: nobody
else opens the cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from gradcheck.cache.cache import Cache
from gradcheck.checks.options import Options
from gradcheck.checks.reuse.cached_reference import REFERENCE, Known
from gradcheck.checks.reuse.result_cache import by_chance, choices, is_known
from gradcheck.engines.libraries import LIBRARIES
from gradcheck.language.case import Case, Work

#: Answers about so many cases are written at a time.
_TOGETHER = 100


def may_recall(options: Options) -> bool:
    """Whether the reference's answers may be kept: it is the one that takes long to import, for every case, it computes
    on the CPU, and what is installed of it is in the keys."""
    if options.device != "cpu":
        return False
    differ = options.overridden("engines") or options.overridden("reference")
    known = options.reference == REFERENCE and REFERENCE not in options.engines
    return bool(options.cache is not None and not differ and known and options.cache.covers(LIBRARIES[REFERENCE]))


@contextmanager
def answers_about(work: Iterable[Work], options: Options) -> Iterator[Answers | None]:
    """The answers about these cases, around their checks; None where there cannot be any."""
    if options.cache is None or not may_recall(options):
        yield None
        return
    answers = Answers(options.cache, options)
    answers.look_up(work)
    try:
        yield answers
    finally:
        answers.keep()


class Answers:
    """By case. `complete` says whether there are some about each."""

    def __init__(self, cache: Cache, options: Options) -> None:
        self._cache, self._options = cache, options
        self._of_all = None if options.overrides else choices(options)
        self._here = options.executor is None  # what others compute, they do in surroundings of their own
        self._keeps_results = is_known(options, cache)
        self._there: set[bytes] = set()
        self._new: dict[bytes, bytes] = {}
        self.complete = False

    def look_up(self, work: Iterable[Work]) -> None:
        """Learn of which cases there are answers."""
        keys = {self._key(item) for item in work if isinstance(item, Case)}
        self._there = set(self._cache.have(keys))
        self.complete = len(self._there) == len(keys)

    def _key(self, case: Case) -> bytes:
        asked = self._of_all or choices(self._options.of(case))
        return self._cache.key(b"answers", REFERENCE.encode(), asked, case.id.encode())

    def about(self, case: Case) -> Known:
        """What there is about one case, and what is wanted."""
        key = self._key(case)
        known = self._cache.find([key]).get(key) if key in self._there else None
        doubted = self._here and by_chance(self._cache.doubted)
        return Known(known, doubted, wanted=self._here, also=not self._keeps_results)

    def learn(self, case: Case, learned: bytes | None) -> None:
        """What a check has needed, if there was anything new."""
        if learned is not None and self._here:
            self._new[self._key(case)] = learned
            if len(self._new) >= _TOGETHER:
                self.keep()

    def keep(self) -> None:
        """Write what was learned since the last time."""
        self._cache.keep(self._new)
        self._new = {}
