"""How many elements each op says beforehand that it will make: by number, for the budget counts on it.

Most say what their result has. The others count what they make on the way to it: convolutions and pools their columns
(batch, channels, the windows' own size, and the places of the padded input), distances every difference, attention its
scores, transforms the longer half of their spectrum, and so on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE, Op
from gradcheck.errors import TooLarge
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NumPy
from gradcheck.language.evaluation.result_size import check
from tests.autograd.table import application_in, generator
from tests.autograd.test_torchs_calls import CALLS as TORCHS_CALLS
from tests.autograd.test_torchs_calls import op_of
from tests.samples import CALLS, OP_OF, drawn

#: Calls, and what the last op of each that says so expects.
NUMBERS = r"""
    eye(3) | 9
    repeat_interleave(randn(2, 3), tensor([0, 1, 2]), 1) | 12
    einsum('i,j,ij->', randn(2), randn(3), randn(2, 3)) | 6
    einsum('ab,cb,cd->ad', randn(2, 3), randn(4, 3), randn(4, 2)) | 8
    inner(randn(3), randn(3)) | 3
    inner(randn(2, 3), randn(3)) | 6
    conv1d(randn(2, 3, 5), randn(4, 3, 2)) | 60
    conv1d(randn(3, 6), randn(4, 3, 3), randn(4), 2, 1) | 72
    conv1d(randn(2, 4, 7), randn(4, 2, 3), stride=2, padding='valid', dilation=2, groups=2) | 168
    conv1d(randn(2, 3, 5), randn(4, 3, 2), padding='same') | 60
    conv2d(randn(2, 3, 4, 5), randn(4, 3, 2, 3)) | 720
    conv2d(randn(1, 2, 5, 4), randn(4, 2, 3, 3), randn(4), (2, 1), padding=(1, 2)) | 1008
    conv2d(randn(1, 4, 5, 5), randn(2, 2, 2, 2), dilation=2, groups=2) | 400
    conv3d(randn(1, 2, 3, 4, 3), randn(2, 2, 2, 3, 2)) | 864
    conv3d(randn(2, 3, 3, 3), randn(2, 2, 2, 2, 2), randn(2), 2, (1, 0, 1)) | 1200
    avg_pool1d(randn(2, 3, 6), 2) | 72
    avg_pool1d(randn(3, 7), 3, 2, 1, False, False) | 81
    avg_pool1d(randn(2, 6), 3, 2, 1, ceil_mode=True) | 48
    avg_pool2d(randn(2, 3, 4, 6), 2) | 576
    avg_pool2d(randn(1, 2, 5, 5), (3, 2), 1, (1, 0), count_include_pad=False) | 420
    avg_pool2d(randn(1, 2, 4, 5), 2, 2, ceil_mode=True, divisor_override=3) | 160
    avg_pool3d(randn(1, 2, 2, 4, 2), 2) | 256
    avg_pool3d(randn(1, 3, 3, 3), 2, 1, 1, True) | 1000
    max_pool1d(randn(2, 3, 6), 2) | 72
    max_pool1d(randn(3, 7), 3, 2, 1) | 81
    max_pool1d(randn(1, 5), 2, 2, ceil_mode=True) | 10
    max_pool2d(randn(2, 3, 4, 6), 2) | 576
    max_pool2d(randn(1, 2, 5, 5), (3, 2), stride=1, padding=(1, 0)) | 420
    max_pool3d(randn(1, 2, 2, 2, 2), 2) | 128
    max_pool3d(randn(1, 2, 2, 2), 2, 1, 1) | 512
    randn(3, 4)[1] | 12
    randn(3, 4)[-1, 2] | 12
    randn(3, 4)[:, 1:4:2] | 12
    randn(3, 4)[None, ..., 0] | 12
    randn(2, 3, 4)[..., 1:, None] | 24
    randn(2, 3)[2:] | 6
    chunk(randn(5, 2), 2) | 70
    randn(2, 5).chunk(4, dim=1) | 130
    chunk(randn(0, 3), 3) | 90
    tensor_split(randn(5, 2), 3) | 100
    diag(randn(2, 3)) | 6
    randn(3, 2).diag(1) | 16
    addbmm(randn(2, 4), randn(5, 2, 3), randn(5, 3, 4), beta=2, alpha=0.5) | 40
    scaled_dot_product_attention(randn(3, 4), randn(5, 4), randn(5, 2)) | 15
    scaled_dot_product_attention(randn(2, 3, 4), randn(2, 5, 4), randn(2, 5, 4), scale=0.3) | 30
    scaled_dot_product_attention(randn(2, 4), randn(3, 4), randn(3, 2), detach(randn(2, 3))) | 6
    scaled_dot_product_attention(randn(2, 4), randn(3, 4), randn(3, 2), tensor([[True], [True]])) | 6
    cosine_similarity(randn(2, 3), randn(2, 3)) | 6
    cosine_similarity(randn(2, 3), randn(3), dim=-1) | 6
    cosine_similarity(randn(2, 3, 2), randn(2, 1, 2), 0) | 12
    cosine_similarity(randn(3), randn(3), dim=0, eps=1e-6) | 3
    pairwise_distance(randn(2, 3), randn(2, 3)) | 6
    pairwise_distance(randn(2, 3), randn(3), 1.0, keepdim=True) | 6
    pairwise_distance(randn(3), randn(3), p=3, eps=0.01) | 3
    cdist(randn(2, 3), randn(4, 3)) | 24
    cdist(randn(2, 2, 3), randn(4, 3), p=1.0) | 48
    pad(randn(1, 2, 3), (2, 1), mode='circular') | 12
    combinations(randn(3), with_replacement=True) | 18
    block_diag(randn(2, 2), randn(1, 3)) | 49
    block_diag(randn(2), randn(())) | 9
    pdist(randn(4, 3)) | 48
    pdist(randn(3, 2), 1.0) | 18
    pdist(randn(3, 2), inf) | 18
    linear_cross_entropy(randn(3, 4), randn(5, 4), tensor([0, 2, 4])) | 15
    linear_cross_entropy(randn(4), randn(3, 4), tensor(1), linear_bias=randn(3)) | 3
    linear_cross_entropy(randn(2, 4), randn(3, 4), tensor([0, -100]), reduction='sum', label_smoothing=0.1) | 6
    linear_cross_entropy(randn(2, 4), randn(3, 2, 4), tensor([[0, 2], [1, 1]])) | 12
    _fft_c2r(complex(randn(2, 3), randn(2, 3)), [1], 0, 5) | 12
    _fft_c2r(complex(randn(2, 3), randn(2, 3)), [0, 1], 2, 4) | 12
    fft.rfft(randn(2, 5)) | 18
    fft.rfft(randn(2, 4), 3, 0, 'ortho') | 20
    fft.irfft(complex(randn(2, 3), randn(2, 3))) | 15
    fft.irfft(complex(randn(2, 3), randn(2, 3)), 3, 0, 'ortho') | 16
    interpolate(randn(1, 2, 5), 3) | 15
    interpolate(randn(1, 1, 3, 4), (5, 2), mode='bilinear', align_corners=True) | 20
    interpolate(randn(1, 1, 4, 5), (2, 3), mode='area') | 20
    interpolate(randn(1, 1, 2, 3, 2), (3, 2, 4), mode='trilinear') | 36
    interpolate(randn(1, 2, 5), 3, mode='nearest-exact') | 15
    interpolate(randn(1, 1, 6, 5), (2, 3), mode='bilinear', antialias=True) | 30
    upsample_bilinear(randn(1, 1, 3, 4), (5, 2)) | 20
    upsample_nearest(randn(1, 1, 3, 4), (5, 2)) | 20
    _upsample_bilinear2d_aa(randn(1, 1, 6, 5), (2, 3), False) | 30
    adaptive_avg_pool1d(randn(1, 2, 5), 3) | 22
    adaptive_avg_pool1d(randn(2, 4), (2,)) | 16
    adaptive_avg_pool2d(randn(1, 2, 5, 4), (3, None)) | 264
    adaptive_avg_pool2d(randn(2, 4, 3), 2) | 112
    adaptive_avg_pool3d(randn(1, 2, 3, 2, 4), (2, 1, 3)) | 560
    adaptive_avg_pool3d(randn(1, 3, 3, 3), 2) | 343
    conv_transpose1d(randn(2, 3, 4), randn(3, 2, 3)) | 144
    conv_transpose1d(randn(4, 3), randn(4, 1, 2), randn(2), 2, 1, 1, groups=2) | 24
    conv_transpose2d(randn(1, 2, 3, 2), randn(2, 3, 2, 3), randn(3), stride=(2, 1), padding=1, dilation=(1, 2)) | 216
    conv_transpose3d(randn(1, 2, 2, 1, 2), randn(2, 1, 2, 2, 1), stride=2) | 32
    upsample(randn(1, 1, 3, 4), (5, 2), mode='bilinear', align_corners=True) | 20
    lp_pool1d(uniform(0.2, 2, [2, 3, 6]), 2, 2) | 72
    lp_pool1d(uniform(0.2, 2, [1, 7]), 3, 3, 2, True) | 21
    lp_pool1d(randn(2, 5), inf, 2) | 20
    lp_pool1d(randn(2, 5), -inf, 2, 1) | 20
    lp_pool2d(uniform(0.2, 2, [1, 2, 4, 5]), 2, (2, 3)) | 240
    lp_pool2d(uniform(0.2, 2, [2, 3, 3]), 1.5, 2, (2, 1), True) | 72
    lp_pool3d(uniform(0.2, 2, [1, 1, 2, 4, 2]), 2, 2) | 128
    lp_pool3d(uniform(0.2, 2, [1, 2, 3, 2]), 4, (1, 2, 2), 1) | 48
    max_pool1d_with_indices(randn(2, 3, 6), 2) | 72
    max_pool1d_with_indices(randn(3, 7), 3, 2, 1, ceil_mode=True) | 81
    max_pool2d_with_indices(randn(2, 3, 4, 6), 2) | 576
    max_pool2d_with_indices(randn(1, 2, 5, 5), (3, 2), 1, (1, 0)) | 420
    max_pool3d_with_indices(randn(1, 2, 2, 2, 2), 2) | 128
    max_pool3d_with_indices(randn(1, 3, 3, 3), 2, 1, 0, (1, 1, 2)) | 216
    adaptive_max_pool1d_with_indices(randn(1, 2, 5), 3) | 22
    adaptive_max_pool2d_with_indices(randn(1, 2, 5, 4), (3, None)) | 264
    adaptive_max_pool2d_with_indices(randn(2, 4, 3), 2) | 112
    adaptive_max_pool3d_with_indices(randn(1, 2, 3, 2, 4), (2, 1, 3)) | 560
    conv_tbc(randn(5, 2, 3), randn(2, 3, 4), randn(4)) | 240
    conv_tbc(randn(3, 1, 2), randn(3, 2, 1), randn(1), 1) | 30
    adaptive_max_pool1d(randn(1, 2, 5), 3) | 22
    adaptive_max_pool1d(randn(2, 4), (2,), True) | 16
    adaptive_max_pool2d(randn(1, 2, 5, 4), (3, None)) | 264
    adaptive_max_pool2d(randn(2, 4, 3), 2, return_indices=True) | 112
    adaptive_max_pool3d(randn(1, 2, 3, 2, 4), (2, 1, 3)) | 560
    adaptive_max_pool3d(randn(1, 3, 3, 3), 2) | 343
    stft(randn(16), 4, window=detach(ones(4)), return_complex=True) | 68
    stft(randn(2, 12), 4, 2, window=rand(4), center=False, return_complex=True) | 104
    stft(randn(12), n_fft=4, win_length=3, window=detach(rand(3)), normalized=True, return_complex=True) | 52
    mvlgamma(uniform(3, 5, [3]), 3) | 9
    randn(5).unfold(0, 2, 1) | 10
    unfold(randn(2, 5), -1, 3, 2) | 30
    unfold_copy(randn(5), 0, 2, 1) | 10
    nn.functional.unfold(randn(1, 2, 3, 4), 2) | 384
    nn.functional.unfold(randn(2, 4, 3), (2, 1), padding=1, stride=2, dilation=(1, 2)) | 192
    fold(randn(1, 8, 6), (3, 4), 2) | 96
    fold(randn(4, 9), 4, kernel_size=2) | 64
    conv1d(randn(2, 3, 7), randn(5, 3, 2), padding=1) | 108
    conv1d(randn(4, 7), randn(6, 2, 3), groups=2) | 84
    conv2d(randn(3, 7, 5), randn(2, 3, 2, 3), padding=(1, 2)) | 1458
    conv2d(randn(2, 1, 7, 5), randn(11, 1, 2, 3), padding='same') | 770
    conv3d(randn(2, 3, 3, 4, 5), randn(7, 3, 1, 2, 1), padding=(1, 0, 2)) | 2520
    avg_pool2d(randn(3, 7, 5), (2, 3), padding=1) | 1134
    max_pool1d(randn(2, 3, 7), 3, padding=1) | 162
    conv_transpose1d(randn(2, 3, 7), randn(3, 5, 2)) | 420
    conv_transpose2d(randn(4, 3, 5), randn(4, 3, 2, 1), groups=2) | 360
    adaptive_avg_pool1d(randn(2, 3, 7), 5) | 102
    adaptive_max_pool2d(randn(3, 7, 5), (2, 3)) | 363
    nn.functional.unfold(randn(2, 3, 5, 7), (2, 3)) | 5040
    randn(5, 7).unfold(1, 3, 2) | 105
    cdist(randn(5, 3), randn(7, 3)) | 105
    cdist(randn(2, 5, 3), randn(2, 7, 3)) | 210
    pdist(randn(5, 3)) | 75
    scaled_dot_product_attention(randn(3, 4), randn(2, 4), randn(2, 7)) | 21
    scaled_dot_product_attention(randn(2, 4, 3, 5), randn(2, 2, 7, 5), randn(2, 2, 7, 5), enable_gqa=True) | 168
    scaled_dot_product_attention(randn(3, 5), randn(2, 7, 5), randn(2, 7, 5)) | 42
    scaled_dot_product_attention(randn(1, 2, 3), randn(4, 5, 3), randn(4, 5, 2)) | 40
    scaled_dot_product_attention(randn(2, 3), randn(5, 3), randn(4, 5, 7)) | 56
    scaled_dot_product_attention(randn(2, 3), randn(4, 5, 3), randn(5, 7)) | 56
    linear_cross_entropy(randn(5, 4), randn(7, 4), tensor([0, 2, 4, 1, 1])) | 35
    addbmm(randn(2, 4), randn(5, 2, 3), randn(5, 3, 4)) | 40
    randn(5, 1, 2, 3) @ randn(7, 3, 4) | 280
    randn(3) @ randn(5, 3, 4) | 20
    randn(5, 2, 3) @ randn(3) | 10
    combinations(randn(5), 3) | 375
    combinations(randn(5), 3, with_replacement=True) | 375
    cartesian_prod(randn(2), randn(3), randn(5)) | 90
    block_diag(randn(2, 3), randn(5, 7), randn(3)) | 1936
    repeat_interleave(randn(2, 3), tensor([0, 5, 2]), 1) | 30
    repeat_interleave(randn(2, 3), tensor([0, 0, 0]), 1) | 0
    repeat_interleave(randn(2, 0), tensor([], dtype=torch.int64), 1) | 0
    randn(3, 5)[tensor([[0, 1], [1, 2]])] | 20
    index_select(randn(3, 5), 1, tensor([0, 1, 1, 2, 4, 0, 0])) | 21
    chunk(randn(5, 7), 3) | 125
    tensor_split(randn(5, 7), 3, 1) | 125
    tensor_split(randn(5, 7), (2, 3)) | 125
    diag(randn(3, 5), 1) | 16
    diag(randn(5), -2) | 49
    diag_embed(randn(2, 3), 2) | 50
    diagflat(randn(2, 3), 1) | 49
    inner(randn(2, 3), randn(5, 3)) | 10
    tensordot(randn(2, 3, 5), randn(5, 7), dims=1) | 42
    einsum('ab,bc,cd->ad', randn(2, 3), randn(3, 5), randn(5, 7)) | 14
    stft(randn(2, 13), 4, return_complex=True) | 112
    istft(complex(randn(3, 5), randn(3, 5)), 4) | 20
    istft(complex(randn(2, 4, 6), randn(2, 4, 6)), 6, 2, 6, detach(uniform(0.5, 1, [6])), False, length=12) | 72
    mvlgamma(uniform(3, 5, [2, 3]), 5) | 30
    fft.fft(randn(2, 5), 7) | 24
    fft.rfft2(randn(3, 2, 5), (7, 4)) | 160
    fft.irfft(complex(randn(2, 3), randn(2, 3)), 11) | 36
    fft.irfft(randn(2, 31)) | 183
    inner(randn(()), randn(2, 5)) | 10
    conv_transpose1d(randn(2, 3, 4), randn(3, 2, 5)) | 240
    conv_transpose1d(randn(3, 4), randn(3, 2, 5), stride=20) | 130
    conv_transpose1d(randn(2, 4, 4), randn(4, 2, 3), None, 9, 0, 4, 2, 7) | 368
    conv_transpose2d(randn(4, 2, 3), randn(4, 3, 2, 2), None, (11, 1), 0, (2, 0), 2, (1, 6)) | 810
    interpolate(randn(2, 3, 7), 5) | 42
    interpolate(randn(2, 3, 5, 2), scale_factor=(3, 2)) | 360
    upsample_nearest(randn(2, 3, 5), 7) | 42
    max_unpool1d(randn(2, 3, 2), tensor([[[1, 2]]]).expand(2, 3, 2), 3) | 36
    pairwise_distance(randn(2, 5, 3), randn(5, 3)) | 30
    cosine_similarity(randn(2, 1, 3), randn(5, 3), dim=-1) | 30
    one_hot(tensor([[0, 2, 1]])) | 9
    pad(randn(2, 3), (1, 2, 3, 0)) | 30
    linalg.vander(randn(2, 3), N=7) | 42
    linalg.vander(randn(3, 2)) | 12
    eye(3, 5) | 15
    randn(2).new_full((3, 5), 1.5) | 15
    as_strided(randn(5), (3, 2), (1, 2)) | 6
    outer(randn(2, 1).reshape(2), randn(5)) | 10
    kron(randn(2, 3), randn(5, 7)) | 210
    linear(randn(2, 5, 3), randn(7, 3)) | 70
    embedding(tensor([[0, 1, 1]]), randn(2, 5)) | 15
    grid_sample(randn(1, 2, 3, 4), uniform(-1, 1, [1, 5, 7, 2]), align_corners=False) | 70
    randn(2, 1).expand(-1, 5) | 10
    randn(2, 3).repeat(5, 1, 2) | 60
    tile(randn(2, 3), (5,)) | 30
    arange(2, 9, 3) | 3
    linspace(0, 1, 7) | 7
    combinations(randn(4)) | 32
    combinations(randn(3), 3) | 81
    split(randn(5, 2), 2) | 100
    split(randn(2, 5), [1, 4], dim=1) | 100
    randn(2, 5).split(3, -1) | 70
    split(randn(5), (0, 5)) | 95
    tensor_split(randn(2, 5), (1, 4), dim=1) | 100
    randn(3).tensor_split([1, 5]) | 93
    tensor_split(randn(3), tensor([1, 2])) | 93
    tensor_split(randn(3), tensor(2)) | 63
    unbind(randn(3, 2)) | 96
    unbind_copy(randn(3, 2)) | 96
    unbind_copy(randn(3, 2), 1) | 66
    unsafe_chunk(randn(5, 2), 2) | 70
    unsafe_chunk(randn(2, 5), 3, 1) | 100
    randn(2, 3).unbind(-1) | 96
    unbind(randn(2, 0)) | 60
    embedding_bag(tensor([[0, 2], [1, 1]]), randn(3, 2), mode='max') | 8
    interpolate(randn(1, 2, 4), scale_factor=1.5, mode='linear') | 24
    upsample(randn(1, 1, 3), None, 2) | 18
    upsample_nearest(randn(1, 1, 3), scale_factor=2) | 18
    combinations(randn(9), 4) | 26244
    combinations(randn(3), 5) | 1215
    meshgrid(randn(2), randn(3), randn(5)) | 90
    meshgrid(randn(2), randn(0)) | 0
    cov(randn(5, 2)) | 25
    cov(randn(5)) | 5
    corrcoef(randn(5, 2)) | 25
    linalg.multi_dot([randn(5, 2), randn(2, 3), randn(3, 7)]) | 35
    linalg.multi_dot([randn(2), randn(2, 3), randn(3)]) | 6
    chain_matmul(randn(5, 2), randn(2, 7)) | 35
    cdist(randn(5, 1, 3, 2), randn(7, 4, 2)) | 840
    cdist(randn(3, 0), randn(5, 0)) | 15
    mvlgamma(randn(0), 3) | 3
    as_strided(randn(5), (3, 0, 2), (1, 1, 1)) | 6
    as_strided_scatter(randn(5), randn(3, 2), (3, 2), (1, 1)) | 6
    nn.functional.unfold(randn(1, 1, 1, 1), 1, padding=5) | 144
    nn.functional.unfold(randn(1, 1, 4, 4), 3, padding=5) | 2025
    interpolate(randn(1, 0, 7), 5) | 35
    _fft_c2r(complex(randn(2, 3), randn(2, 3)), [1], 0, 50) | 100
    istft(complex(randn(2, 4, 6), randn(2, 4, 6)), 6, 2, 6, detach(uniform(0.5, 1, [6])), False, length=100) | 200
    pivoted_rows(tensor([[2, 3], [1, 2]]), 4) | 8
    linalg.qr(randn(3, 2)) | 12
    linalg.qr(randn(2, 3)) | 12
    linalg.qr(randn(2, 2, 2)) | 20
    qr(randn(3, 2)) | 12
    randn(2, 2).qr() | 10
    linalg.lu(tensor([[3.0, 1.0, -0.5], [0.4, -2.0, 1.0], [1.5, 0.3, 2.5]])) | 42
    linalg.lu(tensor([[[2.0, 0.5], [-1.0, 1.5]], [[1.0, -2.0], [0.7, 3.0]]])) | 40
    linalg.lu(randn(3, 2)) | 34
    linalg.lu(randn(2, 3)) | 30
    lu_unpack(linalg.lu_factor(tensor([[3.0, 1.0, -0.5], [0.4, -2.0, 1.0], [1.5, 0.3, 2.5]]))[0], linalg.lu_factor(tensor([[3.0, 1.0, -0.5], [0.4, -2.0, 1.0], [1.5, 0.3, 2.5]]))[1]) | 42
    linalg.lu_solve(linalg.lu_factor(tensor([[3.0, 1.0, -0.5], [0.4, -2.0, 1.0], [1.5, 0.3, 2.5]]))[0], linalg.lu_factor(tensor([[3.0, 1.0, -0.5], [0.4, -2.0, 1.0], [1.5, 0.3, 2.5]]))[1], randn(3, 2)) | 21
    linalg.lu_solve(linalg.lu_factor(tensor([[3.0, 1.0, -0.5], [0.4, -2.0, 1.0], [1.5, 0.3, 2.5]]))[0], linalg.lu_factor(tensor([[3.0, 1.0, -0.5], [0.4, -2.0, 1.0], [1.5, 0.3, 2.5]]))[1], randn(2, 3), left=False, adjoint=True) | 21
    linalg.svd(randn(5, 2)) | 37
    linalg.svd(randn(5, 2), False) | 16
    svd(randn(3, 5), False) | 37
    linalg.qr(randn(5, 2), 'complete') | 37
    qr(randn(5, 2), False) | 37
    linalg.lu(randn(5, 2)) | 74
    adaptive_avg_pool1d(randn(1, 1, 50), 40) | 2000

