"""Engines that are wrong on purpose, one known mistake each: what diagnoses are measured on.

`benchmarks/diagnosis.py` prints the table, `test_precision_of_diagnoses.py` holds it to what is promised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import dedent
from typing import Any

import numpy as np

from gradcheck.autograd.pullback import pull_arrays
from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.claims.operations import gradient_positions
from gradcheck.checks.result import CaseResult, Comparison
from gradcheck.checks.scheduling.run import run
from gradcheck.engines.base import Application, Pullback
from gradcheck.engines.core import Core
from gradcheck.engines.recording import arrays, rebuild
from gradcheck.language.case import Case
from gradcheck.language.loader.case_files import load_text
from gradcheck.reports.phrases import say

Cotangents = Sequence[np.ndarray | None]

# What is mutated -----------------------------------------------------------------------------------

#: An op, the inputs that it is applied to, and the expression; each gradient of each is mutated.
OPS: dict[str, tuple[str, str]] = {
    "exp": ("x: 'randn(3, 4)'", "exp(x)"),
    "log": ("x: 'uniform(0.5, 3, [3, 4])'", "log(x)"),
    "sin": ("x: 'randn(4)'", "sin(x)"),
    "tanh": ("x: 'randn(3, 3)'", "tanh(x)"),
    "sigmoid": ("x: 'randn(2, 3)'", "sigmoid(x)"),
    "sqrt": ("x: 'uniform(0.5, 3, [2, 5])'", "sqrt(x)"),
    "relu": ("x: 'randn(4, 3)'", "relu(x)"),
    "gelu": ("x: 'randn(3, 4)'", "nn.functional.gelu(x)"),
    "softplus": ("x: 'randn(5)'", "nn.functional.softplus(x)"),
    "square": ("x: 'randn(3, 3)'", "x.square()"),
    "reciprocal": ("x: 'uniform(0.5, 2, [3, 2])'", "reciprocal(x)"),
    "abs": ("x: 'randn(3, 3)'", "abs(x)"),
    "neg": ("x: 'randn(3, 4)'", "-x"),
    "add": ("{x: 'randn(3, 4)', y: 'randn(4)'}", "x + y"),
    "sub": ("{x: 'randn(3, 4)', y: 'randn(3, 1)'}", "x - y"),
    "mul": ("{x: 'randn(4, 3)', y: 'randn(3)'}", "x * y"),
    "mul (same shape)": ("{x: 'randn(3, 3)', y: 'randn(3, 3)'}", "x * y"),
    "div": ("{x: 'randn(2, 3)', y: 'uniform(0.5, 2, [2, 1])'}", "x / y"),
    "pow": ("{x: 'uniform(0.5, 2, [3])', y: 'randn(2, 3)'}", "x ** y"),
    "maximum": ("{x: 'randn(3, 4)', y: 'randn(3, 4)'}", "maximum(x, y)"),
    "atan2": ("{x: 'randn(3, 3)', y: 'randn(3, 3)'}", "atan2(x, y)"),
    "where": ("{x: 'randn(3, 4)', y: 'randn(4)'}", "where(x > 0, x, y)"),
    "sum": ("x: 'randn(3, 4)'", "x.sum(dim=1)"),
    "mean": ("x: 'randn(3, 4)'", "x.mean(dim=0)"),
    "prod": ("x: 'uniform(0.5, 2, [3, 4])'", "x.prod(dim=1)"),
    "amax": ("x: 'randn(3, 5)'", "x.amax(dim=1)"),
    "var": ("x: 'randn(3, 5)'", "x.var(dim=1)"),
    "std": ("x: 'randn(3, 5)'", "x.std(dim=0)"),
    "norm": ("x: 'randn(3, 4)'", "x.norm(dim=1)"),
    "logsumexp": ("x: 'randn(3, 4)'", "x.logsumexp(dim=1)"),
    "cumsum": ("x: 'randn(3, 5)'", "x.cumsum(dim=1)"),
    "cumprod": ("x: 'uniform(0.5, 2, [3, 4])'", "x.cumprod(dim=1)"),
    "matmul": ("{x: 'randn(3, 3)', y: 'randn(3, 3)'}", "x @ y"),
    "matmul (wide)": ("{x: 'randn(2, 3)', y: 'randn(3, 4)'}", "x @ y"),
    "mv": ("{x: 'randn(3, 4)', y: 'randn(4)'}", "x.mv(y)"),
    "bmm": ("{x: 'randn(2, 3, 3)', y: 'randn(2, 3, 3)'}", "bmm(x, y)"),
    "dot": ("{x: 'randn(4)', y: 'randn(4)'}", "dot(x, y)"),
    "outer": ("{x: 'randn(3)', y: 'randn(4)'}", "outer(x, y)"),
    "einsum": ("{x: 'randn(3, 4)', y: 'randn(4, 3)'}", "einsum('ij,jk->ik', x, y)"),
    "inv": ("x: 'randn(3, 3) + 3 * eye(3)'", "inv(x)"),
    "det": ("x: 'randn(3, 3) + 3 * eye(3)'", "linalg.det(x)"),
    "solve": ("{x: 'randn(3, 3) + 3 * eye(3)', y: 'randn(3, 2)'}", "linalg.solve(x, y)"),
    "T": ("x: 'randn(3, 3)'", "x.T"),
    "permute": ("x: 'randn(2, 3, 4)'", "x.permute(2, 0, 1)"),
    "reshape": ("x: 'randn(3, 4)'", "x.reshape(2, 6)"),
    "expand": ("x: 'randn(3, 1)'", "x.expand(3, 4)"),
    "cat": ("{x: 'randn(2, 3)', y: 'randn(4, 3)'}", "cat([x, y])"),
    "stack": ("{x: 'randn(3)', y: 'randn(3)'}", "stack([x, y])"),
    "flip": ("x: 'randn(3, 4)'", "x.flip(1)"),
    "roll": ("x: 'randn(3, 4)'", "x.roll(1, 1)"),
    "diag": ("x: 'randn(4, 4)'", "x.diag()"),
    "tril": ("x: 'randn(4, 4)'", "x.tril()"),
    "getitem": ("x: 'randn(5, 3)'", "x[1:4]"),
    "index_select": ("x: 'randn(5, 3)'", "index_select(x, 0, tensor([2, 0, 3]))"),
    "gather": ("x: 'randn(3, 4)'", "gather(x, 1, tensor([[0, 2], [1, 1], [2, 0]]))"),
    "softmax": ("x: 'randn(3, 4)'", "softmax(x, dim=1)"),
    "log_softmax": ("x: 'randn(3, 4)'", "log_softmax(x, dim=1)"),
    "layer_norm": ("{x: 'randn(3, 4)', w: 'randn(4)', b: 'randn(4)'}", "nn.functional.layer_norm(x, [4], w, b)"),
    "mse_loss": ("{x: 'randn(3, 4)', y: 'randn(3, 4)'}", "nn.functional.mse_loss(x, y)"),
    "linear": ("{x: 'randn(3, 4)', w: 'randn(2, 4)', b: 'randn(2)'}", "nn.functional.linear(x, w, b)"),
    "complex mul": ("{x: 'randn(3, 4)', y: 'randn(3, 4)'}", "x * y"),
    "complex exp": ("x: 'randn(3, 3)'", "exp(x)"),
}

#: Graphs in which tensors are used more than once.
REUSE: dict[str, tuple[str, str]] = {
    "two paths": ("{a: 'randn(3)', b: 'randn(3)', c: 'randn(3)'}", "{d: a * b, e: b * c, f: d * e}"),
    "three uses": ("x: 'randn(4)'", "{p: sin(x), q: exp(x), r: x * 2, f: p * q + r}"),
    "four uses": ("x: 'randn(2, 3)'", "{p: sin(x), q: exp(x), r: tanh(x), s: x * x * q, f: p * q + r * s}"),
    "matrices": ("{x: 'randn(3, 3)', y: 'randn(3, 3)'}", "{p: x @ y, q: x.T @ p, f: q @ x}"),
    "a diamond": ("x: 'randn(3)'", "{h: tanh(x), p: h * 3, q: exp(h), r: sin(h), f: p * q + r}"),
    "two diamonds": (
        "x: 'randn(3)'",
        "{h: sin(x), p: exp(h), q: h * 2, k: p * q, r: cos(k), s: tanh(k), t: k * 0.3, f: r * s + t}",
    ),
    "broadcast": ("{x: 'randn(4, 3)', b: 'randn(3)'}", "{p: x + b, q: p * b, r: exp(b), f: q * r}"),
    "network": (
        "{x: 'randn(5, 3)', w: 'randn(3, 3)'}",
        "{h: tanh(x @ w), k: tanh(h @ w), o: tanh(k @ w), f: o.sum(dim=0)}",
    ),
}


# Faults of a rule ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Applied:
    """One gradient of one op alone, and what a wrong rule could take for it."""

    right: np.ndarray
    application: Application
    index: int
    cotangents: tuple[np.ndarray | None, ...]
    dtype: np.dtype

    @property
    def incoming(self) -> np.ndarray | None:
        return self.cotangents[0] if len(self.cotangents) == 1 else None

    @property
    def tensors(self) -> list[np.ndarray]:
        return list(arrays(self.application.args, self.application.kwargs))

    @property
    def tensor(self) -> np.ndarray:
        return self.tensors[gradient_positions(self.application)[self.index]]

    @property
    def output(self) -> np.ndarray:
        return np.asarray(self.application.op(*self.application.args, **self.application.kwargs))

    def again(self, changed: dict[int, np.ndarray], cotangents: Cotangents, dtype: Any = None) -> Any:
        """All gradients of the op with other tensors, by the core."""
        known = iter([changed.get(i, array) for i, array in enumerate(self.tensors)])
        args, kwargs = rebuild(self.application.args, self.application.kwargs, lambda _: next(known), np.dtype)
        application = replace(self.application, args=args, kwargs=kwargs, recorded=None)
        (found,) = Core().pull_back([application], [cotangents], dtype or self.dtype)
        return None if found.error else found.gradients


Fault = Callable[[Applied], Any]
SKIP = object()  # where a fault makes no sense


def _transposed(a: Applied) -> Any:
    return np.swapaxes(a.right, -1, -2) if a.right.ndim >= 2 else SKIP


def _flipped(a: Applied) -> Any:
    return np.flip(a.right, -1) if a.right.ndim else SKIP


def _rolled(a: Applied) -> Any:
    return np.roll(a.right, 1, -1) if a.right.ndim and a.right.shape[-1] > 2 else SKIP


def _unreduced(a: Applied) -> Any:
    if not a.application.op.elementwise or a.output.shape == a.tensor.shape:
        return SKIP
    place = gradient_positions(a.application)[a.index]
    wide = a.again({place: np.broadcast_to(a.tensor, a.output.shape).copy()}, a.cotangents)
    return SKIP if wide is None else wide[a.index]


def _summed(a: Applied) -> Any:
    return a.right.sum(0, keepdims=True) if a.right.ndim else SKIP


def _mean(a: Applied) -> Any:
    size, output = a.tensor.size, a.output.size
    if a.application.op.elementwise and size < output:
        return a.right * (size / output)
    return a.right * (output / size) if a.application.op.name == "sum" else SKIP


def _swapped(a: Applied) -> Any:
    places = gradient_positions(a.application)
    if len(places) != 2 or a.tensors[places[0]].shape != a.tensors[places[1]].shape:
        return SKIP
    first, second = (a.tensors[place] for place in places)
    found = a.again({places[0]: second, places[1]: first}, a.cotangents)
    return SKIP if found is None else found[a.index]


def _ones(a: Applied) -> Any:
    found = a.again({}, [None if c is None else np.ones_like(c) for c in a.cotangents])
    return SKIP if found is None else found[a.index]


def _value(a: Applied) -> Any:
    if a.incoming is None or a.output.shape != a.incoming.shape != a.tensor.shape:
        return SKIP
    return a.incoming * a.output if a.tensor.shape == a.output.shape else SKIP


def _single(a: Applied) -> Any:
    if a.dtype != np.float64:
        return SKIP
    low = {i: t.astype(np.float32) for i, t in enumerate(a.tensors) if t.dtype == np.float64}
    found = a.again(low, [None if c is None else c.astype(np.float32) for c in a.cotangents], np.dtype(np.float32))
    return SKIP if found is None else found[a.index].astype(np.float64)


def _uncentred(a: Applied) -> Any:
    name, g, y, x = a.application.op.name, a.incoming, a.output, a.tensor
    if g is None:
        return SKIP
    if name == "softmax":
        return y * g
    if name == "log_softmax":
        return g
    if name == "var":
        return g[:, None] * 2 * x / (x.shape[1] - 1)
    if name == "std":
        return g / y * x / (x.shape[0] - 1)
    if name == "layer_norm" and a.index == 0:
        deviation = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return g * a.tensors[1] / deviation
    return SKIP


#: The fault, and under which kinds of diagnosis it goes.
RULE_FAULTS: dict[str, tuple[Fault, tuple[str, ...]]] = {
    "negated": (lambda a: -a.right, ("sign",)),
    "doubled": (lambda a: 2 * a.right, ("factor",)),
    "halved": (lambda a: a.right / 2, ("factor", "mean_for_sum")),
    "off by 0.1 %": (lambda a: a.right * 1.001, ("factor",)),
    "mean for sum": (_mean, ("mean_for_sum",)),
    "transposed": (_transposed, ("transposed",)),
    "flipped": (_flipped, ("flipped",)),
    "off by one": (_rolled, ("off_by_one",)),
    "broadcast not undone": (_unreduced, ("broadcast_not_undone",)),
    "summed": (_summed, ("summed",)),
    "arguments swapped": (_swapped, ("swapped",)),
    "ones for incoming": (_ones, ("incoming_ignored",)),
    "value for derivative": (_value, ("forward_value",)),
    "no centring": (_uncentred, ("no_centring",)),
    "float32": (_single, ("dtype",)),
    "truncated": (lambda a: np.trunc(a.right), ("truncated",)),
    "conjugated": (lambda a: a.right.conj() if a.right.dtype.kind == "c" else SKIP, ("conjugate",)),
    "NaN": (
        lambda a: np.where(a.right == a.right.max(), np.nan, a.right) if a.right.dtype.kind == "f" else SKIP,
        ("nan",),
    ),
    "detached": (lambda a: None, ("detached",)),
    "nonsense": (lambda a: a.right * np.cos(np.arange(a.right.size)).reshape(a.right.shape), ("unknown",)),
}


#: What the diagnosis must say besides its kind.
SAYS = {
    "doubled": "factor 2",
    "halved": "1/2",
    "off by 0.1 %": "factor 1.001",
    "flipped": "back to front",
    "truncated": "cut off",
}


class WrongRule(Core):
    """The core, with one gradient of one op changed when it is asked for the op alone."""

    def __init__(self, index: int, fault: Fault) -> None:
        super().__init__()
        self.index, self.fault = index, fault
        self.planted = False

    def pull_back(
        self, applications: Sequence[Application], cotangents: Sequence[Cotangents], dtype: np.dtype
    ) -> list[Pullback]:
        found = super().pull_back(applications, cotangents, dtype)
        return [
            self._spoilt(pullback, application, tuple(incoming), dtype)
            for pullback, application, incoming in zip(found, applications, cotangents, strict=True)
        ]

    def _spoilt(
        self, pullback: Pullback, application: Application, cotangents: tuple[np.ndarray | None, ...], dtype: np.dtype
    ) -> Pullback:
        gradients = list(pullback.gradients)
        right = gradients[self.index] if self.index < len(gradients) else None
        if right is None or application.owner != "out":
            return pullback
        wrong = self.fault(Applied(right, application, self.index, cotangents, dtype))
        if wrong is SKIP or _equal(wrong, right):
            return pullback
        self.planted = True
        gradients[self.index] = wrong
        return Pullback(tuple(gradients))


def _equal(wrong: np.ndarray | None, right: np.ndarray) -> bool:
    other = np.zeros_like(right) if wrong is None else wrong
    return other.shape == right.shape and bool(np.allclose(other, right, rtol=1e-11, atol=1e-11))


# Faults of the sweep -------------------------------------------------------------------------------

#: The fault, and under which kinds of diagnosis it goes.
SWEEP_FAULTS: dict[str, tuple[str, ...]] = {
    "overwritten": ("overwritten",),
    "a use dropped": ("use_dropped",),
    "counted twice": ("counted_twice",),
    "passed on early": ("passed_on_early",),
    "passed on each time": ("passed_on_early",),
    "cut": ("detached", "use_dropped"),
}


class WrongSweep(Core):
    """The core's rules under a backward pass of its own, with one mistake."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault

    def backward(self, roots: list[Tensor], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        sums: dict[Tensor, np.ndarray] = {}
        for root, seed in zip(roots, seeds, strict=True):
            sums[root] = np.ones_like(root.data) if seed is None else seed.astype(root.dtype)
        if self.fault == "passed on each time":
            self._deep(sums)
        else:
            self._counted(sums)
        for tensor, gradient in sums.items():
            before = 0 if tensor.grad is None else tensor.grad.data
            tensor.grad = Tensor.wrap(np.array(before + gradient))

    def _counted(self, sums: dict[Tensor, np.ndarray]) -> None:
        order = _order(list(sums))
        arrived: dict[Tensor, int] = {}
        ahead: dict[Tensor, np.ndarray] = {}  # what is passed on, where that is not the sum
        for tensor in order:
            if tensor not in sums or tensor.creation_op is None:
                continue
            for creator, share in pull_arrays(tensor, ahead.get(tensor, sums[tensor])):
                count = arrived[creator] = arrived.get(creator, 0) + 1
                if self.fault == "passed on early" and count == 1:
                    ahead[creator] = share
                self._add(sums, creator, share, count, tensor)

    def _add(self, sums: dict[Tensor, np.ndarray], creator: Tensor, share: np.ndarray, count: int, by: Tensor) -> None:
        if self.fault == "cut" and by.creation_op is not None and by.creation_op.name in ("exp", "tanh"):
            return
        if self.fault == "a use dropped" and count == 2:
            return
        if count == 1 or (self.fault == "overwritten"):
            sums[creator] = share
        else:
            twice = self.fault == "counted twice" and count == 2
            sums[creator] = sums[creator] + (2 * share if twice else share)

    def _deep(self, sums: dict[Tensor, np.ndarray]) -> None:
        """Depth first, each arrival passes on all that has arrived so far."""
        stack = list(sums)
        while stack:
            tensor = stack.pop()
            if tensor.creation_op is None:
                continue
            for creator, share in pull_arrays(tensor, sums[tensor]):
                sums[creator] = sums[creator] + share if creator in sums else share
                stack.append(creator)


def _order(roots: list[Tensor]) -> list[Tensor]:
    """Children before creators."""
    found: dict[Tensor, None] = {}
    stack = [(root, False) for root in roots]
    while stack:
        tensor, done = stack.pop()
        if done:
            found.setdefault(tensor)
        elif tensor not in found:
            stack.append((tensor, True))
            stack += [(creator, False) for creator in tensor.creators if creator.requires_grad]
    return list(found)[::-1]


# Measuring -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """One mutant: what was planted where, and what was said about it."""

    subject: str
    fault: str
    kinds: tuple[str, ...]  # under which it goes
    told: tuple[tuple[str, str, str], ...]  # kind, confidence and message, best first

    @property
    def named(self) -> bool:
        """Whether the planted fault is among the diagnoses."""
        return any(kind in self.kinds and SAYS.get(self.fault, "") in message for kind, _, message in self.told)

    @property
    def first(self) -> bool:
        """Whether it is the best of them."""
        return bool(self.told) and self.told[0][0] in self.kinds

    @property
    def misled(self) -> bool:
        """Whether something else was named with confidence, and not what was planted."""
        return not self.named and any(word == "confirmed" for _, word, _ in self.told)


def outcomes() -> Iterator[Outcome]:
    """Every mutant that differs from what is right."""
    yield from rule_outcomes()
    yield from sweep_outcomes()


#: The complex dtype of each precision, and what is too small to be seen in it.
COMPLEX = {"float64": "complex128", "float32": "complex64", "float16": "complex64"}
UNSEEN = {"float16": {"off by 0.1 %"}}


def rule_outcomes(dtype: str = "float64", every: int = 1) -> Iterator[Outcome]:
    """Every gradient of every op, or of one op in so many, with every fault of a rule that the dtype can show."""
    faults = {name: fault for name, fault in RULE_FAULTS.items() if name not in UNSEEN.get(dtype, ())}
    for subject, (inputs, expression) in list(OPS.items())[::every]:
        case = _case(inputs, f'{{out: "{expression}"}}', COMPLEX[dtype] if "complex" in subject else dtype, "out")
        for index in range(len(case.inputs)):
            for fault, (change, kinds) in faults.items():
                engine = WrongRule(index, change)
                result = run([case], engines=[engine], oracle="none").cases[0]
                if engine.planted:
                    wrong = [c for c in result.comparisons if c.what == "node" and c.status == "failed"]
                    yield _outcome(f"{subject}, {index + 1}", fault, kinds, result, wrong)


def sweep_outcomes() -> Iterator[Outcome]:
    """Every graph with every fault of the sweep."""
    for subject, (inputs, graph) in REUSE.items():
        case = _case(inputs, graph, "float64", "f")
        for fault, kinds in SWEEP_FAULTS.items():
            result = run([case], engines=[WrongSweep(fault)], oracle="none").cases[0]
            wrong = [c for c in result.comparisons if c.cause]
            if result.status == "failed":
                yield _outcome(subject, fault, kinds, result, wrong)


#: Where two faults are one and the same.
SAME = {("softmax, 1", "value for derivative"): ("no_centring",)}


def _outcome(subject: str, fault: str, kinds: tuple[str, ...], result: CaseResult, wrong: list[Comparison]) -> Outcome:
    assert wrong, (subject, fault, result.errors)
    told = {(d.kind, d.confidence, say(d.message)): None for c in wrong for d in c.diagnoses}
    return Outcome(subject, fault, kinds + SAME.get((subject, fault), ()), tuple(told))


def _case(inputs: str, graph: str, dtype: str, root: str) -> Case:
    shape = inputs if inputs.startswith("{") else "{" + inputs + "}"
    text = f"dtype: {dtype}\ninputs: {shape}\ngraph: {graph}\nbackward: {{{root}: 'randn_like({root})'}}\n"
    cases, errors = load_text(dedent(text), "mutants.yaml")
    assert not errors, errors
    return cases[0]
