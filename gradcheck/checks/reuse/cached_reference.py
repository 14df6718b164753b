"""A reference that answers from an earlier run, and proofs with it.

If user code takes part, or a case fails, every run checks it again; but the reference computes the same as before
unless the case changed, and need not even be imported. The key of an answer is everything it depends on: the graph, the
steps and all arrays of a problem, or an op and its arguments. Errors are not kept. The checker of a case gets its
answers and returns new ones; nothing else opens the cache.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np

from gradcheck.cache.cache import Cache
from gradcheck.checks.isolation.memory_limit import pause_memory_limit
from gradcheck.checks.isolation.pickling import Packer
from gradcheck.checks.isolation.time_limit import pause_time_limit
from gradcheck.checks.options import Engines, Options, engines_of
from gradcheck.checks.result import CaseResult
from gradcheck.checks.reuse.result_cache import (
    has_known_engines,
    is_cacheable,
    is_picked_for_recheck,
    options_key,
    unpack_as,
    with_cache_mismatch,
)
from gradcheck.engines.base import Application, Cotangents, Engine, Evaluation, Pullback
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.recording import Recorder, arrays
from gradcheck.engines.registry import ENGINES
from gradcheck.engines.resolve import resolve_engine
from gradcheck.language.case import Case, CaseOrErrors, Claim
from gradcheck.language.problem import Problem

#: The cached reference: a define-by-run engine of a library that imports slowly.
REFERENCE = "torch"
#: The relative difference up to which answers are equal up to rounding, in any dtype.
_NEAR = 1e-2


def engines_with_cache(options: Options, uses_cache: bool) -> Engines:
    """Return a run's engines, with a cached reference if `uses_cache`."""
    return engines_of(replace(options, reference=CachedReference()) if uses_cache else options)


@dataclass(frozen=True, slots=True)
class CachedAnswers:
    """The known answers about a case, and which new ones to save."""

    answers: bytes | None
    must_recheck: bool
    saves_new: bool
    saves_beside_result: bool  # although the case's result is kept


def _delegated(name: str) -> Any:
    """Return a property: the attribute or method of the real engine."""
    return property(lambda reference: getattr(reference.real_engine, name))


class CachedReference(DefineByRun):
    """Answers from the cache, and creates the engine only on a miss."""

    name = REFERENCE

    def __init__(self) -> None:
        self._engine: DefineByRun | None = None
        self._enter: Callable[[DefineByRun], object] | None = None
        self._store: _AnswerStore | None = None

    @property
    def real_engine(self) -> DefineByRun:
        """The engine; creating it costs no case time or memory."""
        if self._engine is None:
            with pause_time_limit(), pause_memory_limit():
                found: Any = resolve_engine(self.name)
                if self._enter is not None:
                    self._enter(found)
            self._engine = found
        return self._engine

    @contextmanager
    def deferred_session(self, dtype: np.dtype) -> Iterator[None]:
        """Enter the engine's session as soon as the engine exists."""
        with ExitStack() as stack:
            self._enter = lambda made: stack.enter_context(made.session(dtype))
            stack.callback(setattr, self, "_enter", None)
            if self._engine is not None:
                self._enter(self._engine)
            yield

    # Cached calls

    def evaluate(self, problem: Problem, recorder: Recorder | None = None) -> Evaluation:
        found: Evaluation = self.answer(lambda: problem_key(problem), lambda: self.real_engine.evaluate(problem))
        return found

    def pull_back(
        self, applications: Sequence[Application], cotangents: Sequence[Cotangents], dtype: np.dtype
    ) -> list[Pullback]:
        found: list[Pullback] = self.answer(
            lambda: ops_key(applications, cotangents, dtype),
            lambda: self.real_engine.pull_back(applications, cotangents, dtype),
        )
        return found

    def forward_values(self, problem: Problem) -> list[Mapping[str, np.ndarray]]:
        found: list[Mapping[str, np.ndarray]] = self.answer(
            lambda: b"forward" + problem_key(problem), lambda: self.real_engine.forward_values(problem)
        )
        return found

    def answer(self, question: Callable[[], bytes], compute: Callable[[], Any]) -> Any:
        return compute() if self._store is None else self._store.answer(question, compute)

    def check_with(self, known: CachedAnswers, check: Callable[[], CaseResult]) -> tuple[CaseResult, bytes | None]:
        """Check a case with known answers; return new ones to save, or None."""
        self._store = store = _AnswerStore(known.answers, known.must_recheck)
        try:
            found = check()
        finally:
            self._store = None
        is_saved = known.saves_new and (known.saves_beside_result or not is_cacheable(found))
        new_answers = store.packed_answers() if store.is_new and is_saved else None
        return (with_cache_mismatch(found) if store.differs else found), new_answers

    # Calls of the engine itself

    host, tensor_type, forward_ad = map(_delegated, ("host", "tensor_type", "forward_ad"))
    session, fresh_session, new_run = map(_delegated, ("session", "fresh_session", "new_run"))
    leaf, array, backward, differentiate = map(_delegated, ("leaf", "array", "backward", "differentiate"))
    jvp, second_order = map(_delegated, ("jvp", "second_order"))

    def __copy__(self) -> DefineByRun:
        return copy(self.real_engine)


