"""The first case that `gradcheck init` writes, with comments."""

from __future__ import annotations

FIRST_CASE = """\
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


def first_case(file: str, name: str) -> str:
    """Return the text of the first case, for a file of this name."""
    return FIRST_CASE.format(file=file, name=name)
