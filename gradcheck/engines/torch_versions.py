"""Functions, arguments, dtypes and derivatives that an older torch lacks.

A call that the op accepts and the installed torch does not raises Unsupported, which is neither a pass nor a failure.
The tables give the first torch version with each feature, if known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch

from gradcheck.autograd.op import Op
from gradcheck.errors import GradcheckError, Unsupported

#: Functions that torch 2.4 lacks.
FUNCTIONS = {
    "_safe_softmax": "2.5",
    "_unsafe_masked_index": "2.5",
    "_unsafe_masked_index_put_accumulate": "2.5",
    "linear_cross_entropy": "2.13",
}
#: Arguments that its functions lack.
ARGUMENTS = {
    ("huber_loss", "weight"): "2.6",
    ("l1_loss", "weight"): "2.6",
    ("mse_loss", "weight"): "2.6",
    ("scaled_dot_product_attention", "enable_gqa"): "2.5",
}
#: Functions that it does not differentiate.
DERIVATIVES = {
    "aminmax": "2.12",
    "channel_shuffle": "2.5",
    "lstsq residuals": "2.7",
    "narrow_copy": "2.12",
    "nextafter": "2.13",
}

#: torch's messages for an unknown argument: of a Python function, of one with one overload, of any other.
_UNKNOWN = re.compile(
    r"(\w+)\(\) (?:got an unexpected keyword argument '(\w+)'|takes .* positional arguments? but|received an invalid)"
)
#: torch's message for a removed function.
_REMOVED = re.compile("function was deprecated .* is now removed")
#: torch's message for a dtype that lacks a kernel in some versions.
_NO_KERNEL = re.compile(r"not implemented for '((?:Complex)?Half|BFloat16)'")
_LONG_INDICES = "Expected dtype int64 for index"
#: torch's message for a function without a derivative.
_NO_DERIVATIVE = re.compile(r"derivative for (?:aten::)?'?([\w ]+?)'? is not implemented")


class ChangedCalls(NamedTuple):
    """Calls of a function whose results change in some torch version."""

    since: str
    what: str
    concerns: Callable[[tuple[Any, ...], Mapping[str, Any]], bool]


def _of_infinite_norm(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    norm: Any = kwargs["norm_type"] if "norm_type" in kwargs else args[1]
    return norm in (float("inf"), -float("inf"))


def _masks_whole_rows(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    mask = kwargs["attn_mask"] if "attn_mask" in kwargs else args[3] if len(args) > 3 else None
    if mask is None:
        return False
    return bool((~mask if mask.dtype is torch.bool else mask == -float("inf")).all(-1).any())


def _input(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> torch.Tensor:
    found: torch.Tensor = args[0] if args else kwargs["input"]
    return found


_LP_POOL = ChangedCalls("2.13", "norm_type=inf", _of_infinite_norm)
CHANGED_CALLS = {
    # before, it takes the other subgradients there
    "hardswish": ChangedCalls("2.8", "3 and -3", lambda args, named: bool((_input(args, named).abs() == 3).any())),
    "logsumexp": ChangedCalls("2.5", "complex numbers", lambda args, named: _input(args, named).is_complex()),
    "lp_pool1d": _LP_POOL,  # before, it gives ones
    "lp_pool2d": _LP_POOL,
    "lp_pool3d": _LP_POOL,
    # before, such a row is NaN
    "scaled_dot_product_attention": ChangedCalls("2.5", "a mask that leaves nothing of a row", _masks_whole_rows),
}


def installed() -> str:
    """Return torch's version, such as `2.13.0`, without its build tag."""
    return str(torch.__version__).partition("+")[0]


def is_older(version: str) -> bool:
    """Return whether the installed torch precedes a version such as `2.13`."""
    return _numbers(installed()) < _numbers(version)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def missing_function_error(op: Op) -> Unsupported:
    """Return the error for an op without a counterpart in torch."""
    message = f"torch {installed()} has no torch.{op.torch}, the counterpart of {op.name}"
    return Unsupported(message, hint=_hint(FUNCTIONS.get(op.name)), lacks=op.name)


def with_version_check(op: Op, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, checked for calls that an older torch gets wrong."""
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
    """Return `lstsq`'s result with residuals that raise in a backward pass.

    Empty residuals, as of a square matrix, add nothing instead."""
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
    """Return the error for a removed function or unknown argument, if any."""
    if _REMOVED.search(str(error)):
        message = f"torch {installed()} no longer has torch.{op.torch}, the counterpart of {op.name}"
        return Unsupported(message, lacks=op.name)
    return _unknown_argument(op, args, kwargs, error)


def _unknown_argument(op: Op, args: tuple[Any, ...], kwargs: Mapping[str, Any], error: Exception) -> Unsupported | None:
    match = _UNKNOWN.search(str(error)) if isinstance(error, TypeError) else None
    *modules, called = op.torch.removeprefix("nn.functional.").split(".")
    if match is None or match[1] not in (called, "_".join((*modules, called))):  # of a function that this one calls
        return None
    if modules and match[1] == called and "invalid" in match[0]:  # such as `torch.var`, which `masked.var` calls
        return None
    try:
        op.bind(args, dict(kwargs))
    except GradcheckError:
        return None
    name = match[2] or _not_named(kwargs, str(error))
    if name is None and "positional" not in match[0]:
        return None
    what = f"{name}=" if name else "so many arguments"
    since = ARGUMENTS.get((op.name, name or ""))
    message = f"torch {installed()} does not take {what} in {called}"
    return Unsupported(message, hint=_hint(since), lacks=f"{what} in {op.name}")


def _not_named(kwargs: Mapping[str, Any], text: str) -> str | None:
    """Return the first keyword that none of torch's listed overloads has."""
    _, listed, forms = text.partition("but expected one of")
    return next((name for name in kwargs if not re.search(rf"\b{name}\b", forms)), None) if listed else None


def missing_kernel_dtype(message: str) -> str:
    """Return the dtype for which torch's message reports no kernel, or "".

    Dtypes that cannot have one do not count: a mean of integers, an order of complex numbers."""
    if _LONG_INDICES in message:
        return "indices of this dtype"
    found = _NO_KERNEL.search(message)
    return found[1] if found else ""


def missing_derivative_error(message: str) -> Unsupported:
    """Return the error for a function that torch does not differentiate."""
    found = _NO_DERIVATIVE.search(message)
    name = found[1] if found else ""
    hint = _hint(DERIVATIVES.get(name)) or "detach what has no gradient here"
    return Unsupported(message, hint=hint, lacks=f"a derivative of {name}" if name in DERIVATIVES else "a derivative")


def _hint(since: str | None) -> str:
    return f"it takes torch {since} or newer" if since is not None and is_older(since) else ""
