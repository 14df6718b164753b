"""A feature that the installed NumPy or SciPy lacks is Unsupported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

from gradcheck.autograd import ops
from gradcheck.autograd.numpy_errors import missing_feature
from gradcheck.engines.core import Core
from gradcheck.errors import DtypeMismatch, Unsupported
from tests.conftest import WithForward
from tests.from_text import problem_from


def _missing_module_function(x: Any) -> Any:
    return np.linalg.not_there(x)


def _unknown_argument(x: Any) -> Any:
    return np.linspace(0, 1, x.size, paces=3)


def _unknown_argument_of_a_ufunc(x: Any) -> Any:
    return scipy.special.erf(x, how="exactly")


@pytest.mark.parametrize(
    ("forward", "told"),
    [
        (
            _missing_module_function,
            f"tanh: NumPy {np.__version__} has no numpy.linalg.not_there, which a newer one does",
        ),
        (_unknown_argument, f"tanh: NumPy {np.__version__} does not take paces= in numpy.linspace, which"),
        (_unknown_argument_of_a_ufunc, f"tanh: SciPy {scipy.__version__} does not take how= in scipy.special.erf"),
    ],
)
def test_what_a_library_lacks_is_unsupported(
    with_forward: WithForward, forward: Callable[[Any], Any], told: str
) -> None:
    with_forward("tanh", lambda _: forward)
    with pytest.raises(Unsupported) as caught:
        ops.tanh(np.ones(2))
    assert str(caught.value).startswith(told)
    found = Core().evaluate(problem_from("{inputs: {x: [1.0, 2.0]}, graph: {y: tanh(x), loss: y.sum()}}"))
    assert found.error is not None
    assert (found.error.kind, found.failed_at) == ("unsupported", "y")


def test_a_function_that_scipy_lacks_is_unsupported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(scipy.special, "psi")
    with pytest.raises(Unsupported, match=r"SciPy \S+ has no scipy\.special\.psi"):
        ops.digamma(np.ones(2))


def test_a_mistake_of_an_op_stays_one(with_forward: WithForward) -> None:
    """An array's attribute, a function of gradcheck's own, a dtype."""

    def own(x: Any) -> Any:
        return _unknown_argument(x, twice=True)  # type: ignore[call-arg]

    with_forward("tanh", lambda _: own)
    with pytest.raises(DtypeMismatch):
        ops.tanh(np.ones(2))
    with_forward("tanh", lambda _: lambda x: x.not_there)
    with pytest.raises(AttributeError, match="not_there"):
        ops.tanh(np.ones(2))
    assert missing_feature("tanh", TypeError("ufunc 'tanh' not supported for the input types")) is None
