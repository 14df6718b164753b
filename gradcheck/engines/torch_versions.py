"""What an older torch lacks of what the op table follows: functions, arguments, dtypes, derivatives.

A call that the op itself takes and the installed torch does not is nobody's mistake: it raises Unsupported, which is
neither a pass nor a failure. The tables say which torch first has what, where that is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch

from gradcheck.autograd.op import Op
from gradcheck.errors import GradcheckError, Unsupported

#: The functions that torch 2.4 does not have.
FUNCTIONS = {
    "_safe_softmax": "2.5",
    "_unsafe_masked_index": "2.5",
    "_unsafe_masked_index_put_accumulate": "2.5",
    "linear_cross_entropy": "2.13",
}
#: The arguments that its functions do not take.
ARGUMENTS = {
    ("huber_loss", "weight"): "2.6",
    ("l1_loss", "weight"): "2.6",
    ("mse_loss", "weight"): "2.6",
    ("scaled_dot_product_attention", "enable_gqa"): "2.5",
}
#: The functions that it does not differentiate.
DERIVATIVES = {
    "aminmax": "2.12",
    "channel_shuffle": "2.5",
    "lstsq residuals": "2.7",
    "narrow_copy": "2.12",
    "nextafter": "2.13",
}

#: How torch says that a function does not know an argument: one in Python, one that has one form, any other.
_UNKNOWN = re.compile(
    r"(\w+)\(\) (?:got an unexpected keyword argument '(\w+)'|takes .* positional arguments? but|received an invalid)"
)
#: How torch says that a function of this name is there no more.
_REMOVED = re.compile("function was deprecated .* is now removed")
#: How torch names the dtypes for which a function may have no code in one version and code in the next.
_NO_KERNEL = re.compile(r"not implemented for '((?:Complex)?Half|BFloat16)'")
_LONG_INDICES = "Expected dtype int64 for index"
#: How torch names a function that it does not differentiate.
_NO_DERIVATIVE = re.compile(r"derivative for (?:aten::)?'?([\w ]+?)'? is not implemented")


class ChangedCalls(NamedTuple):
    """Calls of a function that torch takes from a version on, or answers otherwise from there on."""

    since: str
    what: str
    concerns: Callable[[tuple[Any, ...], Mapping[str, Any]], bool]


def _of_complex(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    return any(isinstance(value, torch.Tensor) and value.is_complex() for value in (*args, *kwargs.values()))


def _of_infinite_norm(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    norm: Any = kwargs["norm_type"] if "norm_type" in kwargs else args[1]
    return norm in (float("inf"), -float("inf"))


def _masks_whole_rows(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    mask = kwargs["attn_mask"] if "attn_mask" in kwargs else args[3] if len(args) > 3 else None
    if mask is None:
        return False
    return bool((~mask if mask.dtype is torch.bool else mask == -float("inf")).all(-1).any())


def _is_at_three(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    return bool(((args[0] if args else kwargs["input"]).abs() == 3).any())


_LP_POOL = ChangedCalls("2.13", "norm_type=inf", _of_infinite_norm)
CHANGED_CALLS = {
    "hardswish": ChangedCalls("2.8", "3 and -3", _is_at_three),  # before, it takes the other subgradients there
    "logsumexp": ChangedCalls("2.5", "complex numbers", _of_complex),
    "lp_pool1d": _LP_POOL,  # before, it gives ones
    "lp_pool2d": _LP_POOL,
    "lp_pool3d": _LP_POOL,
    # before, such a row is NaN
    "scaled_dot_product_attention": ChangedCalls("2.5", "a mask that leaves nothing of a row", _masks_whole_rows),
}


def installed() -> str:
    """`2.13.0`, without what stands for a build."""
    return str(torch.__version__).partition("+")[0]


def is_older(version: str) -> bool:
    """Whether the installed torch comes before this version, such as `2.13`."""
    return _numbers(installed()) < _numbers(version)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def missing_function_error(op: Op) -> Unsupported:
    """The error where torch does not have an op's counterpart."""
    message = f"torch {installed()} has no torch.{op.torch}, the counterpart of {op.name}"
    return Unsupported(message, hint=_hint(FUNCTIONS.get(op.name)), lacks=op.name)


