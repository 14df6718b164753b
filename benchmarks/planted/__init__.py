"""Mistakes of backward passes, planted in home-made Tensor classes of many styles: are they caught, and named?

`python -m benchmarks planted`, with `--conform` for what `gradcheck conform` leads with instead, `--only WORD` for some
styles, or some mistakes, and `--list` for what is told of those that are not named, or not alone. Each version runs on
`cases.yaml`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from benchmarks.planted.planting import CLASSES, MISTAKES, mistakes_in, planted, source_of
from benchmarks.timing import Row
from gradcheck import load
from gradcheck.checks.conformance.engine_conformance import conform
from gradcheck.checks.scheduling.run import run
from gradcheck.engines.resolve import engine_from_spec
from gradcheck.reports.causes import confirmed_diagnosis, find_causes
from gradcheck.reports.phrases.cause_titles import group_title, member_title

CASES = Path(__file__).parent / "cases.yaml"
#: Of what is planted, the part that must be told first.
PROMISED = 0.95
#: The ops about which `--conform` asks, beside the cases; of vectors and batches, products of most styles are wrong.
OPS = ("add", "sub", "mul", "div", "neg", "sum", "mean", "relu", "exp", "tanh", "sigmoid")


@dataclass(frozen=True, slots=True)
class Version:
    """A style with a mistake in it; none for an empty word."""

    style: str
    mistake: str

    @property
    def name(self) -> str:
        """As it is listed."""
        return f"{self.style} / {self.mistake or 'right'}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is told of a version: causes, the first first, each with the kind of mistake that is confirmed in it."""

    version: Version
    told: tuple[tuple[str, str], ...] = ()
    is_convention: bool = False  # of relu
    passed: int = 0

    @property
    def named_first(self) -> bool:
        """Whether the mistake that was planted leads; of a convention, whether it is told and nothing fails."""
        if self.version.mistake == "relu":
            return self.is_convention and not self.told
        return bool(self.told) and self.told[0][1] in MISTAKES[self.version.mistake]

    @property
    def is_alone(self) -> bool:
        """Whether nothing else is told."""
        return self.named_first and len(self.told) <= 1


def versions(words: Sequence[str] = ()) -> list[Version]:
    """All of them, the right ones first in each style; with words, those styles and mistakes."""
    found = [Version(style, mistake) for style in CLASSES for mistake in ("", *mistakes_in(source_of(style)))]
    return [one for one in found if not words or one.style in words or one.mistake in words]


def outcomes(words: Sequence[str] = (), *, conforming: bool = False) -> Iterator[Outcome]:
    """What comes of each."""
    for version in versions(words):
        yield outcome(version, conforming=conforming)


def outcome(version: Version, *, conforming: bool = False) -> Outcome:
    """What is told of one version."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{version.style}.py"
        file.write_text(planted(source_of(version.style), version.mistake), encoding="utf-8")
        engine = engine_from_spec(f"{file}:{CLASSES[version.style]}")
        found = conform(engine, load([CASES])[0], ops=OPS) if conforming else None
        result = found.all_results if found is not None else run(load([CASES])[0], engines=[engine], oracle="auto")
    together = find_causes(result)
    told = [
        (group_title(one), "" if one.lead.finding is None else confirmed_diagnosis(one.lead.finding.lead))
        for one in together.groups
    ]
    told += [
        (f"{case.name}: {member_title(one)}", "" if one.finding is None else confirmed_diagnosis(one.finding.lead))
        for case, members in together.cases
        for one in members
    ]
    if found is not None and found.backward_pass is not None:
        kind = found.backward_pass.kind
        told = [("the backward pass", kind), *(one for one in told if one[1] != kind)]
    conventions = [one for _, one in result.conventions]
    is_convention = any(one.kind == "takes_another_subgradient" and one["op"] == "relu" for one in conventions)
    return Outcome(version, tuple(told), is_convention, result.count("passed"))


def rows() -> Iterator[Row]:
    """A row for each mistake, for all, and for what is right."""
    yield from _rows(list(outcomes()))


def _rows(found: Sequence[Outcome]) -> Iterator[Row]:
    sick = [one for one in found if one.version.mistake]
    for mistake in MISTAKES:
        some = [one for one in sick if one.version.mistake == mistake]
        if some:
            yield Row(f"planted: {mistake}", _measured(some), "", True, _details(some))
    if sick:
        kept = sum(one.named_first for one in sick) >= PROMISED * len(sick)
        yield Row("planted: all", _measured(sick), f"≥ {PROMISED:.0%}", kept, _details(sick))
    right = [one for one in found if not one.version.mistake]
    if right:
        flagged = sum(bool(one.told) for one in right)
        cases = sum(one.passed for one in right)
        yield Row("planted: nothing", f"{flagged} of {len(right)} flagged", "0", not flagged, f"{cases} cases pass")


def _measured(some: Sequence[Outcome]) -> str:
    return f"{sum(one.named_first for one in some)} of {len(some)} named first"


def _details(some: Sequence[Outcome]) -> str:
    missed = sum(not one.told and not one.is_convention for one in some)
    return f"alone {sum(one.is_alone for one in some)}, nothing told of {missed}"


def main(arguments: list[str]) -> int:
    """With options; the exit code is 1 where a promise is not kept."""
    words = [value for option, value in pairwise(arguments) if option == "--only"]
    found = []
    for one in outcomes(words, conforming="--conform" in arguments):
        found.append(one)
        is_right = not one.told if not one.version.mistake else one.is_alone
        if "--list" in arguments and not is_right:
            print(
                one.version.name, *(f"\n    {title} [{kind}]" for title, kind in one.told), file=sys.stderr, flush=True
            )
    kept = True
    for row in _rows(found):
        print(row, flush=True)
        kept = kept and row.kept
    return 0 if kept else 1
