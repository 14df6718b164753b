"""Invalid arguments are rejected as by torch.

What is refused by a kind that a case can name stands in `cases/edges/refusals.yaml`; these are the others.
"""

from __future__ import annotations

import numpy as np

from gradcheck.engines.torch import Torch
from gradcheck.errors import GradcheckError
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NUMPY, Host
from gradcheck.language.expr.parser import parse
from gradcheck.language.random_streams import RandomHost, stream

TORCH = Torch()
#: Tensors, and a call of these that there is no answer to.
CALLS = r"""
    x=randn(3) | F.hardtanh(x, 2.0, 1.0)
    x=randn(3) | F.softshrink(x, -0.5)
    x=randn(3) | F.gelu(x, approximate='sin')
    x=randn(3) | torch.div(x, 2, rounding_mode='up')
    x=randn(3) | torch.polygamma(-1, x)
    x=randn(3) + 3 | torch.mvlgamma(x + 3, 0)
    x=randn(2, 3) | F.l1_loss(x, x, reduction='median')
    x=randn(2, 3) | x[:, ::-1]
    x=randn(2, 3) | x[::0]
    x=randn(3) | F.one_hot(torch.tensor([0, 2]), 0) * x
    x=randn(1, 2, 5); w=randn(3, 2, 2) | F.conv1d(x, w, stride=2, padding='same')
    x=randn(1, 2, 5); w=randn(3, 2, 2) | F.conv1d(x, w, padding='full')
    x=randn(1, 2, 5); w=randn(3, 2, 2) | F.conv1d(x, w, stride=0)
    x=randn(1, 2, 5); w=randn(3, 2, 2) | F.conv1d(x, w, padding=-1)
    x=randn(1, 2, 5); w=randn(3, 2, 2) | F.conv1d(x, w, dilation=0)
    x=randn(1, 2, 5); w=randn(3, 2, 2) | F.conv1d(x, w, groups=0)
    x=randn(2, 5) | F.avg_pool2d(x, 2)
    x=randn(1, 2, 4, 4) | F.avg_pool2d(x, 2, divisor_override=0)
    x=randn(3) | torch.arange(0, 5, 0) * x
    x=randn(3) | torch.arange(0, 5, -1) * x
    x=randn(3, 2) | torch.isclose(x, x, rtol=-1.0) * x
    x=randn(3, 2) | torch.isclose(x, x, atol=-1.0) * x
    x=randn(3, 2) | torch.tensordot(x, x, 3)
    x=randn(3, 2) | torch.tensordot(x, x, -1)
    x=randn(3, 2) | torch.repeat_interleave(x, -1)
    x=randn(3, 2) | torch.scatter_reduce(x, 0, torch.tensor([[0, 1]]), x, 'median')
    x=randn(3, 2) | torch.narrow(x, 0, 0, -1)
    x=randn(3, 2) | torch.masked_select(x, torch.tensor([1, 0]))
    x=randn(4) | torch.chunk(x, 0)[0]
    x=randn(4) | torch.tensor_split(x, 0)[0]
    x=randn(3, 2) | F.dropout(x, 1.5, training=False)
    x=randn(3, 2) | F.dropout(x, -0.5, training=False)
    x=randn(3, 2) | F.scaled_dot_product_attention(x, x, x, attn_mask=x @ x.T, is_causal=True)
    x=randn(1, 3, 2, 2); w=randn(1, 2, 2, 2) | F.scaled_dot_product_attention(x, w, w, enable_gqa=True)
    x=randn(3, 2) | F.smooth_l1_loss(x, x + 1, beta=-1.0)
    x=randn(3, 2) | F.huber_loss(x, x + 1, delta=0.0)
    x=randn(3, 2) | F.triplet_margin_loss(x, x, x, margin=0.0)
    x=randn(3, 2) | F.triplet_margin_with_distance_loss(x, x, x, margin=0.0)
    x=randn(3, 2) | torch.baddbmm(x, x, x)
    x=randn(3, 2) | torch.bmm(x, torch.ones(3, 2, 2))
    x=randn(3, 2) | torch.bmm(torch.ones(3, 2, 3), x)
    x=randn(3, 2) | torch.clamp(x)
    x=randn(3, 2) | F.layer_norm(x, 2)
    x=randn(3, 2) | F.batch_norm(x, None, None, training=True, eps=-1.0)
    x=randn(3, 2) | F.batch_norm(x, None, None, training=True, eps=0.0)
    x=randn(3, 2) | F.batch_norm(x, None, None)
    x=randn(3, 4) | F.group_norm(x, 0)
    x=randn(3, 2) | torch.linalg.matrix_norm(x, 3)
    x=randn(3, 2) | torch.linalg.vector_norm(x, dtype=torch.complex128).real
    x=randn(3, 2) | torch.linalg.vector_norm(torch.complex(x, x), dtype=torch.float64)
    x=randn(3, 2); m=zeros(2) | torch.native_batch_norm(x, None, None, m, None, False, 0.1, 1e-5)[0]
    x=randn(3, 2); m=zeros(2) | torch.native_batch_norm(x, None, None, None, m, False, 0.1, 1e-5)[0]
    x=randn(3, 2) | torch.masked_scatter(x, x > -9, x[:2])
    x=randn(6) | torch.unflatten(x, 0, (2, 2))
    x=randn(6) | torch.unflatten(x, 0, (-1, 4))
    x=randn(3, 2) | torch.linalg.matrix_norm(x, 'nuclear')
    x=randn(3, 2) | torch.linalg.matrix_norm(x, dim=(0, 0))
    x=randn(3, 2) | torch.cdist(x, x, p=-1.0)
    x=randn(3, 2) | torch.pdist(x, p=-1.0)
    x=randn(3) | torch.combinations(x, -1)
    x=randn(2, 2) | torch.cross(x, x)
    x=randn(2, 2) | torch.meshgrid([x[0], x[1]], indexing='ji')[0]
    x=randn(2, 2) | torch.linalg.eigh(x + x.T, UPLO='M')[0]
    x=randn(2, 2) | torch.fft.fft(x, norm='best').real
    x=randn(2, 2) | torch.fft.fft(x, n=0).real
    x=randn(2, 2) | torch.fft.irfft(x, n=0)
    x=randn(3, 2) | F.embedding_bag(torch.tensor([[0]]), x, mode='min')
    x=randn(3, 2) | F.embedding_bag(torch.tensor([[0]]), x, per_sample_weights=torch.ones(1, 1))
    x=randn(3, 2) | torch.linalg.lstsq(x, x, driver='gelsx')[0]
    x=randn(2, 2, 4) | torch.linalg.tensorinv(x, ind=0)
    x=randn(3) | torch.linalg.vander(x, N=1)
    x=randn(()) | torch.linalg.vander(x)
    x=randn(3, 2) | F.multi_margin_loss(x, torch.tensor([0, 1, 1]), p=3)
    x=randn(1, 1, 2, 2); w=zeros(1, 1, 1, 2) | F.grid_sample(x, w, mode='linear', align_corners=False)
    x=randn(1, 1, 2, 2); w=zeros(1, 1, 1, 2) | F.grid_sample(x, w, padding_mode='ones', align_corners=False)
    x=randn(1, 2, 3); w=randn(2, 3, 2) | F.conv_transpose1d(x, w, output_padding=1)
    x=randn(1, 2, 3); w=randn(3, 2, 2) | F.conv_transpose1d(x, w)
    x=randn(1, 4, 3); w=randn(2, 3, 2) | F.conv_transpose1d(x, w)
    x=randn(1, 3, 3); w=randn(3, 2, 2) | F.conv_transpose1d(x, w, groups=2)
    x=randn(1, 2, 3); w=randn(2, 3, 2) | F.conv_transpose1d(x, w, groups=0)
    x=randn(1, 1, 2) | F.max_unpool1d(x, torch.tensor([[[0, 9]]]), 2)
    x=randn(3) | torch.quantile(x, 0.5, interpolation='cubic')
    x=randn(3) | torch.max(x, dim=0, other=x)
    x=randn(3) | torch.min(x, other=2)
    x=randn(3) | torch.topk(x, 4)[0].sum()
    x=randn(3) | torch.topk(x, -1)[0].sum()
    x=randn(3, 2) | torch.renorm(x, 0, 0, 1.0)
    x=randn(3, 2) | torch.renorm(x, 2, 0, -1.0)
    x=randn(3) | torch.segment_reduce(x, 'sum')
    x=randn(3) | torch.segment_reduce(x, 'median', lengths=torch.tensor([1, 2]))
    x=randn(3) | torch.segment_reduce(x, 'sum', lengths=torch.tensor([4, -1]))
    x=randn(1, 2, 3) | torch.stft(x, 2, return_complex=True).real
    x=randn(4) | torch.stft(x, 5, center=False, return_complex=True).real
    x=randn(4) | torch.stft(x, 2, hop_length=0, return_complex=True).real
    x=randn(3, 5) | torch.istft(torch.complex(x, x), 4, 0)
    x=randn(2, 5) | torch.istft(torch.complex(x, x), 2)
    x=randn(3, 5) | torch.istft(torch.complex(x, x), 4, 1, 0)
    x=randn(4) | torch.stft(x, 2, win_length=3, return_complex=True).real
    x=randn(1, 1, 4) | F.interpolate(x)
    x=randn(1, 1, 4) | F.interpolate(x, size=2, scale_factor=2.0)
    x=randn(1, 1, 4) | F.interpolate(x, size=2, mode='quadratic')
    x=randn(1, 1, 4) | F.interpolate(x, size=2, mode='bilinear')
    x=randn(1, 1, 4, 4) | F.interpolate(x, size=2, mode='linear')
    x=randn(1, 1, 4, 4) | F.interpolate(x, size=2, mode='trilinear')
    x=randn(1, 1, 4) | F.interpolate(x, size=2, align_corners=True)
    x=randn(1, 1, 4) | F.interpolate(x, size=2, mode='area', align_corners=False)
    x=randn(1, 1, 4) | F.interpolate(x, size=2, mode='linear', antialias=True)
    x=randn(1, 1, 2, 2, 2) | F.interpolate(x, size=2, mode='bicubic')
    x=randn(3) | torch.diff(x, -1)
    x=randn(3, 2) | torch.gradient(x, edge_order=3)[0]
    x=randn(3, 2) | torch.gradient(x, spacing=(1.0, 2.0, 3.0))[0]
    x=randn(3, 2) | torch.trapezoid(x, torch.ones(3))
    x=randn(3) | torch.as_strided(x, (2, 2), (2, 1))
    x=randn(1, 2) | F.unfold(x, 1)
    x=randn(1, 3, 2) | F.channel_shuffle(x[..., None], 2)
    x=randn(1, 4, 2) | F.channel_shuffle(x[..., None], 0)
    x=randn(1, 4, 2, 2) | F.pixel_shuffle(x, 0)
    x=randn(1, 5, 2, 2) | F.pixel_shuffle(x, 2)
    x=randn(4, 2) | F.pixel_shuffle(x, 2)
    x=randn(1, 4, 3, 2) | F.pixel_unshuffle(x, 2)
    x=randn(1, 4, 2, 2) | F.pixel_unshuffle(x, 0)
    x=randn(3, 2); w=randn(2) | torch.slice_scatter(x, w, 0, 0, 1, 0)
    x=randn(3, 2) | torch.put(x, torch.tensor([0.0]), x[0, :1])
    x=randn(3, 2) | torch.put(x, torch.tensor([0]), x[0])
    x=randn(3, 2) | torch.index_reduce(x, 0, torch.tensor([0]), x[:1], 'sum')
    x=randn(3, 2) | F.pad(x, (1, 1), mode='mirror')
    x=randn(3, 2) | F.pad(x, (1, 1), mode='reflect', value=1.0)
    x=randn(3) | F.pad(x, (1, 1), mode='reflect')
    x=randn(2, 3, 2) | torch.permute(x, (0, 1, 1))
    x=randn(2, 3, 2) | torch.movedim(x, (0, 1), (0,))
    x=randn(3, 2) | torch.rot90(x, 1, (0,))
    x=randn(3, 2) | torch.rot90(x, 1, (0, 0))
    x=randn(3) | torch.rot90(x)
    x=randn(3, 2) | torch.linalg.qr(x, mode='full')[0]
    x=randn(3, 2) | F.cross_entropy(x, torch.tensor([0, 1, 1]), label_smoothing=1.5)
    x=randn(()) | F.cross_entropy(x, torch.tensor(0))
    x=randn(2, 2, 2, 2) | F.ctc_loss(x, torch.ones(2, 1, dtype=torch.int64), torch.tensor([2, 2]), torch.tensor([1, 1]))
    x=tensor([[[0, 1, 2]], [[1, 1, 1]]]) | F.ctc_loss(x, torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1]))
    x=randn(2, 0, 3); w=zeros(0, dtype=int64) | F.ctc_loss(x, w.reshape(0, 2), w, w)
    x=randn(2, 1, 3) | F.ctc_loss(x, torch.tensor([[1]]), torch.tensor([2, 2]), torch.tensor([1]))
    x=randn(2, 1, 3) | F.ctc_loss(x, torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1, 1]))
    x=randn(2, 1, 3) | F.ctc_loss(x, torch.tensor([[1]]), torch.tensor([2.0]), torch.tensor([1]))
    x=randn(2, 1, 3) | F.ctc_loss(x, torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1.0]))
    x=randn(2, 3, 2) | torch.einsum('ij', x)
    x=randn(2) | torch.einsum('ij->i', x)
    x=randn(2) | torch.einsum('ij...->i...', x)
    x=randn(2, 3, 2); w=randn(2) | torch.einsum('ij,j->i', x, w)
    x=randn(2, 3, 2) | F.nll_loss(x, torch.ones(2, 2, dtype=torch.uint8))
"""


def tensors(text: str) -> dict[str, np.ndarray]:
    """`x=randn(3); w=randn(2)`."""
    pairs = [part.split("=", 1) for part in text.split(";")]
    drawing = RandomHost(stream(0, "x"), np.dtype(np.float64))
    return {name.strip(): np.asarray(evaluate(parse(creator.strip()), {}, drawing)) for name, creator in pairs}


def is_refused(text: str, given: dict[str, object], host: Host) -> bool:
    try:
        evaluate(parse(text), given, host)
    except GradcheckError:
        return True
    return False


def test_what_torch_refuses_is_refused() -> None:
    taken = []
    for line in filter(None, map(str.strip, CALLS.splitlines())):
        creators, _, text = line.partition(" | ")
        arrays = tensors(creators)
        if not is_refused(text, dict(arrays), NUMPY):
            taken.append(f"taken: {line}")
        if not is_refused(text, {name: TORCH.leaf(a, False) for name, a in arrays.items()}, TORCH.host):
            taken.append(f"torch takes: {line}")
    assert not taken, "\n".join(taken)
