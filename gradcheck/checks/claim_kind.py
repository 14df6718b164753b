"""The kinds of claims, in the one order in which they are told."""

from __future__ import annotations

from enum import StrEnum


class ClaimKind(StrEnum):
    """What is claimed, in the order in which causes stand before their consequences: an error spoils values, a wrong
    value gradients, never the reverse."""

    RAISES = "raises"
    VALUE = "value"
    EXPECTED_VALUE = "expected_value"
    NODE = "node"  # one op's gradient rule alone
    GRADIENT = "gradient"
    EXPECTED = "expected"
    FORMULA = "formula"
    NODE_JVP = "node_jvp"  # one op's Jacobian-vector product alone
    JVP = "jvp"  # how a tensor changes where the inputs move along random directions
    DOT_PRODUCT = "dot_product"  # `<u, J v> = <J.T u, v>`: forward against reverse mode
    GRADIENT2 = "gradient2"  # second order: a gradient of `<gradient, probe>`
    CODE = "code"  # how somebody's own code behaves beyond its numbers
    WRONG_FORMULA = "wrong_formula"
    CHECK = "check"

    @property
    def rank(self) -> int:
        """Its place in the order of causes; what the file expects stands where it is about the same thing."""
        return _RANKS[self]

    @property
    def subject(self) -> ClaimKind:
        """What it is about: what the file expects of a value or a gradient is about that value or gradient."""
        return _SUBJECTS.get(self, self)

    @property
    def is_stated_by_file(self) -> bool:
        """Whether the file states it, beyond what engines are compared in."""
        return self in _OF_FILE

    @property
    def is_general(self) -> bool:
        """Whether it must hold at any numbers and sizes."""
        return self in (ClaimKind.FORMULA, ClaimKind.WRONG_FORMULA, ClaimKind.CHECK)

    @property
    def is_about_gradient(self) -> bool:
        """Whether it says what one tensor's first gradient is."""
        return self in (ClaimKind.GRADIENT, ClaimKind.EXPECTED, ClaimKind.FORMULA)

    @property
    def is_asked_for_by_run(self) -> bool:
        """Whether it is compared only where the run says so: forward mode, second order."""
        return self in _OF_RUN

    @property
    def is_about_value(self) -> bool:
        """Whether it says what one tensor's forward value is."""
        return self.subject is ClaimKind.VALUE


_OF_RUN = frozenset((ClaimKind.NODE_JVP, ClaimKind.JVP, ClaimKind.DOT_PRODUCT, ClaimKind.GRADIENT2))
_SUBJECTS = {ClaimKind.EXPECTED_VALUE: ClaimKind.VALUE, ClaimKind.EXPECTED: ClaimKind.GRADIENT}
_RANKS = {kind: rank for rank, kind in enumerate(ClaimKind)}
_RANKS |= {kind: _RANKS[subject] for kind, subject in _SUBJECTS.items()}
_OF_FILE = frozenset(
    (ClaimKind.EXPECTED_VALUE, ClaimKind.EXPECTED, ClaimKind.FORMULA, ClaimKind.CHECK, ClaimKind.WRONG_FORMULA)
)
