"""How long gradients are that `explain` derives, beside those of textbooks: the number of operations written down.

Each case of the files beside this one is a function with the gradients that a textbook gives as its `formulas`, which
`gradcheck run benchmarks/textbook` verifies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.timing import Row
from gradcheck.checks.derivation import Explanation, explain
from gradcheck.language.case import Case
from gradcheck.language.expr.nodes import Attribute, Call, Expr, Literal
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import free_names
from gradcheck.language.loader import load

FOLDER = Path(__file__).parent
#: So many of ten are no longer than in a textbook, and the others by so many operations at most.
OF_TEN, MOST_BEYOND = 9, 2


class Compared(NamedTuple):
    """A function: how many operations its gradients are, as they are explained and in the textbook; both as text."""

    case: Case
    derived: int
    stated: int
    texts: tuple[str, ...]
    stated_texts: tuple[str, ...]


def operations(expr: Expr) -> int:
    """How many operations are written down; a size, as in `x.shape[0]`, is none, nor is the sign of a number."""
    return sum(isinstance(node, Call) and not _is_number(node) for node in expr.walk())


def _is_number(node: Call) -> bool:
    if node.op == "neg":
        return isinstance(node.args[0], Literal)
    return node.op == "getitem" and isinstance(node.args[0], Attribute)


def written(formulas: Iterable[Expr], steps: Mapping[str, Expr]) -> int:
    """How many operations formulas have together, and the steps of the derivation that they use."""
    exprs = list(formulas)
    used = {name for expr in exprs for name in free_names(expr)}
    for name, step in reversed(list(steps.items())):
        if name in used:
            used |= free_names(step).keys()
            exprs.append(step)
    return sum(map(operations, exprs))


def compared(case: Case) -> Compared:
    """The gradients that a textbook gives, and what is explained of the same tensors."""
    found: Explanation = explain(case)
    derived = {one.tensor: one.expr for one in found.formulas if one.tensor in case.formulas}
    missing = case.formulas.keys() - derived.keys()
    if missing:
        raise ValueError(f"{case.id}: no gradient of {', '.join(sorted(missing))} is explained")
    stated = {name: claims[0].expr for name, claims in case.formulas.items()}
    return Compared(
        case,
        written(derived.values(), found.let),
        written(stated.values(), {name: claim.expr for name, claim in case.let.items()}),
        tuple(_texts({**found.let, **derived})),
        tuple(_texts({**{name: claim.expr for name, claim in case.let.items()}, **stated})),
    )


def _texts(named: Mapping[str, Expr]) -> Iterator[str]:
    for name, expr in named.items():
        yield f"{name} = {to_text(expr)}"


def cases(folder: Path = FOLDER) -> list[Case]:
    """The functions, with the gradients of textbooks."""
    found, errors = load([str(folder)])
    assert not errors, errors
    return list(found)


def rows() -> Iterator[Row]:
    found = [compared(case) for case in cases()]
    short = sum(one.derived <= one.stated for one in found)
    least = len(found) * OF_TEN // 10
    yield Row(
        f"gradients of {len(found)} textbook functions",
        f"{short} as short or shorter",
        f"≥ {least}",
        short >= least,
        "",
    )
    beyond = [one for one in found if one.derived > one.stated]
    most = max((one.derived - one.stated for one in beyond), default=0)
    details = "; ".join(f"{one.case.name}: {one.derived} for {one.stated}" for one in beyond)
    yield Row("operations beyond a textbook's", f"at most {most}", f"≤ {MOST_BEYOND}", most <= MOST_BEYOND, details)