"""  # noqa: E501
#: The numbers of what draws.
DRAWN = (
    ("randn", (3, 5), 15),
    ("rand", ([2, 7],), 14),
    ("uniform", (0, 1, [3, 5]), 15),
    ("normal", (0.0, 1.0, [3, 5]), 15),
    ("randint", (0, 9, [3, 5]), 15),
    ("randint", (9, [3, 7]), 21),
    ("randperm", (7,), 7),
)


class Expecting(NumPy):
    """NumPy, noting of each op that says how much it will make what it said, and what came."""

    def __init__(self) -> None:
        self.seen: list[tuple[Op, int, int]] = []

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        made = op(*args, **kwargs)
        if op.elements is not None:
            parts = made if isinstance(made, (tuple, list)) else (made,)
            self.seen.append((op, number(op, args, kwargs), sum(map(np.size, parts))))
        return made


def number(op: Op, args: Any, kwargs: Any) -> int:
    """What the op says; -1 of arguments that it says nothing of."""
    assert op.elements is not None
    try:
        return int(op.elements(*op.bind(args, kwargs)))
    except ValueError:
        return -1


def expectations(text: str) -> list[tuple[Op, int, int]]:
    expr, arrays = drawn(text)
    host = Expecting()
    evaluate(expr, arrays, host)
    return host.seen


def test_what_is_expected_by_number() -> None:
    wrong = []
    for line in filter(None, map(str.strip, NUMBERS.splitlines())):
        text, _, expected = line.rpartition(" | ")
        found = expectations(text)[-1][1]
        wrong += [f"{text}: {found} instead of {expected}"] if found != int(expected) else []
    assert not wrong, "\n".join(wrong)


def test_all_others_expect_what_they_make() -> None:
    """No more than the largest tensor that they are given, where they make less of it."""
    listed = {line.strip().rpartition(" | ")[0] for line in NUMBERS.splitlines()}
    wrong = []
    for text in CALLS:
        op = TABLE[OP_OF[text]]
        if op.elements is None or text in listed or op.name.startswith("fft."):  # which share what they say
            continue
        given = max((array.size for array in drawn(text)[1].values()), default=0)
        found = [(expected, made) for seen, expected, made in expectations(text) if seen is op][-1]
        if found[0] not in (-1, found[1], given):
            wrong.append(f"{text}: {found[0]} for {found[1]}")
    assert not wrong, "\n".join(wrong)


def test_no_less_is_expected_than_is_made() -> None:
    """Of calls in all their forms."""
    wrong, asked = [], 0
    for text in TORCHS_CALLS:
        op = TABLE[op_of(text)]
        if op.elements is None:
            continue
        call = application_in(op, text, generator(op))
        expected, made = number(op, call.args, call.kwargs), op(*call.args, **call.kwargs)
        asked += expected >= 0
        size = sum(map(np.size, made if isinstance(made, (tuple, list)) else (made,)))
        wrong += [f"{text}: {expected} for {size}"] if -1 != expected < size else []
    assert not wrong, "\n".join(wrong)
    assert asked > 300


@pytest.mark.parametrize(("name", "args", "expected"), DRAWN)
def test_what_is_drawn_is_expected_by_number(name: str, args: tuple[Any, ...], expected: int) -> None:
    op = TABLE[name]
    check(op, args, {}, expected)
    with pytest.raises(TooLarge, match=f"of {expected} elements"):
        check(op, args, {}, expected - 1)