def with_version_check(op: Op, function: Callable[..., Any]) -> Callable[..., Any]:
    """An op's counterpart, which raises Unsupported where the installed torch does not answer as later ones do."""
    if op.name == "linalg.lstsq" and is_older(DERIVATIVES["lstsq residuals"]):
        return lambda *args, **kwargs: _with_residuals(function(*args, **kwargs))
    answers = CHANGED_CALLS.get(op.name)
    if answers is None or not is_older(answers.since):
        return function
    message = f"torch {installed()} does not know {answers.what} in {op.name}"
    lacks = f"{answers.what} in {op.name}"

    def call(*args: Any, **kwargs: Any) -> Any:
        if answers.concerns(args, kwargs):
            raise Unsupported(message, hint=_hint(answers.since), lacks=lacks)
        return function(*args, **kwargs)

    return call


def _with_residuals(found: Any) -> Any:
    """What `lstsq` gives, where residuals are constants: a backward pass from them raises; one from no residuals, as of
    a square matrix, has nothing to add."""
    solution, residuals, *others = found
    if solution.requires_grad and residuals.numel():
        barrier: Any = torch._C._functions.DelayedError("derivative for lstsq residuals is not implemented", 2)
        residuals = barrier(residuals, solution)[0]
    elif solution.requires_grad:
        residuals = residuals + 0 * solution.abs().sum()
    return (solution, residuals, *others)


def missing_feature_error(
    op: Op, args: tuple[Any, ...], kwargs: Mapping[str, Any], error: Exception
) -> Unsupported | None:
    """The error where torch refuses a call for a function that it no longer has, or an argument that it does not have,
    and the op has; None where it is about anything else."""
    if _REMOVED.search(str(error)):
        message = f"torch {installed()} no longer has torch.{op.torch}, the counterpart of {op.name}"
        return Unsupported(message, lacks=op.name)
    return _unknown_argument(op, args, kwargs, error)


def _unknown_argument(op: Op, args: tuple[Any, ...], kwargs: Mapping[str, Any], error: Exception) -> Unsupported | None:
    said = _UNKNOWN.search(str(error)) if isinstance(error, TypeError) else None
    *modules, called = op.torch.removeprefix("nn.functional.").split(".")
    if said is None or said[1] not in (called, "_".join((*modules, called))):  # about a function that this one calls
        return None
    if modules and said[1] == called and "invalid" in said[0]:  # such as `torch.var`, which `masked.var` calls
        return None
    try:
        op.bind(args, dict(kwargs))
    except GradcheckError:
        return None
    name = said[2] or _not_named(kwargs, str(error))
    if name is None and "positional" not in said[0]:
        return None
    what = f"{name}=" if name else "so many arguments"
    since = ARGUMENTS.get((op.name, name or ""))
    message = f"torch {installed()} does not take {what} in {called}"
    return Unsupported(message, hint=_hint(since), lacks=f"{what} in {op.name}")


def _not_named(kwargs: Mapping[str, Any], text: str) -> str | None:
    """The first of these that no form of the function has, where torch's message lists all forms."""
    _, listed, forms = text.partition("but expected one of")
    return next((name for name in kwargs if not re.search(rf"\b{name}\b", forms)), None) if listed else None


def missing_kernel_dtype(message: str) -> str:
    """The dtype for which torch says that it has no code; empty where it says nothing of the kind, and for dtypes of
    which it is a matter of principle: no whole number has a mean of its kind, and complex ones have no order."""
    if _LONG_INDICES in message:
        return "indices of this dtype"
    found = _NO_KERNEL.search(message)
    return found[1] if found else ""


def missing_derivative_error(message: str) -> Unsupported:
    """The error where torch says that it does not differentiate a function."""
    found = _NO_DERIVATIVE.search(message)
    name = found[1] if found else ""
    hint = _hint(DERIVATIVES.get(name)) or "detach what has no gradient here"
    return Unsupported(message, hint=hint, lacks=f"a derivative of {name}" if name in DERIVATIVES else "a derivative")


def _hint(since: str | None) -> str:
    return f"it takes torch {since} or newer" if since is not None and is_older(since) else ""
