"""What PyTorch users write is read unchanged, and everything else is refused with its place and a hint."""

import time

import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.errors import InvalidCase, Place
from gradcheck.language.expr.nodes import Call, Dtype, Literal, Name, Sequence, Slice
from gradcheck.language.expr.parser import parse, parse_with_spans
from gradcheck.language.expr.printer import to_text
from tests.tables import for_each

X, Y = Name("x"), Name("y")

NOTEBOOK = """
y @ x
z @ p
n.mm(q)
r.sum()
((z @ y @ x).sum(dim=1, keepdim=True) @ torch.ones([1, n.shape[0]])).T
x.sum(dim=1, keepdim=True) @ torch.ones([1, y.shape[0]])
(torch.ones([x.shape[1], 1]) @ y.sum(dim=0, keepdim=True)).T
(x.sum(dim=1, keepdim=True) @ torch.ones([1, y.shape[0]])).T
(y @ x).sum() == (grad(x) * x).sum()
(((y @ x).sum(dim=1, keepdim=True) @ torch.ones([1, z.shape[0]])) @ n.sum(dim=0).diag()).T
((x.sum(dim=1, keepdim=True) @ torch.ones([1, y.shape[0]])) @ (n @ z).sum(dim=0).diag()).T
(torch.ones([x.shape[1], x.shape[0]]) @ (n @ z @ y).sum(dim=0).diag()).T
torch.ones([1, x.shape[0]])
13*x[0] + 7*x[1] + 1
y.mm(x).sum()
x + x + x + x
x1 + x2 + x3 + x4
(x+y).sum()
(1/2) * torch.sum(5 * (x + 1) ** 2)
y * y * 2
z.mean()
(w * 3).sum()
torch.mul(a, b)
(1/2) * torch.sum(y)
torch.nn.functional.softmax(x, dim=-1)
F.softmax(scores, dim=-1) @ v
x.mean(-1, keepdim=True)
x.pow(2).sum().sqrt()
x - x.mean(dim=-1, keepdim=True)
(x - mu) / torch.sqrt(var + 1e-5)
x.var(dim=-1, unbiased=False, keepdim=True)
q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
torch.relu(x @ w1 + b1) @ w2 + b2
F.cross_entropy(logits, targets)
nn.functional.mse_loss(pred, target, reduction='sum')
F.layer_norm(x, (4,), weight, bias, eps=1e-5)
F.scaled_dot_product_attention(q, k, v)
-torch.log(p[torch.arange(n), labels]).mean()
torch.exp(logits) / torch.exp(logits).sum(dim=1, keepdim=True)
logits.log_softmax(dim=1)
torch.logsumexp(x, dim=1)
x.unsqueeze(1) - y.unsqueeze(0)
x[:, None, :] - y[None, :, :]
torch.cat([x, y], dim=0)
torch.stack((x, y))
x.view(-1, 4)
x.reshape(x.shape[0], -1)
x.permute(0, 2, 1)
x.expand(-1, 4)
torch.einsum('bij,bjk->bik', a, b)
torch.where(x > 0, x, 0.01 * x)
x.clamp(min=0)
torch.clamp(x, 0, 1)
x.masked_fill(mask, float('-inf'))
torch.tril(torch.ones(n, n))
torch.eye(3, dtype=torch.float64)
torch.zeros_like(x)
x.to(torch.float32)
torch.linalg.inv(a) @ b
torch.linalg.norm(x)
linalg.solve(a, b)
x.norm(p=2, dim=1)
torch.max(x, dim=1)[0]
x.gather(1, idx)
x.index_select(0, idx)
x[idx]
x[x > 0].sum()
x[..., 0]
x[0, 1:3]
x[::2]
x.T @ x
x.mT
x.flatten()
torch.outer(u, v)
torch.dot(u, v)
torch.trace(a @ b)
x.abs().sum()
torch.tanh(x) ** 2
1 - torch.tanh(x) ** 2
torch.sigmoid(x) * (1 - torch.sigmoid(x))
(x > 0).to(x.dtype) * grad_out
(x > 0).double()
x.detach() * y
no_grad(x * 2) + x
torch.full((2, 3), 7.0)
torch.tensor([[1., 2.], [3., 4.]])
x.sum((0, 1))
x.sum(axis=0, keepdims=True)
torch.sum(x, dim=(0, 1), dtype=torch.float64)
""".strip().splitlines()


