"""A wrong gradient rule in the core, planted on purpose, fails the case and not the run, whatever the shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gradcheck import run
from gradcheck.autograd.op import TABLE


@contextmanager
def planted(name: str, position: int, wrong: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
    """The rule at `position` of an op, replaced by what `wrong` makes of it."""
    entry = TABLE[name]
    rules = list(entry.rules)
    right = rules[position]
    assert right is not None
    rules[position] = wrong(right)
    kept = entry.rules
    object.__setattr__(entry, "rules", tuple(rules))
    try:
        yield
    finally:
        object.__setattr__(entry, "rules", kept)


CASE = """
name: planted
inputs:
  x: "uniform(0.5, 2, {size})"
  y: "uniform(0.5, 2, {size})"
graph:
  a: exp(x)
  b: a * y
  c: tanh(b)
backward: {{c: "uniform(0.5, 2, {size})"}}
"""


@pytest.mark.parametrize("size", ["[]", "[1]", "[3]", "[2, 1, 3]"])
@pytest.mark.parametrize(("op", "position"), [("exp", 0), ("mul", 0), ("mul", 1), ("tanh", 0)])
@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda right: lambda *args: -right(*args), id="negated"),
        pytest.param(lambda right: lambda *args: right(*args) * 1.001, id="scaled"),
        pytest.param(lambda right: lambda *args: right(*args) * 0, id="dropped"),
    ],
)
def test_a_planted_bug_is_found(tmp_path: Path, size: str, op: str, position: int, wrong: Any) -> None:
    path = tmp_path / "planted.yaml"
    path.write_text(CASE.format(size=size), encoding="utf-8")
    assert [case.status for case in run([str(path)]).cases] == ["passed"]
    with planted(op, position, wrong):
        (result,) = run([str(path)]).cases
    assert result.status == "failed", result.errors
    assert {c.engine for c in result.comparisons if c.status == "failed"} == {"core"}
    assert "gradient" in {c.what for c in result.comparisons if c.status == "failed"}
