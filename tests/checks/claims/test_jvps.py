"""Forward mode in a run: what is compared in which mode, on all kinds of cases, and planted mistakes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.autograd.op import TABLE
from gradcheck.checks.claims.jvp_points import JvpPoint
from gradcheck.checks.claims.jvps import check_dot_product
from gradcheck.checks.options import Options
from gradcheck.checks.result import Comparison, RunResult
from gradcheck.engines.torch import Torch, TorchHost
from gradcheck.errors import UsageError
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports import render
from gradcheck.reports.phrases import say
from gradcheck.reports.phrases.comparison_text import cause_text, headline
from tests.checks.build import point_of
from tests.checks.conftest import Check, failed, those
from tests.conftest import WithRules

CHAIN = """
    name: chain
    inputs: {x: "randn(3, 2)", w: "randn(2, 4)"}
    graph: {y: x @ w, h: tanh(y), k: h * 2, loss: (k * k).sum()}
"""
KINDS = (ClaimKind.NODE_JVP, ClaimKind.JVP, ClaimKind.DOT_PRODUCT)


def test_nothing_of_forward_mode_unless_it_is_asked_for(check: Check) -> None:
    assert not {c.what for c in check(CHAIN).comparisons} & set(KINDS)


def test_every_op_and_every_tensor_is_compared_and_confirmed(check: Check) -> None:
    case = check(CHAIN, mode="both")
    assert case.status == "passed"
    assert [c.tensor for c in those(case, "node_jvp")] == ["y", "h", "k", "loss"]
    tangents = those(case, "jvp")
    assert [c.tensor for c in tangents] == ["y", "h", "k", "loss"]
    assert {(c.engine, c.reference) for c in tangents} == {("core", "torch")}
    assert all(c.certificate is not None and c.certificate["method"] == "complex step" for c in tangents)
    assert [(c.engine, c.reference) for c in those(case, "dot_product")] == [("torch", "torch"), ("core", "core")]


def test_forward_mode_alone_leaves_gradients_alone(check: Check) -> None:
    case = check(CHAIN + "\n    formulas: {y: 'grad(h) * (1 - h * h)'}", mode="forward")
    assert case.status == "passed"
    found = {c.what for c in case.comparisons}
    assert {ClaimKind.VALUE, ClaimKind.JVP, ClaimKind.NODE_JVP, ClaimKind.FORMULA} <= found
    assert not found & {ClaimKind.GRADIENT, ClaimKind.NODE, ClaimKind.DOT_PRODUCT}


def test_drawn_points_are_looked_at_too(check: Check) -> None:
    case = check("{dims: {n: 3}, inputs: {x: 'randn(n)'}, graph: {y: x * x}, backward: {y: 'randn(n)'}, "
                 "formulas: {x: 2 * x * grad(y)}}", mode="both")  # fmt: skip
    assert {c.shape for c in those(case, "jvp")} > {(3,)}


@pytest.mark.parametrize(
    "text",
    [
        "{inputs: {x: [1, 2]}, graph: {z: x ** 3}, steps: [backward: {z: [1, 1]}, forward: {x: [3, 4]}, "
        "backward: {z: [1, 2]}]}",
        "{inputs: {x: [1, 2]}, graph: {z: x * x}, steps: [backward: {z: [1, 1]}, zero_grad: all, "
        "backward: {z: [1, 2]}]}",
        "{inputs: {x: [1, 2]}, graph: {z: x * x}, steps: [{backward: z, raises: non_scalar_backward}]}",
        "{dtype: complex128, inputs: {z: ['1+2j', '3-1j']}, graph: {y: z ** 3, loss: (y * y).abs().sum()}}",
        "{inputs: {x: [[1, 2, 3]], y: [[1, 5]]}, graph: {d: 'cdist(x.T, y.T)', loss: d.sum()}}",
        "{inputs: {x: [-1.0, 0.0, 2.0]}, graph: {r: relu(x), a: abs(x), loss: (r * a).sum()}}",
        "{inputs: {x: [2.0, 2.0, 1.0]}, graph: {m: max(x), n: norm(x * 0), loss: m * 2}}",
        "{inputs: {x: 'randn(4)'}, graph: {loss: (x.softmax(0) * x).sum()}, dtype: float32}",
        "{inputs: {x: 'randn(4)'}, graph: {loss: (x.softmax(0) * x).sum()}, dtype: float16}",
        "{inputs: {x: 'randn(4)'}, graph: {loss: (x.softmax(0) * x).sum()}, dtype: bfloat16}",
        "{inputs: {x: [1, 2]}, graph: {loss: (detach(x) * x ** 2).sum()}}",
        "{inputs: {x: 'randn(5, 3)', b: 'randn(3)'}, backward: {y: 'randn(5, 3)'}, "
        "graph: {z: x + b, y: 'batch_norm(z, None, None, training=True)'}}",
        "{inputs: {m: 'randn(3, 3)'}, backward: {l: 'randn(3, 3)'}, "
        "graph: {s: m @ m.T + 3 * eye(3), l: linalg.cholesky(s)}}",
    ],
)
def test_cases_of_all_kinds_agree(check: Check, text: str) -> None:
    found = check(text, mode="both")
    assert found.status == "passed", [(c.what, c.tensor, say(c.verdict)) for c in failed(found)]


def test_without_an_oracle_engines_are_compared_alone(check: Check) -> None:
    case = check(CHAIN, mode="both", oracle="none")
    assert case.status == "passed"
    assert all(c.certificate is None for c in those(case, "jvp"))


# Planted mistakes ----------------------------------------------------------------------------------


def test_a_rule_that_only_holds_in_reverse_is_named(check: Check, with_rules: WithRules) -> None:
    detach = TABLE["detach"]
    with_rules("tanh", lambda g, y, x: detach(g) * (1 - y * y))
    assert check(CHAIN).status == "passed"
    case = check(CHAIN, mode="both")
    assert case.status == "failed"
    assert not failed(case, "gradient")
    (lead,) = [c for c in case.comparisons if c.cause]
    assert (lead.what, lead.tensor) == (ClaimKind.NODE_JVP, "h")
    assert cause_text(lead) == "tanh at h: its Jacobian-vector product is wrong, though its gradient is right"
    assert say(lead.verdict).startswith("core is wrong: torch and complex step agree")
    assert [d.kind for d in lead.diagnoses] == ["detached"]
    behind = [c for c in case.comparisons if c.consequence_of is not None]
    assert {c.tensor for c in behind if c.what is ClaimKind.JVP} == {"h", "k", "loss"}
    assert any(c.what is ClaimKind.DOT_PRODUCT for c in behind)


def test_a_rule_that_is_wrong_both_ways_is_told_once(check: Check, with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: g * (1 - y))
    case = check(CHAIN, mode="both")
    (lead,) = [c for c in case.comparisons if c.cause]
    assert (lead.what, lead.tensor) == (ClaimKind.NODE, "h")
    assert all(c.cause or c.consequence_of for c in case.comparisons if c.status == "failed")
    (alone,) = [c for c in check(CHAIN, mode="forward").comparisons if c.cause]
    assert cause_text(alone) == "tanh at h: its Jacobian-vector product is wrong"


class WrongTangent(torch.autograd.Function):
    """tanh with the right gradient, and a tangent that lacks a square."""

    @staticmethod
    def forward(x: Any) -> Any:
        return torch.tanh(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx: Any, incoming: Any) -> Any:
        (y,) = ctx.saved_tensors
        return incoming * (1 - y * y)

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        (y,) = ctx.saved_tensors
        return tangent * (1 - y)


class WithFunction(TorchHost):
    def call(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return WrongTangent.apply(*args) if op.name == "tanh" else super().call(op, args, kwargs)


def own_torch() -> Torch:
    """torch with somebody's own function for tanh."""
    made = Torch()
    made.host, made.name = WithFunction(), "mine"
    return made


