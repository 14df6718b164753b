"""The catalogue of wrong and of hard backward passes says what it means, and gradcheck is right about it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks import peers
from benchmarks.peers.__main__ import table
from benchmarks.peers.record import Record, Trial, read
from benchmarks.peers.tools import of_code, of_engine, of_formulas, tools
from gradcheck.engines.torch import Torch
from gradcheck.language.evaluation.evaluate import evaluate

WRONG = list(chain.from_iterable(peers.WRONG.values()))
HARD = list(chain.from_iterable(peers.HARD.values()))

CONTROL = Record("a product", {"x": "randn(4)", "y": "randn(4)"}, "x * y", {"x": "g * y", "y": "g * x"})
GROSS = Record("a product, doubled", {"x": "randn(4)", "y": "randn(4)"}, "x * y", {"x": "2 * g * y", "y": "g * x"})


def trial(record: Record, folder: Path) -> Trial:
    return read([record], folder)[0]


def names(records: Sequence[Record]) -> list[str]:
    return [record.name for record in records]


def test_there_are_enough_and_each_has_a_name() -> None:
    assert len(set(names(WRONG))) == len(WRONG) >= 40
    assert len(set(names(HARD))) == len(HARD) >= 30
    assert len(peers.WRONG["invisible to a seed of ones"]) == sum(record.seed_of_ones for record in WRONG)


@pytest.mark.parametrize("name", tools())
def test_every_tool_can_tell_right_from_wrong(name: str, tmp_path: Path) -> None:
    tool = tools()[name]
    assert tool(trial(CONTROL, tmp_path)) == "right"
    assert tool(trial(GROSS, tmp_path)) == "wrong"


@pytest.mark.parametrize("record", WRONG[::9], ids=names(WRONG[::9]))
def test_wrong_ones_are_found(record: Record, tmp_path: Path) -> None:
    found = trial(record, tmp_path)
    assert of_formulas(found) in (("not asked",) if record.seed_of_ones else ("wrong",))
    assert of_engine(found) == "wrong"


@pytest.mark.parametrize("record", HARD[::4], ids=names(HARD[::4]))
def test_hard_ones_are_not_flagged(record: Record, tmp_path: Path) -> None:
    found = trial(record, tmp_path)
    assert of_formulas(found) == "right"
    assert of_engine(found) == "right"


@pytest.mark.parametrize("record", WRONG, ids=names(WRONG))
def test_wrong_ones_are_wrong(record: Record, tmp_path: Path) -> None:
    """By more than rounding, beside torch's own gradient, for a random cotangent."""
    found, engine = trial(record, tmp_path), Torch()
    with engine.session(found.problem.dtype):
        inputs = {name: engine.leaf(array, True) for name, array in found.problem.inputs.items()}
        constants = {name: engine.leaf(array, False) for name, array in found.problem.constants.items()}
        out = evaluate(record.forward_expr, inputs | constants, engine.host)
        g = torch.randn(out.shape, dtype=out.dtype, generator=torch.Generator().manual_seed(0))
        want = torch.autograd.grad(out, list(inputs.values()), g)
    arrays = {**found.problem.inputs, **found.problem.constants, "out": engine.array(out), "g": engine.array(g)}
    got = [np.asarray(evaluate(expr, arrays)) for expr in record.backward_exprs]
    assert any(differs(mine, engine.array(theirs)) for mine, theirs in zip(got, want, strict=True))


#: Far above rounding, relative to each element, by the bytes of a number; beside it, roundings of the largest.
VISIBLE = {8: (1e-9, 1e-13), 4: (1e-4, 1e-6), 2: (1e-2, 1e-3)}


def differs(got: np.ndarray, want: np.ndarray) -> bool:
    relative, absolute = VISIBLE[want.dtype.itemsize]
    allowed = relative * np.abs(want) + absolute * np.max(np.abs(want))
    return got.shape != want.shape or bool((np.abs(got - want) > allowed).any())


def test_a_table_tells_who_missed_what(tmp_path: Path) -> None:
    answers = {"theme": {"a": "right", "b": "wrong", "c": "undecided"}, "other": {"d": "not asked"}}
    row = peers.row("what", answers, "right", "0", 0)  # type: ignore[arg-type]
    assert (row.measured, row.kept) == ("1 of 3, 1 undecided", False)
    assert row.details == "**theme**: a. Undecided: **theme**: c."


def test_a_table_counts_by_theme() -> None:
    catalogue = {"theme": [CONTROL, GROSS], "other": [CONTROL]}
    answers = {"tool": {"theme": {"a": "right", "b": "undecided"}, "other": {"c": "not asked"}}}
    lines = [*table("missed", catalogue, answers, "right")]  # type: ignore[arg-type]
    assert lines[0] == "| missed | of | tool |"
    assert lines[2:] == ["| theme | 2 | 1 +1 ? |", "| other | 1 | – |", "| **all** | 3 | **1 +1 ?** |"]


@pytest.mark.parametrize("specified", [False, True])
@pytest.mark.parametrize(("records", "want"), [(WRONG[5::60], "wrong"), (HARD[2::20], "right")])
def test_code_is_judged_with_and_without_a_specification(
    records: Sequence[Record], want: str, specified: bool, tmp_path: Path
) -> None:
    assert {one.record.name: of_code(one, specified) for one in read(records, tmp_path)} == dict.fromkeys(
        names(records), want
    )
