"""Known failures: claims that failed when a baseline was written do not fail a run again; others do, and so does a
claim that no longer fails, until it is taken out. And how near to each other those came that hold: what has drifted
apart since is told."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from gradcheck.checks.drift import agreements, drifted_claims
from gradcheck.checks.result import FAILING_STATUSES, CaseResult, Comparison, Failure, RunResult
from gradcheck.errors import CodeNotAllowed
from gradcheck.facts import fact

_FAILING = ("crashed", "invalid", "failed", "xpassed")


@dataclass(frozen=True, slots=True, order=True)
class KnownClaim:
    """What fails in a case: a claim, by all that tells it from others, its numbers apart; or an error, whose kind is
    then `what`, and whose text, where a file is invalid, `formula`."""

    what: str
    tensor: str = ""
    step: int = 0
    engine: str = ""
    formula: str = ""

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.what} of {self.tensor}" if self.tensor else self.what


@dataclass(frozen=True, slots=True)
class Baseline:
    """What is known to fail, by the ids of cases and the names of files that cannot be read, as they are seen from the
    folder of the `file` that it is written down in; and how near claims came that held, by the same ids. Drift is
    `measured` where it is asked for."""

    file: str
    claims: Mapping[str, frozenset[KnownClaim]] = field(default_factory=dict)
    agreement: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    measures_drift: bool = False

    def key(self, id: str) -> str:
        """How the baseline calls a case, wherever the run began."""
        file, colons, name = id.partition("::")
        folder, base = os.path.split(file)
        seen = os.path.join(_relative_folder(os.getcwd(), os.path.dirname(self.file), folder), base)
        return f"{seen.replace(os.sep, '/').removeprefix('./')}{colons}{name}"

    def apply_to(self, found: CaseResult, fail_on_drift: bool = False) -> CaseResult:
        """The result as one that was expected, if all that fails was known; as an unexpected pass, if some of what was
        known holds now. As it is, where anything else fails. What has drifted is told, or fails it."""
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
        if not known or found.status not in ("passed", *_FAILING):
            return found
        now = failing_claims(found)
        gone = sorted(claim.name for claim in known - now if _is_checked(claim, found))
        if now - known or not (now or gone):
            return found
        if gone:
            return replace(found, status="xpassed", known=fact("known_no_more", claims=tuple(gone), file=self.file))
        return replace(found, status="xfailed", known=fact("known_failure", file=self.file))

    def vanished_cases(self, result: RunResult) -> list[str]:
        """The ids of cases that fail, in files of which cases ran, that are no more."""
        return sorted(self.claims.keys() & self._vanished_ids(result))

    def _vanished_ids(self, result: RunResult) -> set[str]:
        files = {self.key(case.file) for case in result.cases}
        ids = {self.key(case.id) for case in result.cases}
        known = self.claims.keys() | self.agreement.keys()
        return {one for one in known if one not in ids and one.partition("::")[0] in files}

    def updated(self, result: RunResult, whole: bool, is_there: Callable[[str], bool]) -> Baseline:
        """What fails and what agrees in this result, which knows of no baseline. What did not run stays, where its
        file `is_there`; but not what is no more in files of which `whole` says that all cases ran. A case whose code
        may not run did not."""
        ran = {self.key(case.id): case for case in result.cases if not _is_code_blocked(case)}
        gone = {*ran, *(self._vanished_ids(result) if whole else ())}
        failures = {id: failing_claims(case) for id, case in ran.items()}
        agree = {id: agreements(case, self.agreement.get(id, {})) for id, case in ran.items()}

        def merged(known: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
            stays = (id for id in known if id not in gone and is_there(id.partition("::")[0]))
            return {id: known[id] for id in stays} | {id: found for id, found in new.items() if found}

        return replace(self, claims=merged(self.claims, failures), agreement=merged(self.agreement, agree))


@lru_cache(maxsize=10_000)
def _relative_folder(cwd: str, here: str, folder: str) -> str:
    """The way from one folder to another, by whatever links they are reached; both as they are seen from the first."""
    return os.path.relpath(*(os.path.realpath(os.path.join(cwd, one)) for one in (folder, here)))


def failing_claims(case: CaseResult) -> frozenset[KnownClaim]:
    """All that fails in a case."""
    if case.status not in _FAILING:
        return frozenset()
    found = {_claim(c) for c in case.comparisons if c.status in FAILING_STATUSES} | {
        _error(error) for error in case.errors
    }
    return frozenset(found or {KnownClaim(case.status)})


def _is_code_blocked(case: CaseResult) -> bool:
    return any(error.kind == CodeNotAllowed.kind for error in case.errors)


def _claim(c: Comparison) -> KnownClaim:
    return KnownClaim(str(c.what), c.tensor, c.step, c.engine, c.formula)


def _error(error: Failure) -> KnownClaim:
    texts = [text for name, text in error.message.data if name == "text"] if error.kind == "invalid" else []
    return KnownClaim(error.kind, formula=" ".join(map(str, texts)))


def _is_checked(claim: KnownClaim, found: CaseResult) -> bool:
    """Whether the run would have shown it: engines are not all asked every time."""
    return claim.engine in ("", "case") or any(claim.engine == c.engine for c in found.comparisons)
