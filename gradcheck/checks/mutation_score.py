"""Power: what mutation testing finds out about one case, as data; `mutation` measures it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gradcheck.facts import Fact


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mutation that changes a gradient somewhere: what was made wrong, and where; `caught_by` is the evidence that
    shows it ("gradient", "node", "formula", "trial" or "proof"), empty where none does."""

    kind: Fact
    where: Fact
    caught_by: str = ""


@dataclass(frozen=True, slots=True)
class MutationScore:
    """What the checks of one case would catch: its mutants, and for each tensor the smallest relative error that is
    seen. `equivalent` mutations change nothing, here or elsewhere, and are not among the mutants."""

    mutants: tuple[Mutant, ...]
    equivalent: int = 0
    smallest_seen_error: Mapping[str, float] = field(default_factory=dict)

    @property
    def caught(self) -> int:
        """How many mutants something shows."""
        return len(self.mutants) - len(self.survivors)

    @property
    def survivors(self) -> tuple[Mutant, ...]:
        """Those that nothing shows."""
        return tuple(mutant for mutant in self.mutants if not mutant.caught_by)

    @property
    def is_vacuous(self) -> bool:
        """Whether nothing that could go wrong would be noticed."""
        return self.caught == 0
