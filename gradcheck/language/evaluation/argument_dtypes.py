"""The dtypes that torch takes for an argument, where it does not take all.

Some ops have no kernel for complex numbers or booleans, and some indices must be of one integer dtype. As in
`argument_kinds`, the errors have the same words for every host.
"""

from __future__ import annotations

from typing import Any

#: A letter for each dtype: booleans, small signed and unsigned integers, int32, int64, bfloat16, float16, other floats,
#: complex numbers.
_LETTERS = {
    **dict.fromkeys(("int8", "int16"), "i"),
    **dict.fromkeys(("float32", "float64"), "f"),
    **dict.fromkeys(("complex64", "complex128"), "c"),
    **dict(zip(("bool", "uint8", "int32", "int64", "bfloat16", "float16"), "buwlgh", strict=True)),
}
_WORDS = {
    "ghf": "real floating numbers",
    "ghfc": "floating numbers",
    "f": "numbers of float32 or float64",
    "hf": "real floating numbers other than bfloat16",
    "fc": "floating numbers that are not of half precision",
    "buiwlf": "real numbers that are not of half precision",
    "buiwlfc": "numbers that are not of half precision",
    "uiwlfc": "numbers that are neither booleans nor of half precision",
    "uiwlghf": "real numbers",
    "buiwlghf": "real numbers and booleans",
    "uiwlghfc": "numbers other than booleans",
    "lghf": "floating numbers or int64",
    "lf": "numbers of float32, float64 or int64",
    "wl": "int64 or int32",
    "l": "int64",
}
_HINTS = dict.fromkeys("gh", "convert it: x.float()") | {
    "b": "convert it: mask.double()",
    "c": "take its real part: z.real",
}
_TABLE = """
ghf: batch_norm.input instance_norm.input group_norm.input layer_norm.input
ghf: binary_cross_entropy.input binary_cross_entropy_with_logits.input binary_cross_entropy_with_logits.target
ghf: binary_cross_entropy_with_logits.weight binary_cross_entropy_with_logits.pos_weight cosine_similarity.x1
ghf: cosine_similarity.x2 scaled_dot_product_attention.query kl_div.input kl_div.target
ghf: gaussian_nll_loss.var hinge_embedding_loss.input huber_loss.input huber_loss.target soft_margin_loss.input
ghf: avg_pool1d.input polar.abs polar.angle nanmean.input celu.input margin_ranking_loss.input1
ghf: margin_ranking_loss.input2
f: cdist.x1 cdist.x2 pdist.input quantile.input nanquantile.input ctc_loss.log_probs multi_margin_loss.input
buiwlf: special.erfcx.input special.i1.input special.i1e.input special.log_ndtr.input special.ndtri.input
buiwlfc: fft.fft.input fft.fft2.input fft.fftn.input fft.ifft.input fft.ifft2.input fft.ifftn.input fft.hfft.input
buiwlfc: fft.hfft2.input fft.hfftn.input fft.irfft.input fft.irfft2.input fft.irfftn.input
buiwlf: fft.rfft.input fft.rfft2.input fft.rfftn.input fft.ihfft.input fft.ihfft2.input fft.ihfftn.input
uiwlfc: linalg.vander.x
hf: complex.real complex.imag view_as_complex.input
fc: linalg.svdvals.A linalg.pinv.input linalg.eig.A linalg.eigvals.A linalg.eigh.A linalg.eigvalsh.A linalg.svd.A
fc: svd.input linalg.qr.A qr.input linalg.cond.A linalg.tensorinv.A linalg.householder_product.input ormqr.input
fc: linalg.lstsq.input triangular_solve.input lu_solve.input cholesky_solve.input cholesky_inverse.input
ghfc: l1_loss.input l1_loss.target dist.input dist.other pairwise_distance.x1 pairwise_distance.x2 linalg.vecdot.x
ghfc: linalg.vecdot.y lerp.input lerp.end
uiwlghf: mse_loss.input mse_loss.target smooth_l1_loss.input smooth_l1_loss.target topk.input argmax.input argmin.input
uiwlghf: max_pool2d.input
lghf: avg_pool2d.input
lf: avg_pool3d.input
uiwlghfc: tensordot.a tensordot.b mm.input mm.mat2 bmm.input bmm.mat2 mv.input mv.vec dot.input dot.tensor vdot.input
uiwlghfc: vdot.other inner.input inner.other linear.input addmm.mat1 addmv.mat addbmm.batch1
uiwlghfc: baddbmm.batch1 trace.input conv1d.input conv2d.input addcmul.tensor1 addcdiv.tensor1
buiwlghf: soft_margin_loss.target cosine_embedding_loss.target
wl: repeat_interleave.repeats scatter.index scatter_add.index index_select.index index_add.index
l: tensor_split.sections take.index take_along_dim.indices
ghfc: mean.dtype linalg.vector_norm.dtype
ghf: softmax.dtype log_softmax.dtype softmin.dtype nanmean.dtype
uiwlghfc: cumsum.dtype cumprod.dtype linspace.dtype
uiwlghf: arange.dtype max_pool1d.input
buiwlghf: cross_entropy.input nll_loss.input nansum.dtype softmax.input log_softmax.input softmin.input
"""


def read_table(text: str) -> dict[str, str]:
    """Return the entry of each name in a table of lines `entry: names`."""
    rows = (line.split(": ") for line in text.strip().split("\n"))
    return {name: entry for entry, names in rows for name in names.split()}


_TAKEN = read_table(_TABLE)


def accepted_dtypes(op: str, parameter: str) -> str:
    """Return letters of the dtypes of a parameter, or "" for all."""
    return _TAKEN.get(f"{op}.{parameter}", "")


def dtype_name(value: Any) -> str:
    """Return the name of a dtype, or of a tensor's dtype."""
    return str(getattr(value, "dtype", value)).removeprefix("torch.")


def is_accepted(value: Any, letters: str) -> bool:
    """Return whether a tensor has one of these dtypes, or an unknown one."""
    return _LETTERS.get(dtype_name(value), letters) in letters


def describe_dtypes(letters: str) -> str:
    return _WORDS[letters]


def conversion_hint(value: Any) -> str:
    """Return a hint that converts a tensor of a wrong dtype."""
    return _HINTS.get(_LETTERS.get(dtype_name(value), ""), "")
