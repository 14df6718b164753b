"""The kinds of arguments that torch takes: tensor, number, flag, list, …

A parameter's name, which torch uses consistently, or its default decides; the few exceptions are listed. An argument of
a wrong kind is rejected before any host sees it, in the same words for all.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from itertools import takewhile
from typing import Any, NamedTuple

from gradcheck.autograd.dtype_sets import DtypeSet
from gradcheck.autograd.dtypes import BY_NAME
from gradcheck.autograd.op import Op
from gradcheck.autograd.signature import Parameter
from gradcheck.errors import ArgumentError, DtypeMismatch, TensorError
from gradcheck.language.evaluation import scalar_arithmetic
from gradcheck.language.evaluation.result_size import shape_of
from gradcheck.language.evaluation.scalar_arithmetic import ARITHMETIC, PLAIN_TYPES

_ANYTHING = "anything"


class CallArgument(NamedTuple):
    """An argument of a call: its place, its parameter, its kind and dtypes."""

    place: int
    parameter: Parameter
    kind: str
    dtypes: DtypeSet | None  # of a tensor there; None where all are taken


def _read_table(text: str) -> dict[str, str]:
    """Return the entry of each name in a table of lines `entry: names`."""
    rows = (line.split(": ") for line in text.strip().split("\n"))
    return {name: entry for entry, names in rows for name in names.split()}


#: Kinds by the parameter's name.
_NAMES = """
tensor: input A B a b x y x1 x2 input1 input2 anchor positive negative target mat mat1 mat2 vec vec1 vec2 batch1 batch2
tensor: tensor1 tensor2 weight bias query key attn_mask mask running_mean running_var pos_weight other
number: alpha beta value fill_value negative_slope lambd threshold
real: correction eps delta margin momentum scale rtol atol nan posinf neginf p min_val max_val label_smoothing dropout_p
flag: upper unbiased stable
word: reduction approximate mode rounding_mode equation
integer: offset diagonal length decimals k m start_dim end_dim
list: tensors
dtype: dtype
"""
_BY_NAME = _read_table(_NAMES)
#: Kinds by `op.parameter`; "anything" leaves the check to the op.
_OPS = """
tensor: scaled_dot_product_attention.value index_add.source index_add.index gather.index scatter.index scatter_add.index
tensor: scatter_add.src index_select.index take.index lerp.end isclose.other where.condition
tensor: complex.real complex.imag polar.abs polar.angle
operand: masked_fill.value scatter.src where.input clamp_min.min clamp_max.max rsub.other
operand: index_fill.value fill.value float_power.input float_power.exponent
anything: narrow.start narrow_copy.start atleast_1d.input atleast_2d.input atleast_3d.input linalg.cond.p
integer: linspace.steps aminmax.dim linalg.vecdot.dim
real: local_response_norm.k
number: linspace.start linspace.end arange.start arange.end arange.step
plain: add.alpha sub.alpha rsub.alpha addr.alpha addr.beta
sizes: full.size new_full.size
anything: norm.p index_adjoint.input max.other min.other to.dtype type.dtype tensor.data batch_norm.running_mean
anything: batch_norm.running_var
optional: native_layer_norm.weight native_layer_norm.bias native_group_norm.weight native_group_norm.bias
optional: native_batch_norm.weight native_batch_norm.bias native_batch_norm.running_mean
optional: native_batch_norm.running_var _native_batch_norm_legit.weight _native_batch_norm_legit.bias
optional: _batch_norm_with_update.weight
optional: _batch_norm_with_update.bias _batch_norm_with_update.running_mean _batch_norm_with_update.running_var
anything: _native_batch_norm_legit.running_mean _native_batch_norm_legit.running_var
integer: avg_pool2d.divisor_override avg_pool3d.divisor_override repeat_interleave.output_size
tensor: linear_cross_entropy.linear_bias native_dropout_backward.grad_output nextafter.other
tensor: heaviside.values igamma.other igammac.other
tensor: _unsafe_masked_index_put_accumulate.values embedding_bag.offsets linalg.lu_solve.pivots lu_solve.LU_pivots
tensor: lu_unpack.LU_pivots _softmax_backward_data.grad_output _softmax_backward_data.output
dtype: _softmax_backward_data.input_dtype
plain: trapezoid.dx cumulative_trapezoid.dx
sizes: view_copy.size
optional sizes: _upsample_bilinear2d_aa.output_size
word: cdist.compute_mode
"""
_BY_OP = _read_table(_OPS)
#: Elementwise ops whose first operand may be a number.
_NUMBER_FIRST = frozenset({"xlogy", "special.xlog1py", "special.zeta", "float_power", *ARITHMETIC})
#: Elementwise ops whose second operand is a tensor too.
_PAIRS = "maximum minimum fmax fmin atan2 hypot logaddexp logaddexp2 logical_and logical_or logical_xor"
_OF_TENSORS = frozenset(_PAIRS.split())
#: Parameters that torch does not take None for, though it is the default here.
_NEVER_NONE = frozenset(
    {"max.dim", "min.dim", "prod.dim", "squeeze.dim", "logsumexp.dim", "eye.m", "arange.end"}
    | {f"{op}.unbiased" for op in ("var", "std", "var_mean", "std_mean")}
    | {"max.other", "min.other", "median.dim", "nanmedian.dim", "squeeze_copy.dim", "view_copy.size", "masked.norm.ord"}
    | {"trapezoid.x", "cumulative_trapezoid.x", "stft.return_complex"}
    | {f"fft.{kind}2.dim" for kind in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")}
    | {
        f"adaptive_{kind}.output_size"
        for d in "123"
        for kind in (f"avg_pool{d}d", f"max_pool{d}d", f"max_pool{d}d_with_indices")
    }
    | {f"_batch_norm_with_update.{part}" for part in ("running_mean", "running_var")}
)
#: Parameters that may be a tensor by position alone: `max(x, y)`, but not `max(x, dim=y)`.
_NO_TENSOR_BY_NAME = frozenset({"max.dim", "min.dim"})
#: Parameters that are both tensors or both numbers.
_ALIKE = {"clamp": ("min", "max")}


def kinds_of(op: Op, positional: int, keys: tuple[str, ...]) -> tuple[CallArgument, ...]:
    """Return the arguments of such a call that have one kind alone."""
    found: list[CallArgument] = []
    in_order = [parameter for parameter in op.parameters if not parameter.keyword_only]
    before = [*takewhile(lambda parameter: parameter.name != op.variadic, in_order)][:positional]
    by_name = {parameter.name: parameter for parameter in op.parameters if parameter.name != op.variadic}
    named = [(positional + i, by_name[key]) for i, key in enumerate(keys) if key in by_name]
    for place, parameter in (*enumerate(before), *named):
        kind = _kind(op, op.parameters.index(parameter), parameter)
        if place >= positional and f"{op.name}.{parameter.name}" in _NO_TENSOR_BY_NAME:
            kind = "integer"
        elif place >= positional and parameter.name == "dim" and kind == _ANYTHING:
            kind = "dimension"  # by position, `var` takes a boolean there, which it takes for another parameter
        dtypes = op.dtypes.get(parameter.name)
        if kind != _ANYTHING or dtypes or f"{op.name}.{parameter.name}" in _NEVER_NONE:
            found.append(CallArgument(place, parameter, kind, dtypes))
    return tuple(found)


def _kind(op: Op, place: int, parameter: Parameter) -> str:
    alone = _BY_OP.get(f"{op.name}.{parameter.name}")
    if alone is not None:
        return alone
    if place == op.sequence:
        return "list"
    if op.elementwise and place < len(op.rules):
        return "tensor" if op.name in _OF_TENSORS or (place == 0 and op.name not in _NUMBER_FIRST) else "operand"
    if type(parameter.default) is bool:
        return "flag"
    return _annotated(op, parameter) or _BY_NAME.get(parameter.name, _ANYTHING)


#: Kinds by annotation, for families that load on demand, which are annotated throughout.
_ANNOTATIONS = {"int": "integer", "float": "real", "bool": "flag", "str": "word"}


def _annotated(op: Op, parameter: Parameter) -> str:
    if ".rare_ops." not in op.forward.__module__:
        return ""
    written = str(inspect.unwrap(op.forward).__annotations__.get(parameter.name, ""))
    return _ANNOTATIONS.get(written.removesuffix(" | None"), "")


def check_kinds(op: Op, kinds: tuple[CallArgument, ...], given: list[Any]) -> None:
    """Raise ArgumentError for an argument of a wrong kind or dtype."""
    for place, parameter, kind, dtypes in kinds:
        value = given[place]
        if value is None and f"{op.name}.{parameter.name}" in _NEVER_NONE:
            raise _error(op, f"{op.name} takes no None as {parameter.name}")
        is_default = value is None and parameter.default is None
        if kind != _ANYTHING and not is_default and not _KINDS[kind][1](value, given):
            raise _refusal(op, place, parameter, kind, value)
        if dtypes is not None and (kind == "dtype" or shape_of(value) is not None):
            _check_dtype(op, parameter, dtypes, value)
    if op.name in _ALIKE:
        _check_alike(op, kinds, given)


#: How to convert a tensor whose dtype an op does not take.
_CONVERSIONS = {
    **dict.fromkeys(("float16", "bfloat16"), "convert it: x.float()"),
    **dict.fromkeys(("complex64", "complex128"), "take its real part: z.real"),
    "bool": "convert it: mask.double()",
}


def _check_dtype(op: Op, parameter: Parameter, taken: DtypeSet, value: Any) -> None:
    """Raise DtypeMismatch for a tensor or dtype that the op does not accept."""
    found = str(getattr(value, "dtype", value)).removeprefix("torch.")
    if found in BY_NAME and found not in taken.names:
        message = f"{op.name} takes {taken.description} as {parameter.name}, not {found}"
        raise DtypeMismatch(message, hint=_CONVERSIONS.get(found, ""))


def _check_alike(op: Op, kinds: tuple[CallArgument, ...], given: list[Any]) -> None:
    names = _ALIKE[op.name]
    pair = [given[one.place] for one in kinds if one.parameter.name in names and given[one.place] is not None]
    if len(pair) == 2 and (type(pair[0]) in PLAIN_TYPES) != (type(pair[1]) in PLAIN_TYPES):
        number = next(value for value in pair if type(value) in PLAIN_TYPES)
        message = f"{op.name} takes two numbers or two tensors as {' and '.join(names)}, not one of each"
        raise _error(op, message, f"write full_like(x, {number!r}) for {number!r}")


def _is_number(value: Any, given: list[Any]) -> bool:
    if type(value) is complex:
        return not any(hasattr(other, "dtype") for other in given) or any(map(_is_complex, given))
    return type(value) in PLAIN_TYPES or (shape_of(value) == () and not getattr(value, "requires_grad", False))


def _is_complex(value: Any) -> bool:
    return "complex" in str(getattr(value, "dtype", ""))


def _is_integer(value: Any, given: list[Any]) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return type(value) is not bool


def _is_dtype(value: Any, given: list[Any]) -> bool:
    return shape_of(value) is None and type(value) not in (*PLAIN_TYPES, list, tuple, slice)


#: Each kind in words, and its test of a value among all arguments.
_KINDS: dict[str, tuple[str, Callable[[Any, list[Any]], bool]]] = {
    "tensor": ("a tensor", lambda value, given: hasattr(value, "dtype")),
    "optional": ("a tensor or None", lambda value, given: value is None or hasattr(value, "dtype")),
    "operand": ("tensors and numbers", lambda value, given: hasattr(value, "dtype") or type(value) in PLAIN_TYPES),
    "number": ("a number", _is_number),
    "real": ("a real number", lambda value, given: type(value) is not complex and _is_number(value, given)),
    "plain": (
        "a number other than True and False",
        lambda value, given: type(value) is not bool and _is_number(value, given),
    ),
    "flag": ("True or False", lambda value, given: type(value) is bool),
    "integer": ("an integer", _is_integer),
    "dimension": ("a dimension", lambda value, given: type(value) is not bool),
    "list": ("a list of tensors", lambda value, given: isinstance(value, (list, tuple))),
    "sizes": ("a list of sizes", lambda value, given: isinstance(value, (list, tuple))),
    "optional sizes": (
        "a list of sizes or None",
        lambda value, given: value is None or isinstance(value, (list, tuple)),
    ),
    "dtype": ("a dtype", _is_dtype),
    "word": ("a word in quotes", lambda value, given: isinstance(value, str)),
}


def _error(op: Op, message: str, hint: str = "") -> ArgumentError:
    return ArgumentError(message, hint=hint or f"its signature is {op.signature}")


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


def _refusal(op: Op, place: int, parameter: Parameter, kind: str, value: Any) -> TensorError:
    what = _describe_value(value)
    if kind == "operand":
        return _error(op, f"{op.name} takes tensors and numbers, not {what}", _instead_of_list(value))
    if kind == "list":
        what = "one tensor" if shape_of(value) is not None else what
        return ArgumentError(f"{op.name} takes a list of tensors, not {what}", hint=f"write {op.name}([x, y])")
    if kind == "tensor":
        message = f"{op.name} takes a tensor as its {_ORDINALS[min(place, 5)]} argument, not {what}"
        return _error(op, message, _instead_of_list(value) or _instead_of_number(op, parameter, value))
    if kind == "integer" and f"{op.name}.{parameter.name}" in _NO_TENSOR_BY_NAME:
        return ArgumentError(f"{op.name} takes an integer as dim, not {what}", hint=f"write {op.name}(x, y)")
    if getattr(value, "requires_grad", False) and shape_of(value) == ():
        what = "a tensor that needs a gradient"
    return _error(op, f"{op.name} takes {_KINDS[kind][0]} as {parameter.name}, not {what}")


def _describe_value(value: Any) -> str:
    if shape_of(value) is not None:
        return "a tensor"
    if not holds_tensor(value):
        return scalar_arithmetic.describe_kind(value)
    return "a list of tensors" if isinstance(value, list) else "several tensors"


def holds_tensor(value: Any) -> bool:
    """Return whether a value is a tensor, or holds one."""
    return any(map(holds_tensor, value)) if isinstance(value, (list, tuple)) else hasattr(value, "dtype")


def _instead_of_list(value: Any) -> str:
    if isinstance(value, tuple) and holds_tensor(value):
        return "index it first, as in m[0]"
    return "" if holds_tensor(value) else scalar_arithmetic.tensor_hint(value)


#: The bound of `clamp` for a number beside a tensor.
_BOUNDS = {**dict.fromkeys(("max", "maximum", "fmax"), "min"), **dict.fromkeys(("min", "minimum", "fmin"), "max")}


def _instead_of_number(op: Op, parameter: Parameter, value: Any) -> str:
    if type(value) not in PLAIN_TYPES or not (op.elementwise or op.name in _BOUNDS or parameter.name == "target"):
        return ""
    bound = _BOUNDS.get(op.name)
    if bound is None:
        return f"write full_like(x, {value!r}) for {value!r}"
    clamped = f"clamp(x, {bound}={value!r})"
    return f"write relu(x) or {clamped}" if bound == "min" and value == 0 else f"write {clamped}"
