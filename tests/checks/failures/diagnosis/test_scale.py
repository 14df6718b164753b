"""Signs, factors, means for sums."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.failures.diagnosis.evidence import Evidence
from gradcheck.checks.failures.diagnosis.scale import factor, ratio

WANT = np.array([1.0, 2.0, -3.0])


@pytest.mark.parametrize("rounding", [0.0, 2.0**-52, -(2.0**-50)])
@pytest.mark.parametrize("constant", [0.0, 1.0, -1.0])
def test_what_is_known_by_other_names_is_no_factor_however_it_is_rounded(constant: float, rounding: float) -> None:
    """Which bits the last ones are, is the processor's affair; whether a mistake is looked for is not."""
    assert list(factor(Evidence((constant + rounding) * WANT, WANT))) == []


def test_a_difference_that_is_orthogonal_is_no_factor() -> None:
    got = WANT + np.array([2.0, -1.0, 0.0]) + 1e-15
    assert ratio(Evidence(got, WANT)) == pytest.approx(1, rel=1e-14)
    assert list(factor(Evidence(got, WANT))) == []


@pytest.mark.parametrize(("constant", "name"), [(2.0, "2"), (1.001, "1.001"), (-1 / 3, "-1/3")])
def test_a_factor_is_told_by_its_name(constant: float, name: str) -> None:
    (guess,) = factor(Evidence(constant * WANT, WANT))
    assert guess.message.startswith(f"off by the constant factor {name}")
