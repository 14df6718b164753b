"""Four n×n matrices chained, with a formula for each gradient: proved for all values, in the time of a few passes."""

from __future__ import annotations

import time

import numpy as np
import torch

from benchmarks.timing import Row, race
from gradcheck.errors import Place
from gradcheck.language.case import Case, Claim, Step
from gradcheck.language.expr.parser import parse
from gradcheck.language.problem import Problem
from gradcheck.oracles.exact.prove import Proof, prove

GRAPH = {"p": "y @ x", "q": "z @ p", "r": "n.mm(q)", "loss": "r.sum()"}
FORMULAS = {
    "n": "((z @ y @ x).sum(dim=1, keepdim=True) @ torch.ones([1, n.shape[0]])).T",
    "z": "(((y @ x).sum(dim=1, keepdim=True) @ torch.ones([1, z.shape[0]])) @ n.sum(dim=0).diag()).T",
    "y": "((x.sum(dim=1, keepdim=True) @ torch.ones([1, y.shape[0]])) @ (n @ z).sum(dim=0).diag()).T",
    "x": "(torch.ones([x.shape[1], x.shape[0]]) @ (n @ z @ y).sum(dim=0).diag()).T",
}
#: Read beforehand: what is timed is the proof.
CLAIMS = [(name, Claim(text, parse(text))) for name, text in FORMULAS.items()]

#: So many proofs take a good part of the time of torch's slow mode: as long, the processor has what they need at hand.
IN_A_ROW = 40


def rows() -> list[Row]:
    """In processor time, on one thread: the machine may do other work meanwhile."""
    torch.set_num_threads(1)
    return [_against_gradcheck(32), _against_a_pass(256), _large(1024)]


def problem(size: int) -> Problem:
    """The case, with random matrices."""
    graph = {name: Claim(text, parse(text)) for name, text in GRAPH.items()}
    case = Case("benchmark::chain", "chain", Place(), {}, graph, (Step("backward", roots={"loss": None}),))
    generator = np.random.default_rng(0)
    inputs = {name: generator.standard_normal((size, size)) for name in FORMULAS}
    return Problem(case, inputs, {}, {}, ({"loss": None},), ({},))


def proved(of: Problem) -> list[Proof]:
    """All four formulas."""
    proofs = prove(of, CLAIMS)
    assert all(proof.status == "proved" for proof in proofs), proofs
    return proofs


def leaves(of: Problem) -> list[torch.Tensor]:
    return [torch.tensor(array, requires_grad=True) for array in of.inputs.values()]


def loss(n: torch.Tensor, z: torch.Tensor, y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return n.mm(z @ (y @ x)).sum()


def _against_gradcheck(size: int) -> Row:
    """torch perturbs every element; its formulas are those of its own backward pass."""
    of = problem(size)
    tensors = leaves(of)
    timing = race(
        {
            "gradcheck": lambda: proved(of),
            "in a row": lambda: [proved(of) for _ in range(IN_A_ROW)],
            "torch": lambda: torch.autograd.gradcheck(loss, tensors, fast_mode=False),
        },
        rounds=9,
        clock=time.process_time,
    )
    ratio = IN_A_ROW * timing.ratio("torch", "in a row")
    milliseconds = f"ms: gradcheck {timing.median('in a row') / IN_A_ROW * 1e3:.1f} in a row of {IN_A_ROW}, "
    milliseconds += f"{timing.median('gradcheck') * 1e3:.1f} alone, torch {timing.median('torch') * 1e3:.0f}"
    return Row(f"proof of four chained {size}×{size} matrices", f"{ratio:.0f} × faster than torch's slow mode",
               "≥ 100 ×", ratio >= 100, f"{milliseconds}; {_strength(of)}")  # fmt: skip


def _against_a_pass(size: int) -> Row:
    of = problem(size)
    tensors = leaves(of)

    def a_pass() -> None:
        loss(*tensors).backward()

    timing = race({"gradcheck": lambda: proved(of), "torch": a_pass}, rounds=15, clock=time.process_time)
    ratio = timing.ratio("gradcheck", "torch")
    milliseconds = f"ms: gradcheck {timing.median('gradcheck') * 1e3:.0f}, torch {timing.median('torch') * 1e3:.1f}"
    return Row(f"proof of four chained {size}×{size} matrices", f"{ratio:.1f} × torch's forward and backward",
               "≤ 5 ×", ratio <= 5, f"{milliseconds}; {_strength(of)}")  # fmt: skip


def _large(size: int) -> Row:
    of = problem(size)
    seconds = race({"gradcheck": lambda: proved(of)}, 1).median("gradcheck")
    return Row(f"proof of four chained {size}×{size} matrices", f"{seconds:.2f} s", "runs", True, _strength(of))


def _strength(of: Problem) -> str:
    proofs = proved(of)
    return f"a wrong formula passes with a probability below {max(proof.bound for proof in proofs):.0e}"
