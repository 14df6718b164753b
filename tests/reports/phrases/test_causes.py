"""Where something goes wrong first, and what, word by word."""

from __future__ import annotations

import pytest

from gradcheck.facts import Fact, fact
from gradcheck.reports.phrases import PHRASES, say

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
