"""Known failures: claims that failed when a baseline was written do not fail a run again; others do, and so does a
claim that no longer fails, until it is taken out."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from gradcheck.checks.result import UNSETTLED, CaseResult, Comparison, Failure, RunResult
from gradcheck.facts import fact

_BAD = ("crashed", "invalid", "failed", "xpassed")


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
    """What is known to fail, by the ids of cases and the names of files that cannot be read; and where that is written
    down."""

    file: str
    claims: Mapping[str, frozenset[KnownClaim]] = field(default_factory=dict)

    def judged(self, found: CaseResult) -> CaseResult:
        """The result as one that was expected, if all that fails was known; as an unexpected pass, if some of what was
        known holds now. As it is, where anything else fails."""
        known = self.claims.get(found.id)
        if not known or found.status not in ("passed", *_BAD):
            return found
        now = failing(found)
        gone = sorted(claim.name for claim in known - now if _is_asked(claim, found))
        if now - known or not (now or gone):
            return found
        if gone:
            return replace(found, status="xpassed", known=fact("known_no_more", claims=tuple(gone), file=self.file))
        return replace(found, status="xfailed", known=fact("known_failure", file=self.file))

    def gone(self, result: RunResult) -> list[str]:
        """The ids of cases, in files of which cases ran, that are no more."""
        files, ids = {case.file for case in result.cases}, {case.id for case in result.cases}
        return sorted(one for one in self.claims if one not in ids and one.partition("::")[0] in files)

    def updated(self, result: RunResult, stays: Collection[str]) -> Baseline:
        """What fails in this result, which knows of no baseline; of what did not run, the ids in `stays`."""
        ran = {case.id: failing(case) for case in result.cases}
        kept = {one: claims for one, claims in self.claims.items() if one in stays and one not in ran}
        return replace(self, claims=kept | {one: claims for one, claims in ran.items() if claims})


def failing(case: CaseResult) -> frozenset[KnownClaim]:
    """All that fails in a case."""
    if case.status not in _BAD:
        return frozenset()
    found = {_claim(c) for c in case.comparisons if c.status in UNSETTLED} | {_error(error) for error in case.errors}
    return frozenset(found or {KnownClaim(case.status)})


def _claim(c: Comparison) -> KnownClaim:
    return KnownClaim(str(c.what), c.tensor, c.step, c.engine, c.formula)


def _error(error: Failure) -> KnownClaim:
    texts = [text for name, text in error.message.data if name == "text"] if error.kind == "invalid" else []
    return KnownClaim(error.kind, formula=" ".join(map(str, texts)))


def _is_asked(claim: KnownClaim, found: CaseResult) -> bool:
    """Whether the run would have shown it: engines are not all asked every time."""
    return claim.engine in ("", "case") or any(claim.engine == c.engine for c in found.comparisons)
