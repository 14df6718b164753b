"""The kinds of claims, in the order in which reports show them."""

from __future__ import annotations

from enum import StrEnum


class ClaimKind(StrEnum):
    """A kind of claim. A wrong value spoils gradients, never the reverse."""

    RAISES = "raises"
    VALUE = "value"
    EXPECTED_VALUE = "expected_value"
    NODE = "node"  # one op's gradient rule alone
    GRADIENT = "gradient"
    EXPECTED = "expected"
    FORMULA = "formula"
    NODE_JVP = "node_jvp"  # one op's Jacobian-vector product alone
    JVP = "jvp"  # a tensor's tangent along random directions of the inputs
    DOT_PRODUCT = "dot_product"  # `<u, J v> = <J.T u, v>`: forward against reverse mode
    GRADIENT2 = "gradient2"  # second order: a gradient of `<gradient, probe>`
    CODE = "code"  # the behaviour of user code beyond its numbers
    WRONG_FORMULA = "wrong_formula"
    JACOBIAN = "jacobian"
    HESSIAN = "hessian"
    WRONG_JACOBIAN = "wrong_jacobian"
    WRONG_HESSIAN = "wrong_hessian"
    CHECK = "check"

    @property
    def rank(self) -> int:
        """Its place in the order of causes, by its subject."""
        return _RANKS[self]

    @property
    def subject(self) -> ClaimKind:
        """The kind of tensor it is about: an expected value is about the value."""
        return _SUBJECTS.get(self, self)

    @property
    def is_stated_by_file(self) -> bool:
        """True if the file states it, beyond comparing engines."""
        return self in _OF_FILE

    @property
    def is_general(self) -> bool:
        """True if it must hold at any numbers and sizes."""
        return self in _GENERAL

    @property
    def is_about_derivative(self) -> bool:
        """True if it states a Jacobian or a Hessian, right or wrong."""
        return self in _DERIVATIVES

    @property
    def is_stated_wrong(self) -> bool:
        """True if the file states that it must be refuted."""
        return self.startswith("wrong_")

    @property
    def is_about_gradient(self) -> bool:
        """True if it states one tensor's first gradient."""
        return self in (ClaimKind.GRADIENT, ClaimKind.EXPECTED, ClaimKind.FORMULA)

    @property
    def is_asked_for_by_run(self) -> bool:
        """True if only an option of the run enables it."""
        return self in _OF_RUN

    @property
    def is_about_value(self) -> bool:
        """True if it states one tensor's forward value."""
        return self.subject is ClaimKind.VALUE


_OF_RUN = frozenset((ClaimKind.NODE_JVP, ClaimKind.JVP, ClaimKind.DOT_PRODUCT, ClaimKind.GRADIENT2))
_SUBJECTS = {ClaimKind.EXPECTED_VALUE: ClaimKind.VALUE, ClaimKind.EXPECTED: ClaimKind.GRADIENT}
_RANKS = {kind: rank for rank, kind in enumerate(ClaimKind)}
_RANKS |= {kind: _RANKS[subject] for kind, subject in _SUBJECTS.items()}
_DERIVATIVES = frozenset((ClaimKind.JACOBIAN, ClaimKind.HESSIAN, ClaimKind.WRONG_JACOBIAN, ClaimKind.WRONG_HESSIAN))
_GENERAL = _DERIVATIVES | {ClaimKind.FORMULA, ClaimKind.WRONG_FORMULA, ClaimKind.CHECK}
_OF_FILE = _GENERAL | {ClaimKind.EXPECTED_VALUE, ClaimKind.EXPECTED}
