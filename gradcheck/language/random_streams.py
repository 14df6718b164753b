"""Random creators: which they are, and where their numbers come from.

Every name draws from a stream of its own: NumPy's PCG64, seeded with the SHA-256 of the text `SEED/NAME`, and in a
trial of `SEED/NAME/TRIAL/ATTEMPT`. So adding an input never changes another. Several creators in one expression draw
one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import is_differentiable
from gradcheck.autograd.op import Op
from gradcheck.language.array_structures import Structure, structure_creator
from gradcheck.language.case import Value
from gradcheck.language.evaluation.host import NumPy
from gradcheck.language.expr.nodes import Call

#: The ops that draw random numbers, by name.
RANDOM_OPS = frozenset(
    [
        "normal",
        "rand",
        "rand_like",
        "randint",
        "randint_like",
        "randn",
        "randn_like",
        "randperm",
        "uniform",
        "uniform_like",
    ]
)
_NORMAL = RANDOM_OPS & {"randn", "randn_like"}
#: Those that make floats out of nothing.
_FLOATING = RANDOM_OPS & {"randn", "rand", "uniform", "normal"}


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """The numbers that belong to these names under a seed: the same on every machine, others for other names.

    The one way to make a generator from a seed: `stream(problem.seed, "noise")`, `stream(seed, "point", number)`.
    """
    from hashlib import sha256  # here, since who only reads a case draws nothing

    digest = sha256("/".join(map(str, (seed, *names))).encode()).digest()
    words = np.frombuffer(digest[::-1], dtype="<u4")  # as NumPy takes a large number apart, in a third of the time
    number: Any = words if words[-1] else int.from_bytes(digest, "big")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(number)))


def random_directions(arrays: Mapping[str, np.ndarray], generator: np.random.Generator) -> dict[str, np.ndarray]:
    """A random direction of each array that can move, of its shape and dtype."""
    return {n: random_direction(array, generator) for n, array in arrays.items() if is_differentiable(array.dtype)}


def random_direction(array: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Standard normal numbers of the array's shape and dtype; of a complex one, both parts are."""
    drawn: Any = generator.standard_normal(array.shape)
    if array.dtype.kind == "c":
        drawn = drawn + 1j * generator.standard_normal(array.shape)
    return np.asarray(drawn).astype(array.dtype)


def is_one_random_creator(value: Value) -> bool:
    """Whether its elements are random floats, each by itself: it is one random creator, and nothing else."""
    return isinstance(value.expr, Call) and value.expr.op in _FLOATING


class RandomHost(NumPy):
    """NumPy, with a stream for the random creators of one expression; of floats, they make numbers of `dtype`.

    torch has no complex default dtype, so only what is drawn becomes complex by itself. What is standard normal may be
    spread out afterwards, and all be given a structure.
    """

    def __init__(
        self,
        generator: np.random.Generator,
        dtype: np.dtype,
        spread: Callable[[np.ndarray, np.random.Generator], np.ndarray] | None = None,
        structure: Structure | None = None,
    ) -> None:
        self.generator, self.drawn_dtype, self.spread, self.structure = generator, dtype, spread, structure
        self.drawn_arrays: list[np.ndarray] = []  # by the random creators, in order

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if op.name in RANDOM_OPS:
            kwargs = {**kwargs, "generator": self.generator}
            if op.name in _FLOATING:
                kwargs.setdefault("dtype", self.drawn_dtype)
        made = op(*args, **kwargs)
        if op.name in RANDOM_OPS:
            made = self.spread(made, self.generator) if self.spread and op.name in _NORMAL else made
            made = made if self.structure is None else structure_creator(op.name, made, args, self.structure)
            self.drawn_arrays.append(made)
        return made
