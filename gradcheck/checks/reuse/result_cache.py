"""Passing results of an earlier run under the same circumstances.

Whole results are kept of cases in which nothing failed, if all engines are identified by gradcheck's own files and
library versions. User engines and failing cases run every time: the reason of a failure is computed afresh. The key
holds the case as read, every relevant option, and the cache's own key (see `gradcheck.cache`).
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
from gradcheck.engines.registry import libraries_of
from gradcheck.facts import fact
from gradcheck.language.case import Case, CaseOrErrors
from gradcheck.language.problem import Problem

#: Options that change no kept result: how a run works, and what is done with its results. Every other field of
#: `Options` is in the key, and whether a baseline measures agreement. (The date decides expected failures only, which
#: are not kept.)
NOT_IN_THE_KEY = frozenset(
    ("jobs", "in_workers", "executor", "maxfail", "shrink", "baseline", "fail_on_drift", "overrides", "cache", "today")
)
#: How many results are written at a time.
_BATCH_SIZE = 1_000
_KEPT = ("passed", "skipped", "unsupported")

Kind = TypeVar("Kind")


class ResultCache:
    """The cached results of a run by index, and the new ones."""

    def __init__(self, cache: Cache, options: Options, work: Sequence[CaseOrErrors]) -> None:
        self._cache = cache
        self._is_local = options.executor is None  # executors compute in another environment
        self._keys = dict(self._keys_of(work, options))
        kept = cache.find(self._keys.values())
        found = {at: unpack_as(kept[key], CaseResult) for at, key in self._keys.items() if key in kept}
        self.cached_results = {at: one for at, one in found.items() if one is not None}
        fraction = cache.recheck_fraction if self._is_local else 0.0
        self._to_recheck = {
            at: self.cached_results.pop(at) for at in list(self.cached_results) if is_picked_for_recheck(fraction)
        }
        self._used = [self._keys[at] for at in self.cached_results]
        self._new: dict[bytes, bytes] = {}

    def _keys_of(self, work: Sequence[CaseOrErrors], options: Options) -> Iterator[tuple[int, bytes]]:
        """Yield index and key of cases without `xfail` and user code."""
        transport = Packer()
        of_all = None if options.overrides else _key_text(options, self._cache)
        for at, case in enumerate(work):
            if isinstance(case, Case) and case.xfail is None and not case.implementations:
                choices = _key_text(options.of(case), self._cache) if options.overrides else of_all
                packed = None if choices is None else _if_packed(transport, case)
                if choices is not None and packed is not None:
                    yield at, self._cache.key(choices, packed)

    def record(self, at: int, found: CaseResult) -> CaseResult:
        """Store a computed result; return it, or a mismatch with the cache."""
        key = self._keys.get(at)
        if key is None or not self._is_local:
            return found
        known = self._to_recheck.pop(at, None)
        differs = known is not None and _outcome(known) != _outcome(found)
        written = _packed_result(found) if is_cacheable(found) else None
        if written is not None:
            self._new[key] = written
        elif differs:
            self._new[key] = b""  # no result
        if len(self._new) >= _BATCH_SIZE:
            self.keep()
        return with_cache_mismatch(found) if differs else found

    def keep(self) -> None:
        """Write results that are not written yet."""
        self._cache.store(self._new, self._used)
        self._new, self._used = {}, []


def _key_text(options: Options, cache: Cache) -> bytes | None:
    """Return the options' part of the key; None if nothing may be kept."""
    return options_key(options) if has_known_engines(options, cache) else None


def has_known_engines(options: Options, cache: Cache) -> bool:
    """Return whether the cache's keys identify all engines."""
    libraries = libraries_of((*options.engines, options.reference))
    return libraries is not None and cache.covers_libraries(libraries)


def is_picked_for_recheck(part: float) -> bool:
    return part > 0 and secrets.randbelow(1_000_000) < part * 1_000_000


def options_key(options: Options) -> bytes:
    """Return all options that may change a result, as text."""
    names = [one.name for one in fields(options) if one.init and one.name not in NOT_IN_THE_KEY]
    chosen = {name: getattr(options, name) for name in names}
    measured = options.baseline is not None and options.baseline.measures_drift
    return repr(sorted({**chosen, "engines": tuple(options.engines), "measured": measured}.items())).encode()


def is_cacheable(found: CaseResult) -> bool:
    """Return whether nothing failed, and no records of engines are in it."""
    return found.status in _KEPT and not found.incomplete and all(c.operation is None for c in found.comparisons)


def _packed_result(found: CaseResult) -> bytes | None:
    lean = tuple(c.without_arrays() for c in found.comparisons)
    whole = replace(found, comparisons=lean, cached=True, seconds=0.0, stage_seconds={}, case=None)
    return _if_packed(Packer(left=(Problem,)), whole)


def _if_packed(transport: Packer, thing: Any) -> bytes | None:
    try:
        return transport.pack(thing)
    except Exception:
        return None


def unpack_as(kept: bytes, kind: type[Kind]) -> Kind | None:
    """Return an object of this class; None if the bytes are none."""
    try:
        found = Packer().unpack(kept)
    except Exception:  # whatever pickle raises; entries are signed, so unpickling is safe
        return None
    return found if isinstance(found, kind) else None


def _outcome(found: CaseResult) -> Any:
    """Return all of a result but measured numbers."""
    return (
        found.status,
        found.reason,
        [error.kind for error in found.errors],
        [_comparable_fields(c) for c in found.comparisons],
    )


def _comparable_fields(c: Comparison) -> Any:
    kinds = [None if one is None else one.kind for one in (c.mismatch, c.verdict, *c.notes)]
    return c.subject, c.status, c.shape, c.dtype, c.lacks, c.certificate is not None, kinds


def with_cache_mismatch(found: CaseResult) -> CaseResult:
    """Return the result as a crash: the cache has another one."""
    hint = "remove .gradcheck_cache, and report it: something that results depend on was not seen"
    error = Failure("cache", fact("cache_differs"), found.place, hint)
    return replace(found, status="crashed", errors=(*found.errors, error))
