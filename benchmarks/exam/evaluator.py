"""Expressions of the case language on torch's tensors, by Python's own `eval`; gradcheck has no part in it.

Only texts of the exam's own are evaluated here.
"""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import CodeType
from typing import Any

import torch

_TOP = ("nn", "linalg", "special")


class _Grad(ast.NodeTransformer):
    """`grad(p)` is the value of the name `grad__p`."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "grad":
            assert isinstance(node.args[0], ast.Name), ast.unparse(node)
            return ast.copy_location(ast.Name(f"grad__{node.args[0].id}", ast.Load()), node)
        return node


@lru_cache(maxsize=100_000)
def compiled(text: str) -> CodeType:
    return compile(ast.fix_missing_locations(_Grad().visit(ast.parse(text.strip(), mode="eval"))), text, "eval")


def _of_numbers(plain: Callable[..., Any], of_tensors: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors that takes plain numbers, too: sizes."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(arg, torch.Tensor) for arg in args):
            return of_tensors(*args, **kwargs)
        return plain(*args, **kwargs)

    return call


def _elementwise(name: str) -> Callable[..., Any]:
    function = getattr(torch, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], (int, float)):
            return function(torch.tensor(float(args[0])), *args[1:], **kwargs).item()
        return function(*args, **kwargs)

    return call


def _names() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for source in (torch.linalg, torch.special, torch, torch.nn.functional):
        found |= {name: getattr(source, name) for name in dir(source) if not name.startswith("_")}
    methods = ("view_as", "expand_as", "masked_fill", "repeat", "expand", "index_put", "new_zeros", "to", "type_as")
    found |= {name: getattr(torch.Tensor, name) for name in methods}
    found |= {name: _elementwise(name) for name in ("sqrt", "exp", "log")}
    found |= {
        name: _of_numbers(getattr(builtins, name), getattr(torch, name)) for name in ("min", "max", "abs", "round")
    }
    found |= {"torch": torch, "F": torch.nn.functional, "math": __import__("math"), "len": len, "float": float}
    found |= {"norm": torch.linalg.norm, "relu": torch.relu}
    return found | {"pi": torch.pi, "e": torch.e, "inf": torch.inf, "nan": torch.nan}


NAMES = _names()


def evaluate(text: str, names: Mapping[str, Any]) -> Any:
    """What the expression comes to. Raises what Python or torch raise; nothing is said of what is deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(compiled(text), NAMES, dict(names))


def mentions(text: str) -> set[str]:
    """Every name in the expression; `grad__p` for a gradient."""
    return set(compiled(text).co_names)
