"""Does anything depend on the seed, or on the order of sets? The shipped cases and wrong formulas, again and again.

`python -m benchmarks.steady SEED` tells, as JSON, what one process says of all of them under one seed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.timing import Row
from gradcheck import run
from gradcheck.checks.result import CaseResult
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports.phrases import say

HERE = Path(__file__).parent
CASES, WRONG = HERE.parent / "cases", HERE / "wrong_formulas.yaml"
#: Each seed with a value of PYTHONHASHSEED: ten of the one, three of the other.
RUNS = (*((seed, seed % 3) for seed in range(10)), (0, 1), (0, 2))

#: What is said, by what it is said of.
Told = Mapping[str, str]


def rows() -> Iterator[Row]:
    """The verdicts on all cases and claims; what is told of those that fail."""
    found = [_in_a_process(seed, hashed) for seed, hashed in RUNS]
    for kind, title in (("verdict", "verdicts on `cases/` and on wrong formulas"), ("told", "reasons and suggestions")):
        several = [one[kind] for one in found]
        differing = differences(several)
        for line in differing:
            print(line, file=sys.stderr)
        what = f"{len(several[0]) - len(differing):,} of {len(several[0]):,} the same"
        yield Row(f"steady: {title}", what, "all", not differing, f"{len(RUNS)} processes, 10 seeds, 3 hash seeds")


def differences(found: Sequence[Told]) -> list[str]:
    """A line for each claim of which not all say the same."""
    lines: list[str] = []
    for key in dict.fromkeys(key for told in found for key in told):
        said = dict.fromkeys(told.get(key, "nothing") for told in found)
        if len(said) > 1:
            lines.append(f"{key}: {' / '.join(said)}")
    return lines


def told(cases: Sequence[CaseResult]) -> dict[str, dict[str, str]]:
    """The verdict on each case and each claim, also whether it is proved; and all that explains a failure.

    A wrong formula is refuted, whether at the case's own numbers or at a trial."""
    verdicts: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for case in cases:
        verdicts[case.id] = case.status
        for c in case.comparisons:
            key = f"{case.id}: {c.what} {c.tensor} {c.formula} {c.engine} step {c.step}"
            said = "failed" if c.status == "failed" else f"{c.status}{', proved' if c.certificate else ''}"
            counts = c.trial is None or c.status == "failed" or c.what is ClaimKind.WRONG_FORMULA
            if verdicts.get(key) != "failed" and counts:
                verdicts[key] = said
            if c.what.is_stated_by_file and c.diagnoses:
                reasons[key] = " | ".join(say(d.message) for d in c.diagnoses)
    return {"verdict": verdicts, "told": reasons}


def _in_a_process(seed: int, hashed: int) -> dict[str, dict[str, str]]:
    command = [sys.executable, "-m", "benchmarks.steady", str(seed)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONHASHSEED": str(hashed)}, stdout=subprocess.PIPE, check=True, cwd=HERE.parent
    )
    found: dict[str, dict[str, str]] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    print(json.dumps(told(run([CASES, WRONG], seed=int(sys.argv[1]), allow_code=True).cases)))
