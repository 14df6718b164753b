"""One mistake in many cases is one cause; what a file claims is its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradcheck.checks.result import CaseResult, Cause, Comparison
from gradcheck.errors import Place
from gradcheck.facts import Fact, fact
from gradcheck.reports.causes import case_members, find_causes
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
