"""Perturbed arrays: what ops make of them, what is detached, and what a complex step refuses."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.errors import Unsupported
from gradcheck.oracles.numeric.perturbed_array import ForwardPass, Perturbed

X = np.array([1.0, 2.0, 3.0])


def test_ops_apply_to_perturbed_arrays_as_to_arrays() -> None:
    x = Perturbed(X, ForwardPass())
    found = 2 * x + X
    assert isinstance(found, Perturbed)
    assert found.data.tolist() == [3, 6, 9]
    assert (x.shape, x.ndim, len(x)) == ((3,), 1, 3)
    parts = TABLE["split"](x, 2)
    assert [part.data.tolist() for part in parts] == [[1, 2], [3]]
    assert TABLE["cat"]([X, x]).data.size == 6


def test_a_complex_step_goes_through_analytic_ops() -> None:
    x = Perturbed(X + 1e-30j, ForwardPass(complex_step=True))
    np.testing.assert_allclose(TABLE["exp"](x).data.imag, 1e-30 * np.exp(X))
    assert x.dtype == np.float64
    for text, refused in {
        "abs is not analytic": lambda: TABLE["abs"](x),
        "complex numbers of the graph's own": lambda: x * 1j,
    }.items():
        with pytest.raises(Unsupported, match=text):
            refused()


def test_what_is_detached_keeps_its_value_at_rest() -> None:
    at_rest = ForwardPass(at_rest=True)
    assert TABLE["detach"](Perturbed(X, at_rest)) is X
    moved = ForwardPass(detached=at_rest.detached)
    found = TABLE["detach"](Perturbed(X + 1, moved))
    assert isinstance(found, np.ndarray)
    assert found is X
    real = TABLE["detach"](Perturbed(X + 1e-30j, ForwardPass(complex_step=True)))
    assert np.array_equal(real, X)
    assert real.dtype == np.float64


def test_masks_are_plain_arrays_and_numbers_are_not() -> None:
    x = Perturbed(X, ForwardPass())
    assert np.asarray(x > 1.5).tolist() == [False, True, True]
    with pytest.raises(Unsupported, match="a plain array is needed"):
        np.asarray(x)


def test_random_numbers_are_refused_and_low_precision_is_raised() -> None:
    x = Perturbed(X, ForwardPass())
    with pytest.raises(Unsupported, match="draws numbers"):
        TABLE["randn_like"](x)
    assert TABLE["to"](x, np.dtype(np.float32)) is x


def test_the_narrowest_number_is_noted() -> None:
    forward = ForwardPass()
    x = Perturbed(X.astype(np.longdouble), forward)
    assert x.dtype == np.float64
    assert (x * 2).data.dtype == np.longdouble
    wide = forward.narrowest
    TABLE["add"](Perturbed(X.astype(np.float32), forward), 1)
    assert forward.narrowest == 4 < wide == np.dtype(np.longdouble).itemsize


def test_work_is_counted_at_rest_alone() -> None:
    for at_rest, ops in ((True, 2), (False, 0)):
        forward = ForwardPass(at_rest=at_rest)
        TABLE["sum"](TABLE["exp"](Perturbed(X, forward)))
        assert forward.work.ops == ops
        assert forward.work.elements == 3 * ops
