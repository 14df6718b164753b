"""The table of exact rules: one for each op."""

from __future__ import annotations

import pytest

from gradcheck.oracles.exact import ops
from gradcheck.oracles.exact.rules import EXACT_RULES, exact_rule

assert ops


def test_an_op_has_one_rule() -> None:
    known = EXACT_RULES["add"]
    with pytest.raises(ValueError, match="'add' already"):
        exact_rule("add")(lambda a, b: None)
    assert EXACT_RULES["add"] is known


def test_a_rule_serves_several_ops_and_stays_a_function() -> None:
    def first(x: int) -> int:
        return x + 1

    try:
        assert exact_rule("no op", "nor this one", operands=(0, 2))(first) is first
        assert EXACT_RULES["no op"] == EXACT_RULES["nor this one"]
        assert EXACT_RULES["no op"].function(1) == 2
        assert EXACT_RULES["no op"].operands == (0, 2)
    finally:
        for name in ("no op", "nor this one"):
            EXACT_RULES.pop(name, None)
