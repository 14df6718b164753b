"""Runs: verdicts, order, isolation of crashes, limits, interruption."""

from __future__ import annotations

import shlex
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradcheck.checks.options import Options
from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.checks.scheduling.run import run
from gradcheck.engines.base import Evaluation
from gradcheck.engines.core import Core
from gradcheck.errors import UsageError
from gradcheck.facts import fact
from gradcheck.language.loader import load, load_text
from gradcheck.language.problem import Problem
from tests.checks.conftest import Check, failed
from tests.conftest import FOREVER

RunText = Callable[..., RunResult]

THREE = """
    name: a
    inputs: {x: [1, 2]}
    graph: {loss: x.sum()}
    ---
    name: b
    inputs: {x: [1, 2]}
    graph: {loss: x.sum()}
    ---
    name: c
    inputs: {x: [1, 2]}
    graph: {loss: x.sum()}
"""


class Broken(Core):
    """The core, except that something happens in the case called b."""

    def __init__(self, happens: Callable[[], Any]) -> None:
        super().__init__()
        self.happens = happens

    def evaluate(self, problem: Problem, *args: Any, **kwargs: Any) -> Evaluation:
        if problem.case.name == "b":
            self.happens()
        return super().evaluate(problem, *args, **kwargs)


def raising(error: BaseException) -> Callable[[], None]:
    def happens() -> None:
        raise error

    return happens


def statuses(result: RunResult) -> list[str]:
    return [case.status for case in result.cases]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ZeroDivisionError("oh"), "crash"),
        (RecursionError("deep"), "crash"),
        (MemoryError("full"), "memory"),
        (KeyError("k"), "crash"),
    ],
)
def test_a_crash_costs_its_own_case_alone(run_text: RunText, error: Exception, kind: str) -> None:
    result = run_text(THREE, engines=[Broken(raising(error))])
    assert statuses(result) == ["passed", "crashed", "passed"]
    (failure,) = result.cases[1].errors
    assert failure.kind == kind
    assert ("Traceback" in failure.details) == (kind == "crash")
    said = {"crash": ("crashed", type(error).__name__), "memory": ("ran_out_of_memory", "full")}[kind]
    assert (failure.message.kind, failure.message["error" if kind == "crash" else "text"]) == said
    assert result.exit_code == 3


def test_a_case_that_takes_too_long_is_stopped(run_text: RunText) -> None:
    result = run_text(THREE, engines=[Broken(lambda: time.sleep(FOREVER))], timeout=4.0)
    assert statuses(result) == ["passed", "crashed", "passed"]
    assert result.cases[1].errors[0].kind == "timeout"
    assert result.cases[1].errors[0].message == fact("ran_out_of_time", seconds=4.0)


