"""What words mean that are not a case's own: torch's names of ops, numbers and dtypes."""

from __future__ import annotations

import math
import unicodedata
from keyword import iskeyword

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import Op, lookup
from gradcheck.language.expr.nodes import Dtype, Expr, Literal

NUMBERS = {"inf": math.inf, "nan": math.nan, "pi": math.pi, "e": math.e}
#: Python's own words, which torch takes for dtypes: `x.to(float)`.
_PYTHON_DTYPES = {"float": "float64", "int": "int64", "complex": "complex128"}

#: What to write for words of torch and Python that the language does not have.
INSTEAD = {
    **dict.fromkeys(("allclose", "equal"), "write x == y: in `checks` it holds within the tolerance"),
    "empty": "write zeros(…)",
    "empty_like": "write zeros_like(x)",
    "range": "write arange(…)",
    "int": "integers divide by n // 2",
    "item": "leave it out: a tensor of one element serves as a number",
    "values": "write [0]",
    "indices": "write [1]",
    "data": "write .detach()",
    "grad": "write grad(x), with the name of a tensor",
    "astype": "write .to(torch.float32)",
    "backward": "the pass is the case's: `backward: x`",
    **dict.fromkeys(("cpu", "cuda", "device"), "leave it out: everything runs on the CPU"),
    "numpy": "leave it out",
    "print": "leave it out: explain shows every value",
    "inplace": "leave it out: nothing is changed in place",
    "shape": "write x.shape[0]",
    "len": "write len(x)",
    "length": "write len(x)",
    "kernel_size": "leave it out: the weights' shape says it",
    "size": "write x.shape, or x.size(0)",
    **dict.fromkeys(
        ("requires_grad", "requires_grad_"), "leave it out: `inputs` require a gradient, `constants` do not"
    ),
}

