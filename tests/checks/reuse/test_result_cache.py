"""A result is known again under all the same circumstances, and under no others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from gradcheck.cache.cache import Cache, SignedStore
from gradcheck.cache.environment_digest import EnvironmentDigest
from gradcheck.checks.baseline import Baseline
from gradcheck.checks.isolation.pickling import Packer
from gradcheck.checks.options import QUICK, Options, Override
from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.checks.reuse import result_cache
from gradcheck.checks.reuse.result_cache import NOT_IN_THE_KEY, ResultCache
from gradcheck.checks.scheduling import run as running
from gradcheck.checks.scheduling.run import run
from gradcheck.engines.core import Core
from gradcheck.errors import Place
from gradcheck.language.case import Case, Claim, Generalize, Implementation, StatedTolerance, Step, Value
from gradcheck.language.expr.parser import parse
from gradcheck.language.loader import load_text
from gradcheck.reports import FORMATS, Look, render

WithRules = Callable[..., None]

CASES = """
    name: right
    tags: [a]
    dims: {n: 3}
    inputs: {x: "randn(n)", y: [1, 2, 3]}
    graph: {z: x * y, loss: z.exp().sum()}
    formulas: {x: grad(loss) * exp(z) * y}
    wrong_formulas: {x: grad(loss) * exp(z)}
    checks: [loss > 0]
    ---
    name: wrong
    inputs: {x: [1, 2, 3]}
    graph: {loss: (x * x).sum()}
    formulas: {x: 3 * x}
    ---
    name: expected to fail
    xfail: a reason
    inputs: {x: [1, 2, 3]}
    graph: {loss: (x * x).sum()}
    expected: {x: [1, 2, 3]}
    ---
    name: left out
    skip: a reason
    inputs: {x: [1]}
    graph: {loss: x.sum()}
