"""Where gradients go wrong first, and what is wrong only because of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.failures.explain import MAX_FORMULAS
from gradcheck.checks.result import CaseResult, Comparison
from gradcheck.engines.core import Core
from gradcheck.reports.phrases import say
from tests.checks.conftest import Check, failed
from tests.checks.failures.test_traversal_probe import judged
from tests.checks.mutants import WrongSweep
from tests.conftest import WithForward, WithRules
from tests.engines.dialects import sound

CHAIN = """
    inputs: {x: "randn(2, 3)", w: "randn(3, 3)", v: "randn(3, 4)"}
    graph:
      y: x @ w
      h: tanh(y)
      r: h @ v
      s: exp(r)
      loss: s.sum()
"""


def cause_of(c: Comparison) -> str:
    """Where it goes wrong, and what is wrong there."""
    assert c.cause is not None
    return f"{say(c.cause.origin)}: {say(c.cause.what)}"


def causes(case: CaseResult) -> list[Comparison]:
    return [c for c in case.comparisons if c.cause]


def kinds(c: Comparison) -> list[str]:
    return [diagnosis.kind for diagnosis in c.diagnoses]


def test_an_op_that_is_wrong_is_the_cause_and_all_behind_it_consequences(check: Check, with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: -g * (1 - y * y))
    case = check(CHAIN)
    (cause,) = causes(case)
    assert cause_of(cause) == "tanh at h: its gradient is wrong; all 4 other operations are right"
    assert kinds(cause) == ["sign"]
    assert {c.tensor for c in failed(case, "gradient")} == {"y", "x", "w"}
    assert {say(c.consequence_of) for c in failed(case, "gradient")} == {"tanh at h"}


def test_one_argument_of_an_op(check: Check, with_rules: WithRules) -> None:
    left, right = TABLE["matmul"].rules[:2]
    with_rules("matmul", left, lambda g, y, a, b: 2 * right(g, y, a, b))
    case = check(CHAIN)
    (cause,) = causes(case)
    assert cause_of(cause) == "matmul at r: gradient of its second argument is wrong; 2 of 5 operations are wrong"
    assert say(cause.diagnoses[0].message) == "off by the constant factor 2"
    (other,) = [c for c in failed(case, "node") if c is not cause]
    assert (other.tensor, say(other.consequence_of)) == ("y", "matmul at r")


def test_two_ops_that_are_wrong_are_two_causes(check: Check, with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: g * (1 - y))
    with_rules("exp", lambda g, y, x: g * y * 3)
    case = check(CHAIN)
    assert [say(c.cause.origin) for c in causes(case)] == ["tanh at h", "exp at s"]
    assert kinds(causes(case)[0]) == ["unknown"]
    assert kinds(causes(case)[1]) == ["factor"]


def test_a_fault_that_only_the_node_shows(check: Check, with_rules: WithRules) -> None:
    with_rules("T", lambda g, y, x: g)
    case = check("{inputs: {x: 'randn(3, 3)'}, graph: {y: x.T, loss: y.sum()}}")
    (cause,) = causes(case)
    assert cause_of(cause) == "T at y: its gradient is wrong; the other operation is right"
    assert "transposed" in kinds(cause)


def test_accumulation_is_blamed_where_every_op_is_right(check: Check) -> None:
    case = check(
        """
        inputs: {a: "randn(3)", b: "randn(3)", c: "randn(3)"}
        graph: {d: a * b, e: b * c, f: d * e, g: b * f}
        backward: {g: "randn(3)"}
        """,
        engines=[WrongSweep("overwritten")],
    )
    (cause,) = causes(case)
    assert cause.tensor == "b"
    assert "the contributions of its 3 uses are put together wrongly; all 4 operations are right" in cause_of(cause)
    assert kinds(cause) == ["overwritten"]


def test_what_follows_from_a_wrong_accumulation_is_a_consequence(check: Check) -> None:
    case = check(
        """
        inputs: {x: "randn(3)"}
        graph: {h: tanh(x), p: exp(h), q: sin(h), r: cos(h), f: p * q + r}
        backward: {f: "randn(3)"}
        """,
        engines=[WrongSweep("a use dropped")],
    )
    (cause,) = causes(case)
    assert (cause.tensor, kinds(cause)) == ("h", ["use_dropped"])
    assert [(c.tensor, say(c.consequence_of)) for c in failed(case, "gradient") if c is not cause] == [("x", "h")]


class Forgetful(Core):
    """It does not zero gradients."""

    def backward(self, roots: list[Tensor], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        super().backward(roots, seeds, retain_graph)
        for root in roots:
            self.kept = getattr(self, "kept", {})
            stack, seen = [root], set()
            while stack:
                tensor = stack.pop()
                if tensor not in seen:
                    seen.add(tensor)
                    stack.extend(tensor.creators)
                    if tensor.creation_op is None and tensor.grad is not None:
                        old = self.kept.get(tensor, 0)
                        self.kept[tensor] = tensor.grad.data + old
                        tensor.grad = Tensor(self.kept[tensor])


def test_a_stale_gradient_is_told(check: Check) -> None:
    case = check(
        """
        inputs: {x: "randn(3)"}
        graph: {y: x * x}
        steps:
          - backward: {y: [1, 2, 3]}
          - zero_grad: all
          - backward: {y: [1, -1, 2]}
        """,
        engines=[Forgetful()],
    )
    (cause,) = causes(case)
    assert (cause.tensor, cause.step, kinds(cause)) == ("x", 2, ["stale"])


def test_a_wrong_value_is_the_cause_of_everything_behind_it(check: Check, with_forward: WithForward) -> None:
    with_forward("tanh", lambda forward: lambda x: -forward(x))
    case = check(CHAIN)
    (cause,) = causes(case)
    assert cause_of(cause) == "tanh at h: its value is wrong, in the forward pass already"
    assert kinds(cause) == ["sign"]
    assert all(say(c.consequence_of) == "tanh at h" for c in failed(case) if c is not cause and c.engine == "core")


def test_a_case_that_passes_has_none(check: Check) -> None:
    case = check(CHAIN)
    assert case.status == "passed"
    assert not any(c.cause or c.consequence_of or c.diagnoses for c in case.comparisons)


# Formulas ------------------------------------------------------------------------------------------

DERIVED = """
    inputs: {{x: "randn(4, 3)", b: "randn(3)"}}
    graph:
      y: x * b
      e: sin(y)
      d: cos(y)
      f: 2 * e * d + y
    backward: {{f: "randn(4, 3)"}}
    formulas:
      {tensor}: {formula}
