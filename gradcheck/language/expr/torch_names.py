"""Words that are not a case's own: torch's ops, numbers and dtypes."""

from __future__ import annotations

import math
import unicodedata
from keyword import iskeyword

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import Op, lookup
from gradcheck.language.expr.nodes import Dtype, Expr, Literal

NUMBERS = {"inf": math.inf, "nan": math.nan, "pi": math.pi, "e": math.e}
#: Python's types, which torch takes for dtypes: `x.to(float)`.
_PYTHON_DTYPES = {"float": "float64", "int": "int64", "complex": "complex128"}

#: Hints for words of torch and Python that the language does not have: the words, a colon, the hint.
_HINTS = """
allclose equal: write x == y: in `checks` it holds within the tolerance
empty new_empty empty_strided empty_permuted new_empty_strided: write zeros(…)
empty_like: write zeros_like(x)
range: write arange(…)
list: write the items in brackets: [x, y], or arange(n) for their numbers
FloatTensor DoubleTensor HalfTensor LongTensor IntTensor BoolTensor ByteTensor: write tensor([…])
rearrange: write reshape, permute, or einsum('ij->ji', x)
Identity identity I: write eye(n)
vmap: leave it out: write the op on the whole batch, x @ w or einsum('bi,ij->bj', x, w)
grad_fn is_leaf: it is no number; leave it out
log_prob: write the logarithm of the density: -(x - mu) ** 2 / (2 * s ** 2) - log(s)
distributions: write the density itself, and draw its numbers under `constants`
bessel_j0 bessel_j1 bessel_y0 bessel_y1 spherical_bessel_j0 airy_ai: torch has no gradient of it
int: integers divide by n // 2
item: leave it out: a tensor of one element serves as a number
values indices: sort(x), topk(x, 2), max(x, dim=1) and the like give these parts
data: write .detach()
grad: write grad(x), with the name of a tensor
astype: write .to(torch.float32)
backward: the pass is the case's: `backward: x`
cpu cuda device: leave it out: everything runs on the CPU
numpy tolist pin_memory share_memory: leave it out
print: leave it out: explain shows every value
inplace: leave it out: nothing is changed in place
shape: write x.shape[0]
len length: write len(x)
kernel_size: leave it out: the weights' shape says it
size: write x.shape, or x.size(0)
requires_grad requires_grad_: leave it out: `inputs` require a gradient, `constants` do not
gumbel_softmax: it is random: draw the noise under `constants`, and write softmax((x + noise) / tau, dim=-1)
fractional_max_pool2d fractional_max_pool3d: its windows are random: write max_pool2d(x, 2)
native_dropout feature_dropout: it is random: draw a mask under `constants`: x * mask / (1 - p)
unique unique_consecutive: torch has no gradient of it; torch.sort(x)[0] has one
isin: write (x[..., None] == values).any(-1)
isreal: write x.imag == 0
bitwise_left_shift: write x * 2 ** n
bitwise_right_shift: write x // 2 ** n
geqrf ldl_factor ldl_factor_ex ldl_solve: torch has no gradient of it; linalg.qr has one
lobpcg: it begins at random: write linalg.eigh(x), and take some of its parts
svd_lowrank pca_lowrank: it begins at random: write linalg.svd(x), and take some of its parts
frobenius_norm: write linalg.matrix_norm(x)
nuclear_norm: write linalg.matrix_norm(x, 'nuc')
norm_except_dim: write linalg.vector_norm(x, dim=1, keepdim=True)
vander: torch cannot differentiate its own; write linalg.vander(x).flip(-1)
detach_copy: torch cannot differentiate it; write detach(x)
view_as_complex_copy: torch cannot differentiate it; write view_as_complex(x)
symeig: write linalg.eigh(x)
lstsq: write linalg.lstsq(A, B)[0]
rnn_tanh_cell rnn_relu_cell: write it out: tanh(linear(x, w_ih, b_ih) + linear(h, w_hh, b_hh))
multi_head_attention_forward: write it with linear and scaled_dot_product_attention, a line of the graph each
convolution: write conv1d, conv2d or conv3d, or conv_transpose1d to 3d
affine_grid_generator cudnn_affine_grid_generator: write affine_grid(theta, size, align_corners)
dsmm spmm smm hspmm hsmm: sparse layouts are not in the language: write x @ y
sspaddmm saddmm: sparse layouts are not in the language: write addmm(x, y, z)
resize: write x.reshape(…)
resize_as: write x.reshape_as(y)
new new_tensor as_tensor scalar_tensor: leave it out; numbers become tensors by tensor([…])
slice_inverse sym_sum sym_max sym_min: it is no part of torch's documented interface
logspace: write 10 ** linspace(start, end, steps)
hann_window hamming_window: write 0.5 - 0.5 * cos(2 * pi * arange(n) / n); Hamming's has 0.54 and 0.46
bartlett_window: write 1 - abs(2 * arange(n) / n - 1)
blackman_window kaiser_window: write its numbers out under `constants`
fftfreq rfftfreq: write its numbers out under `constants`, or arange(n) / n
is_contiguous storage data_ptr: where numbers stand in memory means nothing here
dequantize: quantized numbers are not in the language
"""
_INTEGERS = "what it gives are integers, without a gradient: write them out under `constants`"
#: Hints that many ops of torch share.
_SHARED_HINTS = {
    "it is random: draw it under `inputs` or `constants`, so that every engine gets the same numbers": (
        "bernoulli poisson binomial multinomial"
    ),
    "its windows are random: write max_pool2d(x, 2, return_indices=True)": (
        "fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices"
    ),
    f"how many there are depends on values; {_INTEGERS}": "nonzero argwhere nonzero_static",
    _INTEGERS: (
        "bincount histc histogram histogramdd searchsorted bucketize matrix_rank unravel_index tril_indices "
        "triu_indices gcd lcm"
    ),
    "write its gates out, each a line of the graph: r: sigmoid(linear(x, w_r, b_r) + linear(h, u_r))": (
        "gru_cell lstm_cell gru lstm rnn_tanh rnn_relu"
    ),
    "sparse layouts are not in the language: write the tensor itself": (
        "sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor "
        "sparse_compressed_tensor to_sparse to_sparse_coo to_sparse_csr to_sparse_csc to_sparse_bsr "
        "to_sparse_bsc sparse_mask coalesce to_dense sparse_dim dense_dim"
    ),
}