"""
#: Without torch, which most of this does not need.
OURS = {"engines": ["core"], "reference": "core"}
DEEP = f"inputs: {{x: [1, 2]}}\ngraph: {{y: {' + '.join(['x'] * 2_000)}, z: y.sum()}}"
OTHERS = EnvironmentDigest("code", {"numpy": "2.0", "ml_dtypes": "1", "torch": "2"}, "others")


def cases_of(text: str = CASES) -> list[Case]:
    cases, errors = load_text(dedent(text).strip() + "\n", "cases/a.yaml")
    assert not errors
    return cases


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    """Surroundings that hold."""
    monkeypatch.setattr(EnvironmentDigest, "is_unchanged", lambda _: True)
    return Cache(SignedStore(tmp_path, bytes(32)), OTHERS)


def known(found: RunResult) -> list[str]:
    return [case.name for case in found.cases if case.cached]


def key(cache: Cache, case: Case, options: Options) -> bytes:
    return ResultCache(cache, options, [case])._keys[0]


# What is known ------------------------------------------------------------------------------------------


def test_what_passed_is_known_and_what_failed_is_computed_again(cache: Cache) -> None:
    first = run(cases_of(), cache=cache, **OURS)
    assert known(first) == []
    assert [case.status for case in first.cases] == ["passed", "failed", "xfailed", "skipped"]
    second = run(cases_of(), cache=cache, **OURS)
    assert known(second) == ["right", "left out"]
    assert second.cached == 2
    assert [case.status for case in second.cases] == [case.status for case in first.cases]


def test_a_deep_expression_costs_no_other_case_anything(cache: Cache) -> None:
    cases = [*cases_of(DEEP), cases_of()[0]]
    assert [case.status for case in run(cases, cache=cache, **OURS).cases] == ["passed", "passed"]
    assert run(cases, cache=cache, **OURS).cached == 2


def test_a_case_that_cannot_be_packed_is_checked_in_every_run(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    pack = Packer.pack

    def fails(transport: Packer, thing: Any) -> bytes:
        if getattr(thing, "name", "") == "a":
            raise RecursionError
        return pack(transport, thing)

    monkeypatch.setattr(Packer, "pack", fails)
    cases = [*cases_of(DEEP), cases_of()[0]]
    for _ in range(2):
        found = run(cases, cache=cache, **OURS)
        assert [case.status for case in found.cases] == ["passed", "passed"]
    assert known(found) == ["right"]


def test_nothing_is_computed_where_all_is_known(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    good = [cases_of()[0], cases_of()[3]]
    run(good, cache=cache, **OURS)
    monkeypatch.setattr(running, "engines_of", lambda _: pytest.fail("an engine was made"))
    assert run(good, cache=cache, **OURS).cached == 2


def test_the_report_is_the_same_but_for_times_and_for_saying_so(cache: Cache) -> None:
    first, second = (run(cases_of(), cache=cache, derived=True, **OURS) for _ in range(2))
    assert second.cached == 2
    assert second.environment == first.environment

    def told(found: RunResult, format: str, verbosity: int) -> str:
        same = tuple(replace(case, seconds=0.0, cached=False) for case in found.cases)
        return render(replace(found, cases=same, seconds=1.0), format, Look(verbosity=verbosity))

    looks = [(format, verbosity) for format in FORMATS for verbosity in (-1, 0, 1)]
    assert [look for look in looks if told(second, *look) != told(first, *look)] == []
    assert "in 1.0s, 2 from the cache" in render(replace(second, seconds=1.0))


def test_every_fact_comes_back(cache: Cache) -> None:
    first, second = (run(cases_of()[0], cache=cache, power=True, derived=True, **OURS).cases[0] for _ in range(2))
    assert second.cached
    assert second.power is not None
    assert replace(second, seconds=first.seconds, cached=False) == first


def test_a_place_between_others_changes_nothing(cache: Cache) -> None:
    """The order is that of the files, and `on_result` is told of each in it."""
    cases = cases_of()
    run(cases[:1], cache=cache, **OURS)
    order: list[str] = []
    found = run(cases, cache=cache, on_result=lambda case, _: order.append(case.name), **OURS)
    assert known(found) == ["right"]
    assert order == [case.name for case in cases] == [case.name for case in found.cases]


def test_an_interrupt_loses_nothing_that_was_found(cache: Cache) -> None:
    def interrupt(case: CaseResult, _: int) -> None:
        if case.name == "wrong":
            raise KeyboardInterrupt

    assert run(cases_of(), cache=cache, on_result=interrupt, **OURS).interrupted
    assert known(run(cases_of(), cache=cache, **OURS)) == ["right"]


def test_several_processes_tell_what_they_find(cache: Cache) -> None:
    good = [cases_of()[0], cases_of()[3]]
    first = run(good, cache=cache, jobs=2, **OURS)
    second = run(good, cache=cache, jobs=2, **OURS)
    assert (known(first), known(second)) == ([], ["right", "left out"])
    assert known(run(good, cache=cache, **OURS)) == ["right", "left out"]


# What is in the key -------------------------------------------------------------------------------------


def test_a_digit_in_a_case_is_noticed(cache: Cache) -> None:
    run(cases_of()[0], cache=cache, explained=False, **OURS)
    for old, new in (("2, 3]", "2, 4]"), ("n: 3", "n: 4"), ("* y}", "* y * 2}"), ("> 0", "> 1"), ("z.exp", "z.tan")):
        case = cases_of(CASES.replace(old, new, 1).replace("y: [1, 2, 3]", "y: 'randn(n)'"))[0]
        assert not run(case, cache=cache, explained=False, **OURS).cases[0].cached
    wrong = cases_of(CASES.replace("* y}", "* y * 2}", 1))[0]
    assert run(wrong, cache=cache, explained=False, **OURS).cases[0].status == "failed"


def test_so_is_another_rule(cache: Cache, with_rules: WithRules) -> None:
    """The code's digest is in every key, so that a run with another rule does not find what this one found."""
    run(cases_of()[0], cache=cache)
    with_rules("exp", lambda g, y, x: g * y * 2)
    later = Cache(cache._entries, replace(OTHERS, code="code with another rule"))
    assert run(cases_of()[0], cache=later).cases[0].status == "failed"


def test_a_comment_is_not(cache: Cache) -> None:
    run(cases_of()[0], cache=cache, **OURS)
    assert run(cases_of(CASES.replace("[1, 2, 3]}", "[1, 2, 3]}  # so", 1))[0], cache=cache, **OURS).cached == 1


