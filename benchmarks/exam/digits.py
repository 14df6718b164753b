"""Formulas in fifty digits: a small number class on mpmath, so that a near miss is told from a rounding."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any

import mpmath
import numpy as np
import torch

from benchmarks.exam.graph import Graph

DIGITS = 50
_Number = Any


class Array:
    """An array of mpmath's numbers with the methods that formulas use; plain NumPy underneath."""

    __array_ufunc__ = None

    def __init__(self, data: Any) -> None:
        self.data = np.asarray(data, dtype=object)

    shape = property(lambda self: self.data.shape)
    ndim = property(lambda self: self.data.ndim)
    T = property(lambda self: Array(self.data.T))
    mT = property(lambda self: Array(np.swapaxes(self.data, -1, -2)))  # noqa: N815

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in NAMES:
            raise AttributeError(name)
        return lambda *args, **kwargs: NAMES[name](self, *args, **kwargs)

    def __getitem__(self, index: Any) -> Array:
        return Array(self.data[_plain(index)])


def _plain(value: Any) -> Any:
    if isinstance(value, Array):
        flat = value.data.ravel()
        if flat.size and all(isinstance(v, (bool, np.bool_)) for v in flat):
            return value.data.astype(bool)
        return value.data.astype(int)
    if isinstance(value, tuple):
        return tuple(_plain(v) for v in value)
    return value


def _raw(value: Any) -> Any:
    return value.data if isinstance(value, Array) else value


