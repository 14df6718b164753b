"""Who applies the ops: NumPy as it is, or whoever is given."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NUMPY, shape_of
from gradcheck.language.expr.parser import parse

X = np.arange(6.0).reshape(2, 3)


NAMES = {"x": X, "n": 3}


def test_the_host_is_given_calls_as_they_were_written():
    calls = []

    class Host:
        def call(self, op, args, kwargs):
            calls.append((op.name, args, kwargs))
            return NUMPY.call(op, args, kwargs)

        def dtype(self, name):
            return np.dtype(name)

    evaluate(parse("x.sum(1, keepdims=True)"), NAMES, Host())
    evaluate(parse("n * 2 + len(x.shape) + sqrt(2)"), NAMES, Host())
    evaluate(parse("ones(n, dtype=torch.float32)"), NAMES, Host())
    assert calls == [("sum", (X, 1), {"keepdim": True}), ("ones", (3,), {"dtype": np.dtype("float32")})]


def test_numpy_applies_ops_as_they_are() -> None:
    np.testing.assert_array_equal(NUMPY.call(TABLE["sum"], (X, 1), {"keepdim": True}), X.sum(1, keepdims=True))
    assert NUMPY.dtype("float32") == np.float32


def test_shapes_are_those_of_tensors_alone() -> None:
    assert [shape_of(v) for v in (X, np.float64(1), 2.0, [1], np.dtype("float32"))] == [(2, 3), (), None, None, None]
