"""One mistake in many cases is one cause; what a file claims is its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.checks.result import CaseResult, Cause, Comparison, Trial
from gradcheck.errors import Place
from gradcheck.facts import Fact, fact
from gradcheck.reports.causes import case_members, find_causes, findings, place_in_case
from gradcheck.reports.located_messages import LocatedMessage, failure_messages
from gradcheck.reports.phrases.cause_titles import group_detail, group_title, member_title
from tests.reports.conftest import diagnosis, make_case, make_error, make_failed, make_run

SECOND = fact("gradients_of_arguments_are_wrong", arguments=(1,))
FIRST = fact("gradients_of_arguments_are_wrong", arguments=(0,))
ALONE = fact("its_gradient_is_wrong")


def wrong(op: str, what: Fact = SECOND, made_of: tuple[str, ...] = (), **fields: Any) -> Comparison:
    """An op that is wrong alone, at an entry of its own."""
    told = fact("among_operations", what=what, operations=3, wrong=1, made_of=made_of)
    known = fields.pop("kind", "")
    diagnoses = (diagnosis(known, f"it is {known}", confidence="confirmed"),) if known else ()
    found = make_failed([1.0, 2.0], [3.0, 4.0], what="node", tensor=op, diagnoses=diagnoses, **fields)
    return replace(found, cause=Cause(fact("op_at", op=op, entry=op), told))


def case(name: str, *comparisons: Comparison, **fields: Any) -> CaseResult:
    return make_case(name, "failed", comparisons=comparisons, **fields)


def titles(*cases: CaseResult) -> list[tuple[str, list[str]]]:
    found = find_causes(make_run(*cases))
    return [(group_title(group), [member.case.name for member in group.members]) for group in found.groups]


def test_an_op_in_several_cases_is_one_and_most_cases_come_first() -> None:
    found = titles(
        case("a", wrong("tanh", ALONE)),
        case("b", wrong("matmul")), case("c", wrong("matmul", FIRST)), case("d", wrong("matmul")),
        case("e", wrong("tanh", ALONE)),
    )  # fmt: skip
    assert found == [
        ("matmul, gradients of its first and second arguments", ["b", "c", "d"]),
        ("tanh, its gradient", ["a", "e"]),
    ]


def test_ops_for_which_one_function_is_called_are_one() -> None:
    """`mm` and `matmul`, for which a class has its `dot`; with another mistake, or another function, they are two."""
    dot, other = Place("mine.py", 12), Place("mine.py", 20)
    first = case("a", wrong("matmul", kind="sign", code=dot))
    assert [names for _, names in titles(first, case("b", wrong("mm", kind="sign", code=dot)))] == [["a", "b"]]
    assert titles(first, case("b", wrong("mm", kind="sign", code=other))) == []
    assert titles(first, case("b", wrong("mm", kind="factor", code=dot))) == []


def test_what_fails_otherwise_stays_apart() -> None:
    raises = fact("rule_fails")
    assert titles(case("a", wrong("exp", raises)), case("b", wrong("exp", ALONE))) == []
    found = titles(
        *(case(name, wrong("exp", raises)) for name in "ab"), *(case(name, wrong("exp", ALONE)) for name in "cd")
    )
    assert found == [("exp, its gradient", ["c", "d"]), ("exp, its gradient rule raises an error", ["a", "b"])]


def test_a_mistake_of_the_whole_engine_is_one_whatever_ops_show_it() -> None:
    found = find_causes(make_run(
        case("a", wrong("add", kind="broadcast_not_undone")), case("b", wrong("sub", kind="broadcast_not_undone")),
    ))  # fmt: skip
    (group,) = found.groups
    assert group_title(group) == "broadcast not undone, in add and sub"
    assert group_detail(group) == "not summed over the axes along which the argument was broadcast"


def test_an_op_made_of_one_that_is_wrong_goes_with_it() -> None:
    found = titles(case("a", wrong("mean", ALONE, ("sum", "mul"))), case("b", wrong("sum", ALONE, kind="mean_for_sum")))
    assert found == [("sum, its gradient (mean is made of it)", ["b", "a"])]


def test_gradients_of_an_op_whose_value_is_wrong_go_with_the_value() -> None:
    found = titles(case("a", wrong("sub")), case("b", wrong("sub", fact("value_is_wrong"))))
    assert found == [("sub, its value", ["b", "a"])]


def test_a_wrong_value_is_told_in_a_case_that_has_a_cause() -> None:
    value = fact("value_is_wrong")
    found = titles(case("a", wrong("sub", value)), case("b", wrong("sub", value, kind="sign")))
    assert found == [("sub, its value", ["b", "a"])]


def test_of_several_engines_each_group_says_whose_it_is() -> None:
    mine = [case(name, wrong("exp", ALONE, engine="mine")) for name in "ab"]
    yours = [case(name, wrong("exp", ALONE, engine="yours")) for name in "cd"]
    assert [title for title, _ in titles(*mine, *yours)] == ["mine: exp, its gradient", "yours: exp, its gradient"]
    assert [title for title, _ in titles(*mine)] == ["exp, its gradient"]


def test_two_ops_that_are_made_of_each_other_end() -> None:
    found = titles(case("a", wrong("add", ALONE, ("sub",))), case("b", wrong("sub", ALONE, ("add",))))
    assert [names for _, names in found] == [["a", "b"]] or found == []


def test_the_clearest_case_comes_first() -> None:
    """The one in which nothing else is wrong."""
    both = case("a", wrong("matmul"), wrong("tanh", ALONE))
    assert titles(both, case("b", wrong("matmul"))) == [("matmul, gradient of its second argument", ["b", "a"])]


def test_what_most_cases_show_is_told_before_what_only_looks_like_it_in_one() -> None:
    """As for `b ** 2`, where two mistakes give the same numbers."""
    seldom, often = (wrong("pow", ALONE, kind=kind) for kind in ("saved_value", "other_formula"))
    assert titles(case("a", seldom), case("b", often), case("c", often)) == [("pow, its gradient", ["b", "c", "a"])]


def test_formulas_are_told_by_case_unless_they_say_the_same() -> None:
    def formula(text: str, **fields: Any) -> Comparison:
        return make_failed([1.0], [2.0], what="formula", engine="case", tensor="W", formula=text, **fields)

    found = find_causes(make_run(case("a", formula("x @ y")), case("b", formula("x * y")), case("c", formula("x @ y"))))
    assert [[member.case.name for member in group.members] for group in found.groups] == [["a", "c"]]
    assert group_title(found.groups[0]) == "the formula of W is wrong, x @ y"
    assert [case.name for case, _ in found.cases] == ["b"]
    differently = diagnosis("did_you_mean", "?", formula="y @ x")
    found = find_causes(make_run(case("a", formula("x @ y")), case("b", formula("x @ y", diagnoses=(differently,)))))
    assert found.groups == ()


def test_the_same_error_in_several_files_is_one() -> None:
    def broken(name: str, message: str) -> CaseResult:
        return make_case("", "invalid", file=name, errors=(make_error("invalid", message, Place(name, 3, 1)),))

    found = find_causes(
        make_run(*(broken(f"{name}.yaml", "unknown key 'formlas'") for name in "abc"), broken("d.yaml", "no graph"))
    )
    assert [group_title(group) for group in found.groups] == ["unknown key 'formlas'"]
    assert len(found.groups[0].members) == 3
    assert [case.file for case, _ in found.cases] == ["d.yaml"]


def test_crashes_are_one_where_they_differ_in_numbers_alone() -> None:
    crashed = [
        make_case(name, "crashed", errors=(make_error("crash", f"IndexError: {number} is too large"),))
        for name, number in (("a", 3), ("b", 14))
    ]
    (group,) = find_causes(make_run(*crashed)).groups
    assert len(group.members) == 2


def test_an_error_that_a_finding_explains_is_not_told_again() -> None:
    raised = make_error("engine_error", "boom")
    told = fact("in_engines", what=raised.message, engines=("core",))
    lead = wrong("matmul", fact("rule_fails"))
    assert lead.cause is not None
    follows = replace(make_failed([1.0], [2.0], what="raises", tensor=""), consequence_of=lead.cause.origin)
    (member,) = case_members(case("a", lead, follows, errors=(replace(raised, message=told),)))
    assert member.error is None
    assert "its gradient rule raises an error" in member_title(member)


def test_a_case_without_findings_is_told_all_the_same() -> None:
    ((found, (member,)),) = find_causes(make_run(make_case("a", "xpassed", reason="a bug"))).cases
    assert (found.name, member_title(member)) == ("a", "passes, though it is marked xfail: a bug")


ONE, TWO = np.ones((2, 2)), np.full((2, 2), 2.0)


def test_values_come_before_gradients_before_formulas(failed: Any, case: Any) -> None:
    found = findings(case(comparisons=(
        failed(ONE, TWO, what="formula", formula="y", engine="case"),
        failed(ONE, TWO, what="gradient", tensor="x"),
        failed(ONE, TWO, what="node", tensor="q"),
        failed(ONE, TWO, what="value", tensor="q"),
    )))  # fmt: skip
    assert [finding.lead.what for finding in found] == ["value", "node", "gradient", "formula"]


def test_gradients_come_as_the_backward_pass_flows_values_as_the_forward_pass(failed: Any, case: Any) -> None:
    names = ("x", "h", "loss")
    gradients = findings(case(comparisons=tuple(failed(ONE, TWO, tensor=name) for name in names)))
    values = findings(case(comparisons=tuple(failed(ONE, TWO, what="value", tensor=name) for name in names)))
    assert [finding.lead.tensor for finding in gradients] == ["loss", "h", "x"]
    assert [finding.lead.tensor for finding in values] == ["x", "h", "loss"]


def test_expected_joins_the_gradient_of_the_same_tensor_and_step(failed: Any, case: Any) -> None:
    found = findings(case(comparisons=(
        failed(ONE, TWO, what="expected", tensor="x", reference="case"),
        failed(ONE, TWO, tensor="x"),
        failed(ONE, TWO, tensor="x", step=1),
    )))  # fmt: skip
    assert [(f.lead.what, f.lead.step, [o.what for o in f.others]) for f in found] == [
        ("gradient", 0, ["expected"]),
        ("gradient", 1, []),
    ]


def test_trials_join_their_formula_but_two_formulas_stay_apart(failed: Any, case: Any) -> None:
    trial = Trial(1, 0, {"n": 3})
    found = findings(case(comparisons=(
        failed(ONE, TWO, what="formula", formula="a", engine="case", trial=trial),
        failed(ONE, TWO, what="formula", formula="a", engine="case"),
        failed(ONE, TWO, what="formula", formula="b", engine="case"),
    )))  # fmt: skip
    assert [(f.lead.formula, f.lead.trial, len(f.others)) for f in found] == [("a", None, 1), ("b", None, 0)]


def test_what_passed_or_cannot_be_asked_is_no_finding(comparison: Any, case: Any) -> None:
    statuses = ("passed", "unsupported", "not_differentiable", "undecided")
    found = findings(case(comparisons=tuple(comparison(tensor=status, status=status) for status in statuses)))
    assert [finding.lead.tensor for finding in found] == ["undecided"]


def test_engines_that_fail_alike_are_one(failed: Any, case: Any) -> None:
    both = [failed(ONE, TWO, what="expected", tensor="x", reference="case", engine=name) for name in ("torch", "core")]
    (alone,) = findings(case(comparisons=tuple(both)))
    assert (alone.lead.engine, alone.others) == ("torch and core", ())
    (beside,) = findings(case(comparisons=(*both, failed(ONE, TWO, tensor="x"))))
    assert (beside.lead.engine, [other.engine for other in beside.others]) == ("core", ["torch and core"])


def test_grouping_stays_linear(comparison: Any, case: Any) -> None:
    many = tuple(comparison(tensor="x", status="failed", trial=Trial(i, 0, {})) for i in range(20_000))
    (found,) = findings(case(comparisons=many))
    assert len(found.others) == 19_999


def test_a_cause_leads_and_its_consequences_go_with_it(failed: Any, case: Any) -> None:
    (first, other) = findings(case(comparisons=(
        failed(ONE, TWO, tensor="x", consequence_of="tanh at h"),
        failed(ONE, TWO, what="expected", tensor="x", reference="case", consequence_of="tanh at h"),
        failed(ONE, TWO, tensor="z"),
        failed(ONE, TWO, what="node", tensor="h", cause=("tanh at h", "its gradient is wrong; all 2 others are right")),
    )))  # fmt: skip
    assert first.lead.what == "node"
    assert [(c.what, c.tensor) for c in first.consequences] == [("gradient", "x"), ("expected", "x")]
    assert (other.lead.tensor, other.consequences) == ("z", ())


def test_a_cause_comes_before_what_has_none_whatever_it_is(failed: Any, case: Any) -> None:
    found = findings(case(comparisons=(
        failed(ONE, TWO, what="node", tensor="q"),
        failed(ONE, TWO, tensor="x", cause=("x", "gradients go wrong here; the operation is right on its own")),
        failed(ONE, TWO, what="formula", formula="y", engine="case"),
    )))  # fmt: skip
    assert [finding.lead.what for finding in found] == ["gradient", "node", "formula"]


def test_a_consequence_of_nothing_that_is_told_stands_for_itself(failed: Any, case: Any) -> None:
    """Of another engine, say."""
    (one, two) = findings(case(comparisons=(
        failed(ONE, TWO, tensor="x", consequence_of="b", engine="other"),
        failed(ONE, TWO, tensor="b", cause=("b", "gradients go wrong here")),
    )))  # fmt: skip
    assert (one.lead.tensor, two.lead.tensor) == ("b", "x")
    assert one.consequences == ()


def test_a_case_that_does_what_it_says_has_none(case: Any, failed: Any) -> None:
    assert failure_messages(case()) == []
    assert failure_messages(case(status="xfailed", comparisons=(failed(ONE, TWO),))) == []


def test_errors_come_first_and_findings_by_their_size(case: Any, failed: Any, error: Any) -> None:
    wrong = case(
        status="failed",
        errors=(error("crash", "boom", Place("other.yaml", 3, 4)),),
        comparisons=(failed(ONE, TWO, tensor="x"),),
    )
    first, second = failure_messages(wrong)
    assert first == LocatedMessage(Place("other.yaml", 3, 4), "boom", float("inf"), rule="crash", subject="boom")
    assert (second.location, second.relative_error) == ("cases/chain.yaml:12:3", 0.5)
    assert second.message.startswith("gradient of x: core differs from torch")


def test_what_has_no_numbers_is_as_large_as_can_be(case: Any, comparison: Any) -> None:
    (found,) = failure_messages(case(status="failed", comparisons=(comparison(status="failed", max_rel=None),)))
    assert found.relative_error == float("inf")


def test_a_case_says_why_where_no_comparison_does(case: Any) -> None:
    assert [found.message for found in failure_messages(case(status="failed"))] == ["no gradient was compared"]
    (found,) = failure_messages(case(status="xpassed", reason="a bug"))
    assert found.message == "passes, though it is marked xfail: a bug"


def test_a_place_without_a_line_is_the_cases_own(case: Any) -> None:
    own = case(place=Place("a.yaml", 7, 1))
    assert place_in_case(own, Place()) == Place("a.yaml", 7, 1)
    assert place_in_case(own, Place("b.yaml", 2, 5)) == Place("b.yaml", 2, 5)


def test_a_location_is_as_exact_as_it_is_known() -> None:
    assert LocatedMessage(Place("a.yaml"), "").location == "a.yaml"
    assert LocatedMessage(Place("a\nb.yaml", 3), "").location == "a\\nb.yaml:3"
