"""What any test may ask for: ops of the table with other rules or another forward, and graphs that are not as deep."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import gradcheck.autograd.ops  # noqa: F401 (it fills the table)
from gradcheck.autograd import accelerator
from gradcheck.autograd.op import TABLE, whole_table
from gradcheck.checks.conformance import properties
from gradcheck.engines.tensor_class import foreign_engine

whole_table()  # the tables of tests are those of every op, which no other process loads

# As the command line does: a look for cycles goes over all that torch has made, an eighth of the time of all tests.
gc.set_threshold(100_000, 20, 100)

# How fast the machine is says nothing about what is tested.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# In CI a tenth of what is cached is checked again, at random: tests of that set the variable.
os.environ.pop("CI", None)

# Nor is an engine of somebody's out of time before a test is; tests of these limits set their own.
foreign_engine.TIMEOUT = properties.PROPERTY_TIMEOUT = 1_000.0

# A shell starts what runs in the background with interrupts ignored, and processes that tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: Seconds of sleep that only a limit ends: no test takes as long, and none that goes wrong passes for its sake.
FOREVER = 100_000

WithRules = Callable[..., None]
WithForward = Callable[[str, Callable[..., Any]], None]


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """The whole suite takes half as many processes more than cores, since many tests wait for processes of their own.

    Whoever names files or tests gets them at once, in this process.
    """
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return 0
    return (len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1) * 3 // 2


def pytest_collection_finish() -> None:
    """What is loaded by now stays, and each search for cycles would go over it: a second where a test asks for one."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _searched_for_cycles() -> None:
    """So does what earlier files have made: only what this one makes is searched."""
    gc.collect(1)
    gc.freeze()


@pytest.fixture(autouse=True)
def _depth_of_recursion() -> Iterator[None]:
    """Libraries raise it as they are imported (tinygrad), and then engines that recurse pass."""
    known = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(known)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory that is the root of a project, with a precious file outside."""
    folder = tmp_path / "home" / "project"
    (folder / ".git").mkdir(parents=True)
    (tmp_path / "home" / "precious").write_text("precious")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def _change() -> Iterator[Callable[[str, str, Any], None]]:
    """Set a field of an op of the table until the test is over. An Op is frozen, and whoever uses it holds this one."""
    known: list[tuple[Any, str, Any]] = []

    def change(name: str, field: str, value: Any) -> None:
        op = TABLE[name]
        known.append((op, field, getattr(op, field)))
        object.__setattr__(op, field, value)
        accelerator.forget()  # compiled functions hold what ops were

    yield change
    for op, field, value in reversed(known):
        object.__setattr__(op, field, value)
    accelerator.forget()


@pytest.fixture
def with_rules(_change: Callable[[str, str, Any], None]) -> WithRules:
    """`with_rules("mul", rule, rule)`: the op has these gradient rules until the test is over."""
    return lambda name, *rules: _change(name, "rules", rules)


@pytest.fixture
def with_forward(_change: Callable[[str, str, Any], None]) -> WithForward:
    """`with_forward("tanh", wrap)`: the op computes `wrap(its forward)` until the test is over."""
    return lambda name, wrap: _change(name, "forward", wrap(TABLE[name].forward))


@pytest.fixture
def wrong_plan(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, float], None]:
    """`wrong_plan("mul", 1.5)`: the core's fast path alone pulls back so many times too much to the first argument."""
    from gradcheck.autograd.compiled.plans import Plan

    true = Plan.general

    def scale(name: str, factor: float) -> None:
        def general(plan: Plan, node: Any, gradient: Any) -> Any:
            found = true(plan, node, gradient)
            if node.creation_op.name != name:
                return found
            return found * factor if plan.only is not None else [(found[0][0], found[0][1] * factor), *found[1:]]

        monkeypatch.setattr(Plan, "general", general)
        accelerator.forget()

    return scale


@pytest.fixture
def shallow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deep graph of the conformance kit is deep enough for whoever recurses, and quicker."""
    monkeypatch.setattr(properties, "NODES", 1_500)
