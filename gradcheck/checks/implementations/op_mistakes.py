"""Find one op of an entry with a known mistake that explains a gradient.

The entry is split into its ops. For each op, and each mistake of the catalogue in one op's rule, the input's gradient
is computed with that mistake. The input's gradient is linear in each op's share, so a missing or scaled share is
recognised too.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.claims.operations import gradient_positions
from gradcheck.checks.failures.correction.computed_formula import EvidenceAtPoints
from gradcheck.checks.failures.diagnosis.catalogue import CATALOGUE, Evidence, Rule, matches
from gradcheck.checks.failures.gather_evidence import make_reference_pullback
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, Diagnosis
from gradcheck.checks.scope import Scope
from gradcheck.engines.base import Application
from gradcheck.engines.core import Core
from gradcheck.engines.recording import arrays
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Claim
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import replace_part, substitute

#: Mistakes of one op's rule that predict their result.
_KINDS = frozenset((
    *("sign", "incoming_ignored", "incoming_passed_on", "forward_value", "no_centring", "swapped", "transposed"),
    *("operand_transposed", "conjugate", "flipped", "off_by_one", "mean_for_sum", "summed", "saved_value"),
))  # fmt: skip
#: Entries of more ops are not split.
MOST_OPS = 40
#: The relative difference of factors at two points that count as equal.
_SAME = 1e-6
#: Functions of `v` that stand for each other.
_FORMS = ("gelu(v)", "gelu(v, approximate='tanh')", "v * sigmoid(1.702 * v)")
#: The most parts of an entry that are compared.
_MOST_PARTS = 60


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation that holds at a point, with a key that is equal at all."""

    kind: str
    key: Hashable
    what: Fact


def find_op_mistakes(name: str, seen: Sequence[tuple[Point, Evidence]]) -> tuple[Diagnosis, ...]:
    """Return the mistakes at one op that explain the gradient everywhere."""
    left: dict[tuple[str, Hashable], Relation] | None = None
    for point, evidence in seen:
        with using_default_dtype(point.problem.dtype), np.errstate(all="ignore"):
            found = {(one.kind, one.key): one for one in _mistakes_at(name, point, evidence)}
        left = found if left is None else {key: one for key, one in left.items() if key in found}
        if not left:
            return ()
    best: dict[str, Relation] = {}
    for one in (left or {}).values():
        best.setdefault(one.kind, one)
    sure = "confirmed" if len(best) == 1 and len(seen) > 1 else "possible"
    points = fact("computed_at_points", points=len(seen))
    return tuple(Diagnosis(one.kind, one.what, sure, points) for one in list(best.values())[:2])


def _mistakes_at(name: str, point: Point, evidence: Evidence) -> Iterator[Relation]:
    tape = EntryTape(point)
    target = tape.leaf(name)
    if target is None or len(tape.nodes) > MOST_OPS or evidence.got is None:
        return
    if evidence.got.shape != evidence.want.shape:
        return
    tape.sweep()
    off = wide(evidence.got_or_zeros) - wide(evidence.want)
    for (number, index), share, part in tape.parts(target):
        node, place = tape.nodes[number], tape.inputs(number)[index]
        where = fact("op_at", op=node.op.name, entry=node.owner)
        yield from _part_mistakes((number, index), where, part, off)
        for kind, key, what, predicted in _mistakes(tape, number, index, share):
            moved = tape.carry_to(number, place, predicted - share, target)
            if moved is not None and matches(wide(evidence.want) + moved, evidence):
                yield Relation(kind, (number, index, key), fact("inside_entry", where=where, what=what))


