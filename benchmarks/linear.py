"""What must grow no faster than the case: ten times as many formulas, factors or entries, beside the case itself.

In processor time of this process: ten times the time is a line, a hundred times would be a square.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.timing import Row, race
from gradcheck import load, run
from gradcheck.checks.derivation import explain
from gradcheck.language.case import Case

TIMES = 10
SMALLEST = Path(__file__).parents[1] / "cases" / "matmul" / "chain-of-four.yaml"
#: How many times as long ten times as much may take.
MOST = 12.0


def rows() -> Iterator[Row]:
    with prepared() as folder:
        yield _linear(folder, "`--power` with 120 formulas", 12, formulas, lambda case: run(case, power=True))
        yield _linear(
            folder, "`--power` with 60 formulas and a step each", 6, steps, lambda case: run(case, power=True)
        )
        yield _linear(folder, "`explain` of a product of 160 tensors", 16, factors, explain)
        yield _linear(folder, "`explain` of 1,000 entries", 100, entries, explain)
        yield _linear(folder, "failing case of 1,600 entries", 160, wrong, run)


@contextmanager
def prepared() -> Iterator[Path]:
    """A folder for cases, in a process that holds torch, whose objects are not searched for cycles."""
    run(SMALLEST)
    gc.freeze()
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def _linear(folder: Path, what: str, size: int, make: Callable[[int], str], do: Callable[[Case], object]) -> Row:
    small, large = case_in(folder, make(size)), case_in(folder, make(TIMES * size))
    timing = race({"small": lambda: do(small), "large": lambda: do(large)}, rounds=3, clock=time.process_time)
    ratio = timing.ratio("large", "small")
    details = f"CPU s: {timing.median('small'):.2f}, {timing.median('large'):.2f}"
    return Row(f"{what}, beside a tenth", f"{ratio:.1f} × the time", f"≤ {MOST:.0f} ×", ratio <= MOST, details)


def case_in(folder: Path, text: str) -> Case:
    """The case that a file of this text holds."""
    (file := folder / "case.yaml").write_text(text, encoding="utf-8")
    (case,), errors = load([file])
    assert not errors, errors
    return case


def formulas(number: int) -> str:
    """So many inputs, each with an entry and a formula of its own."""
    inputs = "".join(f"  x{i}: randn(3, 3)\n" for i in range(number))
    graph = "".join(f"  y{i}: x{i} * x{i}\n" for i in range(number))
    total = " + ".join(f"y{i}.sum()" for i in range(number))
    claims = "".join(f"  x{i}: 2 * x{i}\n" for i in range(number))
    return f"inputs:\n{inputs}graph:\n{graph}  loss: {total}\nformulas:\n{claims}"


def steps(number: int) -> str:
    """The same with a step of a derivation for each formula."""
    inputs, _, rest = formulas(number).partition("graph:")
    graph, _, _ = rest.partition("formulas:")
    let = "".join(f"  d{i}: 2 * grad(y{i})\n" for i in range(number))
    claims = "".join(f"  x{i}: d{i} * x{i}\n" for i in range(number))
    return f"{inputs}graph:{graph}let:\n{let}formulas:\n{claims}"


def factors(number: int) -> str:
    """One expression, a product of so many inputs."""
    inputs = "".join(f"  x{i}: randn(3, 3)\n" for i in range(number))
    return f"inputs:\n{inputs}graph:\n  loss: ({' * '.join(f'x{i}' for i in range(number))}).sum()\n"


def entries(number: int, factor: float = 0.9) -> str:
    """A chain of so many entries."""
    graph = "".join(f"  h{i}: h{i - 1} * {factor} + x\n" for i in range(1, number))
    return f"inputs:\n  x: randn(3, 3)\ngraph:\n  h0: x * 0.5\n{graph}  loss: h{number - 1}.sum()\n"


def chain(number: int, claimed: str) -> str:
    """The same with a formula for the last entry but the loss, which is 1."""
    return f"{entries(number, 0.5)}formulas:\n  h{number - 1}: {claimed} * torch.ones([3, 3])\n"


def wrong(number: int) -> str:
    """The same with a wrong one."""
    return chain(number, "2")
