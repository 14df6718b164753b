"""The reference is asked what it has not been asked before, and only that; and is made for nothing else."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import TABLE
from gradcheck.cache.cache import Cache, SignedStore
from gradcheck.cache.environment_digest import EnvironmentDigest
from gradcheck.checks.claims import certificates
from gradcheck.checks.isolation.pickling import Packer
from gradcheck.checks.options import Options, Override
from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.checks.reuse import cached_reference
from gradcheck.checks.reuse.cached_reference import (
    CachedAnswers,
    CachedReference,
    ReferenceAnswers,
    claims_key,
    engines_with_cache,
    may_cache_reference,
    open_answers,
    ops_key,
    problem_key,
)
from gradcheck.checks.scheduling import parallel
from gradcheck.checks.scheduling.run import run
from gradcheck.checks.scheduling.sequential import run_sequentially
from gradcheck.engines.base import Application, Evaluation, State
from gradcheck.engines.core import Core
from gradcheck.engines.torch import Torch
from gradcheck.errors import TensorError
from gradcheck.language.case import Case, Claim
from gradcheck.language.expr.parser import parse
from gradcheck.language.loader import load_text
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from tests.from_text import case_of

CASES = """
    name: right
    inputs: {x: "randn(3)", y: [1, 2, 3]}
    graph: {z: x * y, loss: z.exp().sum()}
    formulas: {x: grad(loss) * exp(z) * y}
    ---
    name: wrong
    inputs: {x: [1, 2, 3]}
    graph: {loss: (x * x).sum()}
    formulas: {x: 3 * x}
    ---
    name: accumulates
    inputs: {x: [1, 2, 3]}
    graph: {y: x * x, loss: y.sum()}
    steps: [{backward: loss}, {backward: {y: [1, 0, 2]}}, {forward: {x: [4, 5, 6]}}, {backward: loss}]
"""


OTHERS = EnvironmentDigest("code", {"numpy": "2.0", "ml_dtypes": "1", "torch": "2"}, "others")


class Mine(Core):
    """Somebody's own."""

    name = "mine"


MINE = Mine()


