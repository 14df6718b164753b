"""The rules of a `Function` for forward mode (`jvp`) and for `vmap`.

torch calls them only under forward mode or `vmap`, so that mistakes in them stay unnoticed until then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS, as_code_error, translate_code_errors
from gradcheck.engines.torch_nodes import nodes
from gradcheck.errors import TensorError

if TYPE_CHECKING:
    from gradcheck.engines.implementation.code_engine import CodeEngine
    from gradcheck.language.problem import Problem

_Function = torch.autograd.Function
#: The number of copies of the arguments, each with other numbers, that are mapped over.
_COPIES = 3
#: The dimensions that are mapped over.
DIMS = (0, -1)


class VmapResult(NamedTuple):
    """A result under `vmap`, and the stacked results without it."""

    name: str  # of the argument that is mapped alone, "" if all are
    dim: int
    got: np.ndarray
    want: np.ndarray


def rules_of(engine: CodeEngine, problem: Problem) -> frozenset[str]:
    """Return the rules, "jvp" and "vmap", that the code's `Function`s have."""
    with engine.session(problem.dtype):
        run = engine.evaluated_run(problem)
        if run is None:
            return frozenset()
        roots = [one for one in run.tensors.values() if one.grad_fn is not None]
        kinds = [kind for node in nodes(roots) if (kind := getattr(node, "_forward_cls", None)) is not None]
    stated = {"jvp" for kind in kinds if kind.jvp is not _Function.jvp}
    maps = (kind.generate_vmap_rule or kind.vmap is not _Function.vmap for kind in kinds)
    return frozenset(stated | ({"vmap"} if kinds and all(maps) else set()))


def code_tangents(
    engine: CodeEngine, problem: Problem, directions: Mapping[str, np.ndarray]
) -> Mapping[str, np.ndarray | None]:
    """Return the tangents of the code's results, if it has forward mode."""
    if not engine.code.is_torch:
        ((name, direction),) = directions.items()
        return _jax_tangents(engine, problem, name, direction)
    assert engine.forward_ad is not None
    with engine.session(problem.dtype), engine.forward_ad.level():
        run = engine.new_run(problem)
        for name, direction in directions.items():
            run.leaves[name] = engine.forward_ad.dual(engine.leaf(problem.inputs[name], False), direction)
        run.run_graph()
        with translate_code_errors(engine.name):
            tangents = {name: engine.forward_ad.tangent(tensor) for name, tensor in run.tensors.items()}
        found = {n: None if t is None else np.array(engine.array(t)) for n, t in tangents.items()}
    return {name: one for name, one in found.items() if name.partition("[")[0] == engine.entry}


def _jax_tangents(engine: CodeEngine, problem: Problem, name: str, direction: np.ndarray) -> Mapping[str, np.ndarray]:
    """Return the tangents of a JAX function; a `custom_vjp` has none."""
    call = getattr(engine.code.foreign, "tangents", None)
    with engine.session(problem.dtype):
        run = engine.evaluated_run(problem)
        if call is None or run is None or direction.dtype.kind == "c":
            return {}
        arguments = engine.arguments({**problem.sizes, **run.leaves, **run.constants, **run.tensors})
        places = [place for place, one in enumerate(arguments) if one is run.leaves.get(name)]
        given = [engine.array(one) if isinstance(one, torch.Tensor) else one for one in arguments]
    try:
        found = call(given, places[0], direction) if len(places) == 1 else []
    except USER_EXCEPTIONS:
        return {}
    return dict(zip(problem.seeds[0], found, strict=False))


class VmapError(NamedTuple):
    """An exception under `vmap`."""

    name: str  # of the argument that is mapped alone, "" if all are
    error: TensorError


def vmap_results(engine: CodeEngine, problem: Problem) -> Iterator[VmapResult | VmapError]:
    """Yield results under `vmap`, for all arguments and for each alone.

    All are mapped over their first, and over their last dimension. Code that is no `Function` yields nothing."""
    code = engine.code
    if code.function is None:
        return
    with engine.session(problem.dtype), torch.no_grad():
        run = engine.evaluated_run(problem)
        if run is None:
            return
        arguments = engine.arguments({**problem.sizes, **run.leaves, **run.constants, **run.tensors})
        places = [place for place, one in enumerate(arguments) if _moves(one)]
        copies = [[_moved(one, number) for number in range(_COPIES)] for one in arguments]
        for dim, some in _choices(places):
            name = "" if len(some) > 1 or len(places) == 1 else engine.binding.claims[some[0]].text
            try:
                yield from _vmap_over(engine, arguments, copies, (dim, some, name))
            except USER_EXCEPTIONS as error:
                yield VmapError(name, as_code_error(engine.name, error))


def _choices(places: list[int]) -> Iterator[tuple[int, list[int]]]:
    for dim in DIMS if places else ():
        yield dim, places
    if len(places) > 1:
        yield from ((0, [place]) for place in places)


def _vmap_over(
    engine: CodeEngine, arguments: list[Any], copies: list[list[Any]], which: tuple[int, list[int], str]
) -> Iterator[VmapResult]:
    dim, places, name = which
    call = engine.code.call
    assert call is not None
    given = [torch.stack(copies[i], dim) if i in places else one for i, one in enumerate(arguments)]
    dims = tuple(dim if i in places else None for i in range(len(arguments)))
    results = _listed(torch.vmap(call, in_dims=dims)(*given))
    alone = [
        _listed(call(*[copies[i][n] if i in places else one for i, one in enumerate(arguments)]))
        for n in range(_COPIES)
    ]
    for number, result in enumerate(results):
        want = torch.stack([one[number] for one in alone])
        yield VmapResult(name, dim, np.array(engine.array(result)), np.array(engine.array(want)))


def _listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _moves(argument: Any) -> bool:
    return isinstance(argument, torch.Tensor) and (argument.is_floating_point() or argument.is_complex())


def _moved(argument: Any, number: int) -> Any:
    """Return the argument with other numbers of the same signs."""
    return argument.detach() * (1 - number / (2 * _COPIES)) if _moves(argument) else argument
