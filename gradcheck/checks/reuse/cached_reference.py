"""A reference that answers from an earlier run, and proofs with it.

If user code takes part, or a case fails, every run checks it again; but the reference computes the same as before
unless the case changed, and need not even be imported. The key of an answer is everything it depends on: the graph,
the steps and all arrays of a problem, or an op and its arguments. Errors are not kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np

from gradcheck.checks.isolation.memory_limit import pause_memory_limit
from gradcheck.checks.isolation.pickling import Packer
from gradcheck.checks.isolation.time_limit import pause_time_limit
from gradcheck.checks.options import Engines, Options, engines_of
from gradcheck.checks.result import CaseResult
from gradcheck.checks.reuse.result_cache import is_cacheable, unpack_as, with_cache_mismatch
from gradcheck.engines.base import Application, Cotangents, Engine, Evaluation, ForwardAD, Pullback
from gradcheck.engines.define_by_run import DefineByRun, Gradients, SecondOrder
from gradcheck.engines.graph_run import GraphRun
from gradcheck.engines.recording import Recorder, arrays
from gradcheck.engines.resolve import resolve_engine
from gradcheck.language.case import Claim
from gradcheck.language.evaluation.host import Host
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

    def should_save(self, found: CaseResult) -> bool:
        """Return whether to keep answers about a case with this result."""
        return self.saves_new and (self.saves_beside_result or not is_cacheable(found))


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
        new_answers = store.packed_answers() if store.is_new and known.should_save(found) else None
        return (with_cache_mismatch(found) if store.differs else found), new_answers

    # Calls of the engine itself

    def __copy__(self) -> DefineByRun:
        return copy(self.real_engine)

    @property
    def host(self) -> Host:  # type: ignore[override]
        return self.real_engine.host

    @property
    def tensor_type(self) -> type:
        return self.real_engine.tensor_type

    @property
    def forward_ad(self) -> ForwardAD | None:  # type: ignore[override]
        return self.real_engine.forward_ad

    def session(self, dtype: np.dtype) -> AbstractContextManager[None]:
        return self.real_engine.session(dtype)

    def fresh_session(self, dtype: np.dtype) -> AbstractContextManager[None]:
        return self.real_engine.fresh_session(dtype)

    def new_run(self, problem: Problem, recorder: Recorder | None = None) -> GraphRun:
        return self.real_engine.new_run(problem, recorder)

    def leaf(self, array: np.ndarray, requires_grad: bool) -> Any:
        return self.real_engine.leaf(array, requires_grad)

    def array(self, tensor: Any) -> np.ndarray:
        return self.real_engine.array(tensor)

    def backward(self, roots: list[Any], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        self.real_engine.backward(roots, seeds, retain_graph)

    def differentiate(self, roots: list[Any], leaves: list[Any], seeds: list[Any]) -> list[Any]:
        return self.real_engine.differentiate(roots, leaves, seeds)

    def jvp(
        self, roots: Sequence[Any], leaves: Sequence[Any], directions: Sequence[np.ndarray]
    ) -> list[np.ndarray | None]:
        return self.real_engine.jvp(roots, leaves, directions)

    def second_order(self, problem: Problem, step: int, probes: Gradients) -> SecondOrder:
        return self.real_engine.second_order(problem, step, probes)


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
    return blake2b(Packer().canonical_bytes(thing), digest_size=24).digest()
