"""Styles whose gradients, values or ops are not where they usually are: understood, and what is wrong is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.checks.scheduling.run import run
from gradcheck.engines.resolve import adapt
from gradcheck.errors import Unsupported
from gradcheck.facts import fact
from tests.engines.dialects import (
    answering,
    asking,
    assigning,
    beginning,
    columns,
    figures,
    keeping,
    lazy,
    objects,
    returning,
    taping,
    training,
)
from tests.engines.dialects.test_dialects import judged, named
from tests.from_text import case_of

UNDERSTOOD: dict[Any, tuple[str, ...]] = {
    returning.Var: ("numbers",),
    returning.ByNode: ("sums", "products", "numbers", "bare", "reuse", "twice", "again"),
    returning.ByName: ("sums", "products", "numbers", "bare", "reuse", "twice", "again"),
    objects.Variable: ("sums", "products", "bare", "matrices", "again", "twice"),
    lazy.Tensor: ("sums", "products", "bare", "reuse"),
    lazy.Buffered: ("sums", "products", "numbers", "bare", "reuse", "twice"),
    lazy.Leaf: ("products", "bare", "reuse"),
    lazy.Unset: ("sums", "bare"),
    lazy.Number: ("numbers",),
    beginning.Untouched: ("bare", "two uses", "twice"),
    columns.Columns: ("numbers",),
    asking.Asks: ("numbers", "reuse"),
    asking.Owns: ("reuse",),
    asking.Unasked: ("numbers", "reuse"),
    asking.Private: ("numbers", "reuse"),
    asking.Collects: ("products", "numbers", "reuse", "bare"),
    asking.Listed: ("products", "bare", "reuse", "twice"),
    asking.OneByOne: ("reuse",),
    asking.Calculated: ("products", "bare"),
    asking.TwoModes: ("numbers", "reuse"),
    taping.Watched: ("products", "reuse"),
    training.Tensor: ("numbers", "products", "reuse"),
    answering.Array: ("numbers", "bare", "reuse"),
    keeping.Named: ("bare", "a row"),
    keeping.Labelled: ("bare", "a row"),
    keeping.Bare: ("numbers", "bare", "two uses"),
    keeping.Conjured: ("bare", "again"),
    keeping.Gridded: ("products", "bare", "again"),
    assigning.Named: ("numbers", "reuse"),
    assigning.Placed: ("sums", "bare"),
}
PAIRS = [(kind, name) for kind, names in UNDERSTOOD.items() for name in names]


@pytest.mark.parametrize(("kind", "name"), PAIRS, ids=lambda value: getattr(value, "__name__", value))
def test_what_is_elsewhere_is_found(kind: type, name: str) -> None:
    found = judged(kind, name)
    assert found.status == "passed", [c for c in found.comparisons if c.status != "passed"]
    assert "a" in {c.tensor for c in found.comparisons if c.what == "gradient"}


def test_a_class_gets_its_own_tensor_if_it_changes_an_array_in_place() -> None:
    engine = adapt(beginning.Counting, "mine")
    text = "inputs: {a: [1, 2], b: [3, -1]}\ngraph: {c: a + b, d: c + a, e: d + c}\nbackward: {e: [1, 0.5]}\n"
    (found,) = run([case_of(text)], engines=[engine], trials=1).cases
    assert found.status == "passed", [c for c in found.comparisons if c.status != "passed"]
    assert fact("mutates_arrays") in engine.conventions


@pytest.mark.parametrize(
    "kind",
    [returning.Overwriting, lazy.Overwriting, asking.Overwriting, keeping.Overwriting, answering.Overwriting],
    ids=lambda kind: kind.__module__,
)
def test_a_disease_is_named_there(kind: type) -> None:
    found = judged(kind, "reuse")
    assert found.status == "failed"
    assert "overwritten" in named(found)


def test_an_optimizer_that_overwrites_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training.Optimizer, "added", lambda self, so_far, more: more)
    found = judged(training.Tensor, "reuse")
    assert found.status == "failed"
    assert "overwritten" in named(found)


def test_numpys_functions_are_a_classs_own_where_it_says_what_they_come_to() -> None:
    text = "inputs: {a: [1, 2], b: [3, -1]}\ngraph: {c: a * b, d: sin(c)}\nbackward: {d: [1, 1]}\n"
    (found,) = run([case_of(text)], engines=[adapt(answering.Array, "mine")], trials=1).cases
    assert found.status == "passed", [c for c in found.comparisons if c.status != "passed"]
    (found,) = run([case_of(text)], engines=[adapt(answering.Detaching, "mine")], trials=1).cases
    assert found.status == "unsupported"


def test_what_asks_too_little_is_wrong_and_no_more_is_asked_of_it() -> None:
    assert judged(asking.Forgets, "reuse").status == "failed"
    assert judged(asking.Asks, "twice").status == judged(taping.Watched, "twice").status == "unsupported"
    assert judged(asking.OneByOne, "oblong matrices").status == "unsupported"


def test_a_leaf_that_collects_its_roots_is_asked_for_one_graph_alone() -> None:
    text = "inputs: {a: 2.0, b: 3.0}\ngraph: {c: a * b, y: c / a}\n"
    again = "steps: [{backward: y}, {zero_grad: all}, {forward: {a: 1.5}}, {backward: y}]\n"
    first, second = run(
        [case_of(text), case_of(text + again)], engines=[adapt(asking.Collects, "mine")], trials=1
    ).cases
    assert (first.status, second.status) == ("passed", "unsupported")


def test_a_gradient_of_1_for_all_sums_is_no_pass() -> None:
    with pytest.raises(Unsupported, match="not understood"):
        adapt(asking.Sums, "mine").leaf(np.array(1.0), True)


def test_single_numbers_may_have_to_be_arrays_and_clearing_may_cut_the_graph() -> None:
    api = adapt(keeping.Bare, "mine")
    assert (api.capabilities.not_understood, api.api.needs_arrays, api.api.clearing_name) == ("", True, "")
    sound = adapt(keeping.Named, "mine")
    assert (sound.capabilities.not_understood, sound.api.needs_arrays) == ("", False)
    assert (sound.api.data_name, list(sound.api.other_arguments)) == ("value", ["name"])


def test_numbers_in_single_precision_are_held_to_that() -> None:
    engine = adapt(keeping.Single, "mine")
    assert engine.own_dtype == "float32"
    assert judged(keeping.Single, "numbers").status == "passed"
    assert judged(figures.Value, "numbers").status == "passed"


@pytest.mark.parametrize(("op", "takes", "label"), [("pow", 2, "Power()(…)"), ("exp", 1, "")])
def test_an_op_that_is_a_class_is_believed_where_it_is_right(op: str, takes: int, label: str) -> None:
    """`Exp` is another function of that name, and none of the class's ops."""
    engine = adapt(objects.Variable, "mine")
    leaf = engine.leaf(np.array([1.5, 2.0]), True)
    given = (leaf, 3.0)[:takes]
    bound = TABLE[op].bind(given, {})
    if label:
        assert engine.calls.lookup.form(TABLE[op], bound).label == label
        np.testing.assert_allclose(engine.apply(TABLE[op], bound).array, leaf.array**3)
        return
    with pytest.raises(Unsupported):
        engine.apply(TABLE[op], bound)