def _binary(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda self, other: Array(function(_raw(self), _raw(other)))


def _install() -> None:
    operators: dict[str, Callable[[Any, Any], Any]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "truediv": lambda a, b: a / b,
        "pow": lambda a, b: np.frompyfunc(lambda u, v: mpmath.mpf(u) ** v, 2, 1)(a, b),
        "matmul": lambda a, b: np.dot(a, b) if a.ndim < 3 and b.ndim < 3 else np.matmul(a, b),
    }
    for name, function in operators.items():
        setattr(Array, f"__{name}__", _binary(function))
        setattr(Array, f"__r{name}__", _binary(lambda a, b, f=function: f(b, a)))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        method = getattr(np, {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
                              "eq": "equal", "ne": "not_equal"}[name])  # fmt: skip
        setattr(Array, f"__{name}__", _binary(lambda a, b, m=method: m(a, b).astype(object)))
    Array.__neg__ = lambda self: Array(-self.data)  # type: ignore[attr-defined]
    Array.__and__ = _binary(lambda a, b: np.logical_and(a, b).astype(object))  # type: ignore[attr-defined]
    Array.__or__ = _binary(lambda a, b: np.logical_or(a, b).astype(object))  # type: ignore[attr-defined]
    Array.__hash__ = None  # type: ignore[assignment]


def _each(function: Callable[[Any], Any]) -> Callable[..., Any]:
    each = np.frompyfunc(function, 1, 1)
    return lambda x: Array(each(_raw(x))) if isinstance(x, Array) else function(mpmath.mpf(x))


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(x: Array, dim: Any = None, keepdim: bool = False) -> Array:
        axis = tuple(dim) if isinstance(dim, (list, tuple)) else dim
        return Array(function(_raw(x), axis=axis, keepdims=keepdim))

    return reduce


def _mean(data: Any, axis: Any, keepdims: bool) -> Any:
    total = np.sum(data, axis=axis, keepdims=keepdims)
    return total / mpmath.mpf(data.size // max(np.size(total), 1))


def _where(condition: Any, one: Any, other: Any) -> Array:
    return Array(np.where(np.asarray(_raw(condition)).astype(bool), _raw(one), _raw(other)))


def _softmax(x: Array, dim: int = -1) -> Array:
    top = NAMES["exp"](x)
    return top / NAMES["sum"](top, dim, True)


def _var(x: Array, dim: Any = None, unbiased: bool = True, keepdim: bool = False) -> Array:
    off = x - NAMES["mean"](x, dim, True)
    total = NAMES["sum"](off * off, dim, keepdim)
    count = x.data.size // max(total.data.size, 1)
    return total / (count - int(unbiased))


def _sizes(size: tuple[Any, ...]) -> Any:
    return size[0] if len(size) == 1 and isinstance(size[0], (list, tuple)) else size


def _filled(value: int) -> Callable[..., Array]:
    return lambda *size: Array(np.full(_sizes(size), mpmath.mpf(value), dtype=object))


def _full(size: Any, value: Any) -> Array:
    return Array(np.full(size, mpmath.mpf(value), dtype=object))


def _of_two(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: Array(function(_raw(a), _raw(b))) if isinstance(a, Array) else function(a, b)


def _clamp(x: Array, min: Any = None, max: Any = None) -> Array:
    low = x if min is None else Array(np.maximum(_raw(x), _raw(min)))
    return low if max is None else Array(np.minimum(_raw(low), _raw(max)))


def _round(number: Any) -> Any:
    return mpmath.nint(number)


NAMES: dict[str, Any] = {
    **{
        name: _each(function)
        for name, function in {
            "exp": mpmath.exp, "log": mpmath.log, "sqrt": mpmath.sqrt, "sin": mpmath.sin, "cos": mpmath.cos,
            "tan": mpmath.tan, "tanh": mpmath.tanh, "cosh": mpmath.cosh, "sinh": mpmath.sinh, "erf": mpmath.erf,
            "atan": mpmath.atan, "log1p": mpmath.log1p, "expm1": mpmath.expm1, "abs": abs, "sign": mpmath.sign,
            "floor": mpmath.floor, "square": lambda v: v * v, "round": _round, "reciprocal": lambda v: 1 / v,
            "sigmoid": lambda v: 1 / (1 + mpmath.exp(-v)), "relu": lambda v: max(v, mpmath.mpf(0)),
            "rsqrt": lambda v: 1 / mpmath.sqrt(v), "zeros_like": lambda v: mpmath.mpf(0),
            "ones_like": lambda v: mpmath.mpf(1),
        }.items()
    },
    "sum": _reduction(np.sum), "mean": _reduction(_mean), "amax": _reduction(np.max), "amin": _reduction(np.min),
    "prod": _reduction(np.prod), "where": _where, "softmax": _softmax, "var": _var, "clamp": _clamp,
    "ones": _filled(1), "zeros": _filled(0), "full": _full, "pi": None, "len": len,
    "eye": lambda n: Array(np.array(np.eye(n).astype(int).tolist(), dtype=object) + mpmath.mpf(0)),
    "outer": lambda a, b: Array(np.outer(_raw(a), _raw(b))),
    "flip": lambda x, dims: Array(np.flip(_raw(x), tuple(dims) if isinstance(dims, (list, tuple)) else dims)),
    "cumsum": lambda x, dim: Array(np.cumsum(_raw(x), dim)),
    "cumprod": lambda x, dim: Array(np.cumprod(_raw(x), dim)),
    "diag": lambda x: Array(np.diag(_raw(x))),
    "tril": lambda x, diagonal=0: _where(Array(np.tril(np.ones(x.shape), diagonal)), x, mpmath.mpf(0)),
    "triu": lambda x, diagonal=0: _where(Array(np.triu(np.ones(x.shape), diagonal)), x, mpmath.mpf(0)),
    "reshape": lambda x, *size: Array(_raw(x).reshape(_sizes(size))),
    "transpose": lambda x, a, b: Array(np.swapaxes(_raw(x), a, b)),
    "unsqueeze": lambda x, dim: Array(np.expand_dims(_raw(x), dim)),
    "trace": lambda x: Array(np.trace(_raw(x))),
    "expand": lambda x, *size: Array(np.broadcast_to(_raw(x), _sizes(size))),
    "cat": lambda xs, dim=0: Array(np.concatenate([_raw(x) for x in xs], dim)),
    "stack": lambda xs, dim=0: Array(np.stack([_raw(x) for x in xs], dim)),
    "maximum": _of_two(np.maximum), "minimum": _of_two(np.minimum), "max": _of_two(max), "min": _of_two(min),
    "__builtins__": {},
}  # fmt: skip
_install()


class _Literals(ast.NodeTransformer):
    """`grad(p)` by its name, and decimals as they are written."""

    def __init__(self, text: str) -> None:
        self.text = text

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "grad" and isinstance(node.args[0], ast.Name):
            return ast.copy_location(ast.Name(f"grad__{node.args[0].id}", ast.Load()), node)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, float):
            written = ast.get_source_segment(self.text, node) or repr(node.value)
            call = ast.Call(ast.Name("decimal", ast.Load()), [ast.Constant(written)], [])
            return ast.copy_location(call, node)
        return node


def value(text: str, names: Mapping[str, Any]) -> Any:
    """A formula in fifty digits. Raises what it does not know: AttributeError, NameError, TypeError and the like."""
    tree = ast.fix_missing_locations(_Literals(text).visit(ast.parse(text.strip(), mode="eval")))
    known = {**NAMES, "decimal": mpmath.mpf, "pi": mpmath.pi + 0}
    return eval(compile(tree, text, "eval"), known, dict(names))


def differ(one: str, other: str, graph: Graph, names: Mapping[str, Any]) -> bool:
    """Whether two formulas are unlike in the thirtieth digit, for the numbers at hand; not so where this evaluator
    lacks something that they need. Values are computed anew from the leaves; of gradients, those of roots are known."""
    roots = {f"grad__{root}" for root in graph.roots}
    with mpmath.workdps(DIGITS):
        given = [n for n in names if n not in graph.graph and (not n.startswith("grad__") or n in roots)]
        known = {name: _exact(names[name]) for name in given}
        try:
            for name, text in {**graph.graph, **graph.let}.items():
                known[name] = value(text, known)
            first, second = (_raw(value(text, known)) for text in (one, other))
            gap = np.abs(np.asarray(first - second, dtype=object)).ravel()
            size = np.abs(np.asarray(second, dtype=object)).ravel()
            return any(g > mpmath.mpf(10) ** -30 * (s + mpmath.mpf(10) ** -200) for g, s in zip(gap, size, strict=True))
        except (AttributeError, NameError, TypeError, ValueError, KeyError, IndexError, ArithmeticError):
            return False


def _exact(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    if not value.is_floating_point():
        return Array(value.numpy().astype(object))
    if not bool(torch.isfinite(value).all()):
        return Array(np.full(tuple(value.shape), math.nan, dtype=object))
    return Array(np.frompyfunc(lambda v: mpmath.mpf(float(v)), 1, 1)(value.detach().numpy()))