def _part_mistakes(key: Hashable, where: Fact, part: np.ndarray, off: np.ndarray) -> Iterator[Relation]:
    size = float(np.sum(np.abs(part) ** 2))
    factor = 1 + float(np.real(np.sum(np.conj(part) * off))) / size
    if not np.allclose(off, (factor - 1) * part, rtol=_SAME, atol=_SAME * float(np.max(np.abs(part)))):
        return
    if abs(factor) < _SAME:
        yield Relation("path_dropped", key, fact("part_not_there", where=where))
    elif abs(factor + 1) < _SAME:
        yield Relation("sign", key, fact("part_negated", where=where))
    elif (rounded := float(f"{factor:.5g}")) != 1:
        yield Relation("factor", (key, rounded), fact("part_scaled", where=where, factor=rounded))


def _mistakes(
    tape: EntryTape, number: int, index: int, share: np.ndarray
) -> Iterator[tuple[str, Hashable, Fact, np.ndarray]]:
    node, places = tape.nodes[number], gradient_positions(tape.nodes[number])
    rule = Rule(node, places[index], index, tape.cotangents[number], tuple(tape.shares[number]), tape.ask)
    alone = Evidence(share, share, rule=rule)
    for hypothesis in CATALOGUE:
        if hypothesis.kind in _KINDS:
            for guess in hypothesis.predict(alone):
                predicted = None if guess.predicted is None else np.asarray(guess.predicted)
                if predicted is not None and predicted.shape == share.shape and guess.is_proof:
                    yield hypothesis.kind, guess.key, guess.fact, predicted


class EntryTape:
    """The ops of a graph at a point, in order, with their cotangents.

    Arrays are identified by `id`."""

    def __init__(self, point: Point) -> None:
        self.problem, self.core = point.problem, Core()
        self.nodes: list[Application] = [one for one in point.applications if one.recorded is not None]
        self.cotangents: dict[int, tuple[np.ndarray | None, ...]] = {}
        self.shares: dict[int, Sequence[np.ndarray | None]] = {}
        self.ask = make_reference_pullback(self.core, point.problem.dtype)
        self._made = {id(array): n for n, node in enumerate(self.nodes) for array in outputs_of(node)}

    def inputs(self, number: int) -> list[np.ndarray]:
        """Return the arguments of an op that get a gradient."""
        node = self.nodes[number]
        listed = list(arrays(node.args, node.kwargs))
        return [listed[place] for place in gradient_positions(node)]

    def leaf(self, name: str) -> int | None:
        """Return the id of an input's array, found by its numbers, or None."""
        wanted = self.problem.inputs.get(name)
        if wanted is None:
            return None
        for number in range(len(self.nodes)):
            for array in self.inputs(number):
                if id(array) not in self._made and array.shape == wanted.shape and np.array_equal(array, wanted):
                    return id(array)
        return None

    def sweep(self) -> None:
        """Compute the right cotangents and shares in reverse order."""
        cotangents: dict[int, Any] = {}
        (seeds,) = self.problem.seeds
        used = {id(array) for number in range(len(self.nodes)) for array in self.inputs(number)}
        ends = [array for node in self.nodes for array in outputs_of(node) if id(array) not in used]
        given = [seed for seed in seeds.values() if seed is not None]
        for array in ends:
            seed = next((g for g in given if g.shape == array.shape), None)
            if seed is not None:
                cotangents[id(array)] = seed
        self._carry(len(self.nodes), cotangents, keep=True)

    def parts(self, target: int) -> Iterator[tuple[tuple[int, int], np.ndarray, np.ndarray]]:
        """Yield each op and gradient, its share, and the share's effect."""
        for number, shares in sorted(self.shares.items()):
            for index, share in enumerate(shares):
                if share is not None and np.any(share):
                    part = self.carry_to(number, self.inputs(number)[index], share, target)
                    if part is not None and np.any(part):
                        yield (number, index), share, part

    def carry_to(self, number: int, place: np.ndarray, change: np.ndarray, target: int) -> np.ndarray | None:
        """Return the effect on the target of a change at an op's argument."""
        if id(place) == target:
            return np.asarray(wide(change))
        cotangents: dict[int, Any] = {id(place): change}
        self._carry(number, cotangents)
        found = cotangents.get(target)
        return None if found is None else np.asarray(wide(found))

    def _carry(self, below: int, cotangents: dict[int, Any], keep: bool = False) -> None:
        for number in reversed(range(below)):
            node = self.nodes[number]
            outputs = outputs_of(node)
            incoming = tuple(cotangents.get(id(array)) for array in outputs)
            if all(one is None for one in incoming):
                continue
            filled = tuple(
                np.zeros_like(a) if one is None else np.asarray(one, dtype=a.dtype)
                for one, a in zip(incoming, outputs, strict=True)
            )
            (pulled,) = self.core.pull_back([node], [filled], self.problem.dtype)
            if pulled.error is not None:
                continue
            if keep:
                self.cotangents[number], self.shares[number] = filled, pulled.gradients
            for array, gradient in zip(self.inputs(number), pulled.gradients, strict=False):
                if gradient is not None:
                    known = cotangents.get(id(array))
                    cotangents[id(array)] = gradient if known is None else known + gradient


