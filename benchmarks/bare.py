"""The bare work of the benchmark's cases: graphs and shapes as theirs, through core and torch, and nothing else.

`python -m benchmarks.bare 2000` is the script that `gradcheck run` is measured against: it reads nothing, draws its
numbers, and compares nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

Graph = Callable[..., Any]


def reuse(x: Any, w: Any) -> Any:
    y = x + x
    z = y * w + y
    return z.sum()


def chain(x: Any, w: Any) -> Any:
    p = x @ w
    q = p.T @ x
    return (q * q).sum()


def elementwise(x: Any, w: Any) -> Any:
    h = x.exp() + w.sigmoid()
    return (h.log() * x).mean()


def layer(x: Any, w: Any) -> Any:
    h = (x @ w).tanh()
    return h.softmax(dim=1).pow(2).sum()


#: Half a kilobyte with a graph below it, as cases are that say what they are about.
HEAD = """name: {{kind}} {number}
description: >-
  One of many small cases, in size and style as people write them. It states no gradient:
  whatever the two engines compute must agree, entry by entry.
source: written by a program, template "{{kind}}"
tags: [small, generated]
seed: {seed}
inputs:
  x: [[{0}, {1}, {2}, {3}],
      [{4}, {5}, {6}, {7}],
      [{8}, {9}, {10}, {11}],
      [{12}, {13}, {14}, {15}]]
  w: randn(4, 4)
graph:
"""


def case(kind: str, graph: str) -> str:
    return HEAD.replace("{{kind}}", kind) + graph


TEMPLATES: list[tuple[str, Graph]] = [
    (case("reuse", "  y: x + x\n  z: y * w + y\n  loss: z.sum()\n"), reuse),
    (case("chain", "  p: x @ w\n  q: p.T @ x\n  loss: (q * q).sum()\n"), chain),
    (case("elementwise", "  h: x.exp() + w.sigmoid()\n  loss: (h.log() * x).mean()\n"), elementwise),
    (case("layer", "  h: (x @ w).tanh()\n  loss: h.softmax(dim=1).pow(2).sum()\n"), layer),
]


def text(number: int) -> str:
    """The file of this number: the templates in turn, each with numbers of its own."""
    numbers = np.random.default_rng(number).standard_normal(16).round(4)
    return TEMPLATES[number % len(TEMPLATES)][0].format(*numbers, number=number, seed=number)


def main(files: int) -> None:
    import torch

    from gradcheck import Tensor

    for number in range(files):
        _, graph = TEMPLATES[number % len(TEMPLATES)]
        generator = np.random.default_rng(number)
        arrays = [generator.standard_normal((4, 4)) for _ in range(2)]
        leaves = [Tensor(array, requires_grad=True) for array in arrays]
        graph(*leaves).backward()
        references = [torch.tensor(array, requires_grad=True) for array in arrays]
        graph(*references).backward()


if __name__ == "__main__":
    main(int(sys.argv[1]))
