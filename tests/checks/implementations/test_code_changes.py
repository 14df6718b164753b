"""Wrong gradients that an in-place change explains, and others."""

from __future__ import annotations

from typing import Any

import pytest

from gradcheck.testing import check_function


def product(a: Any, b: Any) -> Any:
    return a * b, (a, b)


def doubling_incoming(g: Any, cache: Any) -> Any:
    a, b = cache
    g *= 2
    return g * b / 2, g * a


def changing_before_return(g: Any, cache: Any) -> Any:
    a, b = cache
    found = g * b, 3 * g * a
    b += 1
    return found


def report_of(backward: Any, **choices: Any) -> str:
    with pytest.raises(AssertionError) as raised:
        check_function(product, backward, a=(3, 4), b=(3, 4), **choices)
    return " ".join(str(raised.value).split())


@pytest.mark.parametrize("choices", [{}, {"spec": "a * b"}])
def test_a_changed_incoming_gradient_is_the_cause(choices: dict[str, Any]) -> None:
    report = report_of(doubling_incoming, **choices)
    assert "cause: product changes its incoming gradient in place" in report
    assert "factor" not in report


def test_a_change_that_explains_nothing_is_not_the_cause() -> None:
    assert "cause: off by the constant factor 3" in report_of(changing_before_return)