@pytest.mark.parametrize("text", NOTEBOOK)
def test_a_formula_from_a_notebook_reads_unchanged(text):
    expr = parse(text)
    assert parse(to_text(expr)) == expr


def test_operators_are_ops_by_name():
    for sign, op in {"+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floor_divide", "%": "remainder",
                     "**": "pow", "@": "matmul", "&": "bitwise_and", "|": "bitwise_or", "<": "lt", "<=": "le",
                     ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}.items():  # fmt: skip
        assert parse(f"x {sign} y") == Call(op, (X, Y))
    assert parse("-x") == Call("neg", (X,))
    assert parse("~x") == Call("bitwise_not", (X,))


def test_operators_bind_as_in_python():
    assert parse("-x ** 2") == Call("neg", (Call("pow", (X, Literal(2))),))
    assert parse("x - y - x") == Call("sub", (Call("sub", (X, Y)), X))
    assert parse("x ** y ** x") == Call("pow", (X, Call("pow", (Y, X))))


def test_a_sign_belongs_to_its_number():
    assert parse("-1") == Literal(-1)
    assert parse("-2.5") == Literal(-2.5)
    assert parse("--1") == Call("neg", (Literal(-1),))
    assert parse("-torch.inf") == parse("float('-inf')") == Literal(float("-inf"))
    assert parse("-9223372036854775808") == Literal(-(2**63))


def test_complex_numbers():
    assert parse("1 + 2j") == Literal(1 + 2j)
    assert parse("-1 - 2j") == Literal(complex(-1, -2))
    assert parse("x + 2j") == Call("add", (X, Literal(2j)))
    assert parse("complex(0.0, torch.inf)") == Literal(complex(0.0, float("inf")))


def test_literals_keep_their_type():
    assert parse("1") != parse("1.0")
    assert parse("True") != parse("1")
    assert parse("None") == Literal(None)
    assert parse("...") == Literal(...)
    assert parse("'sum'") == Literal("sum")


def test_constants_and_dtypes_are_the_language_s_only_behind_torch():
    assert parse("torch.pi") == parse("math.pi") == Literal(3.141592653589793)
    assert parse("pi") == Name("pi")  # the case may have a tensor of that name
    assert parse("torch.float64") == parse("torch.double") == Dtype("float64")
    assert parse("float64") == Name("float64")


def test_indexing():
    def at(index):
        return Call("getitem", (X, index))

    assert parse("x[0]") == at(Literal(0))
    assert parse("x[1:3]") == at(Slice(Literal(1), Literal(3)))
    assert parse("x[0, 1:, ...]") == at(Sequence((Literal(0), Slice(Literal(1)), Literal(...)), True))
    assert parse("x[[0, 1]]") == at(Sequence((Literal(0), Literal(1))))
    assert parse("x[y > 0]") == at(Call("gt", (Y, Literal(0))))
    assert parse("x[::n]") == at(Slice(step=Name("n")))
    assert parse("x[0][1]") == Call("getitem", (at(Literal(0)), Literal(1)))


def test_lines_fold_and_columns_stay():
    expr = parse("x +\n  yy")
    assert expr == Call("add", (X, Name("yy")))
    assert expr.args[1].at == 6


def test_the_case_s_names_may_be_python_s_builtins():
    assert parse("input + id + self") == parse("(input + id) + self")


# Refusals ----------------------------------------------------------------------------------------