def test_a_helper_of_an_ops_name_that_gives_its_operand_back_is_no_op() -> None:
    engine = adapt(lazy.Tensor, "mine")
    leaf = engine.leaf(np.array([1.5, 2.0]), True)
    with pytest.raises(Unsupported, match="gives its operand back"):
        engine.calls.lookup.form(TABLE["prod"], TABLE["prod"].bind((leaf,), {}))


def test_values_that_recurse_too_deep_are_told_as_such() -> None:
    class Deep(lazy.Tensor):
        @property
        def data(self) -> Any:
            return self.data

        @data.setter
        def data(self, given: Any) -> None: ...

        def forward(self) -> Any:
            return self.forward()

    api = adapt(lazy.Tensor, "mine").api
    with pytest.raises(RecursionError):
        api.read(Deep([1.0]))
    with pytest.raises(Unsupported):
        api.read(object())


#: A pass that begins at a total, and one from several numbers.
TOTAL = "inputs: {a: [1, 2], b: [3, -1]}\ngraph: {c: a + b, d: c.exp(), loss: d.sum()}\n"
SEVERAL = "inputs: {a: [1, 2], b: [3, -1]}\ngraph: {c: a + b, d: c.exp()}\nbackward: {d: [1, 1]}\n"


@pytest.mark.parametrize(("kind", "text"), [(beginning.AtTotals, TOTAL), (beginning.WithOnes, SEVERAL)])
def test_where_nothing_can_be_weighted_ops_alone_are_asked_with_ones(kind: type, text: str) -> None:
    """No product is asked of a class by a case that has none; what is wrong is found all the same."""
    (found,) = run([case_of(text)], engines=[adapt(kind, "mine")], trials=1).cases
    assert found.status == "passed", [c for c in found.comparisons if c.status != "passed"]
    assert {"c", "d"} <= {c.tensor for c in found.comparisons if c.what == "node"}
    wrong = getattr(beginning, f"{kind.__name__}Wrong")
    (found,) = run([case_of(text)], engines=[adapt(wrong, "mine")], trials=1).cases
    assert found.status == "failed"
    assert [c.tensor for c in found.comparisons if c.what == "node" and c.status == "failed"] == ["d"]


