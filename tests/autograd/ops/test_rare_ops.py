"""Wrong rules of rare families fail on the families' own samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import TABLE, Op, Tensor, grad, ops
from gradcheck.autograd.families import FAMILIES
from gradcheck.autograd.ops.common.scipy_functions import scipy_special
from tests.autograd import table
from tests.conftest import WithRules

#: Of a share that a rule gives.
FAULTS = {"scaled": lambda share: share * 1.001, "negated": lambda share: -share, "dropped": lambda share: share * 0}
#: Rules that give zeros, whatever comes in: the next number does not move with where it is aimed at, …; and those of
#: which torch has none, which differences alone see.
ZEROS = {("nextafter", 1), ("copysign", 1), ("heaviside", 0), ("heaviside", 1)}


#: Torch refuses eigenvectors under random cotangents; what depends on no phase is the square of this, put together.
MATRIX = np.array([[1.0, 2.0, 0.5], [-3.0, 0.5, 1.0], [0.0, 1.5, 2.0]])


def entries_of(family: str) -> list[Op]:
    return [op for op in TABLE.values() if op.forward.__module__.endswith(f".rare_ops.{family}")]


ON_DEMAND = [family.partition(".")[2] for family in FAMILIES if "." in family]
ON_DEMAND = [family for family in ON_DEMAND if any(any(op.rules) for op in entries_of(family))]


def wrong(rule: Any, change: Any) -> Any:
    def changed(*args: Any) -> Any:
        shares = rule(*args)
        return [change(share) for share in shares] if isinstance(shares, (list, tuple)) else change(shares)

    return changed


def is_seen(family: list[Op]) -> bool:
    """Return whether a sample of the family differs from torch."""
    for op in family:
        if op.torch and op.name not in table.TORCH_ERRS and not table.is_random(op):
            for call in table.calls(op):
                if table.disagreements(call):
                    return True
    return any(op.name == "linalg.eig" for op in family) and not is_eig_right()


def is_eig_right() -> bool:
    """Return whether the gradient of a matrix's square by `eig` is right."""
    x, seed = Tensor(MATRIX, requires_grad=True), np.arange(9.0).reshape(3, 3)
    values, vectors = TABLE["linalg.eig"](x)
    square = TABLE["real"](vectors @ TABLE["diag"](values * values) @ TABLE["linalg.inv"](vectors))
    (gradient,) = grad([square], [x], [Tensor(seed)])
    assert gradient is not None
    return np.allclose(gradient.data, seed @ MATRIX.T + MATRIX.T @ seed, rtol=1e-9)


def test_eigenvectors_are_right() -> None:
    assert is_eig_right()


@pytest.mark.parametrize("family", ON_DEMAND)
def test_a_wrong_rule_is_seen(family: str, with_rules: WithRules) -> None:
    entries, unseen = entries_of(family), []
    for op in entries:
        for position, rule in enumerate(op.rules):
            if rule is None or (op.name, position) in ZEROS:
                continue
            for name, change in FAULTS.items():
                known = op.rules
                with_rules(op.name, *known[:position], wrong(rule, change), *known[position + 1 :])
                if not is_seen([op, *(other for other in entries if other is not op)]):
                    unseen.append(f"{name}: rule {position} of {op.name}")
                with_rules(op.name, *known)
    assert not unseen, unseen


@pytest.mark.parametrize(("size", "axes", "shape"), [((0, 5), [1], (0, 3)), ((2, 0, 4), [0, 2], (2, 0, 3))])
def test_fourier_transforms_of_nothing_have_the_shape_of_others(
    size: tuple[int, ...], axes: list[int], shape: tuple[int, ...]
) -> None:
    """torch's library refuses them."""
    assert TABLE["_fft_r2c"](np.zeros(size), axes, 0, True).shape == shape
    assert TABLE["_fft_r2c"](np.zeros(size), axes, 0, False).shape == size


@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 3), (2, 3, 0)])
@pytest.mark.parametrize("name", ["linalg.qr", "qr", "linalg.svd", "linalg.householder_product"])
def test_factors_of_a_matrix_without_elements_depend_on_it(name: str, shape: tuple[int, ...]) -> None:
    """A pass through them begins, as in torch, and its gradient has no elements."""
    matrix = Tensor(np.zeros(shape), requires_grad=True)
    is_product = name == "linalg.householder_product"
    if is_product and shape[-2] < shape[-1]:
        pytest.skip("no product of reflections is wider than high")
    found = TABLE[name](matrix, *([np.zeros((*shape[:-2], 0))] if is_product else []))
    for factor in found if isinstance(found, tuple) else (found,):
        assert factor.requires_grad
        (gradient,) = grad(ops.sum(factor), [matrix], retain_graph=True)
        assert gradient.shape == shape


@pytest.mark.parametrize("s", [2.0, 3.0, 5.0])
def test_zeta_adds_few_terms_far_below_0(s: float) -> None:
    """SciPy would add 10^15 of them in the first, and no signal ends that."""
    zeta = TABLE["special.zeta"].forward
    assert np.isfinite(zeta(s, np.array([-1e15 + 0.5, 3.0]))).all()
    near = np.array([-100.75, -1000.25, -2000.5, -7.5, 2.0])
    assert zeta(s, near) == pytest.approx(scipy_special("zeta", s, near), rel=1e-12)
    assert np.isinf(zeta(s, np.array([-1e300, -2000.0]))).all()
    assert np.isnan(zeta(s + 0.5, np.array([-2000.5]))).all()