#: Where torch keeps functions, to the prefixes that their names have in the op table.
NAMESPACES = {
    **dict.fromkeys(("torch", "torch.nn.functional", "nn.functional", "F", "math"), ("",)),
    **dict.fromkeys(("torch.linalg", "linalg"), ("linalg.",)),
    **dict.fromkeys(("torch.special", "special"), ("special.", "")),
    **dict.fromkeys(("torch.fft", "fft"), ("fft.",)),
    **dict.fromkeys(("torch.masked", "masked"), ("masked.",)),
}
#: Where a function may stand that has the name of a method: `F.unfold(x, 2)`, and `x.unfold(0, 2, 1)`.
_FUNCTIONAL = "nn.functional."
_FUNCTIONALS = frozenset({"torch.nn.functional", "nn.functional", "F"})
#: Names of NumPy and its like, whose functions are not the language's.
NUMPY = frozenset({"np", "numpy", "jnp", "tf", "jax", "scipy", "keras"})
#: Where torch and its like keep layers.
LAYERS = frozenset({"nn", "torch.nn", "K"})
#: The same, and what may as well be a tensor's name.
LIBRARIES = NUMPY | {"K", "nn", "torch", "F", "sp", "math", "linalg", "mx"}
#: What they call an op that torch calls otherwise, and how it is written here.
FOREIGN = {
    **dict.fromkeys(("array", "asarray", "constant", "convert_to_tensor", "Variable"), "tensor([…])"),
    **dict.fromkeys(("gaussian", "random_normal", "standard_normal", "truncated_normal"), "randn(3, 4)"),
    "random_uniform": "rand(3, 4)",
    "ln": "log(x)",
    "mse": "mse_loss(x, y)",
    "mae": "l1_loss(x, y)",
    **dict.fromkeys(("bce", "binary_crossentropy"), "binary_cross_entropy(p, t)"),
    **dict.fromkeys(("ce", "xent", "crossentropy", "categorical_crossentropy"), "cross_entropy(z, t)"),
    "sparse_categorical_crossentropy": "cross_entropy(z, t)",
    "swish": "silu(x)",
    **dict.fromkeys(("sigma", "σ"), "sigmoid(x)"),
    **dict.fromkeys(("gradient", "grads", "derivative", "deriv", "diff_wrt", "dL", "nabla"), "grad(x)"),
    "Σ": "sum(x)",
    "Π": "prod(x)",
    **dict.fromkeys(("dotproduct", "dot_product"), "dot(x, y)"),
    **dict.fromkeys(("l2", "sumsq", "norm_squared"), "(x ** 2).sum()"),
    "power": "x ** 2",
    "reduce_sum": "sum(x)",
    "reduce_mean": "mean(x)",
    "reduce_max": "amax(x)",
    "reduce_min": "amin(x)",
    "reduce_prod": "prod(x)",
    "reduce_logsumexp": "logsumexp(x, dim=0)",
    "expand_dims": "unsqueeze(x, 0)",
    "swapaxes": "transpose(x, 0, 1)",
    "moveaxis": "permute(x, (1, 0))",
    "batch_dot": "bmm(x, y)",
    "vdot": "dot(x, y)",
    "inner": "dot(x, y)",
    "tr": "trace(x)",
    "sigm": "sigmoid(x)",
    "logistic": "sigmoid(x)",
    "sgn": "sign(x)",
    "fabs": "abs(x)",
    "sqr": "x ** 2",
    "relu6": "clamp(x, 0, 6)",
    "average": "mean(x)",
    "divide": "x / y",
    "rdivide": "x / y",
    "times": "x * y",
    "mtimes": "x @ y",
    "stop_gradient": "detach(x)",
    "softmax_cross_entropy_with_logits": "cross_entropy(z, t)",
    "sparse_softmax_cross_entropy_with_logits": "cross_entropy(z, t)",
    "sigmoid_cross_entropy_with_logits": "binary_cross_entropy_with_logits(z, t)",
    "Linear": "x @ W.T + b",
    "Dense": "x @ W + b",
    "CrossEntropyLoss": "cross_entropy(z, t)",
    "NLLLoss": "nll_loss(z, t)",
    "MSELoss": "mse_loss(x, y)",
    "L1Loss": "l1_loss(x, y)",
    "BCELoss": "binary_cross_entropy(p, t)",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits(z, t)",
    "LayerNorm": "layer_norm(x, (d,))",
    "BatchNorm1d": "batch_norm(x, None, None, training=True)",
}


def find_op(namespace: str, name: str) -> Op | None:
    """The op that `namespace.name` calls, or None; `name` alone where the namespace is empty."""
    prefixes = NAMESPACES.get(namespace, ()) if namespace else ("",)
    for prefix in (_FUNCTIONAL, *prefixes) if namespace in _FUNCTIONALS else prefixes:
        found = lookup(prefix + name)
        if found is not None:
            return found if namespace != "math" or found.elementwise else None
    return None


def constant(name: str) -> Literal | Dtype | None:
    """What a bare word means where the case has no such name: `pi`, `float64`; None if it means nothing."""
    if name in NUMBERS:
        return Literal(NUMBERS[name])
    found = _PYTHON_DTYPES.get(name) or torch_dtype(name)
    return Dtype(found) if found else None


def torch_dtype(name: str) -> str:
    """The name of the dtype that torch calls `torch.name`, or an empty text."""
    return name if name in dtypes.BY_NAME else dtypes.ALIASES.get(name, "")


def member(namespace: str, name: str) -> Expr | None:
    """What `torch.inf`, `math.pi` or `torch.float64` means; None if nothing."""
    if namespace in ("torch", "math") and name in NUMBERS:
        return Literal(NUMBERS[name])
    found = torch_dtype(name) if namespace == "torch" else ""
    return Dtype(found) if found else None


def is_usable(name: str) -> bool:
    """Whether an expression can refer to this name at all."""
    return name.isidentifier() and not iskeyword(name) and unicodedata.normalize("NFKC", name) == name
