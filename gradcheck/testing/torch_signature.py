"""`gradcheck` and `gradgradcheck`, called as those of `torch.autograd`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from gradcheck.autograd import dtypes
from gradcheck.checks.closeness.tolerance import base
from gradcheck.checks.result import CaseResult, Comparison, RunResult
from gradcheck.engines.implementation.code_kinds import first_gradients, random_incoming
from gradcheck.errors import UsageError
from gradcheck.testing.case_checks import CheckFailed, failure_of
from gradcheck.testing.function_check import PythonCall, result_of_call

__all__ = ["gradcheck", "gradgradcheck"]

#: Calls in which some result has no incoming gradient.
_UNDEFINED = ("one_output",)
_BY_TORCH = ("check_forward_ad", "check_batched_grad", "check_batched_forward_grad")
#: Runs of a backward that are compared, and how many times their largest difference a gradient may be off.
_RUNS, _NOISE = 5, 4.0
#: The incoming gradients of these runs, as large as random ones become: noise may be proportional to them.
_INCOMING = 3.0


@dataclass(frozen=True, slots=True)
class TorchOptions:
    """Options of `torch.autograd.gradcheck`, with torch's names.

    `atol`, `rtol` and `nondet_tol` allow more than gradcheck does by itself, never less. `eps`, `fast_mode` and
    `check_grad_dtypes` change nothing: steps are determined, and torch itself casts a gradient to its input's dtype.
    `masked` is for sparse inputs, which are not checked."""

    eps: float | None = None
    atol: float | None = None
    rtol: float | None = None
    nondet_tol: float = 0.0
    check_undefined_grad: bool = True
    check_grad_dtypes: bool = False
    check_batched_grad: bool = False
    check_batched_forward_grad: bool = False
    check_forward_ad: bool = False
    check_backward_ad: bool = True
    fast_mode: bool = False
    masked: bool | None = None

    def __post_init__(self) -> None:
        if not (self.check_forward_ad or self.check_backward_ad):
            raise UsageError("neither check_forward_ad nor check_backward_ad is true", hint="one of them must be")

    def stated(self, *names: str) -> dict[str, float]:
        """Return those of the options that have a value."""
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    raise_exception: bool = True,
    spec: str | None = None,
    **options: Any,
) -> bool:
    """Return whether the gradients of `func` at `inputs` are right.

    It is called as `torch.autograd.gradcheck` is, with the same options (see `TorchOptions`), and checks first order as
    torch's does. Tensors that require a gradient are checked, also in lists and dicts; all other arguments are handed
    on. With `spec`, over the names `x0`, `x1`, …, the values are checked, too. Forward mode and batched gradients are
    checked by torch's own function.

    Raises an AssertionError with the report, which is also torch's GradcheckError, unless `raise_exception` is False;
    and what `func` itself raises at `inputs`.
    """
    chosen = TorchOptions(**options)
    given = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    func(*given)
    found = _checked(func, {f"x{number}": value for number, value in enumerate(given)}, spec, chosen)
    if found is None:
        return True
    if raise_exception:
        raise found
    return False


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    gen_non_contig_grad_outputs: bool = False,
    **options: Any,
) -> bool:
    """Return whether the gradients of the gradients of `func` are right.

    It is called as `torch.autograd.gradgradcheck` is, and checks the gradients of `func` as a function of `inputs` and
    `grad_outputs`, by default random ones. They are also given in other memory layouts, whatever
    `gen_non_contig_grad_outputs` says.
    """
    given = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    incoming = random_incoming(func, given) if grad_outputs is None else grad_outputs
    incoming = tuple(incoming) if isinstance(incoming, (tuple, list)) else (incoming,)
    modes: dict[str, Any] = {"check_forward_ad": check_fwd_over_rev, "check_backward_ad": check_rev_over_rev}
    return gradcheck(first_gradients(func, given, len(incoming)), (*given, *incoming), **modes, **options)


def _checked(
    func: Callable[..., Any], named: dict[str, Any], spec: str | None, options: TorchOptions
) -> AssertionError | None:
    """Return the failure of gradcheck's checks, else of torch's, or None."""
    is_undecided = False
    if options.check_backward_ad:
        call = PythonCall(func, given=named, spec=spec, as_torch=True)
        stated = {"order": 1, **_tolerances(options, named)}
        varies = _variation(func, tuple(named.values())) if options.nondet_tol else 0.0
        if 0 < varies <= options.nondet_tol:  # generators start anew at each call: noise looks like a wrong gradient
            stated["atol"] = max(options.atol or 0.0, min(_NOISE * varies, options.nondet_tol))
        found = result_of_call(call, stated)
        is_undecided = any(_is_small_variation(c, options) for case in found.cases for c in case.comparisons)
        found = replace(found, cases=tuple(_excused(case, options) for case in found.cases))
        if found.exit_code:
            return _torch_error(str(failure_of(found)), found)
    if not (is_undecided or any(getattr(options, name) for name in _BY_TORCH)):
        return None
    torchs = import_module("torch.autograd.gradcheck")
    asked = {name: getattr(options, name) for name in (*_BY_TORCH, "nondet_tol", "check_undefined_grad")}
    asked["check_backward_ad"] = is_undecided or options.check_batched_grad
    try:
        torchs.gradcheck(func, tuple(named.values()), **asked, **options.stated("eps", "atol", "rtol"))
    except torchs.GradcheckError as error:
        return _torch_error(str(error), None)
    return None


def _tolerances(options: TorchOptions, named: dict[str, Any]) -> dict[str, float]:
    """Return the tolerances that are larger than those of the inputs' dtypes."""
    names = (str(getattr(value, "dtype", "")).removeprefix("torch.") for value in named.values())
    least = max((base(dtypes.BY_NAME[name]).rtol for name in names if name in dtypes.BY_NAME), default=0.0)
    stated = options.stated("rtol", "atol")
    return stated if stated.get("rtol", least) >= least else {**stated, "rtol": least}


