"""The reference is asked what it has not been asked before, and only that; and is made for nothing else."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.cache.cache import Cache, SignedStore
from gradcheck.cache.environment_digest import EnvironmentDigest
from gradcheck.checks.claims import certificates
from gradcheck.checks.isolation.pickling import Packer
from gradcheck.checks.options import Options
from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.checks.reuse import cached_reference
from gradcheck.checks.reuse.cached_reference import CachedAnswers, CachedReference, claims_key, ops_key, problem_key
from gradcheck.checks.reuse.reference_answers import ReferenceAnswers
from gradcheck.checks.scheduling.run import run
from gradcheck.engines.base import Application, Evaluation, State
from gradcheck.engines.core import Core
from gradcheck.engines.torch import Torch
from gradcheck.errors import TensorError
from gradcheck.language.case import Case, Claim
from gradcheck.language.expr.parser import parse
from gradcheck.language.loader import load_text
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw

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
