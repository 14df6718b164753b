"""Properties of every backward pass, whatever the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from gradcheck.autograd.modes import quiet
from gradcheck.checks.conformance.cost import GRAPHS, Growth, growth_of
from gradcheck.checks.isolation.failure_capture import crash_of
from gradcheck.checks.isolation.time_limit import OutOfTime, deadline
from gradcheck.engines.base import Engine, Evaluation, own_dtype
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS
from gradcheck.errors import Place, TensorError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, Claim, Step
from gradcheck.language.expr.nodes import Call, Expr, Name
from gradcheck.language.expr.nodes import Literal as Number
from gradcheck.language.expr.parser import parse
from gradcheck.language.problem import Problem

#: The nodes of the deep graph, and the uses of one tensor.
NODES, USES = 100_000, 1_000
#: Deep enough for every recursion.
_FEWER = 4_000
#: Seconds for each property of an engine that may never return. A deep graph takes longer than a case.
PROPERTY_TIMEOUT = 60.0
_RTOL = 1e-10
ACCUMULATES, FORGETS = "repeated backward accumulates", "zeroing forgets"

_X = np.array([[0.5, -1.25, 2.0], [1.5, 0.75, -0.3]])
_FIRST = np.array([[1.0, -0.5, 0.25], [0.3, 2.0, -1.1]])
_SECOND = np.array([[-0.7, 0.2, 1.4], [0.9, -0.6, 0.1]])


@dataclass(frozen=True, slots=True)
class PropertyFinding:
    """The status of the property with this name, and why it fails."""

    name: str
    status: Literal["holds", "fails", "unsupported"]
    why: Fact | None = None


class _PropertyFailure(Exception):
    """Raised if a property does not hold, or is `unsupported`."""

    def __init__(self, why: Fact, *, unsupported: bool = False) -> None:
        super().__init__(why.kind)
        self.why, self.unsupported = why, unsupported


def check_properties(engine: Engine, timeout: float | None = None) -> tuple[PropertyFinding, ...]:
    """Check every property; `timeout` is in seconds for each."""
    if timeout is None and hasattr(engine, "timeout"):
        timeout = PROPERTY_TIMEOUT
    return tuple(_check_property(name, check, engine, timeout) for name, check in PROPERTIES.items())


def _check_property(
    name: str, check: Callable[[Engine], None], engine: Engine, timeout: float | None
) -> PropertyFinding:
    try:
        with quiet(), deadline(timeout):
            check(engine)
    except _PropertyFailure as found:
        return PropertyFinding(name, "unsupported" if found.unsupported else "fails", found.why)
    except OutOfTime:
        return PropertyFinding(name, "fails", fact("ran_out_of_time", seconds=timeout))
    except USER_EXCEPTIONS as error:
        return PropertyFinding(name, "fails", crash_of(error))
    return PropertyFinding(name, "holds")


def _linear(engine: Engine) -> None:
    first, second = _gradient(engine, [{"y": _FIRST}]), _gradient(engine, [{"y": _SECOND}])
    both = _gradient(engine, [{"y": 3.0 * _FIRST - 2.0 * _SECOND}])
    _require_same(both, 3.0 * first - 2.0 * second, fact("is_not_linear"))


def _accumulates(engine: Engine) -> None:
    once, twice = _gradient(engine, [{"y": _FIRST}]), _gradient(engine, [{"y": _FIRST}, {"y": _FIRST}])
    _require_same(twice, 2.0 * once, fact("does_not_accumulate"))


def _zeroing(engine: Engine) -> None:
    once, again = _gradient(engine, [{"y": _FIRST}]), _gradient(engine, [{"y": _FIRST}, None, {"y": _FIRST}])
    _require_same(again, once, fact("zeroing_leaves_something"))


def _keeps_inputs(engine: Engine) -> None:
    given, seed = _X.copy(), _FIRST.copy()
    found = _evaluated(engine, _problem(_SQUARES, [{"y": seed}], x=given))
    if found.changed or not np.array_equal(given, _X):
        raise _PropertyFailure(fact("values_changed", tensor="x"))
    if not np.array_equal(seed, _FIRST):
        raise _PropertyFailure(fact("incoming_gradient_changed"))


def _order(engine: Engine) -> None:
    one = {"a": "x * x", "b": "x + x", "z": "a + b"}
    other = {"b": "x + x", "a": "x * x", "z": "a + b"}
    first, second = _gradient(engine, [{"z": _FIRST}], one), _gradient(engine, [{"z": _FIRST}], other)
    _require_same(first, second, fact("depends_on_order"))


def _deep(engine: Engine) -> None:
    """Check h = h / 2 + x, repeated; deeper only if the work is linear."""
    for nodes in sorted({min(_FEWER, NODES), NODES}):
        expr: Expr = Name("x")
        for _ in range(nodes // 2):
            expr = Call("add", (Call("mul", (expr, Number(0.5))), Name("x")))
        found = _gradient(engine, [{"y": np.ones(())}], {"y": expr}, np.array(0.25))
        _require_same(found, np.array(2.0), fact("wrong_through_nodes", nodes=nodes))
        growth = growth_of(engine, "chain", own_dtype(engine) or "float64") if nodes < NODES else None
        if growth is not None and not growth.is_linear:
            raise _PropertyFailure(_growth_fact(growth), unsupported=True)


def _many_uses(engine: Engine) -> None:
    expr: list[Expr] = [Name("x")] * USES
    while len(expr) > 1:  # a tree, so that depth is not what is tried
        pairs: list[Expr] = [Call("add", (a, b)) for a, b in zip(expr[::2], expr[1::2], strict=False)]
        expr = pairs + expr[len(pairs) * 2 :]
    found = _gradient(engine, [{"y": _FIRST}], {"y": expr[0]})
    _require_same(found, USES * _FIRST, fact("wrong_after_uses", uses=USES))


def _work(engine: Engine) -> None:
    found = [growth_of(engine, name, own_dtype(engine) or "float64") for name in GRAPHS]
    if not any(found):
        raise _PropertyFailure(fact("cannot_be_asked"), unsupported=True)
    worst = max((one for one in found if one is not None), key=lambda one: one.ratio)
    if not worst.is_linear:
        raise _PropertyFailure(_growth_fact(worst))


def _growth_fact(growth: Growth) -> Fact:
    if growth.is_exponential:
        return fact("work_of_paths", graph=growth.graph, nodes=growth.sizes, calls=growth.calls)
    return fact("work_grows_faster", graph=growth.graph, nodes=growth.sizes, calls=growth.calls)


#: By name, which also excuses it in `gradcheck.testing.check_engine`. A check raises if the property fails.
PROPERTIES: dict[str, Callable[[Engine], None]] = {
    "linear in the incoming gradient": _linear,
    ACCUMULATES: _accumulates,
    FORGETS: _zeroing,
    "inputs are not changed": _keeps_inputs,
    "independent of the order of construction": _order,
    f"graphs of {NODES:,} nodes": _deep,
    f"a tensor used {USES:,} times": _many_uses,
    "work in proportion to the graph": _work,
}


_SQUARES: Mapping[str, str | Expr] = {"y": "x * x + x"}
#: The incoming gradients of a backward pass, or None to zero all gradients.
_Action = dict[str, np.ndarray] | None


def _problem(graph: Mapping[str, str | Expr], actions: list[_Action], x: np.ndarray) -> Problem:
    claims = {name: Claim("", parse(e) if isinstance(e, str) else e) for name, e in graph.items()}
    steps = tuple(Step("zero_grad") if a is None else Step("backward", roots=dict.fromkeys(a)) for a in actions)
    case = Case("property", "property", Place(), {}, claims, steps)
    seeds: tuple[dict[str, Any], ...] = tuple({} if a is None else a for a in actions)
    return Problem(case, {"x": x}, {}, seeds=seeds, forwards=({},) * len(steps))


def _evaluated(engine: Engine, problem: Problem) -> Evaluation:
    """Return the evaluation. Raises if the engine raises or lacks it."""
    found = engine.evaluate(_in_engine_dtype(engine, problem))
    error = found.error or next((state.error for state in found.states if state.error), None)
    if error is not None:
        raise _PropertyFailure(_error_fact(error), unsupported=error.kind == "unsupported")
    return found


def _in_engine_dtype(engine: Engine, problem: Problem) -> Problem:
    name = own_dtype(engine) or "float64"
    if name == problem.case.dtype:
        return problem
    inputs = {tensor: array.astype(name) for tensor, array in problem.inputs.items()}
    seeds = tuple(
        {root: None if seed is None else seed.astype(name) for root, seed in step.items()} for step in problem.seeds
    )
    return replace(problem, case=replace(problem.case, dtype=name), inputs=inputs, seeds=seeds)


def _error_fact(error: TensorError) -> Fact:
    if error.kind in ("unsupported", "engine_error"):
        return fact("said", text=error.message)
    return fact("raised_of_kind", error=error.kind, text=error.message)


def _gradient(
    engine: Engine, actions: list[_Action], graph: Mapping[str, str | Expr] = _SQUARES, x: np.ndarray = _X
) -> np.ndarray:
    found = _evaluated(engine, _problem(graph, actions, x.copy())).states[-1].gradients.get("x")
    if found is None:
        raise _PropertyFailure(fact("no_gradient_arrives", tensor="x"))
    return found


def _require_same(got: np.ndarray, want: np.ndarray, otherwise: Fact) -> None:
    """Raise `otherwise`, and the difference, if the arrays differ."""
    if got.shape != want.shape:
        raise _PropertyFailure(fact("property_shapes_differ", what=otherwise, got=got.shape, want=want.shape))
    rtol = _RTOL if got.dtype.itemsize == 8 else 1e-5
    if not np.allclose(got, want, rtol=rtol, atol=rtol):
        worst = np.unravel_index(int(np.argmax(np.abs(got - want))), got.shape)
        raise _PropertyFailure(
            fact("property_numbers_differ", what=otherwise, got=float(got[worst]), want=float(want[worst]))
        )