REFUSED = {
    # text: (column from 1, a part of the message)
    "": (1, "empty"),
    "   ": (1, "empty"),
    "x +": (4, "ends too early"),
    "  x.": (5, "ends too early"),
    "x y": (3, "nothing stands between"),
    "x = 3": (3, "=="),
    "x, y": (2, "comma outside"),
    "y @ x,": (6, "comma outside"),
    "1e400": (1, "largest float"),
    "x * -1e400j": (6, "largest float"),
    "import os": (8, "nothing stands between"),
    "x; y": (2, "a semicolon parts no expressions"),
    "'abc": (1, "not an expression"),
    "x # note": (3, "comment"),
    "x\0y": (2, "NUL"),
    "\ud800": (1, "not an expression"),
    "(x": (1, "close it with"),
    "x)": (2, "open it with"),
    "randn(n": (6, "close it with"),
    "[(x])": (4, "open it with"),
    "x.__class__": (3, "'__class__' is not an attribute"),
    "().__class__": (4, "'__class__' is not an attribute"),
    "().__class__.__bases__[0].__subclasses__()": (27, "no method '__subclasses__'"),
    "__import__('os')": (1, "no op '__import__'"),
    "__import__('os').system('x')": (18, "no method 'system'"),
    "x.__init__()": (3, "no method '__init__'"),
    "eval('1')": (1, "no op 'eval'"),
    "os.system('ls')": (4, "no method 'system'"),
    "x.grad": (3, "write grad(x)"),
    "x.shap": (3, "did you mean '.shape'?"),
    "x.sum": (3, "call it: .sum()"),
    "x.T()": (3, "write x.T"),
    "x.data": (3, "write .detach()"),
    "x.max().values": (9, "max(x, dim=1).values"),
    "x.max(y).values": (10, "max(x, dim=1).values"),
    "x.exp().values": (9, "give parts"),
    "x.exp().max": (9, "call it: .max()"),
    "linalg.qr(x).values": (14, ".Q, .R"),
    "x.T.values": (5, "give these parts"),
    "np.pi * x": (4, "write pi"),
    "torch.equal(x, y)": (7, "within the tolerance"),
    "torch.ones(2, device='cpu')": (15, "leave it out"),
    "torch.autograd.grad(y, x)": (16, "write grad(x)"),
    "x.astype('float32')": (3, ".to(torch.float32)"),
    "torch.foo": (7, "no number and no dtype"),
    "torch.sum": (7, "call it: torch.sum(…)"),
    "lambda: x": (1, "lambda"),
    "[i for i in x]": (1, "comprehension"),
    "sum(i for i in x)": (4, "comprehension"),
    "{x: 1}": (1, "dictionary"),
    "{x}": (1, "a set"),
    "(y := x)": (2, "assignment"),
    "x if y else z": (1, "where(condition, x, y)"),
    "x and y": (1, "(x > 0) & (x < 1)"),
    "not x": (1, "write ~x"),
    "+x": (1, "unary plus"),
    "x < y < z": (1, "chained"),
    "x is y": (1, "write =="),
    "x in y": (1, "`in`"),
    "x ^ 2": (3, "a power is written **"),
    "x << 2": (1, "<<"),
    "f'{x}'": (1, "f-string"),
    "b'x'": (1, "bytes"),
    "[*x]": (2, "unpacking"),
    "x[*y]": (3, "unpacking"),
    "sum(*x)": (5, "unpacking"),
    "sum(**x)": (5, "unpacking"),
    "await x": (1, "not"),
    "summ(x)": (1, "did you mean 'sum'?"),
    "torch.summ(x)": (7, "did you mean 'sum'?"),
    "x.summ()": (3, "did you mean 'sum'?"),
    "torch.linalg.invv(x)": (14, "did you mean 'inv'?"),
    "F.sofmax(x)": (3, "did you mean 'softmax'?"),
    "np.exp(x)": (4, "write exp(…)"),
    "x.relu_()": (3, "write .relu(…)"),
    "sum(x, kepdim=True)": (8, "did you mean 'keepdim'?"),
    "x.sum(dimm=0)": (7, "did you mean 'dim'?"),
    "sum()": (1, "lacks its argument 'input'"),
    "x.sum(keepdim=True)": (1, "sum keeps a dimension that it is told"),
    "mm(x)": (1, "its signature is mm("),
    "mm(x, y, z)": (1, "at most"),
    "sum(x, dim=0, axis=1)": (1, "twice"),
    "sum(x, 0, dim=0)": (1, "twice"),
    "x(0)": (1, "no op 'x'"),
    "x[0](1)": (1, "only a function or a method"),
    "(lambda: x)()": (1, "only a function or a method"),
    "grad(x + y)": (6, "takes the name"),
    "grad()": (1, "grad(x)"),
    "len(x, y)": (1, "len(x)"),
    "float(x)": (7, "a number written out"),
    "float('one')": (7, "a number written out"),
    "cat(x, y": (4, "close it with"),
    "10000000000000000000": (1, "64 bits"),
    "1" * 5000: (1, "64 bits"),
    "'" + "a" * 1001 + "'": (1, "1,001 characters"),
    "x" * 10_001: (1, "10,001 characters"),
    "(" * 5_000 + "x" + ")" * 5_000: (1, "10,001 characters"),
    "(" * 4_000 + "x" + ")" * 4_000: (101, "100 levels"),
    "[" * 150 + "]" * 150: (101, "100 levels"),
    "-" * 150 + "x": (102, "100 levels"),
    "~" * 9_000 + "x": (1, "too many parts"),
    "x" + " ** x" * 150: (0, "100 levels"),
    "x**" * 3_000 + "x": (1, "too many parts"),
    "x" + "+x" * 4_000: (1, "too many parts"),
}


