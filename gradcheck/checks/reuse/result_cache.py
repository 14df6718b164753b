"""Results that an earlier run came to under just the same circumstances, and that need not be computed again.

Whole results are kept, of cases in which nothing failed, where nobody takes part but engines that are known by
gradcheck's own files and the versions of libraries. Somebody's engine is asked in every run, and so is whoever fails:
why it does is worth knowing afresh. The key holds the case as it was read, every choice that may count, and the
cache's own: see `gradcheck.cache`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from gradcheck.cache.cache import Cache
from gradcheck.checks.isolation.pickling import Packer
from gradcheck.checks.options import Options
from gradcheck.checks.result import CaseResult, Comparison, Failure
from gradcheck.engines.libraries import libraries_of
from gradcheck.facts import fact
from gradcheck.language.case import Case, CaseOrErrors
from gradcheck.language.problem import Problem

#: Choices that change no result that is kept: how a run is made, and what is said of its results afterwards. Every
#: other field of `Options` is in the key, and whether a baseline asks for agreement. (The day decides of expected
#: failures alone, which are not kept.)
NOT_IN_THE_KEY = frozenset(
    ("jobs", "in_workers", "executor", "maxfail", "shrink", "baseline", "fail_on_drift", "overrides", "cache", "today")
)
#: Results are written so many at a time, and at the end.
_BATCH_SIZE = 1_000
_KEPT = ("passed", "skipped", "unsupported")

Kind = TypeVar("Kind")


class ResultCache:
    """The cases of a run: which results are `known`, by their place in the work; and those that it finds out, which it
    is told one by one, and keeps."""

    def __init__(self, cache: Cache, options: Options, work: Sequence[CaseOrErrors]) -> None:
        self._cache = cache
        self._is_local = options.executor is None  # what others compute, they do in surroundings of their own
        self._keys = dict(self._keys_of(work, options))
        kept = cache.find(self._keys.values())
        found = {at: unpack_as(kept[key], CaseResult) for at, key in self._keys.items() if key in kept}
        self.cached_results = {at: one for at, one in found.items() if one is not None}
        doubted = cache.recheck_fraction if self._is_local else 0.0
        self._to_recheck = {
            at: self.cached_results.pop(at) for at in list(self.cached_results) if is_picked_for_recheck(doubted)
        }
        self._used = [self._keys[at] for at in self.cached_results]
        self._new: dict[bytes, bytes] = {}

    def _keys_of(self, work: Sequence[CaseOrErrors], options: Options) -> Iterator[tuple[int, bytes]]:
        """An expected failure has none: it fails, or it should no longer be expected. Somebody's own code is asked in
        every run."""
        transport = Packer()
        of_all = None if options.overrides else _key_text(options, self._cache)
        for at, case in enumerate(work):
            if isinstance(case, Case) and case.xfail is None and not case.implementations:
                asked = _key_text(options.of(case), self._cache) if options.overrides else of_all
                packed = None if asked is None else _if_packed(transport, case)
                if asked is not None and packed is not None:
                    yield at, self._cache.key(asked, packed)

    def record(self, at: int, found: CaseResult) -> CaseResult:
        """A result that was computed: as it is, unless what was known says otherwise."""
        key = self._keys.get(at)
        if key is None or not self._is_local:
            return found
        known = self._to_recheck.pop(at, None)
        differs = known is not None and _outcome(known) != _outcome(found)
        written = _packed_result(found) if is_cacheable(found) else None
        if written is not None:
            self._new[key] = written
        elif differs:
            self._new[key] = b""  # which is read as nothing
        if len(self._new) >= _BATCH_SIZE:
            self.keep()
        return with_cache_mismatch(found) if differs else found

    def keep(self) -> None:
        """Write what was found out since the last time."""
        self._cache.store(self._new, self._used)
        self._new, self._used = {}, []


def _key_text(options: Options, cache: Cache) -> bytes | None:
    """All that is asked of a case beside what it says; None where nothing may be kept."""
    return options_key(options) if has_known_engines(options, cache) else None


def has_known_engines(options: Options, cache: Cache) -> bool:
    """Whether nobody takes part but who is known, by what the cache's keys hold."""
    libraries = libraries_of((*options.engines, options.reference))
    return libraries is not None and cache.covers_libraries(libraries)


def is_picked_for_recheck(part: float) -> bool:
    return part > 0 and secrets.randbelow(1_000_000) < part * 1_000_000


def options_key(options: Options) -> bytes:
    """All that may count, as text."""
    chosen = {one.name: getattr(options, one.name) for one in fields(options) if one.name not in NOT_IN_THE_KEY}
    measured = options.baseline is not None and options.baseline.measures_drift
    return repr(sorted({**chosen, "engines": tuple(options.engines), "measured": measured}.items())).encode()


# What is kept ----------------------------------------------------------------------------------------


def is_cacheable(found: CaseResult) -> bool:
    """Where nothing failed, nor got lost; a result that holds what engines recorded is for this process alone."""
    return found.status in _KEPT and not found.incomplete and all(c.operation is None for c in found.comparisons)


def _packed_result(found: CaseResult) -> bytes | None:
    """Without the case, which whoever looks for it has, and the numbers that were compared, which are shown of failures
    alone."""
    lean = tuple(_without_arrays(c) for c in found.comparisons)
    whole = replace(found, comparisons=lean, cached=True, seconds=0.0, case=None)
    return _if_packed(Packer(left=(Problem,)), whole)


def _if_packed(transport: Packer, thing: Any) -> bytes | None:
    """Return the bytes of a case or a result; None where there are none: the case is then checked in every run."""
    try:
        return transport.pack(thing)
    except Exception:
        return None


def _without_arrays(c: Comparison) -> Comparison:
    if c.got_array is None and c.want_array is None and c.mask is None:
        return c
    return replace(c, got_array=None, want_array=None, mask=None)


def unpack_as(kept: bytes, kind: type[Kind]) -> Kind | None:
    """None for what is no such thing."""
    try:
        found = Packer().unpack(kept)
    except Exception:  # whatever pickle raises; entries are signed, so it can be nobody's trick
        return None
    return found if isinstance(found, kind) else None


# What is doubted -------------------------------------------------------------------------------------


def _outcome(found: CaseResult) -> Any:
    """All of a result but what was measured, which may differ in the last bits."""
    return (
        found.status,
        found.reason,
        [error.kind for error in found.errors],
        [_comparable_fields(c) for c in found.comparisons],
    )


def _comparable_fields(c: Comparison) -> Any:
    told = [None if one is None else one.kind for one in (c.mismatch, c.verdict, *c.notes)]
    return c.subject, c.status, c.shape, c.dtype, c.lacks, c.certificate is not None, told


def with_cache_mismatch(found: CaseResult) -> CaseResult:
    """The result of a case of which something else had been kept."""
    hint = "remove .gradcheck_cache, and report it: something that results depend on was not seen"
    error = Failure("cache", fact("cache_differs"), found.place, hint)
    return replace(found, status="crashed", errors=(*found.errors, error))
