"""The checkers, each asked of every item: is this formula the gradient?

gradcheck is given the item's case. The others are given the function of the one tensor, at the case's own sizes and one
draw of its numbers, with the formula as its backward pass; steps and derivations are followed, lower precisions are
asked in double.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
import torch

from benchmarks.exam.evaluator import evaluate
from benchmarks.exam.graph import Item
from benchmarks.exam.points import Point, dtype_of, run_forward, speaks_of_a_root, state
from gradcheck import run
from gradcheck.checks.result import CaseResult
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.loader import load_text

#: The parts of a certificate that say where a formula is defined.
CONDITIONS = frozenset({"where", "conditions", "domain"})

Answer = Literal["right", "wrong", "not asked"]
Tool = Callable[[Item, Point], Answer]


@dataclass(frozen=True)
class Verdict:
    """What gradcheck says: the status of the case, or `invalid`; whether the formula has a certificate; its notes."""

    status: str
    proved: bool = False
    notes: tuple[str, ...] = ()
    certificate: frozenset[str] = frozenset()
    why: str = ""

    @property
    def passed(self) -> bool:
        return self.status == "passed"

    @property
    def is_unconditional(self) -> bool:
        """Whether it is proved, and neither a note nor the certificate says where."""
        return self.passed and self.proved and not self.notes and not self.certificate & CONDITIONS


def gradcheck(item: Item) -> Verdict:
    """Failures are looked into where a look may change the verdict: at kinks, and of what is right."""
    cases, errors = load_text(item.text(), "exam.yaml")
    if errors:
        return Verdict("invalid", why=str(errors[0].message))
    choices = {key: value for key, value in item.choices.items() if key != "sizes"}
    found = run(cases[0], explained=False, **choices).cases[0]
    if found.status != "passed" and (item.graph.pieces or item.group == "right"):
        found = run(cases[0], **choices).cases[0]
    return verdict(found, item.tensor)


def verdict(found: CaseResult, tensor: str) -> Verdict:
    own = [c for c in found.comparisons if c.what is ClaimKind.FORMULA and c.trial is None and c.tensor == tensor]
    notes = tuple(dict.fromkeys(note.kind for c in own for note in c.notes))
    failed = [c for c in found.comparisons if c.status not in ("passed", "not_differentiable")]
    why = "; ".join(f"{c.what} {c.tensor} {c.engine} {c.status} {c.max_rel}" for c in failed[:2])
    errors = "; ".join(f"{error.kind}: {error.details[-200:]}" for error in found.errors)
    certificates = [c.certificate for c in own if c.certificate is not None]
    keys = frozenset(key for certificate in certificates for key, value in certificate.items() if value)
    return Verdict(found.status, bool(certificates), notes, keys, errors or why)


# The others ----------------------------------------------------------------------------------------------


def others() -> dict[str, Tool]:
    """By name; HIPS autograd's and JAX's only where they are installed."""
    found: dict[str, Tool] = {
        "torch, slow": lambda item, point: with_torch(item, point, fast=False),
        "torch, fast": lambda item, point: with_torch(item, point, fast=True),
    }
    if find_spec("autograd"):
        found["HIPS autograd"] = with_hips
    if find_spec("jax"):
        found["JAX"] = with_jax
    return found


@dataclass(frozen=True)
class Function:
    """The graph as a function of one tensor, with the formula as its backward pass. Where the formula speaks of no
    root's gradient the function is the sum of the roots, each times its incoming gradient."""

    item: Item
    point: Point

    @property
    def speaks(self) -> bool:
        return speaks_of_a_root(self.item.graph, self.item.formula, self.item.steps_of_derivation)

    @property
    def is_asked(self) -> bool:
        """A tautology is no backward pass, and several passes are no function."""
        return self.item.group != "tautologies" and not (self.item.graph.steps and self.speaks)

    @property
    def leaf(self) -> torch.Tensor:
        return self.point.leaves[self.item.tensor].to(dtype_of(self.item.graph))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        known = run_forward(self.item.graph, self._names(x), requires_grad=False)
        if self.speaks:
            roots = [known[name].reshape(-1) for name in self.point.incoming[0]]
            return torch.cat([root.to(torch.promote_types(root.dtype, roots[0].dtype)) for root in roots])
        pairs = [(g, known[name]) for roots in self.point.incoming for name, g in roots.items()]
        return sum((g.conj() * root).real.sum() for g, root in pairs)  # type: ignore[return-value]

    def backward(self, x: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
        graph, incoming = self.item.graph, self.point.incoming
        if self.speaks:
            shapes = {name: self.point.names[name].shape for name in incoming[0]}
            parts = torch.split(g, [int(np.prod(shape)) for shape in shapes.values()])
            incoming = [{name: part.reshape(shapes[name]) for name, part in zip(shapes, parts, strict=True)}]
        names = {**self.point.sizes, **state(graph, self._names(x), incoming)}
        for name, text in self.item.steps_of_derivation.items():
            names[name] = evaluate(text, names)
        found = evaluate(self.item.formula, names)
        return found if self.speaks else g * found

    def _names(self, x: torch.Tensor) -> Mapping[str, Any]:
        return {**self.point.sizes, **self.point.leaves, self.item.tensor: x.detach()}


_REFUSED = (RuntimeError, ValueError, TypeError, IndexError, AttributeError, NameError, ZeroDivisionError,
            OverflowError, NotImplementedError)  # fmt: skip


def with_torch(item: Item, point: Point, fast: bool) -> Answer:
    """Under the defaults of `torch.autograd.gradcheck`."""
    made = Function(item, point)
    if not made.is_asked:
        return "not asked"

    class Checked(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return made.forward(x).clone()

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:  # type: ignore[override]
            return made.backward(ctx.saved_tensors[0], g)

    leaf = made.leaf.clone().requires_grad_()
    torch.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            right = torch.autograd.gradcheck(Checked.apply, (leaf,), fast_mode=fast, raise_exception=False)
    except _REFUSED:
        return "wrong"
    return "right" if right else "wrong"


def with_hips(item: Item, point: Point) -> Answer:
    """As a primitive's `defvjp`, in reverse mode and first order."""
    from autograd.extend import defvjp, primitive
    from autograd.test_util import check_grads

    made = Function(item, point)
    if not made.is_asked or item.graph.is_complex:
        return "not asked"
    function = primitive(lambda x: made.forward(torch.tensor(x)).numpy())

    def vjp(out: Any, x: Any) -> Any:
        return lambda g: np.asarray(made.backward(torch.tensor(x), torch.tensor(g)))

    defvjp(function, vjp)
    known = np.random.get_state()
    np.random.seed(0)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            check_grads(function, modes=["rev"], order=1)(made.leaf.numpy())
    except (AssertionError, *_REFUSED):
        return "wrong"
    finally:
        np.random.set_state(known)
    return "right"


def with_jax(item: Item, point: Point) -> Answer:
    """As a `custom_vjp`, in reverse mode and first order, in double precision."""
    import jax
    from jax.test_util import check_grads

    made = Function(item, point)
    if not made.is_asked or item.graph.is_complex:
        return "not asked"

    def torch_of(array: Any) -> torch.Tensor:
        return torch.tensor(np.array(array))

    @jax.custom_vjp
    def function(x: Any) -> Any:
        return jax.numpy.asarray(made.forward(torch_of(x)).numpy())

    def bwd(x: Any, g: Any) -> Any:
        return (jax.numpy.asarray(np.asarray(made.backward(torch_of(x), torch_of(g)), np.float64)),)

    function.defvjp(lambda x: (function(x), x), bwd)
    doubled: Any = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64  # it has moved
    with doubled(True):
        try:
            check_grads(function, (jax.numpy.asarray(made.leaf.numpy()),), order=1, modes=["rev"])
        except (AssertionError, *_REFUSED):
            return "wrong"
    return "right"
