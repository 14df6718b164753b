"""Whose answers are kept, in one process as in several; where all are known, nobody makes the reference."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gradcheck.autograd import TABLE
from gradcheck.cache.cache import Cache, SignedStore
from gradcheck.cache.environment_digest import EnvironmentDigest
from gradcheck.checks.isolation.pickling import Packer
from gradcheck.checks.options import Options, Override
from gradcheck.checks.result import CaseResult
from gradcheck.checks.reuse import cached_reference
from gradcheck.checks.reuse.cached_reference import engines_with_cache
from gradcheck.checks.reuse.reference_answers import ReferenceAnswers, may_cache_reference, open_answers
from gradcheck.checks.scheduling import parallel
from gradcheck.checks.scheduling.run import run
from gradcheck.checks.scheduling.sequential import run_sequentially
from gradcheck.engines.core import Core
from gradcheck.language.case import Case
from tests.from_text import case_of

TEXT = "name: {name}\ninputs: {{x: [1, 2, 3]}}\ngraph: {{loss: (x * x).sum()}}\nformulas: {{x: {factor} * x}}"
CASES = [case_of(TEXT.format(name=name, factor=factor)) for name, factor in (("right", 2), ("wrong", 3), ("also", 2))]


class Mine(Core):
    """Somebody's own."""

    name = "mine"


MINE = Mine()
OTHERS = EnvironmentDigest("code", {"numpy": "2.0", "ml_dtypes": "1", "torch": "2"}, "others")
forked = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are forked on Linux alone")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    monkeypatch.setattr(EnvironmentDigest, "is_unchanged", lambda _: True)
    return Cache(SignedStore(tmp_path, bytes(32)), OTHERS)


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
    with open_answers(CASES, others[0]) as none:
        assert none is None


def test_another_run_has_other_answers(cache: Cache) -> None:
    case = CASES[0]
    chosen = [Options(), Options(engines=["mine.py:A"]), Options(dtype="float32"), Options(seed=3)]
    keys = {
        ReferenceAnswers(cache, options)._key(one) for options in chosen for one in (case, replace(case, id="other"))
    }
    assert len(keys) == 8


def test_they_are_complete_where_there_are_some_about_each(cache: Cache) -> None:
    options = Options(engines=["mine.py:A"], cache=cache)
    for known in range(3):
        with open_answers(CASES[:2], options) as answers:
            assert answers is not None
            assert answers.is_complete is (known == 2)
            assert [answers.lookup(case).answers for case in CASES[:2]] == [b"all"] * known + [None] * (2 - known)
            if known < 2:
                answers.add(CASES[known], b"all")


def test_what_is_found_elsewhere_is_not_learned(cache: Cache) -> None:
    options = Options(engines=["mine.py:A"], cache=cache, executor="a:b")
    with open_answers(CASES, options) as answers:
        assert answers is not None
        assert not answers.lookup(CASES[0]).saves_new
        answers.add(CASES[0], b"all")
    with open_answers(CASES, replace(options, executor=None)) as answers:
        assert answers is not None
        assert answers.lookup(CASES[0]).answers is None


def found_by(cache: Cache, **choices: Any) -> list[Any]:
    """By somebody's engine, which is asked in every run."""
    found = run(CASES, engines=[MINE], cache=cache, explained=False, timeout=60.0, **choices)
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
    plan = parallel.plan_run(CASES, options, lambda: pytest.fail("nothing is made here"), answers)
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
    work, options = [*plain, *CASES], Options(explained=False, cache=cache)
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
