"""Small problems for tests of the exact oracle."""

from __future__ import annotations

import numpy as np

from gradcheck.errors import Place
from gradcheck.language.case import Case, Claim, Step, Value
from gradcheck.language.expr.parser import parse
from gradcheck.language.problem import Problem
from gradcheck.oracles.exact.prove import Proof, prove


def claim(text: str) -> Claim:
    return Claim(text, parse(text))


def problem(
    shapes: dict[str, tuple[int, ...]],
    graph: dict[str, str],
    *,
    root: str = "",
    seed: tuple[int, ...] | None = None,
    let: dict[str, str] | None = None,
    constants: dict[str, np.ndarray] | None = None,
) -> Problem:
    """A case whose inputs have these shapes, with one backward pass from its last tensor."""
    generator = np.random.default_rng(0)
    root = root or list(graph)[-1]
    case = Case(
        id="test::small",
        name="small",
        place=Place(),
        inputs={},
        graph={name: claim(text) for name, text in graph.items()},
        steps=(Step("backward", roots={root: None}),),
        let={name: claim(text) for name, text in (let or {}).items()},
        constants={name: Value(array) for name, array in (constants or {}).items()},
    )
    inputs = {name: generator.standard_normal(shape) for name, shape in shapes.items()}
    incoming = None if seed is None else generator.standard_normal(seed)
    return Problem(case, inputs, constants or {}, {}, ({root: incoming},), ({},))


def proofs_of(of: Problem, name: str, *texts: str, seed: int = 0) -> list[Proof]:
    return prove(of, [(name, claim(text)) for text in texts], seed)


def status(of: Problem, name: str, text: str) -> str:
    return proofs_of(of, name, text)[0].status
