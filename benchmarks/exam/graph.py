"""One graph of the exam: a case without its formulas, the right formula for each gradient, and other spellings of them.

Texts are those of the case language. They are also read by `evaluator`, which is no part of gradcheck.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Graph:
    """A graph and what is known of its gradients.

    `right` holds the gradient of each tensor; `spelled` other spellings of it, `wrong` slips of this very graph as
    pairs of a class and a formula. `pieces` says that there are kinks; `rational`, that exact arithmetic decides even
    the nearest miss; `together`, that the other tensors' right formulas stand in the case, too; `needs` is a condition
    on the sizes, known to whoever reads the graph and not said in the case. `conventions` are right where there is no
    derivative, though torch chooses another subgradient; `partial` ones where they are defined.
    """

    name: str
    inputs: Mapping[str, Any]
    graph: Mapping[str, str]
    right: Mapping[str, str]
    dims: Mapping[str, int] = field(default_factory=dict)
    backward: Mapping[str, Any] | str = "loss"
    constants: Mapping[str, Any] = field(default_factory=dict)
    let: Mapping[str, str] = field(default_factory=dict)
    shapes: Mapping[str, Any] = field(default_factory=dict)
    steps: Sequence[Mapping[str, Any]] = ()
    spelled: Mapping[str, Sequence[str]] = field(default_factory=dict)
    wrong: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    partial: Mapping[str, Sequence[str]] = field(default_factory=dict)
    conventions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    dtype: str = "float64"
    pieces: bool = False
    rational: bool = False
    together: bool = False
    needs: str = "True"
    theme: str = ""

    @property
    def roots(self) -> dict[str, Any]:
        """Each root with its incoming gradient, as the case says it; 1 for a one-element root without."""
        if self.steps:
            return {name: value for step in self.steps for name, value in _roots(step.get("backward", {})).items()}
        return _roots(self.backward)

    @property
    def in_half_precision(self) -> bool:
        """Whether torch can evaluate it there: it has no linear algebra in half precision, and 1e-200 is none."""
        texts = " ".join([*self.graph.values(), *self.right.values(), str(self.inputs)])
        return self.dtype == "float64" and not any(word in texts for word in ("solve", "inv(", "det(", "e-200"))

    @property
    def is_complex(self) -> bool:
        return self.dtype.startswith("complex")


def _roots(backward: Any) -> dict[str, Any]:
    return {backward: 1} if isinstance(backward, str) else dict(backward)


@dataclass(frozen=True)
class Item:
    """One formula of one graph, right or wrong: the class it belongs to, and what was done to it."""

    graph: Graph
    tensor: str
    formula: str
    group: str
    operator: str
    let: Mapping[str, str] | None = None  # other intermediate steps than the graph's
    choices: Mapping[str, Any] = field(
        default_factory=dict
    )  # of the run: a seed, a dtype, an order, an oracle; other `sizes`

    @property
    def steps_of_derivation(self) -> Mapping[str, str]:
        return self.graph.let if self.let is None else self.let

    @property
    def name(self) -> str:
        told = "".join(f", {key} {value}" for key, value in self.choices.items())
        return f"{self.graph.name}, {self.tensor}: {self.operator}{told}"

    def under(self, **choices: Any) -> Item:
        """The same, checked under other options."""
        return replace(self, choices=choices)

    def case(self) -> dict[str, Any]:
        """The case of this formula alone (or beside right ones), as a mapping that YAML or JSON can hold."""
        formulas = {tensor: [text] for tensor, text in self.graph.right.items()} if self.graph.together else {}
        graph = replace(self.graph, dims={**self.graph.dims, **self.choices.get("sizes", {})})
        return case_of(graph, {**formulas, self.tensor: [self.formula]}, self.steps_of_derivation, self.name)

    def text(self) -> str:
        return json.dumps(self.case())


def case_of(graph: Graph, formulas: Mapping[str, Sequence[str]], let: Mapping[str, str], name: str) -> dict[str, Any]:
    """The case of these formulas; keys that say nothing are left out."""
    made: dict[str, Any] = {
        "name": name,
        "dtype": graph.dtype,
        "dims": dict(graph.dims),
        "inputs": dict(graph.inputs),
        "constants": dict(graph.constants),
        "graph": dict(graph.graph),
        "backward": graph.backward if isinstance(graph.backward, str) else dict(graph.backward),
        "steps": [dict(step) for step in graph.steps],
        "shapes": dict(graph.shapes),
        "let": dict(let),
        "formulas": {tensor: texts[0] if len(texts) == 1 else list(texts) for tensor, texts in formulas.items()},
    }
    if made["steps"]:
        del made["backward"]
    if graph.dtype == "float64":
        del made["dtype"]
    return {key: value for key, value in made.items() if value not in ({}, [])}
