"""Nested and named arguments of code of other libraries than torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcheck.engines.implementation.binding import Binding
from gradcheck.engines.implementation.call_arguments import operands_in, put_together


def is_taken_apart(foreign: Any, binding: Binding) -> bool:
    """Return whether the code gets nested arguments, or some by name."""
    if foreign is None:
        return False
    is_nested = any(map(operands_in, binding.objects.values()))
    return is_nested or (hasattr(foreign, "function") and bool(binding.keywords))


def argument_name(foreign: Any, binding: Binding, place: int) -> str:
    """Return the name of the argument at a place of the call, or ""."""
    claims = binding.operand_claims if is_taken_apart(foreign, binding) else binding.claims
    return claims[place].text if place < len(claims) else ""


def bound_foreign(foreign: Any, binding: Binding) -> Any:
    """Return the code as a function of its operands and own parameters."""
    if is_taken_apart(foreign, binding):
        positional = [binding.structure_of(claim) for claim in binding.positional]
        keywords = {name: binding.structure_of(claim) for name, claim in binding.keywords.items()}
        if hasattr(foreign, "function"):
            foreign = type(foreign)(from_leaves(foreign.function, positional, keywords))
        else:
            foreign = foreign.with_structures([*positional, *keywords.values()])
    return foreign.with_bound(tuple(binding.parameters)) if binding.parameters else foreign


def from_leaves(function: Callable[..., Any], positional: list[Any], keywords: dict[str, Any]) -> Callable[..., Any]:
    """Return a function of the operands in nested and named arguments.

    The arguments are structures with an `Operand` in the place of each."""
    names = [name for one in (*positional, *keywords.values()) for name in operands_in(one)]

    def called(*leaves: Any) -> Any:
        tensors = dict(zip(names, leaves, strict=True))
        named = {name: put_together(one, tensors) for name, one in keywords.items()}
        return function(*(put_together(one, tensors) for one in positional), **named)

    return called
