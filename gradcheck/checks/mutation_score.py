"""The mutation score of one case, as data; `mutation` measures it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gradcheck.facts import Fact


@dataclass(frozen=True, slots=True)
class Mutant:
    """A planted mistake that changes some gradient."""

    kind: Fact
    where: Fact
    caught_by: str = ""  # "gradient", "node", "formula", "trial" or "proof"; empty if none


@dataclass(frozen=True, slots=True)
class MutationScore:
    """The mutants of a case, and the smallest error seen in each tensor."""

    mutants: tuple[Mutant, ...]
    equivalent: int = 0  # mutations that change nothing, not among the mutants
    smallest_seen_error: Mapping[str, float] = field(default_factory=dict)

    @property
    def caught(self) -> int:
        """The number of mutants that some check catches."""
        return len(self.mutants) - len(self.survivors)

    @property
    def survivors(self) -> tuple[Mutant, ...]:
        """The mutants that no check catches."""
        return tuple(mutant for mutant in self.mutants if not mutant.caught_by)

    @property
    def is_vacuous(self) -> bool:
        """True if no mistake would be noticed."""
        return self.caught == 0