def _read_hints(text: str) -> dict[str, str]:
    rows = (line.partition(": ") for line in text.strip().split("\n"))
    return {name: hint for names, _, hint in rows for name in names.split()}


REPLACEMENT_HINTS = {name: hint for hint, names in _SHARED_HINTS.items() for name in names.split()}
REPLACEMENT_HINTS |= _read_hints(_HINTS)
#: Hints for calls of an op with so many arguments; 3 stands for more too.
USAGE_HINTS = {
    ("transpose", 1): "write x.T",
    ("permute", 1): "write x.T, or x.permute(1, 0)",
    ("layer_norm", 1): "write layer_norm(x, x.shape[-1:])",
    ("rms_norm", 1): "write rms_norm(x, x.shape[-1:])",
    ("batch_norm", 1): "write batch_norm(x, None, None, training=True)",
    ("softmax", 1): "write softmax(x, dim=1), or whichever dimension is to add up to 1",
    ("log_softmax", 1): "write log_softmax(x, dim=1), or whichever dimension is to add up to 1",
    ("log", 2): "write log(x) / log(2), log2(x) or log10(x)",
    ("exp", 2): "write 2 ** x",
    ("transpose", 3): "all dimensions in another order are x.permute(0, 2, 1)",
}
#: Other words for `dim`.
OTHER_DIMS = frozenset(("axes", "dims", "dimension", "dimensions", "ax", "d", "along"))

