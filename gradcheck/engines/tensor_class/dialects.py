"""The differences between Tensor classes, a table for each.

Another dialect is one more entry. In ordered tables, earlier entries are tried first.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

# Making a tensor ------------------------------------------------------------------------------------

#: The constructor's flag for gradients, in small letters without underscores; and flags of opposite meaning.
FLAGS = (
    *("requiresgrad", "requiresgradient", "needsgrad", "needgrad", "hasgrad", "withgrad", "usegrad", "isgrad"),
    *("trackgrad", "computegrad", "recordgrad", "gradenabled", "autograd", "differentiable", "tracked", "trainable"),
    *("diff", "isdiff", "learnable", "watch", "watched", "isleaf", "isparam", "isparameter", "isvariable"),
)
OPPOSITE_FLAGS = ("constant", "isconstant", "nograd", "frozen", "stopgradient", "stopgrad")
#: The constructor's flag by which a tensor keeps its gradient, if it is a separate one.
KEEPING_FLAGS = ("keepgrad", "keepsgrad", "retaingrad", "retainsgrad", "storegrad")
#: Without such a flag: an attribute that is False on a new tensor, and True on one with a gradient.
MARKS = ("requires_grad",)
#: Without either: a method that requires a gradient.
GRAD_MARK_METHODS = ("requires_grad_",)

#: Its parameter for the data, if it is not the first, or not the only required one.
DATA = ("data", "value", "values", "val", "array", "arr", "x", "tensor", "numbers", "content", "primal", "v")
#: Its parameter for a name.
NAMES = ("name", "label", "id", "symbol", "identifier", "key")
_NUMBERS = count(1)
#: Values for other required parameters, by their names in small letters without outer underscores.
DEFAULT_ARGUMENTS: dict[str, Callable[[], Any]] = {
    **dict.fromkeys(NAMES, lambda: f"v{next(_NUMBERS)}"),
    **dict.fromkeys(("op", "operation", "operator", "type"), str),
    "dtype": lambda: np.float64,
    **dict.fromkeys(("children", "parents", "prev", "inputs", "args", "creators", "depends_on", "deps"), tuple),
    **dict.fromkeys(("local_gradients", "local_grads", "dependencies", "predecessors", "operands"), tuple),
    **dict.fromkeys(
        ("creator", "grad_fn", "backward_fn", "fn", "func", "fun", "ctx", "grad", "gradient"), lambda: None
    ),
}

#: Functions that make a tensor of numbers, if the constructor takes no numbers: of its module, or of the class.
MAKERS = ("tensor", "from_numpy", "from_list", "from_array", "from_data", "make_tensor", "as_tensor", "make")

#: Methods that give a tensor its numbers, if the constructor takes a name alone.
SETTERS = ("assign", "set_value", "set_data", "set", "set_val", "feed", "fill", "load", "update")

#: Words in the names of subclasses whose tensors are leaves, if the class that is named keeps no gradients.
LEAVES = ("parameter", "param", "variable", "var", "leaf", "placeholder")
#: Words in the names of classes, and of their modules, that run a graph with the numbers of its leaves.
RUNNERS = ("executor", "session", "runner")

# Reading it -----------------------------------------------------------------------------------------

#: Attributes (or methods without arguments) that hold its values; methods that return them.
VALUES = ("data", "value", "values", "val", "_data", "_value", "array", "arr", "primal", "v", "x")
VALUE_METHODS = ("numpy", "asnumpy", "to_numpy", "tolist", "item")
#: Methods without arguments that compute lazy values: they return or store them.
REALIZE_METHODS = ("realize", "compute", "evaluate", "eval", "forward", "materialize", "execute", "run")
#: Attributes (or methods without arguments) that hold its gradient; methods that return it.
GRADIENTS = (
    *("grad", "gradient", "_grad", "_gradient", "grads", "adjoint", "derivative"),
    *("der", "deriv", "dv", "g", "delta", "partial", "sensitivity"),
)
GRADIENT_METHODS = ("get_grad", "get_gradient")
#: Words in the names of others that may hold it: `grad_value`, `grad_tensor()`.
GRADIENT_WORDS = ("grad", "gradient", "adjoint", "derivative", "cotangent")
#: Parts of the names of methods that may return it: `revder()`, `xgrad()`.
GRADIENT_PARTS = ("grad", "der", "adj", "partial", "sens")
#: Attributes by which a pass names tensors in a returned dictionary of gradients.
KEYS = ("name", "label", "id", "_id", "uid", "unique_id", "node_id", "key")

# Passes ---------------------------------------------------------------------------------------------

#: The method that runs a backward pass.
BACKWARDS = ("backward", "backprop", "backpropagate", "backward_pass", "run_backward", "compute_gradients")
#: Functions of its module that run one, if the method goes no further than one op, or there is none.
PASSES = (
    *("backward_graph", "backward_pass", "run_backward", "backpropagate", "backprop", "backward_all", "backward"),
    *("get_gradients", "compute_gradients", "get_grads", "gradients", "gradient", "grad", "reverse"),
)
#: Words in the names of functions and methods that may run one; and of those that do not.
PASS_WORDS = (
    *("backward", "backprop", "backpropagate", "backpropagation", "back", "gradient", "grad", "derivative", "derive"),
    *("reverse", "adjoint", "differentiate", "diff", "autodiff", "autograd", "vjp", "jacobian", "propagate"),
)
NO_PASS_WORDS = (
    *("zero", "no", "check", "numeric", "numerical", "finite", "clip", "enable", "disable", "set", "plot", "draw"),
    *("descent", "is", "has", "need", "require", "clear", "clean", "reset", "null", "test", "norm", "update", "hook"),
    *("broadcast", "unbroadcast", "accumulate", "init", "print", "show", "retain", "register", "save", "load", "step"),
    *("train", "fit", "layer", "loss", "op", "fn", "func", "function", "graph", "forward", "like", "stop", "detach"),
)
#: Functions that add gradients to a class.
ENABLING_FUNCTIONS = ("enable_autograd", "init_autograd", "setup_autograd", "activate_autograd")
#: Words in the names of classes that record ops.
TAPES = ("tape", "graph", "engine", "autograd", "autodiff", "recorder")
#: Words in the names of classes that are made of the leaves, and may run a pass.
TRAINERS = ("optimizer", "optimiser", "optim", "sgd", "trainer", "solver")
#: Modules that may have any of these, below the package and below the class's own module.
PASS_MODULES = (
    *("grad", "gradient", "gradients", "autograd", "autodiff", "backprop", "backward", "engine", "tape", "graph"),
    *("differentiate", "differentiation", "derivative", "jacobian", "backpropagation", "reverse", "core", "core.grad"),
    *("optimizer", "optimizers", "optim"),
)
_FREEING = (
    *("remove_graph", "free_graph", "clear_graph", "release_graph", "delete_graph", "destroy_graph", "reset_graph"),
    *("reset_grad", "reset_grads", "clear_grad", "clear_grads", "zero_grad", "zero_grads"),
)
#: Its parameters that keep the graph and gradients, with the value that does.
KEEPING = dict.fromkeys(("retain_graph", "keep_graph", "retain"), True) | dict.fromkeys(_FREEING, False)
#: These and others that are no incoming gradient.
NO_SEEDS = (*KEEPING, "create_graph", "retain_grad")
#: Its parameters for the incoming gradient, if it is not the first.
SEEDS = ("gradient", "grad", "grad_output", "out_grad", "upstream", "seed", "gradients", "dy", "d_output", "g")
#: Methods that clear a gradient.
CLEARING_METHODS = ("zero_grad", "null_grad", "zero_grad_", "clear_grad", "cleargrad", "reset_grad", "zero_gradient")
#: Stands for one that clears other tensors' gradients, too, where an assignment clears none.
CLEARS_ALL = "all"
#: The method that makes a tensor that is no leaf keep its gradient.
RETAIN_METHODS = ("retain_grad",)
#: The method that returns the same values without a gradient.
DETACH_METHODS = ("detach",)
#: The attribute of a view with the tensor whose memory and gradient it shares.
BASES = ("base",)

# Ops ------------------------------------------------------------------------------------------------

#: Modules with functions on tensors, below the package and below the class's own module.
SUBMODULES = (
    *("functional", "nn.functional", "ops", "functions", "linalg", "nn", "math", "activations", "losses"),
    *("nnet.activations", "nnet.losses", "nnet", "tensor", "F"),
)

#: Files beside a class without a package that may have functions, or ops, for it.
NEIGHBOURS = ("ops", "op", "operations", "tensor_ops", "functions", "function", "functional", "F", "activations")

#: Other names of ops, NumPy's first.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "abs": ("absolute",),
    "acos": ("arccos",),
    "acosh": ("arccosh",),
    "add": ("plus",),
    "amax": ("max", "reduce_max"),
    "amin": ("min", "reduce_min"),
    "asin": ("arcsin",),
    "asinh": ("arcsinh",),
    "atan": ("arctan",),
    "atan2": ("arctan2",),
    "atanh": ("arctanh",),
    "bmm": ("matmul",),
    "cat": ("concatenate", "concat"),
    "clamp": ("clip",),
    "conj": ("conjugate",),
    "div": ("divide", "true_divide"),
    "index_select": ("take",),
    "linalg.inv": ("inverse",),
    "linalg.norm": ("norm",),
    "linalg.solve": ("solve",),
    "linalg.vector_norm": ("norm",),
    "log_softmax": ("logsoftmax",),
    "logaddexp": ("log_add_exp",),
    "logsigmoid": ("log_sigmoid",),
    "logsumexp": ("log_sum_exp",),
    "matmul": ("mm", "dot", "bmm", "mv"),
    "mean": ("reduce_mean", "average", "avg"),
    "mm": ("dot",),
    "movedim": ("moveaxis",),
    "mul": ("multiply", "times"),
    "mv": ("dot",),
    "neg": ("negative", "negate"),
    "pow": ("power",),
    "ravel": ("flatten",),
    "repeat": ("tile",),
    "sigmoid": ("expit", "logistic"),
    "silu": ("swish",),
    "softmax": ("soft_max",),
    "softplus": ("soft_plus",),
    "sub": ("subtract", "minus"),
    "sum": ("reduce_sum", "tensor_sum", "sum_all"),
    "take_along_dim": ("take_along_axis",),
    "unsqueeze": ("expand_dims",),
}

#: NumPy's names for torch's parameters.
KEYWORDS = {"dim": "axis", "keepdim": "keepdims", "dims": "axis"}

#: Names with different meanings in different libraries, by the difference: another value is another convention, not a
#: mistake.
CONVENTIONS = {
    "the divisor, n or n - 1": ("std", "var"),
    "whether elements or the whole is repeated": ("repeat", "tile"),
    "which norm, and of what": ("norm", "linalg.norm", "linalg.vector_norm", "normalize"),
    "the sign, and where halves go": ("remainder", "fmod", "round"),
    "an approximation, a slope or another setting": ("gelu", "softplus", "leaky_relu", "elu", "pad"),
    "what is normalized": ("batch_norm", "layer_norm"),
    "sums or means": ("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "kl_div", "margin_ranking_loss"),
    "scores or probabilities": ("cross_entropy", "nll_loss", "binary_cross_entropy", "hinge_embedding_loss"),
    "scores, and sums or means": ("binary_cross_entropy_with_logits",),
    "the order of dimensions": ("linear", "conv1d", "conv2d", "dot"),
    "indices": ("take", "flatten", "getitem"),
    "strides, in elements or in bytes": ("as_strided",),
    "what comes first, the condition or what is chosen": ("where",),
}
AMBIGUOUS = frozenset(name for names in CONVENTIONS.values() for name in names)
