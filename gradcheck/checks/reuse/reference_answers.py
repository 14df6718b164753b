"""The reference's cached answers for the cases of a run.

The checker of a case gets its answers and returns new ones; nothing else opens the cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from gradcheck.cache.cache import Cache
from gradcheck.checks.options import Options
from gradcheck.checks.reuse.cached_reference import REFERENCE, CachedAnswers
from gradcheck.checks.reuse.result_cache import has_known_engines, is_picked_for_recheck, options_key
from gradcheck.engines.registry import ENGINES
from gradcheck.language.case import Case, CaseOrErrors

#: How many cases' answers are written at a time.
_BATCH_SIZE = 100


def may_cache_reference(options: Options) -> bool:
    """Return whether it is torch on the CPU, with its version in the keys."""
    if options.device != "cpu":
        return False
    differ = options.override_values("engines") or options.override_values("reference")
    known = options.reference == REFERENCE and REFERENCE not in options.engines
    return bool(
        options.cache is not None
        and not differ
        and known
        and options.cache.covers_libraries(ENGINES[REFERENCE].libraries)
    )


@contextmanager
def open_answers(work: Iterable[CaseOrErrors], options: Options) -> Iterator[ReferenceAnswers | None]:
    """Open the answers about these cases; None if caching is off."""
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
    """The cached answers by case; `is_complete` if each has some."""

    def __init__(self, cache: Cache, options: Options) -> None:
        self._cache, self._options = cache, options
        self._common_choices = None if options.overrides else options_key(options)
        self._is_local = options.executor is None  # executors compute in another environment
        self._keeps_results = has_known_engines(options, cache)
        self._known_keys: set[bytes] = set()
        self._new: dict[bytes, bytes] = {}
        self.is_complete = False

    def look_up(self, work: Iterable[CaseOrErrors]) -> None:
        """Find the cases with answers."""
        keys = {self._key(item) for item in work if isinstance(item, Case)}
        self._known_keys = set(self._cache.present_keys(keys))
        self.is_complete = len(self._known_keys) == len(keys)

    def _key(self, case: Case) -> bytes:
        choices = self._common_choices or options_key(self._options.of(case))
        return self._cache.key(b"answers", REFERENCE.encode(), choices, case.id.encode("utf-8", "surrogateescape"))

    def lookup(self, case: Case) -> CachedAnswers:
        """Return the answers about one case, and which new ones to save."""
        key = self._key(case)
        known = self._cache.find([key]).get(key) if key in self._known_keys else None
        must_recheck = self._is_local and is_picked_for_recheck(self._cache.recheck_fraction)
        return CachedAnswers(known, must_recheck, saves_new=self._is_local, saves_beside_result=not self._keeps_results)

    def add(self, case: Case, new_answers: bytes | None) -> None:
        """Add new answers of a check, if any."""
        if new_answers is not None and self._is_local:
            self._new[self._key(case)] = new_answers
            if len(self._new) >= _BATCH_SIZE:
                self.keep()

    def keep(self) -> None:
        """Write answers that are not written yet."""
        self._cache.store(self._new)
        self._new = {}
