"""The reference, of which an earlier run has written down the answers: what it makes of problems, and of ops alone; and
with them the proofs of a case.

Where somebody's engine takes part, or a case fails, the checks are made anew in every run; but the reference is asked
the same as the last time, unless the case has changed, and need not even be imported. An answer is known by all that it
depends on: the graph, the steps and every array of a problem, an op and its arguments. What was raised is not kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from copy import copy
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np

from gradcheck.cache.cache import Cache
from gradcheck.checks.options import Engines, Options, engines_of
from gradcheck.checks.remembered import by_chance, choices, contradicted, is_known, may_be_kept, unpacked
from gradcheck.checks.result import CaseResult
from gradcheck.checks.transport import Transport
from gradcheck.engines.base import Application, Cotangents, Engine, Evaluation, ForwardAD, Pullback
from gradcheck.engines.define_by_run import DefineByRun, Gradients, SecondOrder
from gradcheck.engines.graph_run import GraphRun
from gradcheck.engines.libraries import LIBRARIES
from gradcheck.engines.recording import Recorder
from gradcheck.engines.resolve import engine
from gradcheck.language.case import Case, Claim, Work
from gradcheck.language.evaluation.host import Host
from gradcheck.language.problem import Problem

#: The reference that may be recalled: a define-by-run engine, known by its library, that takes long to import.
REFERENCE = "torch"
#: Answers about so many cases are written at a time.
_TOGETHER = 100
#: How far two answers may be apart, relative to their size, that are the same but for rounding in any dtype.
_NEAR = 1e-2


def engines_with_memory(options: Options) -> Engines:
    """Those of a run, with a reference that is made only when it is needed, where there is a cache."""
    alone = options.jobs == 1 and options.executor is None and not options.limits_time
    differ = options.overridden("engines") or options.overridden("reference")
    known = options.reference == REFERENCE and REFERENCE not in options.engines
    if options.cache is None or not alone or differ or not known or not options.cache.covers(LIBRARIES[REFERENCE]):
        return engines_of(options)
    return engines_of(replace(options, reference=Recalled(options.cache, options)))


class Recalled(DefineByRun):
    """Answers for the engine that `made` is. It is made when it is asked something else than what is known, and for all
    that is more than a question."""

    name = REFERENCE

    def __init__(self, cache: Cache, options: Options) -> None:
        self._cache, self._options = cache, options
        self._of_all = None if options.overrides else choices(options)
        self._engine: DefineByRun | None = None
        self._enter: Callable[[DefineByRun], object] | None = None
        self._there: set[bytes] = set()
        self._book: _Book | None = None
        self._new: dict[bytes, bytes] = {}

    @property
    def made(self) -> DefineByRun:
        """The engine itself."""
        if self._engine is None:
            found: Any = engine(self.name)
            self._engine = found
            if self._enter is not None:
                self._enter(found)
        return self._engine

    @contextmanager
    def ready(self, dtype: np.dtype) -> Iterator[None]:
        """The engine's session, as soon as there is an engine."""
        with ExitStack() as stack:
            self._enter = lambda made: stack.enter_context(made.session(dtype))
            stack.callback(setattr, self, "_enter", None)
            if self._engine is not None:
                self._enter(self._engine)
            yield

    # Questions

    def evaluate(self, problem: Problem, recorder: Recorder | None = None) -> Evaluation:
        """As the engine does."""
        found: Evaluation = self.recall(lambda: about_problem(problem), lambda: self.made.evaluate(problem))
        return found

    def pull_back(
        self, applications: Sequence[Application], cotangents: Sequence[Cotangents], dtype: np.dtype
    ) -> list[Pullback]:
        """As the engine does."""
        found: list[Pullback] = self.recall(
            lambda: about_ops(applications, cotangents, dtype),
            lambda: self.made.pull_back(applications, cotangents, dtype),
        )
        return found

    def recall(self, question: Callable[[], bytes], ask: Callable[[], Any]) -> Any:
        """What was found the last time for the same question about the case that is being checked, or what is found by
        asking now: of whatever the case is checked by."""
        return ask() if self._book is None else self._book.answer(question, ask)

    # A case

    def look_up(self, work: Iterable[Work]) -> None:
        """Learn of which cases there are answers."""
        self._there = set(self._cache.have(self._key(item) for item in work if isinstance(item, Case)))

    def _key(self, case: Case) -> bytes:
        asked = self._of_all or choices(self._options.of(case))
        return self._cache.key(b"answers", self.name.encode(), asked, case.id.encode())

    def while_checking(self, case: Case, check: Callable[[], CaseResult]) -> CaseResult:
        """What the check finds, with the answers that are known about the case; those that it needed are kept, unless
        its result is."""
        key = self._key(case)
        known = self._cache.find([key]).get(key) if key in self._there else None
        self._book = book = _Book(known, doubted=by_chance(self._cache.doubted))
        try:
            found = check()
        finally:
            self._book = None
        if book.is_new and not (is_known(self._options, self._cache) and may_be_kept(found)):
            self._new[key] = book.written()
        if len(self._new) >= _TOGETHER:
            self.keep()
        return contradicted(found) if book.differs else found

    def keep(self) -> None:
        """Write what was asked since the last time."""
        self._cache.keep(self._new)
        self._new = {}

    # More than questions

    def __copy__(self) -> DefineByRun:
        return copy(self.made)

    @property
    def host(self) -> Host:  # type: ignore[override]
        return self.made.host

    @property
    def tensor_type(self) -> type:
        return self.made.tensor_type

    @property
    def forward_ad(self) -> ForwardAD | None:  # type: ignore[override]
        return self.made.forward_ad

    def session(self, dtype: np.dtype) -> AbstractContextManager[None]:
        return self.made.session(dtype)

    def fresh_session(self, dtype: np.dtype) -> AbstractContextManager[None]:
        return self.made.fresh_session(dtype)

    def run_of(self, problem: Problem, recorder: Recorder | None = None) -> GraphRun:
        return self.made.run_of(problem, recorder)

    def leaf(self, array: np.ndarray, requires_grad: bool) -> Any:
        return self.made.leaf(array, requires_grad)

    def array(self, tensor: Any) -> np.ndarray:
        return self.made.array(tensor)

    def backward(self, roots: list[Any], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        self.made.backward(roots, seeds, retain_graph)

    def differentiate(self, roots: list[Any], leaves: list[Any], seeds: list[Any]) -> list[Any]:
        return self.made.differentiate(roots, leaves, seeds)

    def jvp(
        self, roots: Sequence[Any], leaves: Sequence[Any], directions: Sequence[np.ndarray]
    ) -> list[np.ndarray | None]:
        return self.made.jvp(roots, leaves, directions)

    def second_order(self, problem: Problem, step: int, probes: Gradients) -> SecondOrder:
        return self.made.second_order(problem, step, probes)


def recall(reference: Engine, question: Callable[[], bytes], ask: Callable[[], Any]) -> Any:
    """What there is to ask, unless a reference that is recalled knows the answer to the question."""
    return reference.recall(question, ask) if isinstance(reference, Recalled) else ask()


@contextmanager
def keeping(engines: Engines, work: Iterable[Work]) -> Iterator[Recalled | None]:
    """The reference that can be recalled, if it can be, around the checks of these."""
    reference = engines.reference
    if not isinstance(reference, Recalled):
        yield None
        return
    reference.look_up(work)
    try:
        yield reference
    finally:
        reference.keep()


class _Book:
    """The answers about one case: those that were known, and those that this run has needed. Where they are doubted,
    all are asked for, and it is seen whether one `differs`."""

    def __init__(self, known: bytes | None, doubted: bool) -> None:
        self._known, self._doubted, self.differs = unpacked(known or b"", dict) or {}, doubted, False
        self._used: dict[bytes, bytes] = {}
        self._learned: list[tuple[Callable[[], bytes], Any]] = []

    @property
    def is_new(self) -> bool:
        """Whether there is anything that was not known."""
        return bool(self._learned)

    def answer(self, question: Callable[[], bytes], ask: Callable[[], Any]) -> Any:
        """What is known, or what whoever is asked says."""
        known = None
        if self._known and (digest := question()) in self._known:
            known = Transport().unpack(self._known[digest])
            if not self._doubted:
                self._used[digest] = self._known[digest]
                return known
        with _hearing() as warned:
            found = ask()
        self.differs |= known is not None and not _are_alike(known, found)
        if not warned and not _raised(found):
            self._learned.append((question, found))
        return found

    def written(self) -> bytes:
        """All that was needed, and nothing else."""
        learned = {question(): Transport().pack(found) for question, found in self._learned}
        return Transport().pack({**self._used, **learned})


@contextmanager
def _hearing() -> Iterator[list[bool]]:
    """Whether anybody was warned meanwhile: that is told in the report, and would not be the next time."""
    known, warned = warnings.showwarning, list[bool]()

    def hear(*about: Any, **further: Any) -> None:
        warned.append(True)
        known(*about, **further)

    warnings.showwarning = hear
    try:
        yield warned
    finally:
        warnings.showwarning = known


def _raised(found: Any) -> bool:
    """Whether an error is part of the answer: what is behind it stays in this process."""
    if isinstance(found, Evaluation):
        return found.error is not None or any(state.error is not None for state in found.states)
    return any(isinstance(one, Pullback) and one.error is not None for one in found)


def _are_alike(known: Any, found: Any) -> bool:
    """Whether two answers are the same, but for what rounding may do to numbers."""
    if not isinstance(found, Evaluation) and not all(isinstance(one, Pullback) for one in found):
        return bool(known == found)
    some, others = dict(_numbers(known)), dict(_numbers(found))
    return some.keys() == others.keys() and all(_is_near(array, others[key]) for key, array in some.items())


def _numbers(found: Evaluation | list[Pullback]) -> Iterator[tuple[object, np.ndarray | None]]:
    if isinstance(found, Evaluation):
        for step, state in enumerate(found.states):
            yield from ((("value", step, name), array) for name, array in state.values.items())
            yield from ((("gradient", step, name), array) for name, array in state.gradients.items())
    else:
        for number, pullback in enumerate(found):
            yield from (((number, index), array) for index, array in enumerate(pullback.gradients))


def _is_near(some: np.ndarray | None, other: np.ndarray | None) -> bool:
    if some is None or other is None:
        return some is other
    if (some.shape, some.dtype) != (other.shape, other.dtype):
        return False
    wide = np.complex128 if some.dtype.kind == "c" else np.float64
    return bool(np.allclose(some.astype(wide), other.astype(wide), rtol=_NEAR, atol=0, equal_nan=True))


def about_problem(problem: Problem) -> bytes:
    """All that an evaluation depends on: nothing that a case claims, nor where it stands."""
    steps = [(s.action, tuple(s.roots), s.retain_graph, s.names, s.raises) for s in problem.case.steps]
    graph = [(name, claim.expr) for name, claim in problem.case.graph.items()]
    arrays = [list(some.items()) for some in (problem.inputs, problem.constants, *problem.seeds, *problem.forwards)]
    return _digest((graph, steps, arrays, len(problem.seeds), list(problem.sizes.items()), str(problem.dtype)))


def about_ops(applications: Sequence[Application], cotangents: Sequence[Cotangents], dtype: np.dtype) -> bytes:
    """All that gradients of ops alone depend on. Which arguments are one and the same array is told by pickle, too."""
    plain = [replace(one, recorded=None) for one in applications]
    return _digest((plain, [list(some) for some in cotangents], str(dtype)))


def about_claims(problem: Problem, claims: Sequence[tuple[str, Claim]]) -> bytes:
    """All that a proof depends on: the problem, with all that its case says, and the claims."""
    return _digest((problem, [(name, claim.text, claim.expr) for name, claim in claims]))


def _digest(thing: Any) -> bytes:
    return blake2b(Transport().pack(thing), digest_size=24).digest()
