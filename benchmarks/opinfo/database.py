"""The entries of torch's database, and each of their samples as a call in the case language with torch's answer."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch

#: What the database calls otherwise than a person would.
NAMES = {"_segment_reduce": "segment_reduce", "torch.ops.aten._safe_softmax.default": "_safe_softmax"}
#: Operators, as they are written between a sample's two operands.
OPERATORS = {
    "__radd__": "{1} + {0}", "__rdiv__": "{1} / {0}", "__rmul__": "{1} * {0}", "__rmatmul__": "{1} @ {0}",
    "__rmod__": "{1} % {0}", "__rpow__": "{1} ** {0}", "__rsub__": "{1} - {0}",
}  # fmt: skip
#: Those whose first two arguments the database has the other way about.
TURNED = ("polygamma", "special.polygamma", "einsum", "where", "nn.functional.embedding", "nn.functional.embedding_bag")
#: Those that are methods alone.
METHODS = ("to", "bfloat16", "double", "float", "half", "cdouble", "cfloat", "chalf")
#: Arguments that say where and how a tensor is kept, which is nobody's affair here, as the case language has none.
STORAGE = ("memory_format", "layout", "device", "requires_grad", "pin_memory")
#: Layouts that are not dense; what changes a tensor in place.
LEFT_OUT = ("sparse.", "to_sparse", "zero_")


@dataclass
class Sample:
    """A call of the language, its tensors, and what torch makes of it."""

    text: str
    tensors: dict[str, torch.Tensor]
    run: Callable[[], Any]
    processed: bool


@dataclass
class Entry:
    """One operator of the database, in one dtype."""

    name: str
    title: str
    info: Any
    dtype: torch.dtype

    def samples(self) -> Iterator[Sample]:
        """All of them, in the database's own order and with its own numbers."""
        for given in _given(self.info, self.dtype):
            yield _sample(self, given)


def entries(dtype: str) -> Iterator[Entry]:
    """Those with gradients in this dtype, deterministic and dense."""
    for info in _database():
        kind = getattr(torch, dtype)
        if not info.supports_autograd or kind not in info.supported_backward_dtypes("cpu"):
            continue
        if info.name.startswith(LEFT_OUT) or _is_random(info, kind):
            continue
        title = info.name + (f"/{info.variant_test_name}" if info.variant_test_name else "")
        yield Entry(NAMES.get(info.name, info.name), title, info, kind)


def _database() -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal import common_methods_invocations as database
    # which sets a seed before every call of what is random, and would so hide that it is
    database.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)  # type: ignore[attr-defined]
    return list(database.op_db)


def _given(info: Any, dtype: torch.dtype) -> Iterator[Any]:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from info.sample_inputs("cpu", dtype, requires_grad=True)


def _is_random(info: Any, dtype: torch.dtype) -> bool:
    """Whether a sample comes out differently under another seed."""
    for given in islice(_given(info, dtype), 40):
        outcomes = []
        for seed in (1, 2):
            torch.manual_seed(seed)
            made = info.op(given.input, *given.args, **given.kwargs)
            outcomes.append([t.detach() for t in flat(made)])
        pairs = zip(*outcomes, strict=True)
        if not all(torch.allclose(a, b, rtol=0, atol=0, equal_nan=True) for a, b in pairs if a.shape == b.shape):
            return True
    return False


def flat(made: Any) -> list[torch.Tensor]:
    """All tensors of a result."""
    if isinstance(made, torch.Tensor):
        return [made]
    return [t for part in made for t in flat(part)] if isinstance(made, (tuple, list)) else []


# As text -----------------------------------------------------------------------------------------------


