"""Who is wrong; where something goes wrong first, and what, word by word."""

from __future__ import annotations

import pytest

from gradcheck.facts import Fact, fact
from gradcheck.reports.phrases import PHRASES, say

FORMULA, FILE = fact("the_formula"), fact("the_file")
KINK = {"low": -1.0, "high": 1.0, "got": "core", "got_value": 0.0, "want": "torch", "want_value": 1.0}


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            fact("stands_alone", wrong="core", agree=("torch", "complex step"), closeness=2.2e-16),
            "core is wrong: torch and complex step agree to 2e-16",
        ),
        (
            fact("stands_alone", wrong=FORMULA, agree=("torch", FILE), closeness=0.0),
            "the formula is wrong: torch and the file agree exactly",
        ),
        (
            fact("oracle_sides_with", got="core", want="torch", oracle="complex step", closeness=1e-15),
            "torch and core differ, complex step sides with core to 1e-15",
        ),
        (
            fact("oracle_sides_with", got="core", want="torch", oracle=fact("proved", what=FORMULA), closeness=0.0),
            "torch and core differ, the formula (proved) sides with core exactly",
        ),
        (
            fact("oracle_cannot_tell", got="core", want="torch", oracle="differences", error=0.031),
            "core and torch differ, and differences cannot tell: its error bar is 0.03",
        ),
        (
            fact("oracle_cannot_tell", got="core", want="torch", oracle="differences", error=float("inf")),
            "core and torch differ, and differences cannot tell: it does not converge there",
        ),
        (fact("all_differ", names=("core", "torch", "jax")), "core, torch and jax all differ"),
        (
            fact("wrong_together", wrong=("core", "jax"), agree=("torch", "complex step"), closeness=0.0),
            "core and jax are wrong together: torch and complex step agree exactly",
        ),
        (
            fact("wrong_together", wrong=("core",), agree=("torch", "jax"), closeness=0.0),
            "core is wrong together: torch and jax agree exactly",
        ),
        (fact("parted", some=("core", "jax"), others=("torch", FILE)), "core and jax stand against torch and the file"),
    ],
)
def test_who_stands_alone(found: Fact, sentence: str) -> None:
    assert say(found) == sentence


def test_conventions_at_a_kink() -> None:
    kink, jump = fact("kink", jumps=False, **KINK), fact("kink", jumps=True, **KINK)
    assert say(fact("convention", kink=kink)) == (
        "a difference of convention, not a failure: no derivative there, and any of [-1, 1] is a subgradient: core "
        "takes 0, torch 1"
    )
    assert say(fact("another_convention", kink=jump)) == (
        "another convention at a kink: no derivative there, for the function jumps: core takes 0, torch 1"
    )


def test_what_is_outside_of_the_subgradients() -> None:
    found = fact("outside_subgradients", name=FORMULA, value=2 + 1j, low=-1.0, high=1.0)
    assert say(found) == (
        "the formula is wrong: no derivative there, and the formula (2+1j) is outside of the subgradients, [-1, 1]"
    )


