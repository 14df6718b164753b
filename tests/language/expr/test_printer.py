"""An expression survives being printed and read again, and is printed as a person would write it."""

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import TABLE
from gradcheck.autograd.operators import PROPERTIES
from gradcheck.language.expr.nodes import Attribute, Call, Dtype, Expr, Gradient, Literal, Name, Sequence, Slice
from gradcheck.language.expr.parser import BINARY, COMPARISONS, UNARY, parse
from gradcheck.language.expr.printer import to_text

NAMES = st.sampled_from(
    ["x", "y", "loss", "e", "pi", "sum", "F", "torch", "linalg", "nn", "math", "np", "θ", "_", "grad"]
)
NUMBERS = st.one_of(
    st.integers(-(2**63), 2**63),
    st.floats(),
    st.complex_numbers(),
    st.builds(complex, st.integers(-3, 3), st.sampled_from([0.0, -0.0, 1.0, -2.0])),
)
LEAVES = st.one_of(
    NAMES.map(Name),
    NUMBERS.map(Literal),
    st.sampled_from([True, False, None, ...]).map(Literal),
    st.text(max_size=5).map(Literal),
    st.sampled_from(sorted(dtypes.BY_NAME)).map(Dtype),
    st.sampled_from(["x", "m[0]", "m[12]"]).map(Gradient),
)


#: Ops of which torch takes some arguments only beside, or without, others.
_TOGETHER = frozenset({"sort", "argsort", "max", "min", "prod", "sum", "mean"})


def calls(parts: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    """Calls of any op of the table with arguments that its signature allows."""

    @st.composite
    def call(draw: st.DrawFn) -> Expr:
        op = TABLE[draw(st.sampled_from(sorted(TABLE)))]
        positional = [p for p in op.parameters if not p.keyword_only]
        required = sum(p.required for p in positional)
        count = draw(st.integers(required, len(positional)))
        args = tuple(draw(parts) for _ in range(count))
        if op.variadic and count == len(positional):
            args += tuple(draw(st.lists(parts, max_size=2)))
        rest = [p.name for p in op.parameters if p.required and p.keyword_only]
        optional = [] if op.name in _TOGETHER else op.parameters[count:]
        rest += [p.name for p in optional if not p.required and draw(st.booleans())]
        return Call(op.name, args, tuple((name, draw(parts)) for name in rest))

    return call()


def composed(parts: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    slices = st.builds(Slice, *[st.one_of(st.none(), parts)] * 3)
    index = st.one_of(
        parts, slices, st.lists(st.one_of(parts, slices), max_size=3).map(lambda i: Sequence(tuple(i), True))
    )
    infix = st.sampled_from(sorted([*BINARY.values(), *COMPARISONS.values()]))
    return st.one_of(
        st.builds(lambda op, a, b: Call(op, (a, b)), infix, parts, parts),
        st.builds(lambda op, a: Call(op, (a,)), st.sampled_from(sorted([*UNARY.values(), *PROPERTIES])), parts),
        st.builds(lambda a, i: Call("getitem", (a, i)), parts, index),
        st.builds(Attribute, parts, st.sampled_from(["shape", "ndim", "dtype", "numel", "len"])),
        st.builds(lambda items, t: Sequence(tuple(items), t), st.lists(parts, max_size=3), st.booleans()),
        calls(parts),
    )


EXPRESSIONS = st.recursive(LEAVES, composed, max_leaves=12)


@settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(EXPRESSIONS)
def test_what_is_printed_reads_as_the_same_expression(expr):
    assert parse(to_text(expr), max_length=10**6) == expr


@settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(EXPRESSIONS)
def test_printing_is_stable(expr):
    text = to_text(expr)
    assert to_text(parse(text, max_length=10**6)) == text


@pytest.mark.parametrize(
    "text",
    [
        "x + y * z",
        "(x + y) * z",
        "x - (y - z)",
        "x - y - z",
        "x / (y / z)",
        "x @ y @ z",
        "-x ** 2",
        "(-x) ** 2",
        "(-2) ** x",
        "2 ** -x",
        "x ** y ** z",
        "(x ** y) ** z",
        "~(x > 0) & (y < 1)",
        "(x | y) & z",
        "(a < b) == (c < d)",
        "-x.T",
        "(-x).T",
        "(x @ y).T",
        "x.T[0]",
        "x.mT.H.mH.real.imag",
        "x[0]",
        "x[0, 1:3]",
        "x[..., None, ::2]",
        "x[1:]",
        "x[:-1]",
        "x[:]",
        "x[[0, 2]]",
        "x[()]",
        "x[0:1,]",
        "x[x > 0]",
        "x.shape[0]",
        "len(x.shape)",
        "x.numel()",
        "sum(x, dim=0, keepdim=True)",
        "cat([x, y], dim=1)",
        "linalg.inv(x)",
        "torch.complex(x, y)",
        "x.float()",
        "einsum('ij,jk->ik', x, y)",
        "to(x, torch.float32)",
        "torch.inf",
        "-torch.inf",
        "-(1 + 2j)",
        "(1 - 2.5j) * x",
        "x * 2j",
        "neg(1)",
        "grad(x) * 2",
        "grad(m[0])",
        "(1,)",
        "()",
        "[]",
        "[1, 2.5, -3]",
    ],
)
def test_a_text_in_its_plainest_form_is_printed_as_it_was(text):
    assert to_text(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("((x))+(y)", "x + y"),
        ("torch.add(x, y)", "x + y"),
        ("x.mul(y)", "x * y"),
        ("x.matmul(y).sum(axis=0, keepdims=True)", "sum(x @ y, dim=0, keepdim=True)"),
        ("x.size(0)", "x.shape[0]"),
        ("float('-inf')", "-torch.inf"),
        ("x.where(c, y)", "where(c, x, y)"),
        ("x[(0, 1)]", "x[0, 1]"),
    ],
)
def test_other_spellings_are_printed_in_the_plainest(text, plain):
    assert to_text(parse(text)) == plain


@pytest.mark.parametrize("value", [0.1, 1e22, 5e-324, -0.0, 1 / 3, 2**63, -(2**63), math.nan, math.inf, -math.inf])
def test_numbers_come_back_to_the_last_bit(value):
    assert parse(to_text(Literal(value))) == Literal(value)


@pytest.mark.parametrize("real", [0.0, -0.0, 1.0, -2.5, math.inf, math.nan])
@pytest.mark.parametrize("imag", [0.0, -0.0, 1e-300, -1 / 3, -math.inf, math.nan])
def test_complex_numbers_come_back_to_the_last_bit(real, imag):
    assert parse(to_text(Literal(complex(real, imag)))) == Literal(complex(real, imag))


def test_a_tower_beyond_the_recursion_limit_is_printed():
    expr = Name("x")
    for _ in range(50_000):
        expr = Call("neg", (expr,))
    assert to_text(expr) == "-" * 50_000 + "x"
    assert expr == Call("neg", expr.args)
    assert hash(expr) == hash(Call("neg", expr.args))
    assert expr != expr.args[0]
