"""What torch allocates without initial values."""

from __future__ import annotations

import torch

from gradcheck.engines.implementation.uninitialized_memory import UnwrittenIsNan


def test_memory_that_is_not_written_is_nan() -> None:
    x = torch.ones(3)
    with UnwrittenIsNan():
        empty, like, new = torch.empty(3), torch.empty_like(x), x.new_empty(3)
        whole, zeros = torch.empty(3, dtype=torch.int64), torch.zeros(3)
    assert all(bool(one.isnan().all()) for one in (empty, like, new))
    assert whole.shape == (3,)
    assert zeros.tolist() == [0, 0, 0]