WRONG = fact("its_gradient_is_wrong")


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (fact("op_at", op="tanh", entry="h"), "tanh at h"),
        (fact("tensor", name="x"), "x"),
        (fact("ops_of", engine="mine"), "mine's ops"),
    ],
)
def test_origins(found: Fact, sentence: str) -> None:
    assert say(found) == sentence


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (fact("gradients_of_arguments_are_wrong", arguments=(1,)), "gradient of its second argument is wrong"),
        (
            fact("gradients_of_arguments_are_wrong", arguments=(0, 2)),
            "gradients of its first and third arguments are wrong",
        ),
        (
            fact("among_operations", what=WRONG, operations=5, wrong=1),
            "its gradient is wrong; all 4 other operations are right",
        ),
        (
            fact("among_operations", what=WRONG, operations=2, wrong=1),
            "its gradient is wrong; the other operation is right",
        ),
        (
            fact("among_operations", what=WRONG, operations=1, wrong=1),
            "its gradient is wrong; it is the only operation",
        ),
        (
            fact("among_operations", what=WRONG, operations=5, wrong=2),
            "its gradient is wrong; 2 of 5 operations are wrong",
        ),
        (fact("put_together_wrongly", uses=1, operations=0), "gradients go wrong here"),
        (
            fact("put_together_wrongly", uses=1, operations=1),
            "gradients go wrong here; the operation is right on its own",
        ),
        (
            fact("put_together_wrongly", uses=2, operations=3),
            "the contributions of its 2 uses are put together wrongly; all 3 operations are right on their own",
        ),
        (fact("change_arguments", tensors=("x", "y")), "they change their arguments (x, y) in place"),
    ],
)
def test_what_is_wrong_there(found: Fact, sentence: str) -> None:
    assert say(found) == sentence


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            fact("nothing_explains_it", tried=("sign", "no_centring")),
            "no known mistake explains it; tried: sign, no centring",
        ),
        (
            fact("inputs_mutated", tensors=("x", "w")),
            "input mutated: after the run x, w is not what the engine was given; an op writes its result into the "
            "memory of an argument",
        ),
    ],
)
def test_diagnoses_of_a_whole_engine_or_of_nothing(found: Fact, sentence: str) -> None:
    assert say(found) == sentence


def test_sentences_have_no_full_stop() -> None:
    """They stand behind colons and between semicolons."""
    templates = [phrase for phrase in PHRASES.values() if isinstance(phrase, str)]
    assert not [text for text in templates if text.endswith(".") or text != text.strip()]


def shown(**changed: object) -> Fact:
    data = {"tensor": "x", "given": (), "incoming": (), "sizes": (), "index": (), "claimed": 4.0, "true": 1 / 3}
    return fact("counterexample", **{**data, **changed})


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (shown(), "counterexample: the formula is 4, the gradient 0.333333"),
        (
            shown(given=(("x", (1.0,) * 20), ("y", (1.0, 2.5))), index=(3,)),
            "counterexample: for x of 20 small integers, y = [1, 2.5] the formula is 4 at [3], the gradient 0.333333",
        ),
        (
            shown(given=(("x", ((1.0,) * 5,) * 4), ("k", 3)), incoming=(("y", -2.0),), index=(0, 1)),
            "counterexample: for x of 4×5 small integers, k = 3, incoming gradient of y = -2 the formula is 4 at "
            "[0, 1], the gradient 0.333333",
        ),
        (
            shown(sizes=(("n", 2),), index=None, claimed=(2, 3), true=()),
            "counterexample: for n = 2 the formula has shape [2, 3], x []",
        ),
        (fact("did_you_mean", formula="{x}.T"), "did you mean  {x}.T ?"),
        (
            fact("none_found_near", formula="2 * x"),
            "no small change mends it; the derived gradient is  2 * x",
        ),
        (fact("not_searched_further", formula="2 * x"), "not searched further; the derived gradient is  2 * x"),
        (fact("fails_at_ties", formula=""), "it fails only where numbers tie, or at a kink"),
    ],
)
def test_corrections(found: Fact, sentence: str) -> None:
    assert say(found) == sentence


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (fact("forward_raises", error="2 and 3"), "the forward pass raises: 2 and 3"),
        (fact("no_pass_completed"), "no backward pass is completed"),
        (fact("pass_not_run"), "the backward pass alone cannot be run"),
        (
            fact("formula_too_long", parts=20001),
            "a formula has 20,001 parts; give parts of the graph names of their own",
        ),
        (
            fact("derived_does_not_hold", tensor="x"),
            "the derived gradient of x does not hold when it is read back",
        ),
        (fact("derived_is_refuted", tensor="x"), "the exact oracle refutes the derived gradient of x"),
        (fact("equals_derived"), "equals the derived formula; not independent evidence"),
    ],
)
def test_why_there_is_no_derived_formula(found: Fact, sentence: str) -> None:
    assert say(found) == sentence
