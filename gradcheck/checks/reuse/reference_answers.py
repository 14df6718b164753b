"""What the reference has answered about cases, as an earlier run has kept it, and what this run adds.

Whoever checks the cases, here or elsewhere, is given the answers about each, and gives back those that were new: nobody
else opens the cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from gradcheck.cache.cache import Cache
from gradcheck.checks.options import Options
from gradcheck.checks.reuse.cached_reference import REFERENCE, CachedAnswers
from gradcheck.checks.reuse.result_cache import has_known_engines, is_picked_for_recheck, options_key
from gradcheck.engines.libraries import LIBRARIES
from gradcheck.language.case import Case, CaseOrErrors

#: Answers about so many cases are written at a time.
_BATCH_SIZE = 100


def may_cache_reference(options: Options) -> bool:
    """Whether the reference's answers may be kept: it is the one that takes long to import, for every case, it computes
    on the CPU, and what is installed of it is in the keys."""
    if options.device != "cpu":
        return False
    differ = options.override_values("engines") or options.override_values("reference")
    known = options.reference == REFERENCE and REFERENCE not in options.engines
    return bool(
        options.cache is not None and not differ and known and options.cache.covers_libraries(LIBRARIES[REFERENCE])
    )


@contextmanager
def open_answers(work: Iterable[CaseOrErrors], options: Options) -> Iterator[ReferenceAnswers | None]:
    """The answers about these cases, around their checks; None where there cannot be any."""
    if options.cache is None or not may_cache_reference(options):
        yield None
        return
    answers = ReferenceAnswers(options.cache, options)
    answers.look_up(work)
    try:
        yield answers
    finally:
        answers.keep()


class ReferenceAnswers:
    """By case. `complete` says whether there are some about each."""

    def __init__(self, cache: Cache, options: Options) -> None:
        self._cache, self._options = cache, options
        self._common_choices = None if options.overrides else options_key(options)
        self._is_local = options.executor is None  # what others compute, they do in surroundings of their own
        self._keeps_results = has_known_engines(options, cache)
        self._known_keys: set[bytes] = set()
        self._new: dict[bytes, bytes] = {}
        self.is_complete = False

    def look_up(self, work: Iterable[CaseOrErrors]) -> None:
        """Learn of which cases there are answers."""
        keys = {self._key(item) for item in work if isinstance(item, Case)}
        self._known_keys = set(self._cache.present_keys(keys))
        self.is_complete = len(self._known_keys) == len(keys)

    def _key(self, case: Case) -> bytes:
        asked = self._common_choices or options_key(self._options.of(case))
        return self._cache.key(b"answers", REFERENCE.encode(), asked, case.id.encode("utf-8", "surrogateescape"))

    def lookup(self, case: Case) -> CachedAnswers:
        """What there is about one case, and what is wanted."""
        key = self._key(case)
        known = self._cache.find([key]).get(key) if key in self._known_keys else None
        doubted = self._is_local and is_picked_for_recheck(self._cache.recheck_fraction)
        return CachedAnswers(known, doubted, saves_new=self._is_local, saves_beside_result=not self._keeps_results)

    def learn(self, case: Case, learned: bytes | None) -> None:
        """What a check has needed, if there was anything new."""
        if learned is not None and self._is_local:
            self._new[self._key(case)] = learned
            if len(self._new) >= _BATCH_SIZE:
                self.keep()

    def keep(self) -> None:
        """Write what was learned since the last time."""
        self._cache.store(self._new)
        self._new = {}