@pytest.mark.parametrize(("text", "column", "part"), [(t, *rest) for t, rest in REFUSED.items()],
                         ids=[t[:30].encode("ascii", "replace").decode() for t in REFUSED])  # fmt: skip
def test_what_is_not_the_language_is_refused_at_its_place(text, column, part):
    started = time.process_time()
    with pytest.raises(InvalidCase) as caught:
        parse(text, Place("case.yaml", 3, 5))
    assert time.process_time() - started < 2
    error = caught.value
    assert part in error.message + "; " + error.hint
    assert (error.place.file, error.place.line) == ("case.yaml", 3)
    assert not column or error.place.column == 5 + column - 1


def test_a_sum_of_a_thousand_terms_is_read_printed_and_compared():
    text = " + ".join(["x"] * 1_000)
    expr = parse(text)
    assert to_text(expr) == text
    assert expr == parse(text)
    assert hash(expr) == hash(parse(text))


def test_a_long_chain_of_methods_is_no_deep_nesting():
    assert parse("x" + ".T" * 900) == parse("x" + ".T" * 900)
    assert to_text(parse("x" + ".sin()" * 500)).count("sin(") == 500


@for_each(sorted({sample for op in TABLE.values() for sample in op.samples}))
def test_every_sample_of_the_table_is_read_printed_and_checked(text):
    expr = parse(text)
    assert parse(to_text(expr)) == expr


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("(a + b) * c.T", {"(a + b) * c.T", "a + b", "a", "b", "c.T", "c"}),
        ("  x[0, 1:] ", {"x[0, 1:]", "x", "0, 1:", "0", "1:", "1"}),
        ("größe.sum(dim=0)", {"größe.sum(dim=0)", "größe", "0"}),
        ("x.size(0)", {"x.size(0)", "x", "0"}),
    ],
)
def test_where_every_part_is_written(text, parts):
    root, found = parse_with_spans(text)
    assert root == parse(text)
    assert {text[slice(*found[id(node)])] for node in root.walk() if id(node) in found} == parts
