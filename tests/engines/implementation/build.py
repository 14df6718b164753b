"""An engine of somebody's code, for tests of one module at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradcheck.engines.implementation.binding import bind
from gradcheck.engines.implementation.code_engine import CodeEngine as Engine
from gradcheck.engines.implementation.code_kinds import code_of
from gradcheck.language.case import Case, Generalize, Implementation
from tests.from_text import case_of

TANH = 'dims: {n: 3, d: 2}\ninputs: {x: "randn(n, d)"}\ngraph: {y: tanh(x)}\nbackward: {y: randn_like(y)}\n'
AFFINE = (
    'dims: {n: 3, d: 2, h: 4}\ninputs: {x: "randn(n, d)", w: "randn(d, h)", b: randn(h)}\n'
    "graph: {y: x @ w + b}\nbackward: {y: randn_like(y)}\n"
)


def engine_of(function: Any, backward: Any = None, case: str = TANH, entry: str = "y") -> Engine:
    """The engine of code for an entry of a case."""
    code = code_of(function, backward, "mine")
    return Engine(
        "mine", entry, code, bind(case_of(case), Implementation(entry, "mine"), code.signature, code.parameters)
    )


def with_code(case: str, *loaded: Any, entry: str = "y", **fields: Any) -> Case:
    """A case with code, each a callable, or a pair of a forward and its backward."""
    listed = tuple(Implementation(entry, f"code {n}", loaded=one, **fields) for n, one in enumerate(loaded, 1))
    read = case_of(case)
    return replace(read, implementations=listed, generalize=read.generalize or Generalize(trials=2))
