"""Derivations of gradients; claims about Jacobians and Hessians."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from gradcheck.language.case import Claim
from gradcheck.language.expr.nodes import Derivative
from gradcheck.language.loader.circular_formulas import CircularityChecker, Term
from gradcheck.language.loader.expression_reader import ExpressionReader
from gradcheck.language.loader.name_scope import NameScope
from gradcheck.language.loader.yaml_document import Path, path_text

_DIFFERENTIABLE = ("inputs", "graph")


class DerivativeReader:
    """Reads the derivations of one case, of which none may be circular."""

    def __init__(self, expressions: ExpressionReader, known: Collection[str], circular: CircularityChecker) -> None:
        self.expressions, self.scope = expressions, expressions.scope
        self.known, self.circular = known, circular

    def read(self, section: str, said: Mapping[str, Any]) -> dict[str, dict[str, tuple[Claim, ...]]]:
        """Return the claims by tensor, then by `x`, or `w, b` of a Hessian."""
        kind = "hessian" if section.endswith("hessians") else "jacobian"
        read: dict[str, dict[str, tuple[Claim, ...]]] = {}
        for name, entries in said.items():
            if not self.scope.check_reference((section, name), _DIFFERENTIABLE, f"the {kind} of"):
                continue
            read[name] = {}
            for key, data in entries.items():
                path = (section, name, key)
                by = self._tensors(kind, path, key)
                if by is None:
                    continue
                own = Derivative.of(kind, name, *by)
                joined = ", ".join(own.tensors[1:])
                if joined in read[name]:
                    self.scope.add_error(f"{own.name} is stated twice", path, "write a list of derivations", key=True)
                    continue
                read[name][joined] = self.claims(own, path, data)
        return read

    def _tensors(self, kind: str, path: Path, key: str) -> list[str] | None:
        """Return the tensors that a key names; None after an error."""
        names = [name.strip() for name in str(key).split(",")]
        if len(names) > (2 if kind == "hessian" else 1):
            hint = "a Hessian is by one tensor or by two: 'w' or 'w, b'"
            hint = hint if kind == "hessian" else "write each tensor on a line of its own"
            self.scope.add_error(f"'{key}' names {len(names)} tensors", path, hint, key=True)
            return None
        if "" in names:
            self.scope.add_error(f"'{key}' names no tensor beside its comma", path, "write 'w', or 'w, b'", key=True)
            return None
        known = [self.scope.check_reference(path, _DIFFERENTIABLE, f"the {kind} by", name) for name in names]
        return [*names, *names][:2] if kind == "hessian" and all(known) else names if all(known) else None

    def claims(self, term: Term, path: Path, data: Any) -> tuple[Claim, ...]:
        """Read one derivation or a list; none may use the term that it claims."""
        found = []
        for at, one in listed_derivations(self.scope, path, data):
            claim = self.expressions.read(at, one, self.known, gradients=True)
            found.append(self.circular.without_circular(term, at, claim))
        return tuple(claim for claim in found if claim is not None)


def listed_derivations(scope: NameScope, path: Path, data: Any) -> Iterator[tuple[Path, Any]]:
    """Yield each derivation of one or a list, with its path."""
    if data == []:
        scope.add_error(f"{path_text(path)} is an empty list", path)
    if not isinstance(data, list):
        yield path, data
        return
    if _are_numbers(data):
        gradients = path[0] in ("formulas", "wrong_formulas")
        known = "numbers that are known stand under `expected`" if gradients else f"write numbers as tensor({data})"
        scope.add_error(f"{path_text(path)} is a list of numbers", path, f"a list is several formulas; {known}")
        return
    yield from (((*path, i), one) for i, one in enumerate(data))


def _are_numbers(data: list[Any]) -> bool:
    """Return whether a list holds a tensor's numbers, not expressions."""
    plain = all(isinstance(one, (int, float, list)) and not isinstance(one, bool) for one in data)
    return bool(data) and plain and (len(data) > 1 or isinstance(data[0], list))
