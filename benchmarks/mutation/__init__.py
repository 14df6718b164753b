"""Single changes to the source of the ops, drawn at random: how many `cases/` notice, and with the tests how many.

`python -m benchmarks mutation` draws 200 changes (an operator, a comparison, a constant, a default; a statement, a
term, a condition or an argument left out; two arguments exchanged; a function or a name for another) of all that
there are in `gradcheck/autograd/ops`, by a seed. Each is made in the memory of a process of its own; the cases that
come through the changed code run there, and where none of them fails, the tests of the file, of the table and of the
oracles. Changes that change nothing are listed in `equivalent.txt`, by hand and with a reason; others are drawn for
them.

Options: `--count N`, `--seed N`, `--only WORD` (changes with the word in their titles), `--cases-alone`, `--near`
(of the tests those of the file and what is quick, which is most of what notices), `--list` (every change that was not
noticed, and by what the others were), `--keep FILE` (what is in there is not asked again).
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Literal

from benchmarks.mutation.changes import OPS, ROOT, Change, changes
from benchmarks.mutation.trying import (
    Passed,
    Warm,
    by_cases,
    by_tests,
    cases_through,
    coverage,
    require_that_tests_see,
)
from benchmarks.timing import Row

CASES = str(ROOT / "cases")
COUNT, SEED = 200, 0
#: What cases, and cases and tests together, must notice.
BY_CASES, BY_ALL = 0.80, 0.97
#: The tests of all ops that take no time.
QUICK = (
    "tests/autograd/test_signatures.py",
    "tests/autograd/test_refusals.py",
    "tests/autograd/test_in_place.py",
    "tests/language/evaluation/test_expected_elements.py",
)
#: The others, in the order in which they are asked after those of the file.
TESTS = (
    "tests/autograd/test_table.py",
    "tests/language/evaluation",
    "tests/oracles/numeric/test_table.py",
    "tests/oracles/exact/ops",
    "tests/autograd",
)
#: The tests of the table that take a family each.
BY_FAMILY = (
    "test_table.py::test_values_and_gradients_are_torchs",
    "test_table.py::test_gradients_of_gradients_are_torchs",
    "test_table.py::test_other_dtypes_are_torchs",
    "test_torchs_calls.py::test_values_and_gradients_of_torchs_calls_are_torchs",
    "test_integers.py::test_values_of_whole_numbers_are_torchs",
    "test_integers.py::test_indices_of_other_dtypes_are_taken_as_by_torch",
    "test_mixed_dtypes.py::test_one_tensor_in_another_dtype_is_taken_as_by_torch",
    "test_each_argument.py::test_each_argument_away_from_its_default_is_as_in_torch",
    "test_variations.py::test_values_and_gradients_of_variations_are_torchs",
    "test_edges.py::test_what_is_next_to_a_call_is_as_in_torch",
    "test_equal_sizes.py::test_a_dimension_more_or_less_is_as_in_torch",
    "test_round_numbers.py::test_values_and_gradients_at_round_numbers_are_torchs",
)
#: Those that go through the whole table for one of the things that entries say of themselves.
OF_TRAITS = (
    "tests/oracles/numeric/test_table.py::test_what_takes_complex_steps_says_so",
    "tests/autograd/test_table.py::test_gradients_of_ops_without_counterpart_are_the_slopes",
    "tests/autograd/test_table.py::test_random_creators_make_the_dtype_that_they_are_asked_for",
)

#: What holds each rule to the slopes of its forward, which needs no torch.
BY_DIFFERENCES = "tests/oracles/numeric/test_table.py::test_rules_are_the_derivatives_of_their_forwards"

#: What is imported once for all changes.
IMPORTED = (*QUICK, *sorted({f"tests/autograd/{test.partition('::')[0]}" for test in BY_FAMILY}), "tests/conftest.py")

#: A change that every test of its family notices.
PLAIN = 'trigonometric.py: sin = _smooth("sin", "The sine.", np.sin, lambda g, y, x: g * ops.cos(x)): Mult becomes Div'

#: How many of the tests are asked.
Tests = Literal["none", "near", "all"]


@dataclass
class Outcome:
    """What noticed each change: a case, a test, or nothing; and which were left out as no changes at all."""

    cases: dict[str, str] = field(default_factory=dict)
    tests: dict[str, str] = field(default_factory=dict)
    unnoticed: list[str] = field(default_factory=list)
    equivalent: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many changes there were."""
        return len(self.cases) + len(self.tests) + len(self.unnoticed)


