"""Defaults of the table against those of torch's functions and schemas."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from gradcheck.autograd.op import ALIASES, TABLE, Op

#: Where torch's schema has a number for a word.
WORDS = {0: "none", 1: "mean", 2: "sum"}
#: Defaults that mean what torch's do: the op, the parameter, and why.
OURS = {
    ("nan_to_num", "nan"): "None is 0 in torch",
    ("randint", "dtype"): "None is int64",
    ("randperm", "dtype"): "None is int64",
    **{(name, "unbiased"): "None gives way to correction=" for name in ("std", "std_mean", "var", "var_mean")},
}


def functions_of(op: Op) -> list[Any]:
    """The counterpart, and torch's function of its name for layers."""
    found: list[Any] = [torch, torch.nn.functional]
    for place, path in enumerate((op.torch, op.torch.rpartition(".")[2])):
        for part in path.split("."):
            found[place] = getattr(found[place], part, None)
    return [one for one in found if one is not None]


def defaults_of(op: Op) -> dict[str, list[Any]]:
    """Return torch's defaults by parameter; required ones have none."""
    found: dict[str, list[Any]] = {}
    for function in functions_of(op):
        if inspect.isfunction(function):
            for p in inspect.signature(function).parameters.values():
                found.setdefault(p.name, []).extend([] if p.default is inspect.Parameter.empty else [p.default])
    path = op.torch.rpartition(".")[2]
    prefix = next((p for p in ("linalg", "special", "fft") if op.torch.startswith(f"{p}.")), "")
    for name in {f"{prefix}_{path}" if prefix else path, op.torch.replace(".", "_")}:
        packet = getattr(torch.ops.aten, name, None)
        for overload in packet.overloads() if packet is not None else ():
            if "out" in overload:
                continue
            for a in getattr(packet, overload)._schema.arguments:
                found.setdefault(a.name, []).extend([a.default_value] if a.has_default_value() else [])
    return found


def is_same(mine: Any, theirs: Any) -> bool:
    """Numbers by value, lists as tuples, reductions by their words."""
    if isinstance(mine, str) and isinstance(theirs, int):
        return WORDS.get(theirs) == mine
    if isinstance(mine, (list, tuple)) or isinstance(theirs, (list, tuple)):
        several = [tuple(v) if isinstance(v, (list, tuple)) else (v,) for v in (mine, theirs)]
        in_each = several[0] * len(several[1])  # one number for all dimensions
        return several[1] in (several[0], in_each) or (mine is None and not several[1])
    return bool(mine == theirs) and (mine is None) == (theirs is None)


#: What torch can do without, in forms that are not differentiable, deprecated, or other ops.
REQUIRED = {
    **{(f"{place}{name}", "dim"): "torch warns where it is left out"
       for place in ("", "masked.") for name in ("softmax", "log_softmax", "softmin")},
    ("masked.normalize", "dim"): "the default is that of the other normalize",
    ("normal", "std"): "the default is that of a form with tensors",
    ("to", "dtype"): "the default is that of a move to a device",
}  # fmt: skip


def test_every_default_is_torchs() -> None:
    wrong, asked = [], 0
    for name, op in sorted(TABLE.items()):
        theirs = defaults_of(op) if op.torch else {}
        for p in op.parameters:
            known = theirs.get(p.name, [])
            if not known or (name, p.name) in OURS:
                continue
            if p.required:
                wrong += [f"{name}: {p.name} is required, torch has {known}"] if (name, p.name) not in REQUIRED else []
                continue
            asked += 1
            if not any(is_same(p.default, one) for one in known):
                wrong.append(f"{name}: {p.name}={p.default!r}, torch has {known}")
    assert not wrong, "\n".join(wrong)
    assert asked > 400


#: Names that torch has as functions alone, which are methods here, too.
METHODS_TOO = {
    *("atleast_1d", "atleast_2d", "atleast_3d", "celu", "elu", "fill", "gelu", "hardtanh", "inv", "leaky_relu"),
    *("logsigmoid", "mish", "relu6", "rsub", "selu", "silu", "softplus", "softshrink", "softsign", "std_mean"),
    *("tanhshrink", "threshold", "var_mean", "view_as_complex", "view_as_real"),
}
#: Methods of torch's that are functions here: one has its arguments the other way about.
FUNCTIONS_ALONE = {"polygamma", "prelu"}


def test_methods_are_those_of_torchs_tensors() -> None:
    named = {name: op.method for name, op in TABLE.items() if "." not in name}
    theirs = {name for name in named if hasattr(torch.Tensor, name)}
    assert {name for name, method in named.items() if method} == (theirs - FUNCTIONS_ALONE) | METHODS_TOO


def test_what_is_named_by_a_module_is_no_method() -> None:
    """But for what has another name, as `linalg.inv` has `inverse`."""
    short = {op.name for op in map(TABLE.get, ALIASES.values()) if op is not None}
    dotted = {name for name, op in TABLE.items() if "." in name and op.method}
    assert dotted - short == {"linalg.solve_triangular", "linalg.vecdot"}  # which no one can write so