#: Namespaces of functions, and the prefixes of their names in the op table.
NAMESPACES = {
    **dict.fromkeys(("torch", "torch.nn.functional", "nn.functional", "F", "math"), ("",)),
    **dict.fromkeys(("torch.linalg", "linalg"), ("linalg.",)),
    **dict.fromkeys(("torch.special", "special"), ("special.", "")),
    **dict.fromkeys(("torch.fft", "fft"), ("fft.",)),
    **dict.fromkeys(("torch.masked", "masked"), ("masked.",)),
}
#: Namespaces of functions that share a name with a method: `F.unfold(x, 2)`, `x.unfold(0, 2, 1)`.
_FUNCTIONAL = "nn.functional."
_FUNCTIONALS = frozenset({"torch.nn.functional", "nn.functional", "F"})
#: NumPy and similar libraries, whose functions are not the language's.
NUMPY_LIKE_NAMES = frozenset({"np", "numpy", "jnp", "tf", "jax", "scipy", "keras"})
#: Namespaces of layers.
LAYERS = frozenset({"nn", "torch.nn", "K"})
#: Names of libraries, some of them also names of tensors.
LIBRARIES = NUMPY_LIKE_NAMES | {"K", "nn", "torch", "F", "sp", "math", "linalg", "mx"}
#: Names of ops in other libraries, and their spelling here.
FOREIGN_OPS = _read_hints("""
array asarray constant convert_to_tensor Variable: tensor([…])
gaussian random_normal standard_normal truncated_normal: randn(3, 4)
random_uniform: rand(3, 4)
ln: log(x)
mse MSELoss: mse_loss(x, y)
mae L1Loss: l1_loss(x, y)
bce binary_crossentropy BCELoss: binary_cross_entropy(p, t)
ce xent crossentropy categorical_crossentropy sparse_categorical_crossentropy: cross_entropy(z, t)
softmax_cross_entropy_with_logits sparse_softmax_cross_entropy_with_logits CrossEntropyLoss: cross_entropy(z, t)
swish: silu(x)
sigma σ sigm logistic: sigmoid(x)
gradient grads derivative deriv diff_wrt dL nabla: grad(x)
Σ reduce_sum: sum(x)
Π reduce_prod: prod(x)
dotproduct dot_product vdot inner: dot(x, y)
l2 sumsq norm_squared: (x ** 2).sum()
power sqr: x ** 2
reduce_mean average: mean(x)
reduce_max: amax(x)
reduce_min: amin(x)
reduce_logsumexp: logsumexp(x, dim=0)
expand_dims: unsqueeze(x, 0)
swapaxes: transpose(x, 0, 1)
moveaxis: permute(x, (1, 0))
batch_dot: bmm(x, y)
tr: trace(x)
sgn: sign(x)
fabs: abs(x)
relu6: clamp(x, 0, 6)
divide rdivide: x / y
times: x * y
mtimes: x @ y
stop_gradient: detach(x)
sigmoid_cross_entropy_with_logits BCEWithLogitsLoss: binary_cross_entropy_with_logits(z, t)
Linear: x @ W.T + b
Dense: x @ W + b
NLLLoss: nll_loss(z, t)
LayerNorm: layer_norm(x, (d,))
BatchNorm1d: batch_norm(x, None, None, training=True)
""")


def find_op(namespace: str, name: str) -> Op | None:
    """Return the op that `namespace.name`, or a bare `name`, calls, or None."""
    prefixes = NAMESPACES.get(namespace, ()) if namespace else ("",)
    for prefix in (_FUNCTIONAL, *prefixes) if namespace in _FUNCTIONALS else prefixes:
        found = lookup(prefix + name)
        if found is not None:
            return found if namespace != "math" or found.elementwise else None
    return None


def constant(name: str) -> Literal | Dtype | None:
    """Return the constant of a bare word, such as `pi` or `float64`, or None."""
    if name in NUMBERS:
        return Literal(NUMBERS[name])
    found = _PYTHON_DTYPES.get(name) or torch_dtype(name)
    return Dtype(found) if found else None


def torch_dtype(name: str) -> str:
    """Return the name of the dtype `torch.name`, or ""."""
    return name if name in dtypes.BY_NAME else dtypes.ALIASES.get(name, "")


def namespace_constant(namespace: str, name: str) -> Expr | None:
    """Return the constant `torch.inf`, `math.pi` or `torch.float64`, or None."""
    if namespace in ("torch", "math") and name in NUMBERS:
        return Literal(NUMBERS[name])
    found = torch_dtype(name) if namespace == "torch" else ""
    return Dtype(found) if found else None


def is_usable(name: str) -> bool:
    """Return whether an expression can refer to this name."""
    return name.isidentifier() and not iskeyword(name) and unicodedata.normalize("NFKC", name) == name