"""


@pytest.mark.parametrize(
    ("tensor", "formula", "kind", "words"),
    [
        ("b", "-(grad(y) * x).sum(0)", "sign", "-1"),
        ("b", "(grad(y) * x).mean(0)", "mean_for_sum", "1/4"),
        ("b", "grad(y) * x", "broadcast_not_undone", "axis 0"),
        ("b", "(grad(y) * x).sum(0) * 2", "factor", "2"),
        ("b", "(grad(y) * x).sum(0).flip(0)", "flipped", "back to front"),
        ("x", "grad(y) * x", "swapped", "second"),
        ("x", "grad(y)", "incoming_passed_on", "without"),
        ("x", "grad(y) * y", "forward_value", "mul"),
        ("y", "grad(f) - grad(d) * sin(y)", "path_dropped", "through `e`"),
        ("y", "grad(e) * cos(y) - grad(d) * sin(y)", "path_dropped", "through `f`"),
        ("y", "grad(f) - grad(e) * cos(y) - grad(d) * sin(y)", "path_dropped", "sign of the path through `e`"),
        ("y", "grad(e) * cos(y)", "path_dropped", "only the path through `e`"),
        ("x", "b * (grad(f) + grad(e) * cos(y))", "path_dropped", "through `d` (by way of `y`)"),
        ("x", "(grad(y) * b).sum(0, keepdim=True).expand(4, 3)", "summed", "axis 0"),
    ],
)
def test_a_wrong_derivation_is_told_what_is_wrong(
    check: Check, tensor: str, formula: str, kind: str, words: str
) -> None:
    case = check(DERIVED.format(tensor=tensor, formula=formula))
    wrong = next(c for c in failed(case, "formula") if c.trial is None)
    assert kinds(wrong)[0] == kind, wrong.diagnoses
    assert words in say(wrong.diagnoses[0].message)


def test_a_formula_that_is_wrong_in_an_unknown_way_says_what_was_tried(check: Check) -> None:
    case = check(DERIVED.format(tensor="x", formula="sin(grad(y)) * b ** 3 + 0.1 * x ** 3"))
    wrong = next(c for c in failed(case, "formula") if c.trial is None)
    assert kinds(wrong)[0] == "unknown"
    assert "tried: " in say(wrong.diagnoses[0].message)


def test_a_transposed_derivation(check: Check) -> None:
    case = check(
        """
        inputs: {a: "randn(3, 3)", b: "randn(3, 3)"}
        graph: {c: a @ b, loss: (c * c).sum()}
        formulas:
          a:
            - (grad(c) @ b.T).T
            - grad(c) @ b
            - b.T @ grad(c)
        """
    )
    wrong = [c for c in failed(case, "formula") if c.trial is None]
    assert [kinds(c)[0] for c in wrong] == ["transposed", "operand_transposed", "operand_transposed"], [
        c.diagnoses for c in wrong
    ]


def test_what_fails_in_trials_only_is_explained_there(check: Check, with_rules: WithRules) -> None:
    """Right at the case's own size, which is 1."""
    with_rules("sum", lambda g, y, x, dim=None, keepdim=False, dtype=None: TABLE["expand"](g, x.shape) / x.shape[0])
    case = check(
        """
        dims: {n: 1}
        inputs: {x: "randn(n)"}
        graph: {y: x * x, loss: y.sum()}
        formulas: {x: 2 * x}
        """
    )
    (cause,) = causes(case)
    assert cause.trial is not None
    assert cause_of(cause) == "sum at loss: its gradient is wrong; the other operation is right"
    assert kinds(cause) == ["mean_for_sum"]
    first = [c for c in failed(case, "gradient") if c.trial == cause.trial]
    assert {say(c.consequence_of) for c in first} == {"sum at loss"}