def outputs_of(node: Application) -> list[np.ndarray]:
    parts = node.recorded if isinstance(node.recorded, tuple) else (node.recorded,)
    return [part.data for part in parts if hasattr(part, "data")]


def look_alikes(c: Comparison, seen: EvidenceAtPoints) -> tuple[Diagnosis, ...]:
    """Return the function of the same name whose derivative a gradient is.

    GELU has an exact form and two approximations, which code mixes up. They are found in an entry by their values, so
    also where they are written out."""
    if not seen:
        return ()
    point, _ = seen[0]
    points = fact("computed_at_points", points=len(seen))
    with using_default_dtype(point.problem.dtype), quiet(), np.errstate(all="ignore"):
        for entry, right, wrong, changed in _exchanged(point, c.step):
            if all(matches(_gradient(at, entry, changed, c), evidence) for at, evidence in seen):
                what = fact("derivative_of_another", wrong=to_text(wrong), right=to_text(right))
                return (Diagnosis("other_formula", what, "confirmed", points),)
    return ()


def _exchanged(point: Point, step: int) -> Iterator[tuple[str, Expr, Expr, Expr]]:
    """Yield an entry, a form in it, another form, and the entry with that."""
    scope = point.scope(step)
    for entry, claim in point.problem.case.graph.items():
        parts = list(claim.expr.walk())
        for part in parts if len(parts) <= _MOST_PARTS else ():
            for number, operand in _forms_of(part, scope):
                forms = [substitute(parse(form), {"v": operand}) for form in _FORMS]
                for other in range(len(_FORMS)):
                    if other != number:
                        changed = replace_part(claim.expr, part, forms[other])
                        yield entry, forms[number], forms[other], changed


def _forms_of(part: Expr, scope: Scope) -> Iterator[tuple[int, Expr]]:
    whole = _value(part, scope)
    if whole is None or whole.size < 2:
        return
    for operand in part.walk():
        value = _value(operand, scope) if operand is not part else None
        if value is None or value.shape != whole.shape:
            continue
        for number, form in enumerate(_FORMS):
            found = _value(substitute(parse(form), {"v": operand}), scope)
            if found is not None and np.allclose(wide(found), wide(whole), rtol=1e-9, atol=1e-12):
                yield number, operand
                return


def _value(expr: Expr, scope: Scope) -> np.ndarray | None:
    try:
        found = scope.array_of(expr)
    except (GradcheckError, KeyError, TypeError, ValueError):
        return None
    return found if found.dtype.kind == "f" else None


def _gradient(point: Point, entry: str, expr: Expr, c: Comparison) -> np.ndarray | None:
    case = point.problem.case
    changed = replace(case, graph={**case.graph, entry: Claim.of(expr)})
    found = point.engines.reference.evaluate(replace(point.problem, case=changed))
    return found.state(c.step).gradients.get(c.tensor)