def equivalents() -> dict[str, str]:
    """Changes that change nothing, by title, with the reason, which is on the next line."""
    text = (Path(__file__).parent / "equivalent.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {title: reason.strip() for title, reason in zip(lines[::2], lines[1::2], strict=True)}


def drawn(count: int, seed: int, only: str, outcome: Outcome) -> list[Change]:
    """So many changes, without those that are listed; the same ones as long as their own lines stay."""
    pool = [change for change in changes() if only in change.title]
    pool.sort(key=lambda change: sha256(f"{seed}/{change.title}".encode()).digest())
    listed = equivalents()
    chosen: list[Change] = []
    for change in pool:
        if len(chosen) == count:
            break
        if change.title in listed:
            outcome.equivalent.append(change.title)
        else:
            chosen.append(change)
    return chosen


def measure(count: int, seed: int, only: str = "", tests: Tests = "all", kept: Path | None = None) -> Outcome:
    """Try each change on the cases, then on so many of the tests."""
    _import_what_takes_long()
    outcome = Outcome()
    answered = _read(kept)
    chosen = drawn(count, seed, only, outcome)
    passed = _coverage(kept)
    warm = Warm([test.removesuffix(".py").replace("/", ".") for test in IMPORTED])
    if tests != "none":
        known = next(change for change in changes() if change.title == PLAIN)
        require_that_tests_see(known, next(_tests_of(known, tests)), warm)
    for number, change in enumerate(chosen, 1):
        found = answered.get(change.title) or _noticed(change, passed, tests, warm)
        _keep(kept, change.title, found)
        who, what = found
        if who == "nobody":
            outcome.unnoticed.append(change.title)
        else:
            (outcome.cases if who == "case" else outcome.tests)[change.title] = what
        print(f"{number}/{len(chosen)} {change.title}\n    {who} {what}", file=sys.stderr, flush=True)
    warm.end()
    return outcome


def _coverage(kept: Path | None) -> Passed:
    """What the cases come through; beside what is kept, it is kept, too."""
    file = kept.with_suffix(".coverage") if kept else None
    if file is not None and file.exists():
        told = json.loads(file.read_text(encoding="utf-8"))
        return {name: (seconds, {(path, line) for path, line in places}) for name, (seconds, places) in told.items()}
    found = coverage(CASES)
    if file is not None:
        file.write_text(json.dumps({name: (s, sorted(places)) for name, (s, places) in found.items()}), "utf-8")
    return found


def _noticed(change: Change, passed: Passed, tests: Tests, warm: Warm) -> tuple[str, str]:
    found = by_cases(change, cases_through(change, passed), warm)
    if found:
        return "case", found
    found = by_tests(change, list(_tests_of(change, tests)), warm)
    return ("test", found) if found else ("nobody", "")


def _tests_of(change: Change, tests: Tests) -> Iterator[list[str]]:
    """Those of the file, of what uses it, of the table: the quickest and likeliest first."""
    if tests == "none":
        return
    own = Path(change.file).stem
    families = _users(own) if "/common/" in change.file else [own]
    likely = [f"tests/autograd/ops/common/test_{own}.py", *(f"tests/autograd/ops/test_{name}.py" for name in families)]
    if "/rare_ops/" in change.file:
        likely.append("tests/autograd/ops/test_rare_ops.py")
    named = [*(f"tests/autograd/{name}" for name in BY_FAMILY), "-k", " or ".join([own, *families])]
    first = [*(path for path in likely if (ROOT / path).exists()), *named]
    yield from (first, [*QUICK], [*OF_TRAITS])
    names = [name for family in [own, *families] for name in _ops_of(family)]
    if names:
        yield [BY_DIFFERENCES, "-k", " or ".join(names)]
    if tests == "all":
        yield from ([path] for path in TESTS)


def _ops_of(family: str) -> list[str]:
    """The names of a family's ops, read without importing what is changed."""
    tree = ast.parse((OPS.parent / "families.py").read_text(encoding="utf-8"))
    found = next(node.value for node in tree.body if isinstance(node, ast.AnnAssign) and node.value is not None)
    families: dict[str, str] = ast.literal_eval(found)
    return [name for key, names in families.items() if key.rpartition(".")[2] == family for name in names.split()]


def _users(common: str) -> list[str]:
    """The families that import what is common to several."""
    paths = sorted(OPS.rglob("*.py"))
    return [path.stem for path in paths if f"common.{common} import" in path.read_text(encoding="utf-8")]


def _import_what_takes_long() -> None:
    for name in ("numpy", "pytest", "scipy.linalg", "scipy.special"):
        import_module(name)
    import_module("torch").set_num_threads(1)  # threads do not outlive a fork


def _read(kept: Path | None) -> dict[str, tuple[str, str]]:
    if kept is None or not kept.exists():
        return {}
    entries = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    return {title: (who, what) for title, who, what in entries if who != "nobody"}


def _keep(kept: Path | None, title: str, found: tuple[str, str]) -> None:
    if kept is not None:
        with kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps([title, *found]) + "\n")


def table(outcome: Outcome, seed: int) -> Iterator[Row]:
    """Two lines of the table of benchmarks."""
    count = outcome.count or 1
    details = f"{outcome.count} changes drawn by seed {seed}; {len(outcome.equivalent)} more change nothing"
    by_cases, by_all = len(outcome.cases), len(outcome.cases) + len(outcome.tests)
    for what, noticed, promised in (("`cases/`", by_cases, BY_CASES), ("cases and tests", by_all, BY_ALL)):
        share = f"{noticed} of {outcome.count}, {noticed / count:.1%}"
        title = f"changes to the ops' source that {what} notice"
        yield Row(title, share, f"≥ {promised:.0%}", noticed >= promised * count, details)


def rows() -> Iterator[Row]:
    """Of the seed that is always asked."""
    yield from table(measure(COUNT, SEED), SEED)


def main(arguments: list[str]) -> int:
    """With options; the exit code is 1 where a promise is not kept."""
    if {"-h", "--help"} & set(arguments):
        print(__doc__)
        return 0
    given = dict(pairwise(arguments))
    count, seed = int(given.get("--count", COUNT)), int(given.get("--seed", SEED))
    kept = Path(given["--keep"]) if "--keep" in given else None
    tests: Tests = "none" if "--cases-alone" in arguments else "near" if "--near" in arguments else "all"
    outcome = measure(count, seed, given.get("--only", ""), tests, kept)
    lines = list(table(outcome, seed))
    for line in lines:
        print(line, flush=True)
    if "--list" in arguments:
        print("\nby tests alone:", *(f"{title}\n    {what}" for title, what in outcome.tests.items()), sep="\n  ")
        print("\nby nobody:", *outcome.unnoticed, sep="\n  ")
    return 0 if all(line.kept for line in lines) else 1
