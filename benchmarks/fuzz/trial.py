"""One trial: a text and options, all commands on them, and whatever does not hold of what they do."""

from __future__ import annotations

import contextlib
import io
import json
import re
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.fuzz.graphs import graph
from benchmarks.fuzz.places import strew
from benchmarks.fuzz.texts import spoiled
from gradcheck.cli.group import CRASH, USAGE, gradcheck, run_command
from gradcheck.reports import FORMATS
from gradcheck.reports.report_schema import report_schema

#: What no command may take: seconds of a processor, which a busy machine leaves as they are, and bytes.
SECONDS, BYTES = 20.0, 2_000_000_000
#: A case that is checked beside the one of a trial, and that nothing may take along.
BESIDE = "beside.yaml"
_SOUND = b"name: sound\ninputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\n"
#: What a case may take: with what this process has anyway, less than `BYTES`.
MEMORY = "1500MB"
_LIMITS = ("timeout", "memory")
#: Options with which a case may pass that fails without.
_OTHERWISE = frozenset({"--dtype", "--rtol", "--atol", "--engine", "--reference"})
_OPTIONS: tuple[tuple[float, tuple[tuple[str, ...], ...]], ...] = (
    (
        0.3,
        tuple(("--dtype", name) for name in ("float32", "float16", "bfloat16", "complex64", "complex128", "float64")),
    ),
    (0.2, (("--mode", "forward"), ("--mode", "both"))),
    (0.2, (("--order", "2"),)),
    (0.2, (("--oracle", "numeric"), ("--oracle", "none"))),
    (0.1, (("--power",),)),
    (0.3, (("--shrink",), ("--no-shrink",))),
    (0.2, (("--seed", "3"), ("--seed", "-1"), ("--trials", "0"), ("--trials", "5"))),
    (0.1, (("--rtol", "0"), ("--rtol", "1e-3"), ("--atol", "1"))),
    (
        0.1,
        (
            ("--engine", "torch"),
            ("--reference", "core"),
            ("--engine", "torch", "--engine", "core"),
            ("--engine", "hips"),
        ),
    ),
    (0.4, (("-v",), ("-q",))),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that does not hold: a kind, what was seen, and what is the same for all findings alike."""

    kind: str
    text: str

    @property
    def key(self) -> str:
        """Without numbers and names, which differ from one to the next."""
        return f"{self.kind}: {re.sub(r'[0-9]+', '#', self.text)[:160]}"


@dataclass(slots=True)
class Trial:
    """What a number stands for, and what came of it."""

    number: int
    data: bytes
    options: tuple[str, ...]
    findings: list[Finding] = field(default_factory=list)
    statuses: tuple[str, ...] = ()
    slowest: float = 0.0
    memory: int = 0


def planned(number: int, seed: int = 0) -> Trial:
    """The trial of this number."""
    random = Random(f"{seed}/{number}")
    data = (spoiled if random.random() < 0.4 else graph)(random)
    options = [word for share, choices in _OPTIONS if random.random() < share for word in random.choice(choices)]
    return Trial(number, data, tuple(options))


def tried(trial: Trial, folder: Path) -> Trial:
    """The same trial, with what came of it. Everything that is written is in the folder."""
    file = folder / "case.yaml"
    file.write_bytes(trial.data)
    (folder / BESIDE).write_bytes(_SOUND)
    with contextlib.chdir(folder):
        looked = _looked_for(trial) if trial.number % 10 == 0 else ()
        for found in (*_checked(trial, file.name), *looked):
            trial.findings.append(found)
    return trial


def _looked_for(trial: Trial) -> Iterator[Finding]:
    """Commands on paths that lead to cases, or to something else."""
    with tempfile.TemporaryDirectory() as inner, contextlib.chdir(inner):
        Path("work").mkdir()
        with contextlib.chdir("work"):
            random = Random(trial.number)
            paths = strew(Path(), random)
            for command in ("list", "validate", "run"):
                options = ("--memory", MEMORY) if command == "run" else ()
                yield from _called(trial, command, *options, "--", *paths)


def _checked(trial: Trial, file: str) -> Iterator[Finding]:
    first, code = yield from _ran(trial, file, "first.json", "full")
    if first is None:
        return
    trial.statuses = tuple(case["status"] for case in first["cases"])
    yield from _held(first)
    again, _ = yield from _ran(trial, file, "again.json", [*FORMATS][trial.number % len(FORMATS)])
    if again is not None and _verdicts(first) != _verdicts(again) and not _limited(first, again):
        yield Finding("another verdict", _difference(_verdicts(first), _verdicts(again)))
    known = yield from _called(trial, "validate", file, BESIDE)
    if "--dtype" not in trial.options and not _needs_code(first) and (known == USAGE) != ("invalid" in trial.statuses):
        yield Finding("validate", f"it exits with {known}, and run with {code}: {_invalid(first)}")
    if code != USAGE:
        yield from _called(trial, "trace", file, "--memory", MEMORY)
        yield from _called(trial, "explain", file, "--format", "latex", "--memory", MEMORY)
    claims = b"formulas:" in trial.data or b"let:" in trial.data
    if trial.statuses == ("passed",) and not claims and _OTHERWISE.isdisjoint(trial.options):
        yield from _explained(trial, file)


def _needs_code(report: Any) -> bool:
    """Whether a case is invalid in a run that allows no code, and only there."""
    return any(error["kind"] == "code_not_allowed" for case in report["cases"] for error in case["errors"])


def _ran(trial: Trial, file: str, report: str, format: str) -> Any:
    """The report of a run as JSON, None where there is none, and the exit code."""
    told = ("--memory", MEMORY, "--output-format", format, "--report", f"json={report}")
    code = yield from _called(trial, "run", file, BESIDE, *trial.options, *told, crash_is_told=True)
    try:
        found = json.loads(Path(report).read_text(encoding="utf-8"))
    except OSError:
        return None, code
    Path(report).unlink()
    yield from _fits(found)
    yield from _beside(found, code)
    found["cases"] = [case for case in found["cases"] if case["file"] != BESIDE]
    return found, code


def _beside(report: Any, code: int) -> Iterator[Finding]:
    """Whether the other case was checked, and the exit code is the highest that any case asks for."""
    statuses = {case["status"] for case in report["cases"]}
    (other,) = [case["status"] for case in report["cases"] if case["file"] == BESIDE] or ["lost"]
    if other in ("lost", "invalid", "crashed"):
        yield Finding("another case", f"the case beside it is {other}")
    asked = [3] * ("crashed" in statuses) + [2] * ("invalid" in statuses) + [1] * bool(statuses & {"failed", "xpassed"})
    nothing = 5 if statuses <= {"unsupported", "skipped"} and "unsupported" in statuses else 0
    if code != max(asked, default=nothing):
        yield Finding("exit code", f"run exits with {code} where cases are {', '.join(sorted(statuses))}")


def _called(trial: Trial, *words: str, crash_is_told: bool = False) -> Any:
    """The exit code of a command; what is wrong with how it ended is a finding."""
    before, start = _most_memory(), time.process_time()
    code, out, err = call(words)
    took = time.process_time() - start
    trial.slowest, trial.memory = max(trial.slowest, took), _most_memory()
    if took > SECONDS:
        yield Finding("slow", f"{words[0]} took {took:.0f} s")
    if trial.memory > max(before, BYTES):
        yield Finding("memory", f"{words[0]} took {trial.memory:,} bytes")
    is_limit = crash_is_told or "ran out of memory" in err
    if "Traceback" in err or (code == CRASH and not is_limit):
        yield Finding("crash", f"{words[0]}: {' / '.join(err.strip().splitlines()[-4:])}")
    elif "cannot be told: " in out:
        yield Finding("untold", f"{words[0]}: {out.partition('cannot be told: ')[2][:200]}")
    elif code not in (0, 1, 2, 3, 5):
        yield Finding("exit code", f"{words[0]} exits with {code}")
    return code


def call(words: tuple[str, ...]) -> tuple[int, str, str]:
    """The exit code of a command run in this process, and what it wrote to stdout and stderr."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_command(gradcheck, (*words, "-v") if "-q" not in words else words)
    texts = (stream.buffer.getvalue().decode("utf-8") for stream in (out, err))  # type: ignore[attr-defined]
    return code, *texts


def _most_memory() -> int:
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


# What must hold of a report ---------------------------------------------------------------------------


def _fits(report: Any) -> Iterator[Finding]:
    from jsonschema import Draft7Validator

    for error in Draft7Validator(report_schema()).iter_errors(report):
        yield Finding("schema", f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}")


def _held(report: Any) -> Iterator[Finding]:
    for case in report["cases"]:
        for error in case["errors"]:
            if case["status"] == "crashed" and error["kind"] not in _LIMITS:
                yield Finding("crash", f"{error['message']} | {_origin(error['details'])}")
        for error in case.get("incomplete", ()):
            if error["kind"] not in _LIMITS:
                yield Finding("incomplete", f"{error['message']} | {_origin(error['details'])}")


def _origin(details: str) -> str:
    """The innermost frames of a traceback that are gradcheck's."""
    frames = re.findall(r'File "[^"]*(gradcheck/[^"]*)", line (\d+), in (\S+)', details)
    return " < ".join(f"{file}:{line} {name}" for file, line, name in reversed(frames[-3:]))


def _verdicts(report: Any) -> list[Any]:
    return [
        (case["id"], case["status"], [error["message"] for error in case["errors"]], _claims(case))
        for case in report["cases"]
    ]


def _claims(case: Any) -> list[Any]:
    about = ("what", "tensor", "step", "engine", "reference", "status", "message", "notes", "diagnoses", "cause")
    return [tuple(str(one[key]) for key in about) for one in case["comparisons"]]


def _difference(first: list[Any], again: list[Any]) -> str:
    for one, other in zip(first, again, strict=False):
        for a, b in zip((one[1], one[2], *one[3]), (other[1], other[2], *other[3]), strict=False):
            if a != b:
                return f"{a} and then {b}"
    return f"{len(first)} cases and then {len(again)}, or fewer comparisons"


def _limited(*reports: Any) -> bool:
    """Whether a limit decided something."""
    cases = [case for report in reports for case in report["cases"]]
    return any(e["kind"] in _LIMITS for case in cases for e in (*case["errors"], *case.get("incomplete", ())))


def _invalid(report: Any) -> str:
    cases = [case for case in report["cases"] if case["status"] == "invalid"]
    return "; ".join(error["message"] for case in cases for error in case["errors"])


def _wrong(report: Any) -> str:
    """What is said against the cases of a report."""
    told = [error["message"] for case in report["cases"] for error in case["errors"]]
    failed = (c for case in report["cases"] for c in case["comparisons"] if c["status"] in ("failed", "undecided"))
    return "; ".join([*told, *(f"{c['what']} of {c['tensor']}: {c.get('formula', '')}" for c in failed)])[:300]


def _explained(trial: Trial, file: str) -> Iterator[Finding]:
    """What `explain` derives, pasted into the case, is right."""
    code, text, err = call(("explain", file, "--format", "yaml"))
    if code == CRASH:
        yield Finding("crash", f"explain: {' / '.join(err.strip().splitlines()[-4:])}")
    if code:
        return
    Path("explained.yaml").write_bytes(trial.data.rstrip() + b"\n" + text.encode())
    plain = replace(trial, options=())  # explain has none of them, and holds at the case's own dtype
    report, code = yield from _ran(plain, "explained.yaml", "explained.json", "concise")
    if code and report is not None and not _limited(report):
        yield Finding("round trip", f"explained, it exits with {code}: {_wrong(report)}")