def _sample(entry: Entry, given: Any) -> Sample:
    tensors: dict[str, torch.Tensor] = {}
    given = _of_the_whole(given) if entry.name == "as_strided" else given
    kwargs = {key: value for key, value in given.kwargs.items() if key not in STORAGE}
    args = [a for a in given.args if not isinstance(a, (torch.memory_format, torch.device))]
    if entry.name == "to":  # whose device, and whether to copy, is nobody's affair here
        args = [a for a in args if not isinstance(a, (str, bool))]
        kwargs = {key: value for key, value in kwargs.items() if key == "dtype"}
    if isinstance(kwargs.get("distance_function"), torch.nn.PairwiseDistance):  # which is what it is without
        del kwargs["distance_function"]
    kwargs.pop("options", None)  # in how many pieces `linear_cross_entropy` is computed, which changes no number
    processed = given.output_process_fn_grad is not None and _changes(given, entry.info)

    def run() -> Any:
        return entry.info.op(given.input, *given.args, **given.kwargs)

    return Sample(_call(entry.name, [given.input, *args], kwargs, tensors), tensors, run, processed)


def _of_the_whole(given: Any) -> Any:
    """The same strides of all numbers that a view is one of, as no tensor of the language is a view."""
    view = given.input.detach()
    count = view.untyped_storage().nbytes() // view.element_size()
    if count == view.numel():
        return given
    whole = view.new_empty(0).set_(view.untyped_storage(), 0, (count,), (1,)).clone().requires_grad_()
    return type(given)(whole, args=given.args, kwargs={"storage_offset": view.storage_offset()} | given.kwargs)


def _changes(given: Any, info: Any) -> bool:
    """Whether what is differentiated is not the result itself."""
    name = getattr(given.output_process_fn_grad, "__name__", "")
    code = getattr(given.output_process_fn_grad, "__code__", None)
    return not (name == "<lambda>" and code is not None and code.co_code == (lambda x: x).__code__.co_code)


def _call(name: str, args: list[Any], kwargs: dict[str, Any], tensors: dict[str, torch.Tensor]) -> str:
    written = [_text(a, tensors) for a in args]
    keywords = [f"{key}={_text(value, tensors)}" for key, value in kwargs.items()]
    if name == "__getitem__":
        index = args[1]
        parts = index if isinstance(index, tuple) else (index,)
        return f"{written[0]}[{', '.join(_text(p, tensors) for p in parts)}]"
    if name in OPERATORS:
        return OPERATORS[name].format(*written)
    if name == "linalg.pinv" and len(written) == 2:
        written = [f"{written[0]} @ {written[1]}.mT"]
    if name == "max_pool2d_with_indices_backward":
        return _pool_backward(kwargs)
    if name in TURNED:
        written[:2] = written[1::-1]
    if name in METHODS:
        return f"{written[0]}.{name}({', '.join(written[1:] + keywords)})"
    written += keywords
    prefix = "" if name in ("T", "H", "mT", "mH") else "torch."
    return f"{prefix}{name}({', '.join(written)})" if prefix else f"{written[0]}.{name}"


def _pool_backward(kwargs: dict[str, Any]) -> str:
    """As the database's own function calls it, for ones."""
    given = {"stride": None, "padding": 0, "dilation": 1, "ceil_mode": False, **kwargs}
    stride = given["stride"] or given["kernel_size"]
    settings = f"{given['kernel_size']}, {stride}, {given['padding']}, {given['dilation']}, {given['ceil_mode']}"
    pooled = f"max_pool2d(x0, {settings}, True)"
    return f"max_pool2d_with_indices_backward(ones_like({pooled}[0]), x0, {settings}, {pooled}[1])"


def _text(value: Any, tensors: dict[str, torch.Tensor]) -> str:
    if isinstance(value, torch.Tensor):
        for name, known in tensors.items():
            if known is value:
                return name
        tensors[f"x{len(tensors)}"] = value
        return f"x{len(tensors) - 1}"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(_text(v, tensors) for v in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    if isinstance(value, slice):
        return ":".join("" if v is None else str(v) for v in (value.start, value.stop, value.step))
    if value is Ellipsis:
        return "..."
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return str(value) if isinstance(value, torch.dtype) else repr(value)
