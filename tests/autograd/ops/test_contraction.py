"""einsum in all its notations, and products made of it."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck import ops
from gradcheck.autograd.ops.contraction import explicit_labels
from gradcheck.errors import ArgumentError, DtypeMismatch, ShapeMismatch, TooLarge
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse
from tests.autograd.ops.both import agree, normal, raised

NAMES: dict[str, np.ndarray] = {
    "x": normal(2, 3),
    "y": normal(3, 4),
    "v": normal(3),
    "s": normal(3, 3),
    "c": normal(4, 2, 3),
    "d": normal(3, 3, 3),
    "o": normal(2, 1),
    "z": np.array(1.5),
    "f": normal(3, 4).astype(np.float32),
}


@pytest.mark.parametrize(
    "text",
    [
        "einsum('ij,jk', x, y)",
        "einsum('ij , jk -> ki', [x, y])",
        "einsum('ba', x)",
        "einsum('aB,Bc', x, y)",
        "einsum('ji,jk->', x, o)",
        "einsum('ii', s)",
        "einsum('ii->i', s)",
        "einsum('iii->i', d)",
        "einsum('iij->ji', d)",
        "einsum('iji,j->i', d, v)",
        "einsum('ii,ii->i', s, s)",
        "einsum('ii,i,j->ij', s, v, v)",
        "einsum('i,i,i', v, v, v)",
        "einsum('i,j,k->kij', v, x[0], y[0])",
        "einsum('...ij,...jk->...ik', c, y)",
        "einsum('...ij,...j', c, v)",
        "einsum('i...,i...', c, c)",
        "einsum('...,...', c, x)",
        "einsum('...i->...', c)",
        "einsum('i...->i', c)",
        "einsum('...', z)",
        "einsum('...,i->i...', z, v)",
        "einsum('...ij->...ji', c)",
        "einsum('ij,ij->ij', x, o)",
        "einsum('ij,jk->ik', o, y)",
        "einsum('ij,jk->ik', x, y[:1])",
        "einsum('ij,j->', o, v)",
        "einsum(',i->i', z, v)",
        "einsum('->', z)",
        "einsum('ij->j', x[:0])",
        "einsum('ij,jk->ik', x[:, :0], y[:0])",
        "einsum('ij->', x)",
        "einsum('ij,k->k', x, v)",
        "einsum('ij,kj,kl->il', x, s, s)",
        "einsum('i,j->ij', v, f[:, 0])",
    ],
)
def test_equations(text: str) -> None:
    agree(text, rtol=1e-6 if "f[" in text else 1e-12, **NAMES)


def test_large_contractions_take_the_other_way() -> None:
    agree("einsum('bqhd,bkhd->bhqk', x, y)", x=normal(2, 9, 3, 4), y=normal(2, 8, 3, 4))
    agree("einsum('ij,jk,kl->il', x, y, x)", x=normal(20, 20), y=normal(20, 20, seed=1))
    agree("einsum('ij,ij,jk->ik', x, x, y)", x=normal(1, 30), y=normal(30, 30))


def test_complex() -> None:
    z = normal(2, 3) + 1j * normal(2, 3, seed=1)
    agree("einsum('ij,kj->ik', z, z)", z=z)
    agree("tensordot(z, z, ([0], [0]))", z=z)
    agree("kron(z, z)", z=z)


@pytest.mark.parametrize(
    "text",
    [
        "einsum('ij,jk->ik', x, x)",
        "einsum('ij->ij', v)",
        "einsum('ii->ij', s)",
        "einsum('ij->ii', x)",
        "einsum('ij', x, v)",
        "einsum('ij,jk', x)",
        "einsum('i.j', x)",
        "einsum('....', x)",
        "einsum('ii', x)",
        "einsum('i', c)",
        "einsum('i->-', v)",
        "tensordot(x, y, ([1, 0], [0]))",
        "tensordot(x, x, ([1], [0]))",
    ],
)
def test_what_is_no_equation_or_does_not_fit(text: str) -> None:
    assert raised(text, **NAMES) == ("shape_mismatch", "shape_mismatch")


def test_contractions_want_one_dtype() -> None:
    assert raised("einsum('ij,jk', x, f)", **NAMES) == ("dtype_mismatch", "dtype_mismatch")
    with pytest.raises(DtypeMismatch):
        ops.tensordot(NAMES["x"], NAMES["f"], 1)


def test_the_ellipsis_becomes_letters() -> None:
    assert explicit_labels("...ij,j...->i...", (4, 2)) == (("abij", "jb"), "iab")
    assert explicit_labels("b...,a", (3, 1)) == (("bcd", "a"), "cdab")
    with pytest.raises(ShapeMismatch, match="no letters are left"):
        explicit_labels("...abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ->...", (53,))


def test_results_too_large_are_refused_beforehand() -> None:
    for text in ("einsum('i,j->ij', x, x)", "kron(x, x)", "outer(x, x)", "einsum('i,j,k->kji', x, x, x)"):
        with pytest.raises(TooLarge):
            evaluate(parse(text), {"x": np.zeros(10**5)})


@pytest.mark.parametrize(
    "text",
    [
        "tensordot(c, x, ([-1, 1], [1, 0]))",
        "tensordot(x, y, 1)",
        "tensordot(x, v, dims=0)",
        "tensordot(x, y[:1], 1)",
        "kron(x, c)",
        "kron(z, x)",
        "kron(v, x[:0])",
    ],
)
def test_products_of_chosen_dimensions(text: str) -> None:
    agree(text, **NAMES)


def test_there_are_as_many_dimensions_as_letters() -> None:
    x, y = np.ones([1] * 30), np.ones([1] * 22)
    assert ops.tensordot(x, y, 0).ndim == 52
    with pytest.raises(ArgumentError, match="at most 52 dimensions"):
        ops.tensordot(x, y[None], 0)