#: Another value for every field that a case has.
ANOTHER_CASE: dict[str, Any] = {
    "implementations": (Implementation("z", "a.py:f"),),
    "id": "b.yaml::right",
    "name": "left",
    "place": Place("cases/a.yaml", 2, 1),
    "inputs": {"x": Value(array=np.array([1.0, 2.0, 3.5]))},
    "graph": {"loss": Claim.of(parse("x.sum()"))},
    "steps": (Step("backward", {"z": None}),),
    "description": "something",
    "source": "somebody",
    "tags": ("b",),
    "dtype": "float32",
    "seed": 1,
    "dims": {"n": 4},
    "constants": {"c": Value(array=np.array(1.0))},
    "values": {"z": Value(array=np.array([1.0, 2.0, 3.0]))},
    "expected": {"x": None},
    "formulas": {"x": (Claim.of(parse("x")),)},
    "wrong_formulas": {"x": (Claim.of(parse("x")),)},
    "jacobians": {"z": {"x": (Claim.of(parse("x")),)}},
    "wrong_jacobians": {"z": {"x": (Claim.of(parse("x")),)}},
    "hessians": {"z": {"x": (Claim.of(parse("x")),)}},
    "wrong_hessians": {"z": {"x": (Claim.of(parse("x")),)}},
    "let": {"t": Claim.of(parse("x"))},
    "checks": (Claim.of(parse("x > 1")),),
    "shapes": {"x": ("n",)},
    "symbol_sizes": {"n": 3},
    "generalize": Generalize(5),
    "tolerance": {"x": StatedTolerance(1e-3)},
    "engine_tolerance": StatedTolerance(1e-3),
    "only": ("core",),
    "skip": "a reason",
    "xfail": None,  # such a case has no key at all
    "places": {"name": Place("cases/a.yaml", 9, 9)},
}
#: Another value for every choice that a run has.
ANOTHER_CHOICE: dict[str, Any] = {
    "allow_code": True,
    "engines": ("torch",),
    "reference": "core",
    "dtype": "float32",
    "rtol": 1e-3,
    "atol": 1e-3,
    "seed": 0,
    "trials": 3,
    "timeout": 5.0,
    "memory": 10**9,
    "oracle": "none",
    "mode": "both",
    "order": 2,
    "power": True,
    "derived": True,
    "explained": False,
    "corrected": False,
    "device": "cpu:0",
    "isolated": True,
}


def test_everything_that_a_case_says_counts(cache: Cache) -> None:
    """A field that is new must be thought of here: what does it depend on that is not in the case itself, such as the
    contents of a file that it names?"""
    assert set(ANOTHER_CASE) == {field.name for field in fields(Case)}
    case = cases_of()[0]
    same = key(cache, case, Options())
    assert key(cache, cases_of()[0], Options()) == same
    others = {n: replace(case, **{n: v}) for n, v in ANOTHER_CASE.items() if n != "implementations"}
    assert [n for n, other in others.items() if key(cache, other, Options()) == same] == ["xfail"]


def test_somebodys_code_is_asked_in_every_run(cache: Cache) -> None:
    """What it says depends on files that are in no key."""
    case = replace(cases_of()[0], implementations=ANOTHER_CASE["implementations"])
    assert not ResultCache(cache, Options(), [case])._keys


def test_every_choice_counts_but_those_that_change_nothing(cache: Cache) -> None:
    """A field that is new is in the key, unless it is said not to be."""
    assert set(ANOTHER_CHOICE) | NOT_IN_THE_KEY == {field.name for field in fields(Options) if field.init}
    case = cases_of()[0]
    same = key(cache, case, Options())
    found = {n: key(cache, case, Options(**{n: v})) for n, v in ANOTHER_CHOICE.items()}
    assert [name for name, one in found.items() if one == same] == []
    assert len(set(found.values())) == len(found)
    asked = Options(jobs=2, maxfail=1, shrink=QUICK, executor="dask://a:1", engines=["core"], cache=cache)
    assert key(cache, case, asked) == same
    assert key(cache, case, Options(today="2099-01-01", baseline=Baseline("known.json"), fail_on_drift=True)) == same
    assert key(cache, case, Options(baseline=Baseline("known.json", measures_drift=True))) != same


def test_what_holds_for_some_paths_counts_for_these(cache: Cache) -> None:
    case = cases_of()[0]
    here, there = (Override((str(Path.cwd() / folder),), {"seed": 7}) for folder in ("cases", "elsewhere"))
    assert key(cache, case, Options(overrides=(here,))) == key(cache, case, Options(seed=7))
    assert key(cache, case, Options(overrides=(there,))) == key(cache, case, Options())


# Who is not kept, nor believed ---------------------------------------------------------------------------


@pytest.mark.parametrize("engine", [Core(), "somebody.py:Tensor"])
def test_somebodys_engine_is_asked_every_time(cache: Cache, engine: Any) -> None:
    assert ResultCache(cache, Options(engines=[engine]), cases_of())._keys == {}
    assert ResultCache(cache, Options(reference=engine), cases_of())._keys == {}