def test_a_torch_function_with_a_wrong_tangent_is_named(check: Check) -> None:
    assert check(CHAIN, engines=[own_torch()]).status == "passed"
    case = check(CHAIN, engines=[own_torch()], mode="both")
    (lead,) = [c for c in case.comparisons if c.cause]
    assert cause_text(lead) == "tanh at h: its Jacobian-vector product is wrong, though its gradient is right"
    (dot,) = failed(case, "dot_product")
    assert dot.consequence_of is not None
    assert "complex step sides with mine's reverse mode" in say(dot.verdict)


def test_a_reference_whose_forward_mode_is_wrong_is_told_and_fails_nobody(check: Check) -> None:
    case = check(CHAIN, reference=own_torch(), mode="both")
    assert case.status == "passed"
    told = [c for c in case.comparisons if c.verdict is not None]
    assert {c.verdict.kind for c in told if c.verdict} == {"reference_wrong"}
    assert {c.what for c in told} == set(KINDS)


def test_a_case_fails_by_the_sweep_where_all_ops_are_right(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    from gradcheck.engines.core import Core

    right = Core.differentiate

    def forgetful(self: Core, roots: list[Any], leaves: list[Any], seeds: list[Any]) -> list[Any]:
        found = right(self, roots, leaves, seeds)
        return [None if len(roots) > 2 and index == 1 else one for index, one in enumerate(found)]

    monkeypatch.setattr(Core, "differentiate", forgetful)
    case = check(CHAIN, mode="both")
    (lead,) = [c for c in case.comparisons if c.cause]
    assert (lead.what, lead.tensor) == (ClaimKind.JVP, "y")
    assert cause_text(lead) == "y: tangents go wrong here; all 5 operations are right on their own"


# Engines without it, options, reports ---------------------------------------------------------------


TENSOR = """
import numpy as np

class Tensor:
    def __init__(self, data, parents=()):
        self.data, self.parents, self.grad = np.asarray(data, dtype=float), parents, None

    def __mul__(self, other):
        return Tensor(self.data * other.data, ((self, other.data), (other, self.data)))

    def sum(self):
        return Tensor(self.data.sum(), ((self, np.ones_like(self.data)),))

    def backward(self, gradient=1.0):
        self.grad = gradient if self.grad is None else self.grad + gradient
        for parent, factor in self.parents:
            parent.backward(gradient * factor)
"""


def test_a_tensor_class_is_unsupported_where_it_is_asked_and_never_fails(check: Check, tmp_path: Path) -> None:
    file = tmp_path / "engine.py"
    file.write_text(TENSOR, encoding="utf-8")
    text, engines = "{inputs: {x: [1.0, 2.0]}, graph: {y: x * x, loss: y.sum()}}", [f"{file}:Tensor"]
    assert check(text, engines=engines).status == "passed"
    case = check(text, engines=engines, mode="both")
    assert case.status == "unsupported"
    (told,) = those(case, "jvp")
    assert (told.status, told.lacks) == ("unsupported", "forward mode")
    dots = {c.engine: (c.status, c.reference) for c in those(case, "dot_product")}
    assert dots.pop("torch") == ("passed", "torch")
    assert list(dots.values()) == [("passed", "torch")]  # its gradients against torch's tangents


def test_options_say_which_modes_there_are() -> None:
    with pytest.raises(UsageError, match="there is no mode 'sideways'"):
        Options(mode="sideways")


def test_reports_tell_of_it(run_text: Callable[..., RunResult], with_rules: WithRules) -> None:
    result = run_text(CHAIN, mode="both")
    assert "4 tangents agree" in render(result, "full")
    listed = json.loads(render(result, "json"))["cases"][0]["comparisons"]
    assert {c["what"] for c in listed} >= {"node_jvp", "jvp", "dot_product"}
    with_rules("tanh", lambda g, y, x: g * (1 - y))
    wrong = run_text(CHAIN, mode="both")
    assert wrong.exit_code == 1
    assert wrong.cases[0].reproduce.endswith("--mode both")
    told = " ".join(render(wrong, "full").split())
    assert "forward mode in h; the tangent of h, k and loss" in told


def dot_product(text: str) -> Comparison | None:
    """The core's."""
    point = point_of(text)
    with np.errstate(all="ignore"):
        return next(check_dot_product(JvpPoint(point, None, uses_oracle=True), point.engines.tested[0]), None)


def test_both_sides_are_the_same_number() -> None:
    found = dot_product("{inputs: {x: [1.0, 2.0], w: [3.0, -1.0]}, graph: {y: x * w}, backward: {y: [2, 5]}}")
    assert found is not None
    assert found.status == "passed"
    assert found.elements == 1


def test_of_several_passes_the_last_counts_and_of_several_roots_all() -> None:
    found = dot_product(
        "{inputs: {x: [1.0, 2.0]}, graph: {y: x * x, z: exp(x)}, "
        "steps: [backward: {y: [1, 1]}, backward: {y: [2, 3], z: [1, -1]}]}"
    )
    assert found is not None
    assert found.status == "passed"


def test_a_pass_that_raises_has_none() -> None:
    text = "{inputs: {x: [1, 2]}, graph: {z: x * x}, steps: [{backward: z, raises: non_scalar_backward}]}"
    assert dot_product(text) is None


def test_what_is_not_finite_has_none() -> None:
    assert dot_product("{inputs: {x: [0.0, 2.0]}, graph: {z: 1 / x}, backward: {z: [1, 1]}}") is None


def test_a_mode_that_contradicts_the_other_is_found(with_rules: WithRules) -> None:
    with_rules("exp", lambda g, y, x: TABLE["detach"](g) * y)
    found = dot_product("{inputs: {x: [1.0, 2.0]}, graph: {y: exp(x)}, backward: {y: [2, 5]}}")
    assert found is not None
    assert found.status == "failed"
    assert headline(found).endswith("<J.T u, v> by core's gradients is not <u, J v> by core's tangents")
    assert found.verdict is not None
    assert found.verdict.kind == "oracle_sides_with"
    assert found.verdict["got"].kind == "reverse_mode_of"


def test_a_bias_before_a_batch_norm_is_rounding_alone() -> None:
    found = dot_product(
        "{inputs: {b: 'randn(3)'}, constants: {x: 'randn(5, 3)'}, backward: {y: 'randn(5, 3)'}, "
        "graph: {y: 'batch_norm(x + b, None, None, training=True)'}}"
    )
    assert found is not None
    assert found.status == "passed"


def test_in_half_precision_sums_that_stall_are_no_failure() -> None:
    found = dot_product("{dtype: bfloat16, inputs: {x: [1.0]}, graph: {y: 'x.expand(1000)', loss: y.sum()}}")
    assert found is None or found.status == "passed"
