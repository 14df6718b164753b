"""What one mistake explains in several cases, in a line; `tests/reports/test_causes.py` shows most of it."""

from __future__ import annotations

from gradcheck.facts import fact
from gradcheck.reports.causes import find_causes
from gradcheck.reports.phrases.cause_titles import group_detail, group_title
from tests.reports.conftest import make_run
from tests.reports.test_causes import ALONE, case, wrong


def test_many_ops_are_counted() -> None:
    ops = ("add", "sub", "mul", "div", "pow", "maximum")
    (group,) = find_causes(make_run(*(case(op, wrong(op, kind="broadcast_not_undone")) for op in ops))).groups
    assert group_title(group) == "broadcast not undone, in add, sub, mul, div and 2 more"


def test_what_explains_nothing_is_not_told() -> None:
    (group,) = find_causes(make_run(case("a", wrong("exp", ALONE)), case("b", wrong("exp", ALONE)))).groups
    assert group_detail(group) == ""


def test_a_value_a_tangent_and_a_shared_argument_have_words_of_their_own() -> None:
    for kind, words in (("value_is_wrong", "its value"), ("its_jvp_is_wrong", "its Jacobian-vector product")):
        (group,) = find_causes(make_run(*(case(name, wrong("exp", fact(kind))) for name in "ab"))).groups
        assert group_title(group) == f"exp, {words}"
