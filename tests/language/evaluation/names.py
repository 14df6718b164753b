"""What expressions of these tests may name, and their values."""

import numpy as np

from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse

X = np.arange(6.0).reshape(2, 3)
Y = np.array([[2.0, 3.0], [1.0, 4.0], [0.5, 6.0]])
NAMES = {"x": X, "y": Y, "n": 3, "idx": np.array([1, 0]), "e": np.array(5.0)}


def value(text, **names):
    return evaluate(parse(text), NAMES | names)
