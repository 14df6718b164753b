"""Random creators and the streams of their numbers.

Every name draws from a stream of its own: NumPy's PCG64, seeded with the SHA-256 of the text `SEED/NAME`, in a trial of
`SEED/NAME/TRIAL/ATTEMPT`. So adding an input never changes another. Several creators in one expression draw one after
the other.
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
from gradcheck.language.expr.traverse import ops_in

_RANDOM = "normal rand rand_like randint randint_like randn randn_like randperm uniform uniform_like"
RANDOM_OPS = frozenset(_RANDOM.split())
_NORMAL = RANDOM_OPS & {"randn", "randn_like"}
#: Creators of floats that take no tensor.
_FLOATING = RANDOM_OPS & {"randn", "rand", "uniform", "normal"}


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """Return the generator of these names under a seed, the same everywhere.

    This is the only way to make a generator from a seed: `stream(problem.seed, "noise")`, `stream(seed, "point",
    number)`.
    """
    from hashlib import sha256  # here, since reading a case draws nothing

    digest = sha256("/".join(map(str, (seed, *names))).encode()).digest()
    words = np.frombuffer(digest[::-1], dtype="<u4")  # as NumPy takes a large number apart, in a third of the time
    number: Any = words if words[-1] else int.from_bytes(digest, "big")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(number)))


def random_directions(arrays: Mapping[str, np.ndarray], generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Return a random direction of each differentiable array."""
    return {n: random_direction(array, generator) for n, array in arrays.items() if is_differentiable(array.dtype)}


def random_direction(array: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return standard normal numbers (complex: both parts) like the array."""
    drawn: Any = generator.standard_normal(array.shape)
    if array.dtype.kind == "c":
        drawn = drawn + 1j * generator.standard_normal(array.shape)
    return np.asarray(drawn).astype(array.dtype)


def is_one_random_creator(value: Value) -> bool:
    """Return whether a value is one creator of independent random floats."""
    return isinstance(value.expr, Call) and value.expr.op in _FLOATING


def is_unbounded(value: Value) -> bool:
    """Return whether a value is normal numbers alone: any number may occur."""
    used = set() if value.expr is None else set(ops_in(value.expr))
    return bool(used & _NORMAL) and used <= _NORMAL | {"getitem"}


class RandomHost(NumPy):
    """NumPy, with one stream for the random creators of an expression.

    Floating creators make numbers of `dtype`: torch has no complex default dtype, so only draws become complex.
    `spread` changes standard normal numbers afterwards, and `structure` all draws.
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