def test_an_expected_failure_has_no_key(cache: Cache) -> None:
    """What it comes to depends on the date, too."""
    assert list(ResultCache(cache, Options(), cases_of())._keys) == [0, 1, 3]


def test_an_engine_whose_library_is_not_in_the_keys_is_asked_every_time(cache: Cache) -> None:
    assert ResultCache(cache, Options(engines=["jax"]), cases_of())._keys == {}
    for_some = Override((str(Path.cwd() / "cases"),), {"reference": "hips"})
    assert ResultCache(cache, Options(overrides=(for_some,)), cases_of())._keys == {}


def test_what_others_compute_elsewhere_is_not_kept(cache: Cache) -> None:
    """They do so with libraries of their own."""
    from concurrent.futures import ThreadPoolExecutor

    elsewhere = {"executor": lambda: ThreadPoolExecutor(1), **OURS}
    assert known(run(cases_of(), cache=cache, **elsewhere)) == []
    assert known(run(cases_of(), cache=cache, **elsewhere)) == []
    run(cases_of(), cache=cache, **OURS)
    assert known(run(cases_of(), cache=cache, **elsewhere)) == ["right", "left out"]


def test_a_baseline_is_applied_to_what_is_known(cache: Cache) -> None:
    from gradcheck.checks.baseline import Baseline, KnownClaim

    case = cases_of()[0]
    baseline = Baseline("known.json", {case.id: frozenset([KnownClaim("gradient", "x", 0, "core")])})
    first, second = (run(case, cache=cache, baseline=baseline, **OURS).cases[0] for _ in range(2))
    assert (first.status, second.status, second.cached) == ("xpassed", "xpassed", True)


def test_an_entry_that_is_no_result_is_computed_again(cache: Cache) -> None:
    case = cases_of()[0]
    for spoilt in (b"", b"\x80\x05N.", b"no pickle"):
        cache.store({key(cache, case, Options(**OURS)): spoilt})
        assert known(run(case, cache=cache, **OURS)) == []
        assert known(run(case, cache=cache, **OURS)) == ["right"]


# Where a part is doubted ---------------------------------------------------------------------------------


@pytest.fixture
def doubting(cache: Cache) -> Cache:
    return Cache(cache._entries, OTHERS, doubted=1.0)


def test_what_is_doubted_is_computed_and_is_the_same(cache: Cache, doubting: Cache) -> None:
    run(cases_of(), cache=cache, **OURS)
    found = run(cases_of(), cache=doubting, **OURS)
    assert found.cached == 0
    assert [case.status for case in found.cases] == ["passed", "failed", "xfailed", "skipped"]
    assert known(run(cases_of(), cache=cache, **OURS)) == ["right", "left out"]


def test_a_difference_is_an_error_and_is_not_believed_again(
    cache: Cache, doubting: Cache, with_rules: WithRules
) -> None:
    """As if a rule could change without being noticed."""
    case = cases_of()[0]
    run(case, cache=cache)
    with_rules("exp", lambda g, y, x: g * y * 2)
    assert run(case, cache=cache).cases[0].status == "passed"
    found = run(case, cache=doubting)
    (error,) = found.cases[0].errors
    assert (found.exit_code, found.cases[0].status, error.kind) == (3, "crashed", "cache")
    told = " ".join(render(found).split())
    assert "computed afresh, it comes out otherwise than the cache has it; remove .gradcheck_cache" in told
    assert run(case, cache=cache).cases[0].status == "failed"


def test_last_bits_are_no_difference(cache: Cache, doubting: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    case = cases_of()[0]
    found = run(case, cache=cache, **OURS).cases[0]
    moved = tuple(replace(c, max_rel=1e-16, max_abs=1e-17, got=0.5) for c in found.comparisons)
    assert result_cache._outcome(replace(found, comparisons=moved)) == result_cache._outcome(found)
    for changed in ({"status": "failed"}, {"shape": (7,)}, {"certificate": {}}, {"lacks": "exp"}):
        other = (replace(found.comparisons[-1], **changed), *found.comparisons[1:])  # type: ignore[arg-type]
        assert result_cache._outcome(replace(found, comparisons=other)) != result_cache._outcome(found)


def test_about_a_tenth_is_a_tenth() -> None:
    assert 50 < sum(result_cache.is_picked_for_recheck(0.1) for _ in range(1_000)) < 170
    assert not any(result_cache.is_picked_for_recheck(0.0) for _ in range(100))
