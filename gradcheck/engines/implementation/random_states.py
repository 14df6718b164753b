"""States of the global random generators of Python, NumPy and torch.

Code that draws from them gives the same numbers at each call if they are restored before it.
"""

from __future__ import annotations

import ctypes
import random
from functools import cache
from typing import Any

import numpy as np
import torch

#: The bytes of NumPy's MT19937: 624 words, and the position among them.
_TWISTER_BYTES = 4 * 625


class RandomStates:
    """The states as they are now."""

    def __init__(self) -> None:
        self._python = random.getstate()
        self._numpy: Any = np.random.get_state(legacy=False)
        self._numpy_memory = _numpy_memory()
        self._torch = torch.get_rng_state()
        has_cuda = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
        self._cuda = torch.cuda.get_rng_state_all() if has_cuda else None

    def restore(self) -> None:
        """Set all generators to these states."""
        random.setstate(self._python)
        if self._has_numpy_moved():
            np.random.set_state(self._numpy)
        torch.set_rng_state(self._torch)
        if self._cuda is not None:
            torch.cuda.set_rng_state_all(self._cuda)

    def have_moved(self) -> bool:
        """Return whether a generator has been used since."""
        is_same = random.getstate() == self._python and torch.equal(torch.get_rng_state(), self._torch)
        cuda = [] if self._cuda is None else zip(torch.cuda.get_rng_state_all(), self._cuda, strict=True)
        return not is_same or self._has_numpy_moved() or not all(torch.equal(now, before) for now, before in cuda)

    def _has_numpy_moved(self) -> bool:
        """Return whether NumPy's state may differ; setting it takes 100 us."""
        holds_a_number = self._numpy.get("has_gauss", 1)  # which is drawn without a trace in memory
        return bool(holds_a_number) or self._numpy_memory is None or _numpy_memory() != self._numpy_memory


def _numpy_memory() -> bytes | None:
    address = _twister_address(np.random.get_bit_generator() if hasattr(np.random, "get_bit_generator") else None)
    return ctypes.string_at(address, _TWISTER_BYTES) if address else None


@cache
def _twister_address(generator: Any) -> int:
    """Return the address of a Mersenne twister's state, 0 for others."""
    return int(generator.ctypes.state_address) if isinstance(generator, np.random.MT19937) else 0