def test_failures_do_not_take_the_memory_of_other_cases(run_text: RunText, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole tensors of the first failures are kept, as far as there is room."""
    one = "name: {}\ninputs: {{x: ones(100)}}\ngraph: {{y: x.sum()}}\nexpected: {{x: zeros(100)}}\n"
    text = "---\n".join(one.format(name) for name in "abcd")
    kept = [sum(c.bytes_of_arrays for c in case.comparisons) for case in run_text(text).cases]
    assert kept[0] > 1000
    assert len(set(kept)) == 1
    monkeypatch.setattr("gradcheck.checks.scheduling.run._MOST_KEPT", 2 * kept[0])
    found = run_text(text).cases
    assert [case.status for case in found] == ["failed"] * 4
    assert [sum(c.bytes_of_arrays for c in case.comparisons) for case in found] == [*kept[:2], 0, 0]


def test_an_interrupted_run_reports_what_has_finished(run_text: RunText) -> None:
    result = run_text(THREE, engines=[Broken(lambda: signal.raise_signal(signal.SIGINT))])
    assert statuses(result) == ["passed"]
    assert result.interrupted
    assert result.selected == 3
    assert result.exit_code == 130


def test_skip_xfail_and_only(run_text: RunText) -> None:
    result = run_text(
        """
        {name: skipped, skip: not today, inputs: {x: [1]}, graph: {loss: x.sum()}}
        ---
        {name: xfailed, xfail: known, inputs: {x: [1]}, graph: {loss: x.sum()}, expected: {x: [2]}}
        ---
        {name: xpassed, xfail: known, inputs: {x: [1]}, graph: {loss: x.sum()}, expected: {x: [1]}}
        ---
        {name: not ours, only: [jax], inputs: {x: [1]}, graph: {loss: x.sum()}}
        """
    )
    assert statuses(result) == ["skipped", "xfailed", "xpassed", "skipped"]
    assert result.cases[0].reason == "not today"
    assert result.exit_code == 1


def test_files_with_errors_stand_among_the_results_in_their_place(tmp_path: Path) -> None:
    good = "{inputs: {x: [1]}, graph: {loss: x.sum()}}"
    for name, text in (
        ("a", good),
        ("b", "{inputs: {x: [1]}, graph: {loss: x.sum(}}"),
        ("c", good),
        ("d", "inputs: ["),
    ):
        (tmp_path / f"{name}.yaml").write_text(text)
    result = run(tmp_path)
    assert [(Path(case.file).stem, case.status) for case in result.cases] == [
        ("a", "passed"), ("b", "invalid"), ("c", "passed"), ("d", "invalid"),
    ]  # fmt: skip
    assert all(case.name == "" and case.errors for case in result.cases if case.status == "invalid")
    assert result.exit_code == 2


def test_a_file_may_have_valid_cases_beside_errors(run_text: RunText) -> None:
    result = run_text(THREE + "    ---\n    {name: d, inputs: {}, graph: {loss: x}}\n")
    assert statuses(result) == ["passed", "passed", "passed", "invalid"]


def test_paths_cases_and_what_load_returns_are_all_taken(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text("{name: n, inputs: {x: [1]}, graph: {loss: x.sum()}}")
    loaded = load([file])
    for source in (file, str(file), [file], [str(file), file], f"{file}::n", loaded, loaded.cases, loaded.cases[0]):
        assert statuses(run(source)) == ["passed"] * (2 if isinstance(source, list) and len(source) == 2 else 1)
    assert run([]).exit_code == 5


def test_the_command_that_reproduces_a_case(tmp_path: Path) -> None:
    file = tmp_path / "it's.yaml"
    file.write_text("{name: two words, seed: 7, inputs: {x: [1]}, graph: {loss: x.sum()}}")
    (case,) = run(file).cases
    assert shlex.split(case.reproduce) == ["gradcheck", "run", f"{file}::two words", "--seed", "7"]
    (case,) = run(file, seed=3, dtype="float32", rtol=1e-3).cases
    assert shlex.split(case.reproduce)[4:] == ["3", "--dtype", "float32", "--rtol", "0.001"]


def test_another_seed_draws_other_numbers(check: Check) -> None:
    text = "{seed: 1, inputs: {x: 'randn(3)'}, graph: {loss: x.sum()}, values: {loss: 0}, generalize: false}"
    values = {seed: failed(check(text, seed=seed))[0].got for seed in (None, 1, 2)}
    assert values[None] == values[1] != values[2]


def test_maxfail_stops_and_progress_is_told(run_text: RunText) -> None:
    seen: list[tuple[str, int]] = []

    def told(case: CaseResult, total: int) -> None:
        seen.append((case.name, total))

    result = run_text(THREE.replace("x.sum()}", "x * 2}"), maxfail=2, on_result=told)
    assert statuses(result) == ["failed", "failed"]
    assert seen == [("a", 3), ("b", 3)]


def test_a_run_in_another_dtype(check: Check) -> None:
    text = "{inputs: {x: [1, 3]}, graph: {y: x / 3, loss: y.sum()}, expected: {x: [0.33333333333, 0.33333333333]}}"
    case = check(text, dtype="float32")
    assert case.status == "passed", failed(case)
    assert {c.dtype for c in case.comparisons if c.dtype} == {"float32"}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"engines": ["cor"]}, "did you mean 'core'"),
        ({"engines": []}, "no engine"),
        ({"reference": "tensorflux"}, "there is no engine 'tensorflux'"),
        ({"dtype": "int64"}, "int64"),
        ({"rtol": -1.0}, "rtol"),
        ({"timeout": float("nan")}, "timeout"),
    ],
)
def test_choices_that_make_no_sense(options: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        run([], **options)


def test_choices_are_options_or_their_fields_and_the_fields_win() -> None:
    case = load_text("{seed: 1, inputs: {x: [1]}, graph: {loss: x.sum()}}", "a.yaml")[0]
    assert [found.seed for found in run(case, Options(seed=5)).cases] == [5]
    assert [found.seed for found in run(case, Options(seed=5), seed=7).cases] == [7]
    assert [found.seed for found in run(case, seed=8).cases] == [8]
    with pytest.raises(TypeError, match="sede"):
        run(case, sede=8)


def test_the_environment_is_told(run_text: RunText) -> None:
    assert set(run_text(THREE).environment) == {"python", "numpy", "torch", "platform"}


def test_torch_can_be_tested_against_the_core(check: Check) -> None:
    case = check("{inputs: {x: 'randn(3)'}, graph: {loss: tanh(x).sum()}}", engines=["torch"], reference="core")
    assert case.status == "passed"
    assert {(c.engine, c.reference) for c in case.comparisons} == {("torch", "core")}


@pytest.mark.parametrize("seed", [-1, 2**70])
def test_any_integer_is_a_seed(check: Callable[..., CaseResult], seed: int) -> None:
    """Where large graphs, noise, proofs and trials draw, too."""
    case = check(f"""
        seed: {seed}
        inputs: {{x: "randn(70, 70)"}}
        graph: {{y: x @ x, s: "(x - x.mean()).sum()", loss: y.relu().sum() + s}}
        formulas: {{x: (grad(y) @ x.T) + x.T @ grad(y) + 1 - 1}}
        checks: [s == 0]
    """)
    assert case.status == "passed", case.errors
    assert case.reproduce.endswith(f" --seed {seed}")
