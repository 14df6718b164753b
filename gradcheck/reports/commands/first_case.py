"""The first case of `gradcheck init`: an example, or one of your own.

A case of a formula has the derived gradients; one of code has the code's expression as its specification.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gradcheck.checks.derivation import Explanation
from gradcheck.language.case import Case, Generalize, Implementation
from gradcheck.language.case_writer import scalar, write
from gradcheck.language.shell_words import shell_word
from gradcheck.reports.commands.explanation import case_with_formulas, unusable_formulas
from gradcheck.reports.safe_text import plain

_FIRST_CASE = """\
# A case: a graph of tensors, and what must be true of its gradients.
#   gradcheck run {file}        holds it against PyTorch
#   gradcheck explain {file}    derives every gradient as a formula
name: {name}
description: Linear regression, and the gradient of its loss that a hand derives.

dims: {{n: 4, d: 3}}                # sizes, usable wherever a size is
inputs:                           # these get a gradient
  w: randn(d)
constants:                        # these do not: data, labels, masks
  X: randn(n, d)
  t: randn(n)
graph:                            # in order, as in PyTorch; the last line is where the backward pass begins
  y: X @ w
  r: y - t
  loss: (r ** 2).mean()

formulas:                         # gradients derived by hand: verified here, and for other numbers and sizes
  w: 2 * X.T @ r / n
  r: 2 * r / n
wrong_formulas:                   # and what is easily got wrong: it must be refuted
  w: 2 * X.T @ r                  # the mean forgotten

# Numbers that are known beforehand stand under `expected:`, such as
# expected:
#   w: [1.0, 2.0, 3.0]
"""


_OF_ENGINE = """\
# A first case for a Tensor class: a tensor that is used twice, whose gradient is the sum over both uses.
#   {command}
name: {name}
inputs:
  x: [1, 2, 3]
  w: [4, 5, 6]
graph:                            # in order, as in PyTorch; the class runs each line by its own operators
  y: x * w
  z: y + x
backward: {{z: [1.0, 0.5, 2.0]}}    # from z, with this incoming gradient
expected:                         # numbers that are known beforehand
  x: [5.0, 3.0, 14.0]             # incoming gradient * (w + 1)
  w: [1.0, 1.0, 6.0]              # incoming gradient * x
"""


def example(file: str, name: str) -> str:
    """Return the text of an example, for a file of this name."""
    return _FIRST_CASE.format(file=shell_word(plain(file)), name=scalar(plain(name)))


def engine_case(name: str, command: str) -> str:
    """Return the text of a case for a Tensor class, and what checks it."""
    return _OF_ENGINE.format(name=scalar(plain(name)), command=plain(command))


def formula_case(derived: Explanation, name: str, command: str) -> str:
    """Return the text of a case with the derived gradients of its formula."""
    case, remarks = case_with_formulas(derived)
    lines = ["# The gradients are gradcheck's own: write yours in their place.", *unusable_formulas(derived)]
    return _text(lines, case, name, command, remarks)


def code_case(case: Case, name: str, command: str, implementation: str) -> str:
    """Return the text of a case that holds code to its expression."""
    (entry,) = case.graph
    case = replace(case, implementations=(Implementation(entry, implementation),))
    return _text(["# The entry of graph is what the code must compute, its gradients included."], case, name, command)


def _text(comments: list[str], case: Case, name: str, command: str, remarks: Mapping[str, str] | None = None) -> str:
    case = replace(case, name=plain(name), generalize=Generalize())
    return "\n".join([*comments, f"#   {plain(command)}", write(case, remarks)])