def cases_of(text: str = CASES) -> list[Case]:
    cases, errors = load_text(dedent(text).strip() + "\n", "cases/a.yaml")
    assert not errors
    return cases


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    monkeypatch.setattr(EnvironmentDigest, "is_unchanged", lambda _: True)
    return Cache(SignedStore(tmp_path, bytes(32)), OTHERS)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the engines that were made since."""
    names: list[str] = []
    make = cached_reference.resolve_engine

    def noted(name: str) -> Any:
        names.append(name)
        return make(name)

    monkeypatch.setattr(cached_reference, "resolve_engine", noted)
    return names


def plain(found: RunResult) -> list[CaseResult]:
    return [replace(case, seconds=0.0, cached=False) for case in found.cases]


@pytest.mark.parametrize("engines", [["core"], [Mine()], [Mine(), "core"]], ids=["core", "mine", "both"])
def test_nobody_needs_torch_where_its_answers_are_known(cache: Cache, made: list[str], engines: list[Any]) -> None:
    afresh = run(cases_of(), engines=engines)
    first = run(cases_of(), cache=cache, engines=engines)
    assert made == ["torch"]
    second = run(cases_of(), cache=cache, engines=engines)
    assert made == ["torch"]
    assert plain(first) == plain(second) == plain(afresh)
    whole = ["right", "accumulates"] if engines == ["core"] else []
    assert [case.name for case in second.cases if case.cached] == whole


def test_somebodys_engine_is_asked_all_the_same(cache: Cache, made: list[str]) -> None:
    run(cases_of(), cache=cache, engines=[Mine()])

    class Mistaken(Mine):
        def evaluate(self, problem: Problem, recorder: Any = None) -> Evaluation:
            found = super().evaluate(problem, recorder)
            return replace(found, states=tuple(replace(s, gradients=dict.fromkeys(s.gradients)) for s in found.states))

    found = run(cases_of(), cache=cache, engines=[Mistaken()])
    assert [case.status for case in found.cases] == ["failed"] * 3


def test_another_formula_is_no_other_question(cache: Cache, made: list[str]) -> None:
    run(cases_of()[1], cache=cache)
    again = cases_of(CASES.replace("x: 3 * x", "x: 4 * x"))[1]
    known = len(made)
    assert run(again, cache=cache, explained=False).cases[0].status == "failed"
    found = run(again, cache=cache, explained=False)
    assert found.cases[0].status == "failed"
    assert len(made) <= known + 1


def test_nothing_is_learned_of_a_case_whose_result_is_kept() -> None:
    reference = CachedReference()
    problem = draw(cases_of()[0])

    def learned(status: Any, wanted: bool = True, also: bool = False) -> bool:
        def check() -> CaseResult:
            reference.evaluate(problem)
            return CaseResult("", "", "", status)

        return reference.check_with(CachedAnswers(None, False, wanted, also), check)[1] is not None

    assert [learned("passed"), learned("failed"), learned("passed", also=True)] == [False, True, True]
    assert not learned("failed", wanted=False)


# What a question is ------------------------------------------------------------------------------------


def asked(change: Callable[[Problem], Problem] = lambda p: p, text: str = CASES, which: int = 0) -> bytes:
    return problem_key(change(draw(cases_of(text)[which])))


def test_every_number_and_every_op_of_a_problem_counts() -> None:
    moved = np.array([1.0, 2.0, np.nextafter(3.0, 4.0)])
    changes: list[Callable[[Problem], Problem]] = [
        lambda p: p,
        lambda p: replace(p, inputs={**p.inputs, "y": moved}),
        lambda p: replace(p, inputs=dict(reversed(p.inputs.items()))),
        lambda p: replace(p, constants={"y": p.inputs["y"]}),
        lambda p: replace(p, sizes={"n": 3}),
        lambda p: replace(p, seeds=({"loss": np.array(2.0)},)),
        lambda p: replace(p, seeds=({"z": None},)),
        lambda p: replace(p, forwards=({"x": moved},)),
        lambda p: replace(p, dtype=np.dtype(np.float32)),
        lambda p: replace(p, inputs={n: a.astype(np.float32) for n, a in p.inputs.items()}),
    ]
    texts = [CASES.replace("z.exp()", "z.tanh()"), CASES.replace("x * y", "y * x")]
    texts += [CASES.replace("z:", "w:").replace("z.", "w.").replace("(z)", "(w)")]
    questions = [asked(change) for change in changes] + [asked(text=text) for text in texts]
    assert len(set(questions)) == len(questions)
    assert asked() == questions[0]


def test_every_step_counts() -> None:
    old = "[{backward: loss}, {backward: {y: [1, 0, 2]}}, {forward: {x: [4, 5, 6]}}, {backward: loss}]"
    texts = [old, old.replace("[1, 0, 2]", "[1, 0, 3]"), old.replace("[4, 5, 6]", "[4, 5, 7]")]
    last = ("zero_grad: x", "backward: loss, retain_graph: false", "backward: loss, raises: backward_twice")
    texts += [old.replace("{backward: loss}]", f"{{{step}}}]") for step in last]
    texts += [old.replace(", {backward: loss}]", "]")]
    questions = [asked(text=CASES.replace(old, text), which=2) for text in texts]
    assert len(set(questions)) == len(questions)


def test_what_a_case_claims_does_not_count_nor_where_it_stands() -> None:
    for old, new in (("* exp(z) * y", "* y"), ("name: right", "name: other\n    tags: [a]\n    seed: 0")):
        assert asked(text=CASES.replace(old, new)) == asked()


def test_every_argument_of_an_op_counts_and_which_of_them_are_one() -> None:
    array = np.array([1.0, 2.0])
    op = Application(TABLE["mul"], (array, array.copy()), {}, "y", (True, True), shared=True)
    ones = [np.ones(2)]
    changed = [
        replace(op, op=TABLE["sub"]),
        replace(op, args=(array, array)),
        replace(op, args=(array, array + 1e-15)),
        replace(op, kwargs={"alpha": 2}),
        replace(op, tracked=(True, False)),
        replace(op, shared=False),
    ]
    questions = [ops_key([one], [ones], array.dtype) for one in (op, *changed)]
    questions += [ops_key([op], [[np.zeros(2)]], array.dtype), ops_key([op], [[None]], array.dtype)]
    questions += [ops_key([op], [ones], np.dtype(np.float32)), ops_key([op, op], [ones, ones], array.dtype)]
    assert len(set(questions)) == len(questions)
    assert ops_key([replace(op, recorded=object)], [ones], array.dtype) == questions[0]
    cat = [Application(TABLE["cat"], ([array, other],), {}, "y", shared=True) for other in (array, array.copy())]
    assert ops_key([cat[0]], [ones], array.dtype) != ops_key([cat[1]], [ones], array.dtype)


def test_who_got_a_case_from_elsewhere_asks_the_same() -> None:
    """Of what has travelled, other parts are one object."""
    for case in cases_of():
        there = Packer().unpack(Packer().pack([case, 0]))[0]
        asked = [(problem_key(draw(one)), claims_key(draw(one), list(one.graph.items()))) for one in (case, there)]
        assert asked[0] == asked[1]


def test_everything_that_a_proof_is_about_counts() -> None:
    def asked(text: str = CASES, seed: int | None = None, formula: str = "x") -> bytes:
        return claims_key(draw(cases_of(text)[0], seed), [("x", Claim.of(parse(formula)))])

    texts = [CASES.replace("3]", "4]"), CASES.replace("z.exp", "z.tan")]
    questions = [asked(), asked(seed=5), asked(formula="2 * x"), *map(asked, texts)]
    assert len(set(questions)) == len(questions)
    assert asked() == questions[0]


def test_proofs_are_known_too(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(cases_of()[:2], cache=cache, engines=[MINE])
    asked, ask = [], certificates._prove
    monkeypatch.setattr(certificates, "_prove", lambda *about: asked.append(about) or ask(*about))
    assert plain(run(cases_of()[:2], cache=cache, engines=[MINE])) == plain(first)
    assert not asked
    run(cases_of(CASES.replace("3]", "4]"))[:1], cache=cache, engines=[MINE])
    assert asked


# What is not kept --------------------------------------------------------------------------------------


class Scripted(Core):
    """Says what it is told to."""

    def __init__(self, say: Callable[[], Evaluation]) -> None:
        super().__init__()
        self.say, self.times = say, 0

    def evaluate(self, problem: Problem, recorder: Any = None) -> Evaluation:
        self.times += 1
        return self.say()


def ask_twice(cache: Cache, say: Callable[[], Evaluation]) -> tuple[int, CaseResult]:
    """In two runs; how often whoever knows was asked, and the result of the second."""
    case, engine = cases_of()[0], Scripted(say)
    for _ in range(2):
        answers = ReferenceAnswers(cache, Options(engines=["mine.py:Mine"]))
        answers.look_up([case])
        reference = CachedReference()
        reference._engine = engine
        problem = draw(case)

        def check(reference: CachedReference = reference, problem: Problem = problem) -> CaseResult:
            reference.evaluate(problem)
            return CaseResult("", "", "", "passed")

        found, learned = reference.check_with(answers.lookup(case), check)
        answers.add(case, learned)
        answers.keep()
    return engine.times, found


def answer(number: float = 1.0, error: TensorError | None = None) -> Evaluation:
    return Evaluation("torch", (State({"x": np.array([number])}, {"x": None}, error),))


def test_an_answer_is_asked_for_once(cache: Cache) -> None:
    assert ask_twice(cache, answer) == (1, CaseResult("", "", "", "passed"))


def test_what_was_raised_or_warned_of_is_asked_for_again(cache: Cache) -> None:
    def warn() -> Evaluation:
        warnings.warn("of something", stacklevel=1)
        return answer()

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda *_: None
        assert ask_twice(cache, warn)[0] == 2
    assert ask_twice(cache, lambda: answer(error=TensorError("of its own")))[0] == 2
    assert ask_twice(cache, lambda: Evaluation("torch", (), TensorError("at once")))[0] == 2


def test_what_is_doubted_is_asked_for_again_and_a_difference_is_an_error(cache: Cache) -> None:
    doubting = Cache(cache._entries, OTHERS, doubted=1.0)
    assert ask_twice(doubting, answer) == (2, CaseResult("", "", "", "passed"))
    numbers = iter([1.0, 1.0 + 1e-9, 2.0])
    assert ask_twice(doubting, lambda: answer(next(numbers)))[1].status == "passed"
    _, found = ask_twice(doubting, lambda: answer(next(numbers, 3.0)))
    assert (found.status, [error.kind for error in found.errors]) == ("crashed", ["cache"])


@pytest.mark.parametrize("spoilt", [b"", b"no pickle", b"\x80\x05N."])
def test_a_book_that_is_none_is_begun_anew(cache: Cache, spoilt: bytes) -> None:
    case = cases_of()[0]
    cache.store({ReferenceAnswers(cache, Options(engines=["mine.py:Mine"]))._key(case): spoilt})
    assert ask_twice(cache, answer)[0] == 1


# The engine itself ------------------------------------------------------------------------------------


def test_its_session_begins_with_it() -> None:
    """So that settings change twice in a run, and not twice a case."""
    reference = CachedReference()
    begun: list[str] = []

    class Counting(Scripted):
        @contextmanager
        def session(self, dtype: np.dtype) -> Iterator[None]:
            begun.append(dtype.name)
            yield
            begun.append("over")

    with reference.deferred_session(np.dtype(np.float32)):
        assert begun == []
        reference._engine = Counting(answer)
        assert reference._enter is not None
        reference._enter(reference._engine)
        assert begun == ["float32"]
    assert begun == ["float32", "over"]
    with reference.deferred_session(np.dtype(np.float64)):
        assert begun == ["float32", "over", "float64"]
    assert reference._enter is None


def test_it_is_torch_in_everything_else() -> None:
    """Whatever the page of torch has is handed on, but for records, which cannot be kept; a copy, which is about to be
    changed, is torch itself."""
    public = {name for name in dir(Torch) if not name.startswith("_")} | {"host", "forward_ad"}
    own = {name for name in vars(CachedReference) if not name.startswith("_")}
    of_records = {"recorder", "pull_back_recorded"}
    of_new_run = {"evaluated_run"}  # which is handed on
    assert public - {"name", "evaluate", "pull_back", *of_records, *of_new_run} <= own
    reference = CachedReference()
    reference._engine = torch = Torch()
    assert type(copy(reference)) is Torch
    assert (reference.host, reference.tensor_type, reference.forward_ad) == (
        torch.host,
        torch.tensor_type,
        torch.forward_ad,
    )
    tensor = reference.leaf(np.array([1.0, 2.0]), True)
    loss = (tensor * tensor).sum()
    with reference.session(np.dtype(np.float64)), reference.fresh_session(np.dtype(np.float64)):
        reference.backward([loss], [None], True)
        assert reference.array(tensor.grad).tolist() == [2.0, 4.0]
        assert len(reference.differentiate([loss], [tensor], [None])) == 1
        assert len(reference.jvp([loss], [tensor], [np.ones(2)])) == 1
        assert reference.second_order(draw(cases_of()[0]), 0, {"x": np.ones(3)}).error is None


TEXT = "name: {name}\ninputs: {{x: [1, 2, 3]}}\ngraph: {{loss: (x * x).sum()}}\nformulas: {{x: {factor} * x}}"
ANSWERED_CASES = [
    case_of(TEXT.format(name=name, factor=factor)) for name, factor in (("right", 2), ("wrong", 3), ("also", 2))
]


forked = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are forked on Linux alone")


def test_only_torch_is_recalled_whoever_asks(cache: Cache) -> None:
    here = Options(engines=["mine.py:Mine"], cache=cache)
    for one in (here, replace(here, jobs=2), replace(here, timeout=1.0), replace(here, executor="a:b")):
        assert may_cache_reference(one)
    others = [
        replace(here, cache=None),
        replace(here, reference="core"),
        replace(here, device="cuda"),
        replace(here, engines=["torch", "core"]),
        replace(here, overrides=(Override(("cases",), {"engines": ("torch",)}),)),
        replace(here, cache=Cache(cache._entries, replace(OTHERS, libraries={}))),
    ]
    assert not any(may_cache_reference(one) for one in others)
    with open_answers(ANSWERED_CASES, others[0]) as none:
        assert none is None


def test_another_run_has_other_answers(cache: Cache) -> None:
    case = ANSWERED_CASES[0]
    chosen = [Options(), Options(engines=["mine.py:A"]), Options(dtype="float32"), Options(seed=3)]
    keys = {
        ReferenceAnswers(cache, options)._key(one) for options in chosen for one in (case, replace(case, id="other"))
    }
    assert len(keys) == 8


def test_they_are_complete_where_there_are_some_about_each(cache: Cache) -> None:
    options = Options(engines=["mine.py:A"], cache=cache)
    for known in range(3):
        with open_answers(ANSWERED_CASES[:2], options) as answers:
            assert answers is not None
            assert answers.is_complete is (known == 2)
            assert [answers.lookup(case).answers for case in ANSWERED_CASES[:2]] == [b"all"] * known + [None] * (
                2 - known
            )
            if known < 2:
                answers.add(ANSWERED_CASES[known], b"all")


def test_what_is_found_elsewhere_is_not_learned(cache: Cache) -> None:
    options = Options(engines=["mine.py:A"], cache=cache, executor="a:b")
    with open_answers(ANSWERED_CASES, options) as answers:
        assert answers is not None
        assert not answers.lookup(ANSWERED_CASES[0]).saves_new
        answers.add(ANSWERED_CASES[0], b"all")
    with open_answers(ANSWERED_CASES, replace(options, executor=None)) as answers:
        assert answers is not None
        assert answers.lookup(ANSWERED_CASES[0]).answers is None


def found_by(cache: Cache, **choices: Any) -> list[Any]:
    """By somebody's engine, which is asked in every run."""
    found = run(ANSWERED_CASES, engines=[MINE], cache=cache, explained=False, timeout=60.0, **choices)
    return [(case.id, case.status, case.comparisons, case.errors) for case in found.cases]


