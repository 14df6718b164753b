"""The case's tensors that user code is called with.

They are bound by `arguments`, by the names of its parameters, or in order. Code of other libraries than torch is made
a function of the operands in nested and named arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import BY_NAME, real_of
from gradcheck.engines.implementation.call_arguments import Operand, operands_in, put_together
from gradcheck.engines.tensor_class.user_code_guard import signature_parameters
from gradcheck.errors import InvalidCase
from gradcheck.facts import Fact, fact
from gradcheck.language.case import CallArguments, Case, Claim, Implementation
from gradcheck.language.expr.nodes import Name
from gradcheck.language.expr.traverse import free_names


@dataclass(frozen=True, slots=True)
class Binding:
    """The arguments of a call: expressions over the case's names.

    `keywords` are given by name. `parameters` are a module's own parameters and the tensors that replace them.
    `objects` are the arguments of a Python call that are no tensors of the case, by the text of their claims."""

    positional: tuple[Claim, ...]
    keywords: Mapping[str, Claim] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    unbound_parameters: tuple[str, ...] = ()  # a module's parameters without a tensor of the case
    operand_dtypes: Mapping[str, str] = field(default_factory=dict)  # of tensors that have another than the case's
    autocast: str = ""  # the dtype of `torch.autocast` around the call
    how: str = "in order"
    objects: Mapping[str, Any] = field(default_factory=dict)

    def default_dtype(self, dtype: np.dtype) -> np.dtype:
        """Return the dtype of new tensors: the most precise of the operands'."""
        return max(
            (dtype, *map(BY_NAME.__getitem__, self.operand_dtypes.values())), key=lambda one: real_of(one).itemsize
        )

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All arguments, in order."""
        return (*self.positional, *self.keywords.values(), *(_named(name) for name in self.parameters.values()))

    def structure_of(self, claim: Claim) -> Any:
        """Return an argument with an `Operand` for each tensor in it."""
        return self.objects.get(claim.text, Operand(claim.text))

    @property
    def operand_claims(self) -> tuple[Claim, ...]:
        """The operands in the arguments, in order; those of nested ones each."""
        listed = (*self.positional, *self.keywords.values())
        return tuple(
            claim if isinstance(self.structure_of(claim), Operand) else _named(name)
            for claim in listed
            for name in operands_in(self.structure_of(claim))
        )

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the case in the arguments, each once."""
        found: list[str] = []
        for claim in self.claims:
            is_object = claim.text in self.objects
            found += operands_in(self.objects[claim.text]) if is_object else free_names(claim.expr)
        return tuple(dict.fromkeys(found))

    @property
    def note(self) -> Fact:
        """The fact that says how the arguments were bound."""
        return fact("arguments_bound", arguments=tuple(claim.text for claim in self.claims), how=self.how)


def operands_of(case: Case, entry: str) -> list[str]:
    """Return the tensors that the entry uses, in the case's order."""
    used = free_names(case.graph[entry].expr)
    return [name for name in (*case.inputs, *case.constants, *case.graph) if name in used]


def ancestors_of(case: Case, entry: str) -> set[str]:
    """Return all names that the entry is computed from."""
    found: set[str] = set()
    stack = [entry]
    while stack:
        for name in free_names(case.graph[stack.pop()].expr):
            if name not in found:
                found.add(name)
                if name in case.graph:
                    stack.append(name)
    return found


def bind(
    case: Case, implementation: Implementation, function: Callable[..., Any], parameters: Collection[str] = ()
) -> Binding:
    """Return the likeliest binding; see `bindings`."""
    return bindings(case, implementation, function, parameters)[0]


def bindings(
    case: Case, implementation: Implementation, function: Callable[..., Any], parameters: Collection[str] = ()
) -> list[Binding]:
    """Return the possible bindings of `function`, the likeliest first.

    `parameters` are the names of a module's own. There are several if the function's parameters are named like
    ancestors, and the entry has as many operands. Raises InvalidCase if the parameters do not match the entry's
    operands."""
    entry = implementation.entry
    known = ancestors_of(case, entry)
    tensors = known if implementation.loaded is None else {*known, *case.inputs, *case.constants}
    arguments = {one.name for one in parameters_of(function) or ()}
    own = _bind_module_parameters(case, tensors - arguments, parameters)
    unbound = tuple(name for name in parameters if name not in own)
    empty = Binding(
        (), {}, own, unbound, operand_dtypes=implementation.operand_dtypes, autocast=implementation.autocast
    )
    if implementation.given is not None:
        return [_bind_python_call(implementation.given, function, empty)]
    if implementation.arguments is not None:
        is_own = implementation.loaded is not None and own
        listed = (claim for claim in implementation.arguments if not is_own or claim.text not in own.values())
        return [replace(empty, positional=tuple(listed), how="as arguments say")]
    operands = [name for name in operands_of(case, entry) if name not in own.values()]
    in_order = replace(empty, positional=tuple(map(_named, operands)))
    wanted = parameters_of(function)
    if wanted is None:
        return [in_order]
    fits = _fits(wanted, operands)
    found = [in_order] if fits else []
    by_name = _by_name(wanted, known)
    if by_name is not None:
        named = replace(empty, positional=by_name[0], keywords=by_name[1], how="by name")
        all_operands = set(operands_of(case, entry))
        is_plain = set(named.names) <= {*all_operands, *case.dims, *case.symbol_sizes}
        if is_plain and (not fits or all_operands <= set(named.names)):
            return [named]
        found.append(named)
    if not found:
        takes = ", ".join(one.name for one in wanted)
        message = f"{implementation.name} takes ({takes}), and {entry} is made of {', '.join(operands)}"
        hint = "say which is which: {call: …, arguments: [" + ", ".join(operands) + "]}"
        raise InvalidCase(message, place=implementation.place, hint=hint)
    return found


