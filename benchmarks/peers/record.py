"""One function with one backward pass, right or wrong: the same few lines of text for every checker.

Expressions are those of the case language. In a backward pass `g` is the incoming gradient and `out` the function's
value, so that the text is at once a formula for gradcheck, the rule of an op of its core, the `backward` of a
`torch.autograd.Function` and a vector-Jacobian product of HIPS autograd.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from gradcheck import load
from gradcheck.language.case import Case
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.parser import parse
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw


@dataclass(frozen=True)
class Record:
    """`backward` gives the gradient of every input, in the order of `inputs`."""

    name: str
    inputs: Mapping[str, Any]  # as in a case: numbers, or text such as `randn(3, 4)`
    forward: str
    backward: Mapping[str, str]
    constants: Mapping[str, Any] = field(default_factory=dict)
    dtype: str = "float64"
    #: The gradient that arrives at `out` in gradcheck's case. `ones_like(out)` is what a sum above it sends.
    incoming: str = "randn_like(out)"

    @property
    def seed_of_ones(self) -> bool:
        """Whether the case hides what is wrong; the peers see the function itself, with directions of their own."""
        return self.incoming == "ones_like(out)"

    @cached_property
    def forward_expr(self) -> Expr:
        return parse(self.forward)

    @cached_property
    def backward_exprs(self) -> tuple[Expr, ...]:
        return tuple(parse(self.backward[name]) for name in self.inputs)

    def text(self, formulas: bool) -> str:
        """The case of this record, as a file (JSON is YAML); `g` is an intermediate step of the derivation."""
        case: dict[str, Any] = {
            "name": self.name,
            "dtype": self.dtype,
            "inputs": dict(self.inputs),
            "constants": dict(self.constants),
            "graph": {"out": self.forward},
            "backward": {"out": self.incoming},
        }
        if formulas:
            case |= {"let": {"g": "grad(out)"}, "formulas": dict(self.backward)}
        return json.dumps({key: value for key, value in case.items() if value != {}})


@dataclass(frozen=True)
class Trial:
    """A record with its two cases, one that states the backward pass as formulas and one that states nothing, and
    with the arrays that every checker is given."""

    record: Record
    stated: Case
    plain: Case
    problem: Problem


def read(records: Iterable[Record], folder: Path) -> list[Trial]:
    """Write the cases as files and load them, as a user would. Raises the first error that a file has."""
    found = []
    for number, record in enumerate(records):
        stated = _case(record.text(formulas=True), folder / f"{number:03d}-stated.yaml")
        plain = _case(record.text(formulas=False), folder / f"{number:03d}-plain.yaml")
        found.append(Trial(record, stated, plain, draw(plain)))
    return found


def _case(text: str, path: Path) -> Case:
    path.write_text(text, encoding="utf-8")
    cases: tuple[Case, ...]
    cases, errors = load([path])
    if errors:
        raise errors[0]
    return cases[0]
