"""The expression of a forward pass, read from its source."""

from __future__ import annotations

import pytest

from gradcheck.engines.implementation.forward_expression import forward_expression
from gradcheck.errors import UsageError
from gradcheck.language.expr.printer import to_text

SOURCE = '''
raise RuntimeError("this file is never run")

def swish(x, beta=1.0):
    """x times its gate."""
    gate = torch.sigmoid(beta * x)
    x = x * gate
    return x

class Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        h = x @ w
        ctx.save_for_backward(x, w)
        ctx.mask = h > 0
        return F.relu(h)

class Layer:
    def __call__(self, x):
        return x @ self.w

def branches(x):
    if x.sum() > 0:
        return x
    return -x

def other(x):
    return x * scale

def nothing(x):
    print(x)

class Bare:
    pass
'''


@pytest.mark.parametrize(
    ("name", "text"),
    [("swish", "x * sigmoid(beta * x)"), ("Fused.apply", "relu(x @ w)"), ("Fused", "relu(x @ w)")],
)
def test_local_names_are_written_out(name: str, text: str) -> None:
    assert to_text(forward_expression(SOURCE, name)) == text


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Layer", "what Layer computes is no expression of a case"),
        ("branches", "line 23 is neither an assignment nor a return"),
        ("other", "what other computes also depends on scale"),
        ("nothing", "it returns nothing"),
        ("Bare", "'Bare' has no forward pass"),
        ("absent", "the file defines no 'absent'"),
        ("swish.backward", "the file defines no 'swish.backward'"),
    ],
)
def test_what_is_no_expression_is_refused(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        forward_expression(SOURCE, name)


def test_a_file_that_is_no_python_is_refused() -> None:
    with pytest.raises(UsageError, match="no Python"):
        forward_expression("def f(:", "f")