def test_a_formula_that_fails_in_trials_only_is_explained_there(check: Check) -> None:
    case = check(
        """
        dims: {n: 1}
        inputs: {x: "randn(n)"}
        graph: {loss: (x * x).sum()}
        formulas: {x: 2 * x.flip(0)}
        generalize: {trials: 3, dims: {n: [4, 5]}}
        """
    )
    (wrong,) = [c for c in failed(case, "formula") if c.diagnoses]
    assert kinds(wrong)[0] == "flipped"


def test_a_rule_that_fails_is_the_cause_of_what_the_pass_raises(check: Check, with_rules: WithRules) -> None:
    with_rules("T", lambda g, y, x: g)
    case = check("{inputs: {x: 'randn(2, 3)'}, graph: {y: x.T, loss: (y * 2).sum()}}")
    (cause,) = causes(case)
    assert cause.what == "node"
    assert cause_of(cause) == "T at y: its gradient rule raises an error; all 2 other operations are right"
    assert "made (3, 2) for an argument of (2, 3)" in say(cause.mismatch)
    assert {say(c.consequence_of) for c in failed(case, "raises")} == {"T at y"}


@pytest.mark.parametrize(
    ("stated", "kind", "words"),
    [
        ("[-2.0, -4.0, -6.0]", "sign", "perhaps: the sign"),
        ("[1.0, 2.0, 3.0]", "factor", "1/2"),
        ("[6.0, 4.0, 2.0]", "flipped", "back to front"),
    ],
)
def test_numbers_that_the_file_states_wrongly(check: Check, stated: str, kind: str, words: str) -> None:
    case = check(f"{{inputs: {{x: [1, 2, 3]}}, graph: {{loss: (x * x).sum()}}, expected: {{x: {stated}}}}}")
    for c in failed(case, "expected"):
        assert kinds(c)[0] == kind
        assert words in say(c.diagnoses[0].message)
        assert c.diagnoses[0].confidence == "possible"


def test_numbers_of_another_kind_are_not_explained(check: Check) -> None:
    case = check("{inputs: {x: [1, 2, 3]}, graph: {loss: (x * x).sum()}, expected: {x: [2, 4, 7]}}")
    assert failed(case, "expected")
    assert all(not c.diagnoses for c in failed(case, "expected"))