def _variation(func: Callable[..., Any], given: tuple[Any, ...]) -> float:
    incoming = tuple(_INCOMING * one.detach().sign() for one in random_incoming(func, given))
    first, *others = (first_gradients(func, given, len(incoming))(*given, *incoming) for _ in range(_RUNS))
    pairs = (pair for run in others for pair in zip(first, run, strict=True))
    return max((size for a, b in pairs for size in (a - b).abs().flatten().tolist()), default=0.0)


def _torch_error(report: str, found: RunResult | None) -> AssertionError:
    """Return a failure that is an AssertionError and torch's GradcheckError."""
    theirs = import_module("torch.autograd.gradcheck").GradcheckError
    made: AssertionError = type("CheckFailed", (CheckFailed, theirs), {"__module__": __name__})(report, found)
    return made


def _excused(case: CaseResult, options: TorchOptions) -> CaseResult:
    """Return the result without failures that the options excuse."""
    kept = tuple(c for c in case.comparisons if not _is_excused(c, options))
    if len(kept) == len(case.comparisons) or case.errors or any(c.is_failing for c in kept):
        return replace(case, comparisons=kept)
    return replace(case, comparisons=kept, status="passed")


def _is_excused(c: Comparison, options: TorchOptions) -> bool:
    if c.status != "failed" or c.mismatch is None:
        return False
    manner = c.mismatch["manner"] if c.mismatch.kind in ("otherwise", "refuses") else ""
    is_undefined = manner in _UNDEFINED and not options.check_undefined_grad
    return is_undefined or _is_small_variation(c, options)


def _is_small_variation(c: Comparison, options: TorchOptions) -> bool:
    """Return whether calls vary within `nondet_tol`; torch decides then."""
    is_variation = c.mismatch is not None and c.mismatch.kind == "not_the_same_again"
    return is_variation and c.mismatch is not None and bool(c.mismatch["size"] <= options.nondet_tol)
