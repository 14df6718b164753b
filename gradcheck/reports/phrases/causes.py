"""In words: where something goes wrong first, and what is wrong there."""

from __future__ import annotations

from gradcheck.facts import Fact
from gradcheck.reports.phrases.table import phrases, say
from gradcheck.reports.text import ordinal

# Where: the words that name an origin, for its cause and for what follows from it.
phrases(
    {
        "op_at": "{op} at {entry}",
        "tensor": "{name}",
        "incoming_at_root": "incoming gradient at the root",
        "the_backward_pass": "the backward pass",
        "chance": "chance",
        "ops_of": "{engine}'s ops",
    }
)


def _arguments(found: Fact) -> str:
    places = found["arguments"]
    if len(places) == 1:
        return f"gradient of its {ordinal(places[0])} argument is wrong"
    return f"gradients of its {' and '.join(map(ordinal, places))} arguments are wrong"


def _among_operations(found: Fact) -> str:
    """What is wrong with one op, and that the others are right."""
    what, operations, wrong = say(found["what"]), found["operations"], found["wrong"]
    if wrong > 1:
        return f"{what}; {wrong} of {operations} operations are wrong"
    right = operations - wrong
    if right < 1:
        return f"{what}; it is the only operation"
    return f"{what}; " + ("the other operation is right" if right == 1 else f"all {right} other operations are right")


def _put_together_wrongly(found: Fact) -> str:
    uses, operations = found["uses"], found["operations"]
    shown = "gradients go wrong here" if uses < 2 else f"the contributions of its {uses} uses are put together wrongly"
    if not operations:
        return shown
    if operations == 1:
        return f"{shown}; the operation is right on its own"
    return f"{shown}; all {operations} operations are right on their own"


def _change_arguments(found: Fact) -> str:
    return f"they change their arguments ({', '.join(found['tensors'])}) in place"


def _inputs_mutated(found: Fact) -> str:
    names = ", ".join(found["tensors"])
    return (
        f"input mutated: after the run {names} is not what the engine was given; an op writes its result into the "
        "memory of an argument"
    )


# What: in a sentence behind the colon.
phrases(
    {
        "rule_fails": "its gradient rule fails",
        "its_gradient_is_wrong": "its gradient is wrong",
        "gradients_of_arguments_are_wrong": _arguments,
        "among_operations": _among_operations,
        "put_together_wrongly": _put_together_wrongly,
        "it_recurses": "it recurses",
        "not_the_same_twice": "the engine does not give the same answer twice",
        "change_arguments": _change_arguments,
        "value_is_wrong": "its value is wrong, in the forward pass already",
    }
)

# Diagnoses of an engine as a whole, and where there is none.
phrases(
    {
        "recursion_engine": "the backward pass calls itself for every tensor that a gradient reaches; a long graph is "
        "deeper than Python's stack",
        "not_deterministic_engine": "the same pass once more gives other gradients, or another error: something random "
        "decides, such as tensors told apart by random numbers, of which two may be the same",
        "inputs_mutated": _inputs_mutated,
        "no_explanation": "no explanation: {error}",
        "nothing_explains_it": lambda found: (
            "no known mistake explains it; tried: " + ", ".join(kind.replace("_", " ") for kind in found["tried"])
        ),
        "three_uses_show": "{evidence}; a tensor with three uses shows that it is not another",
        "not_traced": "not traced to its cause: {error}",
    }
)
