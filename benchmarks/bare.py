"""The bare work of the benchmark's cases: the same arrays and graphs through core and torch, and nothing else.

`python -m benchmarks.bare 2000` is the script that `gradcheck run` is measured against.
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


HEAD = """name: {{kind}} {number}
description: one of many small cases
seed: {seed}
inputs:
  x: randn(4, 4)
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
