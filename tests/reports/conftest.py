"""Results built by hand, with every kind of outcome that a report has to show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck.checks.result import CaseResult, Cause, Comparison, Diagnosis, Failure, RunResult, Subject, Trial
from gradcheck.errors import Place
from gradcheck.facts import Fact, fact
from gradcheck.language.claim_kind import ClaimKind

ENVIRONMENT = {"python": "3.11.7", "numpy": "2.4.6", "torch": "2.13.0+cpu", "platform": "Linux"}
Maker = Callable[..., Any]


def said(text: str) -> Fact:
    """A fact of which just this is said."""
    return fact("said", text=text)


def diagnosis(kind: str, message: str, **fields: Any) -> Diagnosis:
    return Diagnosis(kind, said(message), **fields)


def make_comparison(what: Any = "gradient", tensor: str = "y", status: Any = "passed", **fields: Any) -> Comparison:
    """A comparison; texts stand for facts that say so, a `cause` of two for its origin and what is wrong there."""
    about = {name: fields.pop(name) for name in ("step", "place", "formula", "trial") if name in fields}
    between = {name: fields.pop(name, other) for name, other in (("engine", "core"), ("reference", "torch"))}
    for name in ("mismatch", "verdict", "consequence_of"):
        if name in fields:
            fields[name] = said(fields[name])
    if "cause" in fields:
        fields["cause"] = Cause(*map(said, fields["cause"]))
    fields["notes"] = tuple(map(said, fields.get("notes", ())))
    fields = {
        "shape": (2, 3),
        "dtype": "float64",
        "elements": 6,
        "max_abs": 0.0,
        "max_rel": 0.0,
        "max_ulp": 0.0,
        "atol": 1e-12,
        "rtol": 1e-10,
        **fields,
    }
    return Comparison(Subject(ClaimKind(what), tensor, **between, **about), status, **fields)


def make_failed(got: Any, want: Any, **fields: Any) -> Comparison:
    """A failed comparison of two arrays of one shape, with the numbers that a run would find."""
    a, b = np.asarray(got), np.asarray(want)
    mask = np.asarray(a != b)
    error = np.abs(a - b)
    index = np.unravel_index(int(np.argmax(error)), a.shape)
    fields = {
        "status": "failed",
        "shape": a.shape,
        "elements": a.size,
        "mismatched": int(mask.sum()),
        "worst_index": tuple(int(i) for i in index),
        "got": a[index].item(),
        "want": b[index].item(),
        "max_abs": float(error[index]),
        "max_rel": float(error[index] / abs(b[index])),
        "max_ulp": 1.1e15,
        "got_array": a,
        "want_array": b,
        "mask": mask,
        "place": Place("cases/chain.yaml", 12, 3),
        **fields,
    }
    return make_comparison(**fields)


def make_case(name: str = "chain of four matrices", status: Any = "passed", **fields: Any) -> CaseResult:
    file = fields.pop("file", "cases/chain.yaml")
    fields = {
        "place": Place(file, 1, 1),
        "seconds": 0.01,
        "reproduce": f"gradcheck run '{file}::{name}' --seed 0",
        **fields,
    }
    return CaseResult(f"{file}::{name}" if name else file, file, name, status, **fields)


def make_error(kind: str, message: str, place: Place | None = None, **fields: Any) -> Failure:
    return Failure(kind, said(message), place or Place(), **fields)


def make_run(*cases: CaseResult, **fields: Any) -> RunResult:
    return RunResult(cases, **{"seconds": 4.2, "environment": ENVIRONMENT, **fields})


@pytest.fixture
def comparison() -> Maker:
    return make_comparison


@pytest.fixture
def failed() -> Maker:
    return make_failed


@pytest.fixture
def case() -> Maker:
    return make_case


@pytest.fixture
def error() -> Maker:
    return make_error


@pytest.fixture
def diagnosed() -> Maker:
    return diagnosis


@pytest.fixture
def run() -> Maker:
    return make_run


@pytest.fixture
def everything() -> RunResult:
    """One run in which every status and every kind of claim occurs."""
    return make_everything()


def make_everything() -> RunResult:
    want = np.array([[23400.0, 23400.0], [31800.0, 31800.0], [21900.0, 21900.0]])
    got = want.copy()
    got[0, 1], got[2, 0] = 23401, -21900
    rng = np.random.default_rng(0)
    large = rng.standard_normal((64, 32))
    formula = "x.sum(dim=1, keepdim=True) @ torch.ones([1, y.shape[0]])"
    comparisons = (
        make_comparison("value", "p"),
        make_comparison("gradient", "x", max_rel=2.2e-16, max_abs=1e-17, max_ulp=1.0),
        make_failed(got, want),
        make_failed(got, want, what="expected", reference="case", place=Place("cases/chain.yaml", 20, 3)),
        make_failed(large * 1.001, large, tensor="w", place=Place("cases/chain.yaml", 13, 3)),
        make_failed(want.T.copy(), want.T + 1, what="formula", engine="case", formula=formula,
                    place=Place("cases/chain.yaml", 22, 6), notes=("2 NaNs agree",),
                    diagnoses=(diagnosis("factor", "off by the constant 1"),)),
        make_failed(want.T.copy(), want.T + 1, what="formula", engine="case", formula=formula,
                    trial=Trial(1, 0, {"a": 3, "b": 1})),
        make_comparison("wrong_formula", "x", "failed", engine="case", formula="x * 1",
                        place=Place("cases/chain.yaml", 30, 3)),
    )  # fmt: skip
    holds = [
        make_comparison("formula", tensor, engine="case", formula=formula, trial=trial)
        for tensor in "xy"
        for trial in (None, *(Trial(t, 0, {"n": t + 2}, resized=True) for t in range(3)))
    ]
    bad = "cases/bad.yaml"
    unknown_key = make_error(
        "invalid", "unknown key 'reqires_grad'", Place(bad, 5, 21), hint="did you mean 'requires_grad'?"
    )
    return make_run(
        make_case("a sum", comparisons=(make_comparison("gradient", "x"), make_comparison("gradient", "y"), *holds)),
        make_case(status="failed", comparisons=comparisons),
        make_case("", "invalid", file=bad, errors=(unknown_key, make_error("invalid", "no graph", Place(bad, 1, 1)))),
        make_case("boom", "crashed", errors=(make_error("timeout", "it ran out of time after 5 s"),)),
        make_case("later", "skipped", reason="needs complex numbers"),
        make_case("known", "xfailed", reason="torch's own bug"),
        make_case("mended", "xpassed", reason="torch's own bug"),
        make_case("quantum", "unsupported", errors=(make_error("unsupported", "core has no op 'fft'"),)),
    )