@forked
@pytest.mark.parametrize("at_first", ["here", "there"])
def test_nobody_makes_the_reference_whose_answers_are_known(
    cache: Cache, at_first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever they were found, in this process or in one of its own; and wherever they are needed."""
    with monkeypatch.context() as patched:
        patched.setattr(parallel, "can_fork", lambda: at_first == "there")
        first = found_by(cache)
    monkeypatch.setattr(cached_reference, "resolve_engine", lambda name: pytest.fail(f"{name} is made"))
    monkeypatch.setattr(parallel, "_last_settings", None)
    assert found_by(cache) == first
    assert found_by(cache, executor=lambda: ThreadPoolExecutor(2)) == first
    monkeypatch.setattr(parallel, "can_fork", lambda: False)
    assert found_by(cache) == first


@pytest.mark.parametrize("complete", [True, False])
def test_processes_load_the_reference_only_where_it_will_be_asked(
    cache: Cache, complete: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = Options(engines=["mine.py:A"], cache=cache, jobs=2)
    answers = ReferenceAnswers(cache, options)
    answers.is_complete = complete
    preloaded: list[str] = []
    monkeypatch.setattr(parallel, "WorkerPool", lambda number, preload, first: preloaded.extend(preload))
    plan = parallel.plan_run(ANSWERED_CASES, options, lambda: pytest.fail("nothing is made here"), answers)
    assert plan is not None
    plan.make_executor()
    assert ("gradcheck.engines.torch" in preloaded) is not complete


PLAIN = "name: {name}\ninputs: {{x: 'randn(3)', w: [1, 2, {number}]}}\ngraph: {{y: {op}(x) * w, loss: y.sum()}}"


@pytest.mark.parametrize("elsewhere", [False, True])
def test_answers_about_what_fails_are_kept(cache: Cache, elsewhere: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What passes is kept as a result."""
    flipped = replace(TABLE["expm1"], rules=(lambda g, result, x: TABLE["mul"](TABLE["flip"](g, 0), TABLE["exp"](x)),))
    monkeypatch.setitem(TABLE, "expm1", flipped)
    plain = [case_of(PLAIN.format(name=f"c{n}", number=n, op=op)) for n, op in enumerate(["exp", "sin", "expm1"])]
    work, options = [*plain, *ANSWERED_CASES], Options(explained=False, cache=cache)
    alone = run(work, explained=False).cases
    assert [one.status for one in alone] == ["passed", "passed", "failed", "passed", "failed", "passed"]
    with open_answers(work, options) as answers:
        assert answers is not None
        if elsewhere:
            found = _in_a_worker(work, options, answers)
        else:
            found = list(run_sequentially(work, options, engines_with_cache(options, uses_cache=True), answers))
    for one, other in zip(found, alone, strict=True):
        assert (one.id, one.status, one.errors) == (other.id, other.status, other.errors)
        assert [(c.subject, c.status) for c in one.comparisons] == [(c.subject, c.status) for c in other.comparisons]
    with open_answers(work, options) as answers:
        assert answers is not None
        assert [one.name for one in work if answers.lookup(one).answers is not None] == ["c2", "wrong"]


def _in_a_worker(work: list[Case], options: Options, answers: ReferenceAnswers) -> list[CaseResult]:
    """As one does its share, in this process."""
    settings, engines = parallel._settings(options, ()), engines_with_cache(options, uses_cache=True)
    items = Packer().pack([(case, answers.lookup(case)) for case in work])
    sent = parallel.check_chunk(settings, items)
    found = Packer([*work, *engines.all_with_overrides]).unpack(sent)
    for case, (_, learned) in zip(work, found, strict=True):
        answers.add(case, learned)
    return [one for one, _ in found]
