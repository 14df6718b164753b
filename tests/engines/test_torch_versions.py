"""What an older torch lacks is unsupported, with the version that has it; a mistake of somebody's stays one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.autograd.op import TABLE
from gradcheck.engines import torch_versions
from gradcheck.engines.torch import Torch, TorchHost, _plan
from gradcheck.engines.torch_versions import (
    ARGUMENTS,
    CHANGED_CALLS,
    DERIVATIVES,
    FUNCTIONS,
    is_older,
    missing_derivative_error,
    missing_kernel_dtype,
    with_version_check,
)
from gradcheck.errors import ArgumentError, DtypeMismatch, TensorError, Unsupported
from tests.from_text import problem_from
from tests.tables import for_each

X = torch.tensor([[1.0, -2.0], [3.0, 0.5]], dtype=torch.float64)


@pytest.fixture(autouse=True)
def _other_functions() -> Iterator[None]:
    """Functions of torch's that a test replaces are asked for anew, before it and after it."""
    _plan.cache_clear()
    yield
    _plan.cache_clear()


def counterpart(path: str) -> Any:
    found: Any = torch
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def raised(call: Callable[[], object]) -> Exception | None:
    try:
        call()
    except (RuntimeError, TypeError, TensorError, Unsupported) as error:
        return error
    return None


# The tables say what is so of the torch that is installed ----------------------------------------


@for_each(sorted(name for name, op in TABLE.items() if op.torch))
def test_each_function_that_the_installed_torch_lacks_is_known_with_its_version(name: str) -> None:
    known = FUNCTIONS.get(name)
    assert (counterpart(TABLE[name].torch) is None) == (known is not None and is_older(known))


@for_each(sorted(ARGUMENTS))
def test_arguments_are_taken_from_their_version_on(entry: tuple[str, str]) -> None:
    name, argument = entry
    function = counterpart(TABLE[name].torch)
    if inspect.isfunction(function):
        is_taken = argument in inspect.signature(function).parameters
    else:
        error = raised(lambda: function(X, X, X, **{argument: None}))
        is_taken = error is None or f"unexpected keyword argument '{argument}'" not in str(error)
    assert is_taken != is_older(ARGUMENTS[entry])


#: A call of each function in `DERIVATIVES`, and which of its results is meant.
DIFFERENTIATED: dict[str, tuple[Callable[[torch.Tensor], Any], int]] = {
    "aminmax": (torch.aminmax, 0),
    "channel_shuffle": (lambda x: torch.channel_shuffle(x.reshape(1, 4, 1), 2), -1),
    "lstsq residuals": (lambda x: torch.linalg.lstsq(torch.cat([x, x + 1]), torch.cat([x, 2 - x])), 1),
    "narrow_copy": (lambda x: torch.narrow_copy(x, 0, 0, 1), -1),
    "nextafter": (lambda x: torch.nextafter(x, x + 1), -1),
}


@for_each(sorted(DERIVATIVES))
def test_functions_are_differentiated_from_their_version_on(name: str) -> None:
    call, part = DIFFERENTIATED[name]
    x = X.clone().requires_grad_()
    made = call(x)
    result = made if part < 0 else made[part]
    error = raised(lambda: result.sum().backward()) if result.requires_grad else RuntimeError("a constant")
    assert (error is not None) == is_older(DERIVATIVES[name])


def test_answers_are_as_later_ones_from_their_version_on() -> None:
    z = X.to(torch.complex128)
    assert (raised(lambda: torch.logsumexp(z, 0)) is not None) == is_older(CHANGED_CALLS["logsumexp"].since)
    pooled = torch.nn.functional.lp_pool1d(X, float("inf"), 2)
    assert torch.equal(pooled, torch.tensor([[2.0], [3.0]])) != is_older(CHANGED_CALLS["lp_pool1d"].since)
    at_kinks = torch.tensor([3.0, -3.0], requires_grad=True)
    torch.nn.functional.hardswish(at_kinks).sum().backward()
    assert (at_kinks.grad.tolist() == [1.5, -0.5]) == is_older(CHANGED_CALLS["hardswish"].since)  # type: ignore[union-attr]
    attended = torch.nn.functional.scaled_dot_product_attention(X, X, X, torch.zeros(2, 2, dtype=torch.bool))
    assert bool(attended.isnan().any()) == is_older(CHANGED_CALLS["scaled_dot_product_attention"].since)


# As an older one is ------------------------------------------------------------------------------