@pytest.mark.parametrize("broken", ["_find_causes", "suggest", "refute"])
def test_what_explains_a_failure_may_fail_itself_and_the_rest_is_told(
    check: Check, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def breaks(*_: object) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setattr(f"gradcheck.checks.failures.explain.{broken}", breaks)
    case = check('inputs: {x: "randn(3)"}\ngraph: {y: (x * x).sum()}\nformulas: {x: x}')
    assert case.status == "failed"
    (lost,) = case.incomplete
    parts = {"_find_causes": "cause", "suggest": "suggestion", "refute": "counterexample"}
    assert (lost.message["part"], lost.kind) == (parts[broken], "crash")
    told = {kind for c in failed(case, "formula") for kind in kinds(c)}
    expected = {"_find_causes": "path_dropped", "suggest": "did_you_mean", "refute": "counterexample"}
    assert told == set(expected.values()) - {expected[broken]}


class Retaining(sound.Tensor):
    """Gradients of what is no leaf are kept where that is asked for; each factor of a product gets its own value."""

    is_kept = False

    def retain_grad(self) -> None:
        self.is_kept = True

    def receive(self, gradient: Any) -> None:
        if self.is_kept or not self.parents:
            super().receive(gradient)

    def __mul__(self, other: Any) -> Any:
        other = self.lifted(other)
        return self.new(self.data * other.data, (self, other), lambda g: (g * self.data, g * other.data))


def test_what_a_total_makes_wrong_at_its_root_is_no_cause_of_its_own() -> None:
    """The pass begins at a total of both roots, which is made by a product that is wrong."""
    found = judged(
        Retaining,
        "inputs: {x: [1, 2, 3]}\ngraph: {y: x * 10, loss: (y * y).sum()}\nbackward: {y: [1000, 2000, 3000], loss: 1}\n",
    )
    assert {c.cause.origin.kind for c in found.comparisons if c.status == "failed" and c.cause} == {"op_at"}


# Formulas ------------------------------------------------------------------------------------------

SEEDS = (0, 1, 2, 5)


def told(case: CaseResult) -> dict[str, list[tuple[str, str]]]:
    """By formula: the kinds of diagnoses, and what is suggested."""
    found: dict[str, list[tuple[str, str]]] = {}
    for c in case.comparisons:
        for d in c.diagnoses:
            if d.kind != "counterexample":
                found.setdefault(c.formula, []).append((d.kind, d.formula))
    return found


def one(graph: str, formulas: str) -> str:
    return f"""
        dims: {{n: 4}}
        inputs: {{x: randn(n)}}
        graph: {{y: {graph}}}
        backward: {{y: randn(n)}}
        formulas: {{x: {formulas}}}
    """


@pytest.mark.parametrize(
    ("graph", "formulas"),
    [
        ("x * abs(x)", "['2 * x * grad(y)', x * grad(y)]"),  # right where x is positive, a wrong sign where negative
        ("relu6(x)", "['grad(y) * (x < 6)']"),  # the incoming gradient as it is, but for what is beyond 6
        ("'where(abs(x) < 1, x * x / 2, abs(x) - 0.5)'", "[x * grad(y)]"),  # right in the middle
    ],
)
def test_what_is_told_of_a_formula_is_the_same_under_every_seed(check: Check, graph: str, formulas: str) -> None:
    found = [told(check(one(graph, formulas), seed=seed)) for seed in SEEDS]
    assert found[0]
    assert all(other == found[0] for other in found)


def test_a_reason_that_some_numbers_refute_is_none(check: Check) -> None:
    """Beyond 6, which no draw reaches, the formula does not pass on what comes in; the mask below 0 is missing."""
    case = check(one("relu6(x)", "'grad(y) * (x < 6)'"))
    assert next(kind for kind, _ in told(case)["grad(y) * (x < 6)"]) == "branch"


def test_a_formula_that_is_wrong_in_trials_alone_has_a_reason_too(check: Check) -> None:
    case = check("""
        dims: {n: 1}
        inputs: {x: randn(n)}
        graph: {y: x.mean()}
        formulas: {x: ["ones(n)", "2 * ones(n)"]}
    """)
    assert {kind for listed in told(case).values() for kind, _ in listed} >= {"factor"}
    assert all(listed[0][0] == "factor" for listed in told(case).values())


def test_so_many_are_explained_in_the_file_s_order(check: Check) -> None:
    wrong = [f"{k} * x * grad(y)" for k in range(3, 4 + MAX_FORMULAS)]
    found = told(check(one("x * x", str(wrong)), corrected=False))
    assert list(found) == wrong[:MAX_FORMULAS]


def test_a_dropped_path_is_not_another_tensors_gradient_too(check: Check) -> None:
    case = check("""
        inputs: {x: 'randn(3, 4)'}
        constants: {t: 'randn(3, 4)'}
        graph: {c: 'x - x.mean(1, keepdim=True)', L: ((c - t) ** 2).sum()}
        formulas: {x: grad(c)}
    """)
    kinds = [(d.kind, d.confidence) for c in case.comparisons for d in c.diagnoses if d.confidence]
    assert kinds == [("path_dropped", "confirmed")]
