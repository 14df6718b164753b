"""Claims about Jacobians and Hessians: pairs of tensors, and derivations."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from gradcheck.language.case import Claim
from gradcheck.language.expr.nodes import Derivative
from gradcheck.language.expr.traverse import derivatives_in, free_names
from gradcheck.language.loader.expression_reader import ExpressionReader
from gradcheck.language.loader.name_scope import NameScope
from gradcheck.language.loader.yaml_document import Path, path_text

_DIFFERENTIABLE = ("inputs", "graph")


class DerivativeReader:
    """Reads these sections of one case, whose derivation steps are `let`."""

    def __init__(self, expressions: ExpressionReader, known: Collection[str], let: Mapping[str, Claim]) -> None:
        self.expressions, self.scope, self.known = expressions, expressions.scope, known
        self._uses: dict[str, set[Derivative]] = {}  # the derivatives that each step uses, by other steps too
        for name, claim in let.items():
            self._uses[name] = set(derivatives_in(claim.expr))
            self._uses[name].update(*(self._uses[one] for one in free_names(claim.expr) if one in self._uses))

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
                claims = (self._claim(own, at, one) for at, one in listed_derivations(self.scope, path, data))
                read[name][joined] = tuple(claim for claim in claims if claim is not None)
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

    def _claim(self, own: Derivative, path: Path, data: Any) -> Claim | None:
        """Read a derivation, which may not use what it claims."""
        claim = self.expressions.read(path, data, self.known, gradients=True)
        if claim is None:
            return None
        names = free_names(claim.expr)
        step = next((name for name in names if own in self._uses.get(name, ())), "")
        at = derivatives_in(claim.expr).get(own, names.get(step))
        if at is None:
            return claim
        way = f" by way of '{step}'" if own not in derivatives_in(claim.expr) else ""
        message = f"the claim about {own.name} speaks of it itself{way}, so it claims nothing"
        hint = f"say it by the tensors that {own.tensors[0]} is made of"
        self.scope.add_error(message, self.scope.document.locate(path, claim.text, at), hint)
        return None


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