def test_versions_are_compared_by_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", "2.10.1+cpu")
    assert torch_versions.installed() == "2.10.1"
    assert [is_older(version) for version in ("2.9", "2.10", "2.11", "3.0")] == [False, False, True, True]


def test_a_function_that_is_lacking_is_named_with_the_version_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", "2.4.0")
    monkeypatch.setattr(torch, "_safe_softmax", None, raising=False)
    with pytest.raises(Unsupported) as caught:
        TorchHost().call(TABLE["_safe_softmax"], (X, 0), {})
    assert str(caught.value) == (
        "torch 2.4.0 has no torch._safe_softmax, the counterpart of _safe_softmax; it takes torch 2.5 or newer"
    )
    assert caught.value.lacks == "_safe_softmax"


def older_loss(input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Any:
    raise AssertionError("never called: Python refuses the argument")


older_loss.__qualname__ = "mse_loss"


def older_draw(*args: Any, **kwargs: Any) -> Any:
    raise TypeError(
        "rand_like() received an invalid combination of arguments - got (Tensor, generator=Generator), but expected "
        "one of:\n * (Tensor input, *, torch.memory_format memory_format, torch.dtype dtype, bool requires_grad)\n"
    )


def test_an_argument_that_is_lacking_is_unsupported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", "2.4.0")
    monkeypatch.setattr(torch.nn.functional, "mse_loss", older_loss)
    monkeypatch.setattr(torch, "rand_like", older_draw)
    host = TorchHost()
    with pytest.raises(Unsupported, match=r"^torch 2\.4\.0 does not take weight= in mse_loss; it takes torch 2\.6 or"):
        host.call(TABLE["mse_loss"], (X, X), {"weight": X})
    with pytest.raises(Unsupported, match=r"^torch 2\.4\.0 does not take generator= in rand_like$"):
        host.call(TABLE["rand_like"], (X,), {"generator": torch.Generator()})


def refuses_inside(*args: Any, **kwargs: Any) -> Any:
    raise TypeError(
        "upsample_linear1d() received an invalid combination of arguments - got (Tensor, list, bool, list), but "
        "expected one of:\n * (Tensor input, tuple of ints output_size, bool align_corners, float scales)\n"
    )


def refuses_in_its_namesake(*args: Any, **kwargs: Any) -> Any:
    raise TypeError(
        "var() received an invalid combination of arguments - got (Tensor, float), but expected one of:\n * (Tensor "
        "input, tuple of ints dim, bool unbiased, bool keepdim, *, Tensor out)\n"
    )


def test_what_no_torch_takes_is_a_wrong_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of another kind, by another name of the same, one that the op does not have either, what is refused inside."""
    monkeypatch.setattr(torch.nn.functional, "mse_loss", older_loss)
    host = TorchHost()
    monkeypatch.setattr(torch.nn.functional, "interpolate", refuses_inside)
    monkeypatch.setattr(torch.masked, "var", refuses_in_its_namesake)
    for op, args, kwargs in (
        ("interpolate", (X,), {"size": 2, "mode": "linear"}),
        ("masked.var", (X, 1), {"mask": X > 0}),
        ("sum", (X,), {"axis": 1.5}),
        ("sum", (X,), {"dim": 1.5}),
        ("transpose", (X, 0.5, None), {}),
        ("mse_loss", (X, X), {"heft": X}),
    ):
        with pytest.raises(ArgumentError):
            host.call(TABLE[op], args, kwargs)


def removed(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("This function was deprecated since version 1.9 and is now removed. `torch.qr` is deprecated …")


def test_a_function_that_is_no_longer_there_is_lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", "2.14.1")
    monkeypatch.setattr(torch, "qr", removed)
    with pytest.raises(Unsupported, match=r"^torch 2\.14\.1 no longer has torch\.qr, the counterpart of qr$") as caught:
        TorchHost().call(TABLE["qr"], (X,), {})
    assert caught.value.lacks == "qr"


@pytest.mark.parametrize("norm", [float("inf"), -float("inf")])
def test_what_an_older_one_answers_otherwise_is_not_asked(monkeypatch: pytest.MonkeyPatch, norm: float) -> None:
    monkeypatch.setattr(torch, "__version__", "2.4.0")
    op = TABLE["lp_pool1d"]
    function = with_version_check(op, lambda *args, **kwargs: "asked")
    assert function(X, 2.0, 2) == "asked"
    for call in (lambda: function(X, norm, 2), lambda: function(X, norm_type=norm, kernel_size=2)):
        with pytest.raises(Unsupported, match=r"does not know norm_type=inf in lp_pool1d; it takes torch 2\.13"):
            call()


def test_a_mask_that_leaves_nothing_of_a_row_is_not_asked_of_an_older_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", "2.4.0")
    function = with_version_check(TABLE["scaled_dot_product_attention"], lambda *args, **kwargs: "asked")
    some, row = torch.tensor([[True, False], [False, True]]), torch.tensor([[True, True], [False, False]])
    added = torch.zeros(2, 2).masked_fill(~row, -float("inf"))
    for given in ((X, X, X), (X, X, X, None), (X, X, X, some), (X, X, X, torch.zeros(2, 2))):
        assert function(*given) == "asked"
    for mask in (row, added):
        with pytest.raises(Unsupported, match=r"does not know a mask that leaves nothing of a row in scaled_dot"):
            function(X, X, X, mask)
        with pytest.raises(Unsupported):
            function(X, X, X, attn_mask=mask)


def test_constants_in_an_older_one_are_no_missing_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through `lstsq`'s residuals no gradient flows in torch 2.4, which says nothing of it."""
    x = X.clone().requires_grad_()

    def lstsq(residuals: torch.Tensor) -> Any:
        monkeypatch.setattr(torch, "__version__", "2.4.0")
        call = with_version_check(TABLE["linalg.lstsq"], lambda _: (x * 2, residuals, torch.tensor(2), torch.ones(0)))
        return call(x)

    solution, residuals, *_ = lstsq(torch.ones(2))
    solution.sum().backward()
    with pytest.raises(RuntimeError, match="derivative for lstsq residuals is not implemented"):
        residuals.sum().backward()
    _, none, *_ = lstsq(torch.ones(0))
    none.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[2, 2], [2, 2]]
    assert none.dtype == residuals.dtype


