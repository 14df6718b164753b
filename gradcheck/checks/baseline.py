"""Known failures, of an earlier run or by `xfail`, and agreement.

A claim that failed when the baseline was written does not fail a run again. Any other failing claim does, and so does a
listed claim that passes now, until it is removed from the file. A baseline may also hold how closely passing claims
agreed, so that drift is noticed. With `xfail` a case states that it must fail. Such a failure counts as a success,
unless another claim fails, a named claim passes, or the date is past.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from gradcheck.checks.result import CaseResult, Comparison, Failure, RunResult
from gradcheck.errors import CodeNotAllowed, Place
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case
from gradcheck.language.expr.nodes import Derivative


@dataclass(frozen=True, slots=True, order=True)
class KnownClaim:
    """A claim that fails in a case, or the kind and text of an error."""

    what: str  # the kind of a claim, or of an error
    tensor: str = ""
    step: int = 0
    engine: str = ""
    formula: str = ""  # of an invalid file, the error's text

    @property
    def name(self) -> str:
        """Return the name that reports show."""
        return f"{self.what} of {self.tensor}" if self.tensor else self.what


@dataclass(frozen=True, slots=True)
class Baseline:
    """Known failures and agreements, by case id relative to `file`."""

    file: str
    claims: Mapping[str, frozenset[KnownClaim]] = field(default_factory=dict)
    agreement: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    measures_drift: bool = False  # whether the run compares agreements

    def key(self, id: str) -> str:
        """Return a case's id relative to the folder of the baseline."""
        file, colons, name = id.partition("::")
        folder, base = os.path.split(file)
        seen = os.path.join(_relative_folder(os.getcwd(), os.path.dirname(self.file), folder), base)
        seen = seen.replace(os.sep, "/").removeprefix("./")
        return f"{'./' if seen.startswith('-') else ''}{seen}{colons}{name}"

    def apply_to(self, found: CaseResult, fail_on_drift: bool = False) -> CaseResult:
        """Return the result with its known failures and its drift applied.

        The status becomes `xfailed` if exactly the known claims fail, and `xpassed` if some of them pass now. Any
        other failure leaves it unchanged. Drift is added to the result, and fails it with `fail_on_drift`."""
        id = self.key(found.id)
        judged = self._apply_known(found, self.claims.get(id))
        drift = drifted_claims(found, self.agreement.get(id, {}))
        if not drift:
            return judged
        if not fail_on_drift or judged.status not in ("passed", "xfailed"):
            return replace(judged, drift=drift)
        errors = tuple(Failure("drift", one, found.place) for one in drift)
        return replace(judged, status="failed", known=None, errors=(*judged.errors, *errors))

    def _apply_known(self, found: CaseResult, known: frozenset[KnownClaim] | None) -> CaseResult:
        if not known or not (found.status == "passed" or found.is_failing):
            return found
        now = failing_claims(found)
        engines = {"", "case", *(c.engine for c in found.comparisons)}  # a claim about another was not checked
        gone = sorted(claim.name for claim in known - now if claim.engine in engines)
        if now - known or not (now or gone):
            return found
        if gone:
            return replace(found, status="xpassed", known=fact("known_no_more", claims=tuple(gone), file=self.file))
        return replace(found, status="xfailed", known=fact("known_failure", file=self.file))

    def vanished_cases(self, result: RunResult, is_there: Callable[[str], bool]) -> list[str]:
        """Return known failing ids that no longer exist, as in `updated`."""
        gone = self._vanished_ids(result)
        return sorted(one for one in self.claims if one in gone or not is_there(one.partition("::")[0]))

    def _vanished_ids(self, result: RunResult) -> set[str]:
        files = {self.key(case.file) for case in result.cases}
        ids = {self.key(case.id) for case in result.cases}
        known = self.claims.keys() | self.agreement.keys()
        return {one for one in known if one not in ids and one.partition("::")[0] in files}

    def updated(self, result: RunResult, whole: bool, is_there: Callable[[str], bool]) -> Baseline:
        """Return the baseline with the failures and agreements of a result.

        Entries of cases that did not run stay if `is_there` finds their file. With `whole`, all cases of each file
        ran, so ids that no longer exist are dropped. A case whose code was not allowed to run counts as not run."""
        blocked = CodeNotAllowed.kind
        ran = {self.key(one.id): one for one in result.cases if all(e.kind != blocked for e in one.errors)}
        gone = {*ran, *(self._vanished_ids(result) if whole else ())}
        failures = {id: failing_claims(case) for id, case in ran.items()}
        agree = {id: agreements(case, self.agreement.get(id, {})) for id, case in ran.items()}

        def merged(known: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
            stays = (id for id in known if id not in gone and is_there(id.partition("::")[0]))
            return {id: known[id] for id in stays} | {id: found for id, found in new.items() if found}

        return replace(self, claims=merged(self.claims, failures), agreement=merged(self.agreement, agree))


@lru_cache(maxsize=10_000)
def _relative_folder(cwd: str, here: str, folder: str) -> str:
    """Return the path from `here` to `folder`, links resolved."""
    return os.path.relpath(*(os.path.realpath(os.path.join(cwd, one)) for one in (folder, here)))


def failing_claims(case: CaseResult) -> frozenset[KnownClaim]:
    """Return all claims and errors that fail in a case."""
    if not case.is_failing:
        return frozenset()
    failing = (c for c in case.comparisons if c.is_failing)
    claims = {KnownClaim(str(c.what), c.tensor, c.step, c.engine, c.formula) for c in failing}
    return frozenset(claims | set(map(_error, case.errors)) or {KnownClaim(case.status)})


def _error(error: Failure) -> KnownClaim:
    texts = [text for name, text in error.message.data if name == "text"] if error.kind == "invalid" else []
    return KnownClaim(error.kind, formula=" ".join(map(str, texts)))


#: A relative error this many times larger is drift. Another order of summation costs less.
DRIFT_FACTOR = 1_000.0


def agreements(found: CaseResult, known: Mapping[str, float]) -> dict[str, float]:
    """Return agreements as powers of ten; `known` ones stay unless drifted."""
    now = {name: _rounded(near) for name, near in _measured_agreements(found).items()}
    return now | {n: was for n, was in known.items() if n in now and was / DRIFT_FACTOR <= now[n] <= was * DRIFT_FACTOR}


def drifted_claims(found: CaseResult, known: Mapping[str, float]) -> tuple[Fact, ...]:
    """Return a fact for each claim that agrees much less than it did."""
    return tuple(
        fact("has_drifted", claim=name, was=known[name], now=near)
        for name, near in _measured_agreements(found).items()
        if name in known and near > DRIFT_FACTOR * known[name]
    )


def _measured_agreements(found: CaseResult) -> dict[str, float]:
    """Return the worst measured agreement of each passing claim, by name."""
    claims: dict[str, float] = {}
    for c in found.comparisons:
        if c.status == "passed" and c.agreement is not None and c.trial is None:
            name = _drift_name(c, found.seed)
            claims[name] = max(claims.get(name, 0.0), c.agreement)
    return claims


def _drift_name(c: Comparison, seed: int) -> str:
    """Return `gradient of x by core`, with an unusual engine, dtype, seed."""
    parts = [f"{c.what.replace('_', ' ')} of {c.tensor}"]
    parts += [f"after step {c.step + 1}"] if c.step else []
    parts += [f"by {c.engine}"] if c.engine not in ("", "case") else []
    parts += [f"against {c.reference}"] if c.reference not in ("", "case", "torch") else []
    parts += [f"in {c.dtype}"] if c.dtype != "float64" else []
    parts += [f"at seed {seed}"] if seed else []
    return " ".join(parts) + (f": {c.formula}" if c.formula else "")


def _rounded(near: float) -> float:
    return float(f"1e{math.ceil(math.log10(near) - 1e-9)}")


def apply_xfail(found: CaseResult, case: Case, today: str) -> CaseResult:
    """Return the result as `xfail` changes it; `today` is in ISO 8601."""
    expected = case.xfail
    if expected is None or found.status not in ("failed", "passed"):
        return found
    found = replace(found, reason=expected.reason)
    if found.status == "passed":
        return replace(found, status="xpassed")
    if expected.only:
        elsewhere, held = _unnamed_failures(found, case, expected.only), _holding_claims(found, case, expected.only)
        if elsewhere:
            return _with_error(found, case, "xfail.only", fact("fails_elsewhere", claims=elsewhere))
        if held:
            return replace(found, status="xpassed", known=fact("holds_again", claims=held))
    if expected.until and today > expected.until:
        return _with_error(
            found, case, "xfail.until", fact("past_its_date", until=expected.until, reason=expected.reason)
        )
    known = fact("fails_until", reason=expected.reason, until=expected.until) if expected.until else None
    return replace(found, status="xfailed", known=known)


def _unsettled(found: CaseResult) -> list[Comparison]:
    return [c for c in found.comparisons if c.is_failing]


def _holding_claims(found: CaseResult, case: Case, only: tuple[str, ...]) -> tuple[str, ...]:
    raised = {error.kind for error in found.errors}
    names = (name for name in only if name not in raised)
    return tuple(name for name in names if not any(_is_called(name, c, case) for c in _unsettled(found)))


def _unnamed_failures(found: CaseResult, case: Case, only: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of all failures that `only` does not list.

    If a step raises an unexpected error, the error counts, not the comparison beside it."""
    names = {_name(c): None for c in _unsettled(found) if not any(_is_called(name, c, case) for name in only)}
    if any(error.kind in only for error in found.errors):
        names = {name: None for name in names if not name.startswith("raises")}
    return (*names, *(error.kind for error in found.errors if error.kind not in only))


def _is_called(name: str, c: Comparison, case: Case) -> bool:
    tensors = Derivative(c.tensor).tensors if c.what.is_about_derivative else (c.tensor,)
    if name in (c.tensor, *tensors, *(tensor.partition("[")[0] for tensor in tensors)):
        return bool(name)
    is_tensor = name in case.graph or name in case.inputs or name in case.constants
    if name == " ".join(c.formula.split()) and not is_tensor:
        return True
    kind, _, tensor = name.partition(" of ")
    return kind.replace(" ", "_") in (c.what, c.what.subject) and tensor in ("", c.tensor, *tensors)


def _name(c: Comparison) -> str:
    kind = c.what.replace("_", " ")
    return f"{kind} of {c.tensor}" if c.tensor else c.formula or kind


def _with_error(found: CaseResult, case: Case, key: str, message: Fact) -> CaseResult:
    place = case.places.get(key) or case.places.get("xfail") or Place()
    return replace(found, errors=(*found.errors, Failure("xfail", message, place)))
