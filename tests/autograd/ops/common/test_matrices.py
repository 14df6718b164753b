"""What is no matrix, no square one, or too coarse to be factorized."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.ops.common.matrices import matrices, precise, square
from gradcheck.errors import DtypeMismatch, ShapeMismatch


def test_what_fits_is_handed_back() -> None:
    batch = np.ones((5, 2, 2))
    assert matrices(batch, "op") is square(batch, "op") is precise(batch, "op") is batch


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(ShapeMismatch, match=r"pinv takes matrices, not a shape of \[3\]"):
        matrices(np.ones(3), "pinv")
    with pytest.raises(ShapeMismatch, match=r"det takes square matrices, not a shape of \[2, 3\]"):
        square(np.ones((2, 3)), "det")
    with pytest.raises(DtypeMismatch, match="int64"):
        square(np.ones((2, 2), np.int64), "det")
    with pytest.raises(DtypeMismatch, match="half precision") as caught:
        precise(np.ones((2, 2), np.float16), "det")
    assert "float()" in str(caught.value.hint)
