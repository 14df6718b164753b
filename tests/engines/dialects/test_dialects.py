"""Every style is understood without a word, and every disease in it is found and named."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gradcheck import run
from gradcheck.checks.result import CaseResult
from gradcheck.engines.resolve import adapt, engine_from_spec
from gradcheck.engines.tensor_class.engine import TensorClassEngine
from gradcheck.language.case import Case
from gradcheck.language.loader import load_text
from tests.engines.dialects import arrays, bare, diseases, figures, functions, sound

CASES = {
    "sums": "inputs: {a: [1, 2], b: [3, -1]}\ngraph: {c: a + b, d: c + a}\nbackward: {d: [0.5, 2]}\n",
    "products": (
        "inputs: {a: [[1, 2], [3, 4]], b: [[0.5, -1], [2, 1.5]]}\nconstants: {k: [[2.0, 1.0], [0.5, 3.0]]}\n"
        "graph: {p: a * b, q: p * k, r: q + p, loss: r.sum()}\n"
    ),
    "numbers": "inputs: {a: 2.0, b: -3.0}\ngraph: {p: a * b, q: p * a, loss: q + p}\n",
    "bare": "inputs: {a: [1, 2], b: [3, -1]}\ngraph: {c: a * b, d: c * a}\nbackward: {d: [0.5, 2]}\n",
    "again": (
        "inputs: {a: [1, 2]}\ngraph: {p: a * a, q: p * a}\n"
        "steps:\n  - backward: {q: [1, 0.5]}\n  - zero_grad: all\n  - backward: {q: [2, 1]}\n"
    ),
    "reuse": (
        "inputs: {a: [1.5, 2], b: [2, -1]}\ngraph: {c: a * b, d: c * a, e: d + c, f: d * e}\nbackward: {f: [1, 2]}\n"
    ),
    "a row": (
        "inputs: {a: [[1, 2, 0.5], [3, 4, -1]], b: [1, 2, 3]}\ngraph: {y: a * b}\n"
        "backward: {y: [[1, 2, 3], [4, 5, 6]]}\n"
    ),
    "matrices": (
        "inputs: {a: [[1, 2], [3, 4]], b: [[0.5, -1], [2, 1.5]]}\ngraph: {y: a @ b}\n"
        "backward: {y: [[1, 0.5], [-1, 2]]}\n"
    ),
    "twice": (
        "inputs: {a: [1, 2]}\ngraph: {p: a * a, q: p * a}\n"
        "steps:\n  - backward: {q: [1, 2]}\n  - backward: {q: [1, 2]}\n"
    ),
    "oblong matrices": (
        "inputs: {a: [[1, 2, 0.5], [3, 4, -1]], b: [[0.5, -1], [2, 1.5], [1, 3]]}\ngraph: {y: a @ b}\n"
        "backward: {y: [[1, 0.5], [-1, 2]]}\n"
    ),
    "sums of sums": (
        "inputs: {a: [1, 2], b: [2, -1], c: [0.5, 3]}\ngraph: {d: a + b, e: b + c, f: d + e}\nbackward: {f: [1, 2]}\n"
    ),
    "an index": (
        "inputs: {a: [1, 5, 0.3]}\nconstants: {i: [0, 0, 2]}\ngraph: {y: \"a[i]\"}\nbackward: {y: [1, 0.5, 3]}\n"
    ),
    "rows": "inputs: {a: [[1, 2, 5], [3, 4, -1]]}\ngraph: {y: a.sum(dim=0)}\nbackward: {y: [1, 0.5, -2]}\n",
    "a mask": (
        "inputs: {a: [1, 2, 3], b: [3, -1, 2]}\nconstants: {m: [true, false, true]}\n"
        "graph: {y: \"where(m, a, b)\"}\nbackward: {y: [1, 2, 5]}\n"
    ),
    "equal sums": "inputs: {a: [1, 2], b: [3, -1]}\ngraph: {c: a + b, d: a + b, e: c + d}\nbackward: {e: [1, 2]}\n",
    "itself": "inputs: {a: [1, 2], b: [3, -1]}\ngraph: {y: a + a, z: y * b}\nbackward: {z: [1, 0.5]}\n",
    "two uses": "inputs: {a: [1, 2], b: [3, -1]}\ngraph: {y: a * b, z: a + y}\nbackward: {z: [1, 0.5]}\n",
    "layers": (
        "inputs: {a: [[1, 2], [3, 4]], b: [0.5, -1]}\ngraph: {p: a * a, q: p * b, z: p @ q}\n"
        "backward: {z: [[1, 2], [0.5, -1]]}\n"
    ),
    "a kink": "inputs: {a: [1, 0, -1]}\ngraph: {y: a.relu()}\nbackward: {y: [1, 2, 3]}\n",
}  # fmt: skip
STYLES = [
    kind
    for kind in vars(arrays).values()
    if isinstance(kind, type) and issubclass(kind, sound.Tensor)
    if kind not in (sound.Tensor, arrays.Result, arrays.ArraysAlone)
]


@cache
def case(name: str) -> Case:
    cases, errors = load_text(CASES[name], f"{name}.yaml")
    assert not errors
    return cases[0]


def judged(kind: Any, name: str, **options: Any) -> CaseResult:
    engine = adapt(kind, "mine")
    assert isinstance(engine, TensorClassEngine)
    (found,) = run([case(name)], engines=[engine], trials=1, **{"oracle": "none", **options}).cases
    return found


def named(found: CaseResult) -> set[str]:
    return {diagnosis.kind for c in found.comparisons for diagnosis in c.diagnoses}


@pytest.mark.parametrize("name", ["sums", "products", "numbers", "again"])
@pytest.mark.parametrize("kind", [sound.Tensor, *STYLES], ids=lambda kind: kind.__name__)
def test_a_style_is_understood_and_no_fault_is_found_with_it(kind: type, name: str) -> None:
    found = judged(kind, name)
    assert found.status == "passed", [c for c in found.comparisons if c.status != "passed"]
    assert {"a"} <= {c.tensor for c in found.comparisons if c.what == "gradient"}


def test_what_cannot_be_given_an_incoming_gradient_is_not_blamed_for_it() -> None:
    """A number of its own times one that it takes has a dimension, which its sum does not know."""
    for name in ("sums", "products", "numbers"):
        found = judged(arrays.ArraysAlone, name)
        wrong = {(c.tensor, c.status) for c in found.comparisons if c.status not in ("passed", "unsupported")}
        assert not wrong, name
    assert any(c.status == "passed" for c in judged(arrays.ArraysAlone, "products").comparisons)


def test_of_equal_expressions_that_are_one_node_the_inputs_are_compared() -> None:
    found = judged(arrays.Interned, "equal sums")
    assert found.status == "passed"
    assert {c.tensor for c in found.comparisons if c.what == "gradient"} == {"a", "b"}
    engine = adapt(arrays.Interned, "mine")
    assert isinstance(engine, TensorClassEngine)
    assert engine.capabilities.merges_equal_nodes
    assert [told.kind for told in engine.conventions] == ["equals_are_one"]
    assert not any(adapt(kind, "mine").capabilities.merges_equal_nodes for kind in (sound.Tensor, figures.Paired))


def test_masks_may_have_to_be_tensors() -> None:
    found = judged(arrays.MaskedByTensors, "a mask")
    assert found.status == "passed", [c for c in found.comparisons if c.status != "passed"]


def test_a_class_whose_results_are_its_operands_is_not_understood() -> None:
    found = judged(bare.Tape, "sums")
    assert found.status == "unsupported"
    engine = adapt(bare.Tape, "mine")
    assert isinstance(engine, TensorClassEngine)
    assert "into its operand" in engine.capabilities.not_understood


@pytest.mark.parametrize(
    "kind", [figures.Value, figures.Var, figures.Given, figures.Planned], ids=lambda kind: kind.__name__
)
@pytest.mark.parametrize("name", ["sums", "products", "numbers", "reuse"])
def test_a_class_of_numbers_is_understood(kind: type, name: str) -> None:
    assert judged(kind, name).status == "passed"


def test_a_class_that_can_only_add_runs_what_is_made_of_sums() -> None:
    found = judged(bare.Overwriting, "sums")
    assert found.status == "failed"
    assert {c.tensor for c in found.comparisons if c.status == "failed"} == {"a"}
    assert "overwritten" in named(found)
    assert judged(bare.Adding, "sums").status == judged(bare.Counting, "sums").status == "passed"
    assert judged(bare.Adding, "products").status == "unsupported"


def test_a_class_of_functions_is_understood() -> None:
    assert judged(functions.Variable, "sums").status == judged(functions.Variable, "bare").status == "passed"


def test_a_method_that_is_one_ops_own_is_no_pass() -> None:
    for name in ("sums", "products", "bare", "reuse"):
        found = judged(functions.Local, name)
        assert found.status == "passed", name
        assert "passes_run_by" in {one.kind for _, facts in found.conventions for one in facts}

    class Shallow(functions.Local):
        """Of a module in which no function runs a pass."""

    Shallow.__module__ = "made_elsewhere"
    found = judged(Shallow, "bare")
    assert found.status == "unsupported"


def test_dimensions_may_have_to_be_a_tuple() -> None:
    assert judged(arrays.Axes, "rows").status == "passed"


def test_a_folder_may_be_a_package_in_all_but_name() -> None:
    engine = engine_from_spec(f"{Path(__file__).with_name('shelf') / 'node.py'}:Node")
    (found,) = run([case("sums")], engines=[engine], trials=1, oracle="none").cases
    assert found.status == "passed"


SICK = {
    "Overwrites": ("reuse", {"overwritten"}),
    "LeavesBroadcasts": ("a row", {"broadcast_not_undone"}),
    "LeavesTranspose": ("matrices", {"operand_transposed"}),
    "PassesOnEarly": ("reuse", {"passed_on_early"}),
    "CountsTwice": ("reuse", {"passed_on_early"}),
    "KeepsStale": ("twice", {"stale"}),
    "ClearsNothing": ("again", {"stale"}),
    "SharesArrays": ("sums of sums", {"mutated"}),
    "AssignsAtIndex": ("an index", {"overwritten"}),
}
HOSTS = [
    *(sound.Tensor, arrays.GivenTensors, arrays.Assigned, arrays.TotalsOnly, arrays.Single, arrays.SetOrdered),
    *(arrays.ByKeyword, arrays.RootIsSet, arrays.LeavesOnly, arrays.OneDimension),
]


@pytest.mark.parametrize("disease", SICK)
def test_a_disease_is_found_and_named_in_any_style(disease: str) -> None:
    name, names = SICK[disease]
    unnamed = {}
    for host in HOSTS:
        found = judged(type(disease, (getattr(diseases, disease), host), {}), name)
        if found.status != "failed" or not names <= named(found):
            unnamed[host.__name__] = (found.status, named(found))
    assert not unnamed


@pytest.mark.parametrize("host", HOSTS, ids=lambda kind: kind.__name__)
def test_an_op_that_is_wrong_of_one_and_the_same_tensor_is_named_in_any_style_and_precision(host: type) -> None:
    found = judged(type("Plain", (diseases.DropsItself, host), {}), "itself")
    assert found.status == "failed"
    told = {c.mismatch.kind for c in found.comparisons if c.what == "node" and c.mismatch is not None}
    assert told == {"wrong_where_shared"}
    assert not named(found)


@pytest.mark.parametrize("host", [sound.Tensor, arrays.Single], ids=lambda kind: kind.__name__)
def test_lost_and_overwritten_are_told_apart_in_any_precision(host: type) -> None:
    assert named(judged(type("Plain", (diseases.Overwrites, host), {}), "two uses")) == {"overwritten"}


@pytest.mark.parametrize("host", HOSTS, ids=lambda kind: kind.__name__)
def test_a_missing_transpose_is_named_where_shapes_refuse_it(host: type) -> None:
    found = judged(type("Plain", (diseases.LeavesTranspose, host), {}), "oblong matrices")
    assert found.status == "failed"
    assert "operand_transposed" in named(found)


@pytest.mark.parametrize("host", HOSTS, ids=lambda kind: kind.__name__)
def test_another_subgradient_is_a_convention(host: type) -> None:
    found = judged(type("Open", (diseases.OpensAtZero, host), {}), "a kink", oracle="auto")
    assert found.status == "passed"
    assert {c.status for c in found.comparisons if c.what == "gradient" and c.tensor == "a"} == {"not_differentiable"}


@pytest.mark.parametrize("kind", [figures.FirstCome, figures.PassedOnTwice], ids=lambda kind: kind.__name__)
def test_a_disease_of_numbers_is_called_as_that_of_arrays_is(kind: type) -> None:
    found = judged(kind, "reuse")
    assert found.status == "failed"
    assert "passed_on_early" in named(found)


@pytest.mark.parametrize("name", ["reuse", "layers"])
@pytest.mark.parametrize(
    ("disease", "kind"),
    [(figures.FirstCome, "passed_on_early"), (figures.Repeats, "passed_on_early"), (figures.Assigned, "overwritten")],
    ids=lambda one: one if isinstance(one, str) else one.__name__,
)
@pytest.mark.parametrize("host", [figures.Value, figures.Shuffled], ids=lambda kind: kind.__name__)
def test_one_disease_of_numbers_has_one_name_and_one_cause(
    host: type, disease: type, kind: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where operands are taken in another order each time, where numbers are broadcast, and in products."""
    monkeypatch.setattr(figures.Shuffled, "chance", random.Random(1))
    found = judged(type("Sick", (host, disease) if host is figures.Shuffled else (disease,), {}), name)
    assert found.status == "failed"
    assert named(found) == {kind}
    assert {c.consequence_of for c in found.comparisons if c.status == "failed" and not c.cause} <= {
        c.cause.origin for c in found.comparisons if c.cause
    }


def test_operands_in_another_order_each_time_are_no_fault() -> None:
    for name in ("reuse", "layers"):
        assert judged(figures.Shuffled, name).status == "passed"


def test_a_wrong_product_of_numbers_is_named_though_it_spoils_every_incoming_gradient() -> None:
    found = judged(figures.Swapped, "reuse")
    nodes = [c for c in found.comparisons if c.what == "node" and c.status == "failed"]
    assert found.status == "failed"
    assert {c.tensor for c in nodes} == {"c", "d", "f"}
    assert "swapped" in named(found)
    assert {c.status for c in found.comparisons if c.tensor == "e" and c.what == "node"} <= {"passed", "unsupported"}
