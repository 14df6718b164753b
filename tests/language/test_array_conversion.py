"""What expressions come to, as arrays in dtypes that torch has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.errors import ArgumentError
from gradcheck.language.array_conversion import as_array

FLOAT64 = np.dtype(np.float64)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(2**63 - 1, np.int64), (-(2**63), np.int64), (True, np.bool_), (1.5, np.float64), ([1, 2**62], np.int64)],
)
def test_numbers_and_lists(value: Any, dtype: type) -> None:
    assert as_array(value, FLOAT64).dtype == dtype


@pytest.mark.parametrize("value", [2**63, 2**64 - 1, [2**63], [2**64, 1]])
def test_an_integer_beyond_64_bits_is_refused(value: Any) -> None:
    with pytest.raises(ArgumentError, match="does not fit in 64 bits"):
        as_array(value, FLOAT64)
