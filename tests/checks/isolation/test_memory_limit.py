"""The memory limit: sizes as people write them, and what goes beyond is refused in the middle of a call."""

from __future__ import annotations

import resource
import sys
from typing import Any

import numpy as np
import pytest

from gradcheck.checks.isolation import memory_limit as memory_limit_module
from gradcheck.checks.isolation.memory_limit import (
    default_memory_limit,
    keep_heap,
    memory_limit,
    parse_size,
    pause_memory_limit,
)

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is Linux's")
TOO_MUCH = "name: too much\ninputs: {x: randn(4000)}\ngraph: {y: 'outer(x, x).sum()'}\n"


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2GB", 2 * 10**9),
        ("500 MB", 5 * 10**8),
        ("1.5gb", 15 * 10**8),
        ("2GiB", 2**31),
        ("2G", 2**31),
        ("64k", 2**16),
        ("100", 100),
        (" 1 kB ", 1000),
        ("9999999999999999999999GB", 2**60),
        ("9" * 400 + "TiB", 2**60),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "2 G B", "-1GB", "2PB", "two", "1e9"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="is no size"):
        parse_size(text)


@linux
def test_processes_share_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = default_memory_limit()
    assert whole is not None
    monkeypatch.setattr(memory_limit_module, "_LEAST", whole // 10)
    assert [default_memory_limit.__wrapped__(number) for number in (1, 4, 1_000)] == [whole, whole // 4, whole // 10]


@linux
def test_what_goes_beyond_is_refused_and_the_limit_is_taken_back() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with memory_limit(50_000_000):
        assert np.ones(2_000_000).size
        with pytest.raises(MemoryError):
            np.ones(100_000_000)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert np.ones(10_000_000).size


@linux
@pytest.mark.parametrize("size", [2**60, 2**63, 10**400])
def test_a_limit_beyond_every_machine_is_none(size: int) -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with memory_limit(size):
        assert np.ones(10_000_000).size
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


@linux
def test_by_default_it_is_half_of_the_machine_and_an_outer_limit_stays() -> None:
    half = default_memory_limit()
    assert half is not None
    with memory_limit(50_000_000):
        limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
        with memory_limit(None):
            assert resource.getrlimit(resource.RLIMIT_DATA)[0] == limit


@linux
@pytest.mark.parametrize("reference", ["torch", "core"])
def test_what_one_case_takes_costs_that_case(run_text: Any, reference: str) -> None:
    small = "name: small\ninputs: {x: randn(3)}\ngraph: {y: x.sum()}\n"
    result = run_text(
        f"{small}---\n{TOO_MUCH}---\n{small.replace('small', 'after')}", memory=10**8, reference=reference
    )
    assert [case.status for case in result.cases] == ["passed", "crashed", "passed"]
    (error,) = result.cases[1].errors
    assert (error.kind, error.message.kind) == ("memory", "ran_out_of_memory")
    assert result.exit_code == 3


def test_a_run_that_may_take_enough_is_as_ever(run_text: Any) -> None:
    assert run_text(TOO_MUCH, memory=2 * 10**9).cases[0].status == "passed"


@linux
def test_the_heap_is_kept_where_glibc_is_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []

    class Library:
        def __init__(self, name: None) -> None: ...

        def mallopt(self, option: int, value: int) -> int:
            told.append((option, value))
            return 1

    monkeypatch.setattr("ctypes.CDLL", Library)
    assert keep_heap()
    assert told == [(-1, 2**28), (-3, 2**28), (1, 0)]
    monkeypatch.setattr("ctypes.CDLL", lambda name: object())
    assert not keep_heap()


@linux
def test_what_is_loaded_late_is_no_part_of_what_a_case_may_take() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with memory_limit(60_000_000), memory_limit(50_000_000):
        with pause_memory_limit():
            library = np.ones(20_000_000)
        assert np.ones(2_000_000).size
        with pytest.raises(MemoryError):
            np.ones(100_000_000)  # more than any test before has left in the heap
        assert library[-1] == 1.0
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    with pause_memory_limit():
        assert resource.getrlimit(resource.RLIMIT_DATA) == before
