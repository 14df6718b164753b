"""The torch engine: the reference for other engines."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache, partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.autograd import forward_ad

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import Op
from gradcheck.autograd.signature import KEYWORD_ALIASES, listed
from gradcheck.engines.define_by_run import DefineByRun, Shares
from gradcheck.engines.recording import RecordedCall, Recorder
from gradcheck.engines.torch_errors import GUARDS, translate
from gradcheck.engines.torch_nodes import nodes, pull_back_by_nodes
from gradcheck.engines.torch_versions import missing_feature_error, missing_function_error, with_version_check
from gradcheck.errors import BackwardTwice, DtypeMismatch, GradcheckError, ShapeMismatch, Unsupported
from gradcheck.language.evaluation.scalar_arithmetic import ARITHMETIC

_Tensor = torch.Tensor
_NUMBERS = (int, float, complex, bool)
_DTYPES: dict[str, torch.dtype] = {name: getattr(torch, name) for name in dtypes.BY_NAME}
_MAX_DIMENSIONS = 64  # of a NumPy array
_REAL = (torch.float64, torch.float32)
#: The dtype of a plain number in a case of each dtype.
_DEFAULTS = {dtype: _DTYPES[dtypes.real_of(dtype).name] for dtype in dtypes.BY_NAME.values() if dtype.kind in "fVc"}
#: The exceptions of calls and backward passes that torch cannot do.
_ERRORS = (RuntimeError, TypeError, ValueError, LookupError, ArithmeticError, AssertionError)


def _settings() -> tuple[torch.dtype, int, bool, bool]:
    threads, recording, warning = torch.get_num_threads(), torch.is_grad_enabled(), torch.is_warn_always_enabled()
    return torch.get_default_dtype(), threads, recording, warning


def _session_settings(dtype: np.dtype) -> tuple[torch.dtype, int, bool, bool]:
    """Return the settings of a session, in which torch repeats its warnings."""
    return _DEFAULTS[dtype], 1, True, True


def _settle(dtype: torch.dtype, threads: int, recording: bool, warning: bool) -> None:
    torch.set_default_dtype(dtype)
    torch.set_num_threads(threads)
    torch.set_grad_enabled(recording)
    torch.set_warn_always(warning)


class _Session:
    """The settings while a case runs; a class, since a generator is slower."""

    __slots__ = ("_device", "_engine", "_known", "_mine")

    def __init__(self, engine: Torch, settings: tuple[torch.dtype, int, bool, bool]) -> None:
        self._engine, self._device, self._mine = engine, engine.device, settings

    def __enter__(self) -> None:
        self._known, self._engine._freed_roots = _settings(), []
        if self._mine != self._known:
            _settle(*self._mine)
        if self._device is not None:
            self._device.__enter__()

    def __exit__(self, *error: Any) -> None:
        if self._device is not None:
            self._device.__exit__(*error)
        self._engine._freed_roots = []
        if self._mine != self._known:
            _settle(*self._known)


class Torch(DefineByRun):
    """PyTorch, on one thread; on the CPU, unless it gets another device."""

    name = "torch"
    tensor_type = _Tensor

    def __init__(self, device: torch.device | None = None) -> None:
        self.host = TorchHost()
        self.forward_ad = _Duals()
        self.device = device  # None for the CPU, which is the quickest check
        self._freed_roots: list[torch.Tensor] = []  # roots of the passes that have freed their graphs

    def session(self, dtype: np.dtype) -> AbstractContextManager[None]:
        """Set the case's dtype, record gradients, repeat warnings; then restore."""
        return _Session(self, _session_settings(dtype))

    def _has_session_settings(self, dtype: np.dtype) -> bool:
        """Return whether a session of this dtype would change nothing."""
        return _settings() == _session_settings(dtype)

    def leaf(self, array: np.ndarray, requires_grad: bool) -> torch.Tensor:
        tensor = tensor_of(array) if self.device is None else tensor_of(array).to(self.device)
        return tensor.requires_grad_() if requires_grad else tensor

    def array(self, tensor: torch.Tensor) -> np.ndarray:
        """Return the values, sharing memory. Raises ShapeMismatch, Unsupported."""
        if tensor.ndim > _MAX_DIMENSIONS:
            raise ShapeMismatch(f"a tensor of {tensor.ndim} dimensions, where NumPy has {_MAX_DIMENSIONS} at most")
        if tensor.requires_grad:
            tensor = tensor.detach()
        if self.device is None and tensor.dtype in _REAL and not (tensor.is_neg() or tensor._is_zerotensor()):
            return tensor.numpy()
        if tensor._is_zerotensor():
            tensor = torch.zeros(tensor.shape, dtype=tensor.dtype)
        if self.device is not None:
            tensor = tensor.cpu()
        if tensor.dtype is torch.bfloat16:
            bits: np.ndarray = tensor.view(torch.int16).numpy()
            return bits.view(dtypes.BFLOAT16)
        if tensor.dtype is torch.complex32:
            raise Unsupported("torch has complex numbers of half precision, and NumPy has none", lacks="complex32")
        # torch computes a conjugate or a negative lazily
        plain: np.ndarray = tensor.numpy(force=tensor.is_conj() or tensor.is_neg())
        return plain

    def backward(self, roots: list[torch.Tensor], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        """Run one pass from all roots at once.

        Like the core, it raises BackwardTwice before anything is accumulated if an earlier pass has freed the graph,
        even if torch saved nothing and would go on."""
        gradients = self._incoming(roots, seeds)
        if self._freed_roots:
            self._check_not_freed(roots)
        try:
            self._sweep(roots, gradients)
        except _ERRORS as error:
            raise self._as_own_error(error) from None
        if not retain_graph:
            self._freed_roots += roots

    def _sweep(self, roots: list[torch.Tensor], gradients: list[torch.Tensor | None]) -> None:
        if runs_directly(roots, gradients):
            run_backward(tuple(roots), tuple(gradients), True, False, (), allow_unreachable=True, accumulate_grad=True)
        else:
            torch.autograd.backward(roots, gradients, retain_graph=True)

    def _as_own_error(self, error: Exception) -> GradcheckError:
        return translate(error)

    def _incoming(self, roots: list[torch.Tensor], seeds: list[Any]) -> list[torch.Tensor | None]:
        return [
            (torch.ones_like(root) if root.dim() == 0 and root.is_floating_point() else None)  # else torch may raise
            if seed is None
            else _cast(seed if isinstance(seed, _Tensor) else self.leaf(seed, False), root.dtype)
            for root, seed in zip(roots, seeds, strict=True)
        ]

    def recorder(self) -> Recorder | None:
        return Recorder(self.host) if type(self) is Torch and self.device is None else None

    def pull_back_recorded(self, calls: Sequence[RecordedCall], cotangents: Sequence[np.ndarray]) -> list[Shares]:
        """Return the gradients by torch's nodes, unless `pull_back` is replaced."""
        if type(self).pull_back is not _PULL_BACK:
            return super().pull_back_recorded(calls, cotangents)
        return pull_back_by_nodes(calls, cotangents)

    def differentiate(self, roots: list[torch.Tensor], leaves: list[torch.Tensor], seeds: list[Any]) -> list[Any]:
        """Differentiate the sum of `conj(seed) * root`: each root gets its seed."""
        total = torch.zeros((), dtype=torch.get_default_dtype())
        for root, gradient in zip(roots, self._incoming(roots, seeds), strict=True):
            term = root if gradient is None else gradient.conj() * root
            total = total + (term.real if term.is_complex() else term).sum()
        if not total.requires_grad:
            return [None] * len(leaves)
        try:
            return list(torch.autograd.grad(total, leaves, create_graph=True, allow_unused=True))
        except _ERRORS as error:
            raise self._as_own_error(error) from None

    def _check_not_freed(self, roots: list[torch.Tensor]) -> None:
        again = nodes(roots) & nodes(self._freed_roots)
        if again:
            saved = any(name.startswith("_raw_saved_") for node in again for name in dir(node))
            hint = "" if saved else "torch itself would go on, since this graph saved nothing"
            error = BackwardTwice("a second backward pass through a graph whose saved values are freed", hint=hint)
            error.library_would_continue = not saved
            raise error


#: The original method: a test, or a planted fault, may replace it.
_PULL_BACK = Torch.pull_back


class _Duals:
    """torch's forward mode, whose rules are independent of the reverse ones."""

    def level(self) -> AbstractContextManager[Any]:
        _load_decompositions()
        return forward_ad.dual_level()

    def dual(self, tensor: torch.Tensor, tangent: np.ndarray) -> torch.Tensor:
        make: Any = forward_ad.make_dual  # to which torch gives no types
        dual: torch.Tensor = make(tensor, tensor_of(tangent).to(tensor.device))
        return dual

    def tangent(self, tensor: torch.Tensor) -> torch.Tensor | None:
        unpack: Any = forward_ad.unpack_dual
        found: torch.Tensor | None = unpack(tensor).tangent
        return None if found is None else found.to(tensor.dtype)  # `prod` with a dtype leaves it in the input's


@cache
def _load_decompositions() -> None:
    """Import the module that warns when torch makes the first dual tensor."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import_module("torch._decomp.decompositions_for_jvp")


#: `torch.autograd.backward` calls this after importing a computer algebra system to compare shapes, which takes half a
#: second of every run. None if this version of torch has it elsewhere.
run_backward: Any = getattr(getattr(torch.autograd.Variable, "_execution_engine", None), "run_backward", None)


def gradients_at(
    leaves: Sequence[torch.Tensor], roots: Sequence[torch.Tensor], gradients: Sequence[torch.Tensor | None]
) -> Sequence[torch.Tensor | None]:
    """Return gradients of leaves, without accumulation; keep the graph."""
    if not runs_directly(roots, gradients):
        return torch.autograd.grad(roots, leaves, gradients, retain_graph=True, allow_unused=True)
    given = tuple(roots), tuple(gradients), True, False, tuple(leaves)
    found: Sequence[torch.Tensor | None] = run_backward(*given, allow_unreachable=True, accumulate_grad=False)
    return found


def tensor_of(array: np.ndarray) -> torch.Tensor:
    """Return a tensor with a copy of the array."""
    if array.dtype == dtypes.BFLOAT16:
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    # NumPy has two integer types of 64 bits, of which torch takes one
    return torch.from_numpy(array.astype(array.dtype.str, order="C"))


def _cast(gradient: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return the gradient in its root's dtype. Raises DtypeMismatch."""
    if gradient.is_complex() and not dtype.is_complex:
        raise DtypeMismatch("the incoming gradient is complex, and its tensor is real", hint="take its .real")
    return gradient.to(dtype)


def runs_directly(roots: Sequence[torch.Tensor], gradients: Sequence[torch.Tensor | None]) -> bool:
    """Return whether `run_backward` is there, and needs no check of shapes."""
    pairs = zip(roots, gradients, strict=True)
    return run_backward is not None and all(g is not None and r.shape == g.shape for r, g in pairs)


class TorchHost:
    """The host that calls an op's counterpart in torch, arguments unchanged."""

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return torch's result, lists as tuples. Raises gradcheck's errors."""
        function, infix, variadic = _plan(op)
        given = args
        if variadic is not None and len(args) > variadic:
            args = _bundled(args, variadic) if op.name not in _WRITTEN_OUT else listed(args)
        if kwargs:
            kwargs = _keywords(op, kwargs)
        try:
            if infix is not None and len(args) == 2 and type(args[0]) in _NUMBERS and not kwargs:
                result = infix(*args)
            else:
                result = function(*args, **kwargs)
        except _ERRORS as error:
            raise missing_feature_error(op, given, kwargs, error) or translate(error) from None
        if isinstance(result, _Tensor):
            if args and result is args[0] and result.requires_grad:
                return result.view_as(result)  # an op that returns its argument gets a gradient of its own
            return result
        parts = tuple(result) if isinstance(result, (tuple, list)) else result
        return parts if op.choice is None else op.choice(parts)

    def dtype(self, name: str) -> torch.dtype:
        return _DTYPES[name]


class _Plan(NamedTuple):
    """A call of an op: torch's function, its operator, its variadic place.

    The operator is for a number that comes first: torch's functions take a tensor there, and `2 - x` must keep the 2
    a number."""

    function: Callable[..., Any]
    infix: Callable[[Any, Any], Any] | None
    variadic: int | None


@cache
def _plan(op: Op) -> _Plan:
    """Return the call of an op. Raises Unsupported if torch has none."""
    found: Any = torch
    for part in op.torch.split("."):
        found = getattr(found, part, None)
        if found is None:
            raise missing_function_error(op)
    if not callable(found):
        found = found.__get__  # a property of torch.Tensor, such as mT
    names = [parameter.name for parameter in op.parameters]
    found = with_version_check(op, found)
    if op.name in GUARDS:
        found = partial(_guarded, op, found)
    return _Plan(found, ARITHMETIC.get(op.name), names.index(op.variadic) if op.variadic else None)


def _guarded(op: Op, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return torch's result, unless these arguments would crash torch."""
    GUARDS[op.name](*op.bind(args, kwargs))
    return function(*args, **kwargs)


def _bundled(args: tuple[Any, ...], position: int) -> tuple[Any, ...]:
    rest = args[position:]
    if len(rest) == 1 and isinstance(rest[0], (list, tuple)):
        return (*args[:position], tuple(rest[0]))
    return (*args[:position], rest)


#: Ops whose tensors torch takes as separate arguments.
_WRITTEN_OUT = frozenset({"broadcast_tensors", "block_diag", "cartesian_prod", "chain_matmul"})


def _keywords(op: Op, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Replace NumPy's keywords by torch's, unless the op itself has them."""
    names = {parameter.name for parameter in op.parameters}
    return {KEYWORD_ALIASES.get(name, name) if name not in names else name: value for name, value in kwargs.items()}