def test_derivatives_have_their_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", "2.4.0")
    known = missing_derivative_error("torch: derivative for aten::aminmax is not implemented")
    assert (known.hint, known.lacks) == ("it takes torch 2.12 or newer", "a derivative of aminmax")
    known = missing_derivative_error("torch: the derivative for 'nextafter' is not implemented.")
    assert (known.hint, known.lacks) == ("it takes torch 2.13 or newer", "a derivative of nextafter")
    other = missing_derivative_error("torch: derivative for histc is not implemented")
    assert (other.hint, other.lacks) == ("detach what has no gradient here", "a derivative")


# Dtypes ------------------------------------------------------------------------------------------


def test_only_numbers_that_a_function_could_take_are_lacking() -> None:
    """Code for half precision comes with a version; that whole numbers have no mean stays."""
    assert missing_kernel_dtype("\"addmm_impl_cpu_\" not implemented for 'Half'") == "Half"
    assert missing_kernel_dtype("\"log_vml_cpu\" not implemented for 'BFloat16'") == "BFloat16"
    assert missing_kernel_dtype("gather(): Expected dtype int64 for index") == "indices of this dtype"
    assert missing_kernel_dtype("\"amax\" not implemented for 'ComplexDouble'") == ""
    assert missing_kernel_dtype("\"softmax_lastdim_kernel_impl\" not implemented for 'Long'") == ""


def refuses(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("\"erf_vml_cpu\" not implemented for 'Half'")


@pytest.mark.parametrize(("asked", "kind"), [("", "unsupported"), (", raises: dtype_mismatch", "dtype_mismatch")])
def test_code_that_is_lacking_is_unsupported_unless_the_refusal_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, asked: str, kind: str
) -> None:
    monkeypatch.setattr(torch, "erf", refuses)
    with pytest.raises(DtypeMismatch):
        TorchHost().call(TABLE["erf"], (X,), {})
    found = Torch().evaluate(
        problem_from(f"""
            dtype: float16
            inputs: {{x: [1.0, 2.0]}}
            graph: {{y: erf(x), loss: y.sum()}}
            steps: [{{backward: loss{asked}}}]
        """)
    )
    assert found.error is not None
    assert (found.error.kind, found.failed_at) == (kind, "y")


def test_an_op_alone_lacks_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradcheck.engines.base import Application

    monkeypatch.setattr(torch, "erf", refuses)
    alone = Application(TABLE["erf"], (np.ones(2),), {}, "y")
    (found,) = Torch().pull_back([alone], [[np.ones(2)]], np.dtype(np.float64))
    assert found.error is not None
    assert (found.error.kind, found.error.lacks) == ("unsupported", "code for Half")
