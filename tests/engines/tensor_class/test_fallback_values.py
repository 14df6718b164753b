"""Values that are not where they usually are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from gradcheck.engines.tensor_class.fallback_values import read_fallback_values


def plain(value: Any) -> np.ndarray | None:
    return np.asarray(value) if isinstance(value, list) else None


def test_what_gives_numbers_does_after_another_has_raised() -> None:
    class Guarded:
        values = (1.0, 2.0)

        @property
        def data(self) -> Any:
            raise ValueError("not now")

        def tolist(self) -> list[float]:
            return [1.0, 2.0]

    assert np.array_equal(np.asarray(read_fallback_values(Guarded(), plain)), [1.0, 2.0])


def test_without_a_gradient_or_when_they_are_computed() -> None:
    detached = SimpleNamespace(detach=lambda: SimpleNamespace(data=[3.0]))
    assert np.array_equal(np.asarray(read_fallback_values(detached, plain)), [3.0])
    lazy = SimpleNamespace(data=None)
    lazy.realize = lambda: setattr(lazy, "data", [4.0])
    assert np.array_equal(np.asarray(read_fallback_values(lazy, plain)), [4.0])
    assert read_fallback_values(SimpleNamespace(), plain) is None