def _bind_python_call(given: CallArguments, function: Callable[..., Any], empty: Binding) -> Binding:
    """Bind the arguments of a Python call as Python does, by name or in order.

    Names of parameters decide; other arguments take the parameters that are left, in order, and then `**keywords`.
    Parameters in between keep their defaults."""
    names = [name for name in given.names if name not in empty.parameters.values()]
    listed = None if given.as_torch else parameters_of(function)
    ordered = [one for one in listed or () if one.kind is not one.KEYWORD_ONLY]
    if listed is None or names == [one.name for one in ordered[: len(names)]]:
        return replace(empty, positional=tuple(map(_named, names)), objects=given.objects)
    known = {one.name for one in listed}
    others = [name for name in names if name not in known]
    positional: list[Claim] = []
    objects = dict(given.objects)
    for one in ordered:
        if one.name in names:
            positional.append(_named(one.name))
        elif others:
            positional.append(_named(others.pop(0)))
        elif one.default is not one.empty and any(later.name in names for later in ordered[ordered.index(one) :]):
            objects[one.name] = one.default
            positional.append(_named(one.name))
    keywords = {one.name: _named(one.name) for one in listed if one.kind is one.KEYWORD_ONLY and one.name in names}
    if any(one.kind is one.VAR_KEYWORD for one in signature_parameters(function) or ()):
        keywords |= {name: _named(name) for name in others}
    else:
        positional += map(_named, others)  # too many: Python says so
    how = "by name" if keywords or not set(names) - known else "in order"
    return replace(empty, positional=tuple(positional), keywords=keywords, objects=objects, how=how)


def _named(name: str) -> Claim:
    return Claim(name, Name(name))


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """Return the parameters of a signature; None if it is unknown or open."""
    listed = signature_parameters(function)
    if listed is None or any(one.kind is one.VAR_POSITIONAL for one in listed):
        return None
    return [one for one in listed if one.kind is not one.VAR_KEYWORD]


def _by_name(
    wanted: Sequence[inspect.Parameter], known: Collection[str]
) -> tuple[tuple[Claim, ...], dict[str, Claim]] | None:
    """Bind parameters to tensors by name; None if a required one is missing."""
    if any(one.default is one.empty and one.name not in known for one in wanted):
        return None
    positional: list[Claim] = []
    keywords: dict[str, Claim] = {}
    gap = False
    for one in wanted:
        if one.name not in known:
            gap = True
        elif gap or one.kind is one.KEYWORD_ONLY:
            keywords[one.name] = _named(one.name)
        else:
            positional.append(_named(one.name))
    return (tuple(positional), keywords) if positional or keywords else None


def _fits(wanted: Sequence[inspect.Parameter], operands: Sequence[str]) -> bool:
    ordered = [one for one in wanted if one.kind is not one.KEYWORD_ONLY]
    needed = [one for one in ordered if one.default is one.empty]
    missing = [one.name for one in wanted if one.kind is one.KEYWORD_ONLY and one.default is one.empty]
    return len(needed) <= len(operands) <= len(ordered) and not missing


def _bind_module_parameters(case: Case, known: Collection[str], parameters: Collection[str]) -> dict[str, str]:
    """Return the tensors for a module's own parameters; see `written_names`."""
    tensors = [name for name in (*case.inputs, *case.constants, *case.graph) if name in known]
    found: dict[str, str] = {}
    for name in parameters:
        written = written_names(name, parameters)
        match = next((one for one in written if one in tensors and one not in found.values()), None)
        if match is not None:
            found[name] = match
    return found


def written_names(name: str, parameters: Collection[str]) -> tuple[str, ...]:
    """Return the names that a parameter may have in a case.

    They are its own, also with `_` for `.`, and its last part if no other parameter ends so."""
    last = name.rpartition(".")[2]
    is_unique = sum(one.rpartition(".")[2] == last for one in parameters) == 1
    plain = name.replace(".", "_")
    return (name, plain, *([] if plain.isidentifier() else [f"module_{plain}"]), *([last] if is_unique else []))


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
            foreign = foreign.changed(structures=(*positional, *keywords.values()))
    return foreign.changed(bound=tuple(binding.parameters)) if binding.parameters else foreign


def from_leaves(function: Callable[..., Any], positional: list[Any], keywords: dict[str, Any]) -> Callable[..., Any]:
    """Return a function of the operands in nested and named arguments.

    The arguments are structures with an `Operand` in the place of each."""
    names = [name for one in (*positional, *keywords.values()) for name in operands_in(one)]

    def called(*leaves: Any) -> Any:
        tensors = dict(zip(names, leaves, strict=True))
        named = {name: put_together(one, tensors) for name, one in keywords.items()}
        return function(*(put_together(one, tensors) for one in positional), **named)

    return called
