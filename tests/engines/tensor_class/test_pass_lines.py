"""The line of a Tensor class that makes a backward pass wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcheck.engines.resolve import engine_from_spec
from gradcheck.engines.tensor_class.engine import TensorClassEngine
from gradcheck.language.sampling import literal_problem

PROBLEM = literal_problem("squares", {"a": [1.0, 2.0]}, {"p": "a * a", "q": "p * a"}, {"q": [0.5, 2.0]})
#: Recursive, with what a node passes on in a list: the gradient is set where a pass begins, and in a helper.
CLASS = """
import numpy as np

class Tensor:
    def __init__(self, data, parents=()):
        self.data, self.parents, self.grad = np.asarray(data, float), parents, None

    def __mul__(self, other):
        return Tensor(self.data * other.data, [(self, lambda g: g * other.data), (other, lambda g: g * self.data)])

    def __add__(self, other):
        return Tensor(self.data + other.data, [(self, lambda g: g), (other, lambda g: g)])

    def receive(self, share):
        {receive}

    def backward(self, g):
        order, seen = [], set()

        def walk(one):
            if one not in seen:
                seen.add(one)
                for parent, _ in one.parents:
                    walk(parent)
                order.append(one)

        walk(self)
        self.grad = np.array(g)
        for one in reversed(order):
            for parent, share in one.parents:
                parent.receive(share(one.grad))
"""


def line_of(folder: Path, kind: str, receive: str) -> tuple[str, str]:
    """The file and the text of the line that is blamed."""
    (folder / "mine.py").write_text(CLASS.replace("{receive}", receive))
    engine = engine_from_spec(f"{folder / 'mine.py'}:Tensor")
    assert isinstance(engine, TensorClassEngine)
    place = engine.line_of_mistake(kind, PROBLEM)
    assert place is not None
    return Path(place.file).name, Path(place.file).read_text().splitlines()[place.line - 1].strip()


@pytest.mark.parametrize(
    ("kind", "receive", "blamed"),
    [
        ("overwritten", "self.grad = share", "self.grad = share"),
        ("overwritten", "self.grad = share if self.grad is None else self.grad + share", "self.grad = np.array(g)"),
        (
            "overwritten",
            "if self.grad is None:\n            self.grad = share\n        else:\n            self.grad = 1.0 * share",
            "self.grad = 1.0 * share",
        ),
        ("passed_on_early", "self.grad = share", "def backward(self, g):"),
    ],
)
def test_the_statement_is_blamed_or_where_the_pass_begins(tmp_path: Path, kind: str, receive: str, blamed: str) -> None:
    assert line_of(tmp_path, kind, receive) == ("mine.py", blamed)


def test_what_adds_in_place_is_found(tmp_path: Path) -> None:
    receive = """if self.grad is None:
            self.grad = share
        else:
            self.grad += share"""
    assert line_of(tmp_path, "mutated", receive) == ("mine.py", "self.grad += share")