def cached_answer(reference: Engine, question: Callable[[], bytes], compute: Callable[[], Any]) -> Any:
    """Return a cached reference's answer to the question, or compute it."""
    return reference.answer(question, compute) if isinstance(reference, CachedReference) else compute()


class _AnswerStore:
    """The answers about one case; rechecking shows if one `differs`."""

    def __init__(self, known: bytes | None, must_recheck: bool) -> None:
        self._known, self._must_recheck, self.differs = unpack_as(known or b"", dict) or {}, must_recheck, False
        self._used: dict[bytes, bytes] = {}
        self._new_answers: list[tuple[Callable[[], bytes], Any]] = []

    @property
    def is_new(self) -> bool:
        return bool(self._new_answers)

    def answer(self, question: Callable[[], bytes], compute: Callable[[], Any]) -> Any:
        known = None
        if self._known and (digest := question()) in self._known:
            known = Packer().unpack(self._known[digest])
            if not self._must_recheck:
                self._used[digest] = self._known[digest]
                return known
        with _noting_warnings() as warned:
            found = compute()
        self.differs |= known is not None and not _agree_roughly(known, found)
        if not warned and not _contains_error(found):
            self._new_answers.append((question, found))
        return found

    def packed_answers(self) -> bytes:
        """Return all answers that were used, and no others."""
        new_answers = {question(): Packer().pack(found) for question, found in self._new_answers}
        return Packer().pack({**self._used, **new_answers})


@contextmanager
def _noting_warnings() -> Iterator[list[bool]]:
    """Record whether the block warned: a cached answer would not."""
    known, warned = warnings.showwarning, list[bool]()

    def hear(*about: Any, **further: Any) -> None:
        warned.append(True)
        known(*about, **further)

    warnings.showwarning = hear
    try:
        yield warned
    finally:
        warnings.showwarning = known


def _contains_error(found: Any) -> bool:
    """Return whether an error is part of the answer; it is not kept."""
    if isinstance(found, Evaluation):
        return found.error is not None or any(state.error is not None for state in found.states)
    return any(isinstance(one, Pullback) and one.error is not None for one in found)


def _agree_roughly(known: Any, found: Any) -> bool:
    """Return whether two answers are equal up to rounding."""
    if not isinstance(found, Evaluation) and not all(isinstance(one, (Pullback, Mapping)) for one in found):
        return bool(known == found)
    some, others = dict(_numbers(known)), dict(_numbers(found))
    return some.keys() == others.keys() and all(_is_near(array, others[key]) for key, array in some.items())


def _numbers(
    found: Evaluation | list[Pullback | Mapping[str, np.ndarray]],
) -> Iterator[tuple[object, np.ndarray | None]]:
    if isinstance(found, Evaluation):
        for step, state in enumerate(found.states):
            yield from ((("value", step, name), array) for name, array in state.values.items())
            yield from ((("gradient", step, name), array) for name, array in state.gradients.items())
    else:
        for number, one in enumerate(found):
            named = one.items() if isinstance(one, Mapping) else enumerate(one.gradients)
            yield from (((number, name), array) for name, array in named)


def _is_near(some: np.ndarray | None, other: np.ndarray | None) -> bool:
    if some is None or other is None:
        return some is other
    if (some.shape, some.dtype) != (other.shape, other.dtype):
        return False
    wide = np.complex128 if some.dtype.kind == "c" else np.float64
    return bool(np.allclose(some.astype(wide), other.astype(wide), rtol=_NEAR, atol=0, equal_nan=True))


def problem_key(problem: Problem) -> bytes:
    """Return the key of everything that an evaluation depends on."""
    steps = [(s.action, tuple(s.roots), s.retain_graph, s.names, s.raises) for s in problem.case.steps]
    graph = [(name, claim.expr) for name, claim in problem.case.graph.items()]
    arrays = [list(some.items()) for some in (problem.inputs, problem.constants, *problem.seeds, *problem.forwards)]
    return _digest((graph, steps, arrays, len(problem.seeds), list(problem.sizes.items()), str(problem.dtype)))


def ops_key(applications: Sequence[Application], cotangents: Sequence[Cotangents], dtype: np.dtype) -> bytes:
    """Return the key of all that gradients of ops depend on, with aliases."""
    plain = [replace(one, recorded=None) for one in applications]
    places = [list(map(id, arrays(one.args, one.kwargs))) for one in plain]
    alike = [[dict(zip(reversed(some), range(len(some)), strict=True))[one] for one in some] for some in places]
    return _digest((plain, alike, [list(some) for some in cotangents], str(dtype)))


def claims_key(problem: Problem, claims: Sequence[tuple[str, Claim]]) -> bytes:
    """Return the key of everything that a proof depends on."""
    return _digest((problem, [(name, claim.text, claim.expr) for name, claim in claims]))


def _digest(thing: Any) -> bytes:
    return blake2b(Packer().pack(thing, canonical=True), digest_size=24).digest()


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