@pytest.mark.parametrize(
    ("graph", "root", "status"), [("y: a + b", "y", "unsupported"), ("z: a + b, y: z.exp()", "y", "failed")]
)
def test_what_a_total_leaves_in_its_root_is_none_of_the_classs_faults(graph: str, root: str, status: str) -> None:
    """A second pass adds to what is no leaf, and passes it on; the class's own pass would set its root anew."""
    steps = f"steps:\n  - backward: {{{root}: [1, 1]}}\n  - backward: {{{root}: [1, 1]}}\n"
    text = f"inputs: {{a: [1, 2], b: [3, -1]}}\ngraph: {{{graph}}}\n{steps}"
    (found,) = run([case_of(text)], engines=[adapt(beginning.AtTotals, "mine")], trials=1).cases
    assert found.status == status, [c for c in found.comparisons if c.status != "passed"]


def test_a_leaf_that_keeps_its_answer_has_no_second_pass() -> None:
    assert judged(asking.TwoModes, "again").status == "unsupported"
    assert judged(asking.TwoModesWrong, "numbers").status == "failed"


def test_a_pass_may_be_a_method_of_the_usual_name_that_takes_a_leaf() -> None:
    """What runs passes is told only where its name is another one."""

    class Derived(assigning.Placed):
        def __init__(self, value: Any) -> None:
            super().__init__("leaf")
            self.value = np.asarray(value)

        def _of(self, other: Any, value: Any, rule: Any) -> Any:
            found = Derived(value)
            found.rule, found.operands = rule, (self,) if other is None else (self, other)
            return found

        def backward(self, leaf: Any) -> Any:  # type: ignore[override]
            def of(node: Any, gradient: Any) -> Any:
                shares = node.rule(gradient) if node.rule else ()
                below = sum(of(one, share) for one, share in zip(node.operands, shares, strict=False))
                return below + gradient * (node is leaf)

            return of(self, np.ones_like(self.value))

    engine = adapt(Derived, "mine")
    (found,) = run(
        [case_of("inputs: {a: 2.0, b: -3.0}\ngraph: {p: a * b, y: p * a}\n")], engines=[engine], trials=1
    ).cases
    assert found.status == "passed"
    assert "passes_run_by" not in {one.kind for one in engine.conventions}
