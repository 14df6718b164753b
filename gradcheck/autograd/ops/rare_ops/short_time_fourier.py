"""Short-time Fourier transforms of overlapping windowed pieces.

Griffin and Lim: Signal estimation from modified short-time Fourier transform, 1984: back, the pieces are added up where
they overlap, and divided by the squares of the windows there.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.op import composite
from gradcheck.autograd.ops.indexing import index_adjoint
from gradcheck.errors import ArgumentError, DomainError, DtypeMismatch, ShapeMismatch


def _window(window: Any, width: int, n_fft: int, dtype: Any, name: str) -> Any:
    """Return the window, or ones, zero-padded to `n_fft`."""
    shape = ops.ones([width], dtype=dtype) if window is None else window
    if tuple(shape.shape) != (width,):
        raise ShapeMismatch(f"{name}: a window of shape {list(shape.shape)} for {width} places")
    before = (n_fft - width) // 2
    return ops.constant_pad_nd(shape, (before, n_fft - width - before))


@composite(
    samples="""
        {}(randn(16), 4, window=detach(ones(4)), return_complex=True);
        {}(randn(2, 12), 4, 2, window=rand(4), center=False, return_complex=True);
        {}(randn(12), n_fft=4, win_length=3, window=detach(rand(3)), normalized=True, return_complex=True)
    """,
    elements=lambda input, n_fft, *_: prod(map(int, input.shape[:-1])) * (int(input.shape[-1]) + 1) * n_fft,
)
def stft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None,
) -> Any:  # fmt: skip
    """Transforms of pieces `n_fft` long, `hop_length` apart, windowed."""
    if input.ndim not in (1, 2):
        raise ShapeMismatch(f"stft takes (N, l) or (l,), not {list(input.shape)}")
    rows = input if input.ndim == 2 else ops.unsqueeze(input, 0)
    if center:
        padded = ops.pad(ops.unsqueeze(rows, 1), (n_fft // 2, n_fft // 2), pad_mode)
        rows = ops.squeeze(padded, 1)
    width, hop = win_length or n_fft, hop_length or n_fft // 4
    if not 0 < n_fft <= rows.shape[-1] or hop < 1 or not 0 < width <= n_fft:
        raise ArgumentError(f"stft: n_fft {n_fft}, hop_length {hop}, win_length {width} of {list(rows.shape)}")
    pieces = ops.unfold(rows, -1, n_fft, hop)
    if window is not None or width < n_fft:
        pieces = pieces * _window(window, width, n_fft, input.dtype, "stft")
    half = onesided if onesided is not None else pieces.dtype.kind != "c"
    norm = "ortho" if normalized else None
    found = ops.transpose(getattr(ops, "fft.rfft" if half else "fft.fft")(pieces, None, -1, norm), -1, -2)
    found = found if input.ndim == 2 else ops.squeeze(found, 0)
    return found if return_complex else ops.view_as_real(found)


@composite(
    samples="""
        {}(complex(randn(3, 5), randn(3, 5)), 4);
        {}(complex(randn(2, 4, 6), randn(2, 4, 6)), 6, 2, 6, detach(uniform(0.5, 1, [6])), False, length=12);
        {}(complex(randn(5, 4), randn(5, 4)), n_fft=5, hop_length=2, win_length=4, normalized=True, onesided=False);
        {}(complex(randn(4, 5), randn(4, 5)), 4, onesided=False, return_complex=True)
    """,
    elements=lambda input, n_fft, *rest: (
        prod(map(int, input.shape[:-2])) * max(int(input.shape[-1]) * n_fft, rest[6] or 0)
    ),
)
def istft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
    center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None,
    return_complex: bool = False,
) -> Any:  # fmt: skip
    """The inverse of `stft` by least squares."""
    if input.dtype.kind != "c" or input.ndim not in (2, 3) or 0 in input.shape:
        raise DtypeMismatch(f"istft takes complex numbers (…, frequencies, pieces), not {list(input.shape)}")
    width, hop = n_fft if win_length is None else win_length, n_fft // 4 if hop_length is None else hop_length
    half = onesided if onesided is not None else input.shape[-2] != n_fft
    if input.shape[-2] != (n_fft // 2 + 1 if half else n_fft) or not 0 < hop <= width or not 0 < width <= n_fft:
        raise ArgumentError(f"istft: n_fft {n_fft}, hop_length {hop}, win_length {width} of {list(input.shape)}")
    if half and return_complex:
        raise ArgumentError("istft: what is complex has both halves of its frequencies, onesided=False")
    rows = ops.transpose(input if input.ndim == 3 else ops.unsqueeze(input, 0), -1, -2)
    norm = "ortho" if normalized else None
    if return_complex:
        pieces = getattr(ops, "fft.ifft")(rows, n_fft, -1, norm)
    else:  # half of a real signal's frequencies are enough
        pieces = getattr(ops, "fft.irfft")(ops.narrow(rows, -1, 0, n_fft // 2 + 1), n_fft, -1, norm)
    shape = _window(window, width, n_fft, ops.real(input).dtype, "istft")
    first = n_fft // 2 if center else 0
    whole = (pieces.shape[1] - 1) * hop + n_fft
    last = whole - first if length is None else first + length
    found = _overlap_add(pieces * shape, shape, hop, slice(first, last))
    found = ops.constant_pad_nd(found, (0, last - first - found.shape[-1]))
    return found if input.ndim == 3 else ops.squeeze(found, 0)


def _overlap_add(pieces: Any, window: Any, hop: int, part: slice) -> Any:
    """Add (N, pieces, n) up `hop` apart, over the sums of squared windows."""
    batch, many, wide = map(int, pieces.shape)
    places = np.arange(many)[:, None] * hop + np.arange(wide)
    whole = (many - 1) * hop + wide
    total = index_adjoint(pieces, (slice(None), places), (batch, whole))
    squares = index_adjoint(ops.broadcast_to(window * window, (many, wide)), (places,), (whole,))[part]
    if np.any(np.abs(np.asarray(ops.detach(squares))) < 1e-11):
        raise DomainError("istft: the windows leave places without any of them")
    return total[:, part] / squares
