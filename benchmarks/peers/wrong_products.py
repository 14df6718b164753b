"""Wrong backward passes of products of matrices, of linear algebra, and of tensors that are used more than once."""

from __future__ import annotations

from benchmarks.peers.record import Record

_SQUARE = {"a": "randn(4, 4)", "b": "randn(4, 4)"}
_REGULAR = {"a": "randn(4, 4) + 4 * eye(4)"}

MATRICES = (
    Record("matmul, right factor not transposed", _SQUARE, "a @ b", {"a": "g @ b", "b": "a.T @ g"}),
    Record("matmul, left factor not transposed", _SQUARE, "a @ b", {"a": "g @ b.T", "b": "a @ g"}),
    Record("matmul, gradient transposed", _SQUARE, "a @ b", {"a": "g @ b.T", "b": "(a.T @ g).T"}),
    Record("matmul, gradients exchanged", _SQUARE, "a @ b", {"a": "a.T @ g", "b": "g @ b.T"}),
    Record("matmul, 0.1 % too large", _SQUARE, "a @ b", {"a": "(g @ b.T) * 1.001", "b": "a.T @ g"}),
    Record("matmul, 1e-6 too large", _SQUARE, "a @ b", {"a": "g @ b.T", "b": "(a.T @ g) * 1.000001"}),
    Record(
        "matmul, one element in 1,000 off by 10 %", {"a": "randn(40, 25)", "b": "randn(25, 3)"}, "a @ b",
        {"a": "(g @ b.T) * (1 + 0.1 * (arange(1000) == 517).to(float64).reshape(40, 25))", "b": "a.T @ g"},
    ),
    Record(
        "chain of three, outer factors in the wrong order", _SQUARE | {"c": "randn(4, 4)"}, "a @ b @ c",
        {"a": "g @ b.T @ c.T", "b": "a.T @ g @ c.T", "c": "(a @ b).T @ g"},
    ),
    Record(
        "chain of three, last factor forgotten", _SQUARE | {"c": "randn(4, 4)"}, "a @ b @ c",
        {"a": "g @ (b @ c).T", "b": "a.T @ g", "c": "(a @ b).T @ g"},
    ),
    Record(
        "batched matmul, weight averaged over the batch", {"x": "randn(5, 3, 4)", "w": "randn(4, 2)"}, "x @ w",
        {"x": "g @ w.T", "w": "(x.transpose(1, 2) @ g).mean(dim=0)"},
    ),
    Record(
        "batched matmul, first of the batch only", {"x": "randn(5, 3, 4)", "w": "randn(4, 2)"}, "x @ w",
        {"x": "g @ w.T", "w": "x[0].T @ g[0]"},
    ),
    Record(
        "matrix times vector, outer product transposed", {"a": "randn(4, 4)", "v": "randn(4)"}, "mv(a, v)",
        {"a": "outer(v, g)", "v": "a.T @ g"},
    ),
    Record(
        "outer product, gradient not transposed", {"u": "randn(4)", "v": "randn(4)"}, "outer(u, v)",
        {"u": "g @ v", "v": "g @ u"},
    ),
    Record(
        "quadratic form, as if symmetric", {"a": "randn(4, 4)", "v": "randn(4)"}, "v @ a @ v",
        {"a": "g * outer(v, v)", "v": "2 * g * (a @ v)"},
    ),
    Record("trace, ones for the identity", {"a": "randn(4, 4)"}, "trace(a)", {"a": "g * ones_like(a)"}),
    Record("diag, gradient spread over rows", {"a": "randn(4, 4)"}, "diag(a)", {"a": "g * ones_like(a)"}),
    Record("inverse, sign", _REGULAR, "inv(a)", {"a": "out.T @ g @ out.T"}),
    Record("inverse, not transposed", _REGULAR, "inv(a)", {"a": "-(out @ g @ out)"}),
    Record("determinant, not transposed", _REGULAR, "linalg.det(a)", {"a": "g * out * inv(a)"}),
    Record("logdet, not transposed", {"a": "randn(4, 4) * 0.3 + 4 * eye(4)"}, "logdet(a)", {"a": "g * inv(a)"}),
    Record(
        "solve, matrix not transposed", _REGULAR | {"b": "randn(4, 2)"}, "linalg.solve(a, b)",
        {"a": "-linalg.solve(a.T, g) @ out.T", "b": "linalg.solve(a, g)"},
    ),
    Record(
        "solve, without the matrix's sign", _REGULAR | {"b": "randn(4, 2)"}, "linalg.solve(a, b)",
        {"a": "linalg.solve(a.T, g) @ out.T", "b": "linalg.solve(a.T, g)"},
    ),
)  # fmt: skip

REUSE = (
    Record("x * x + x, the summand forgotten", {"x": "randn(5)"}, "x * x + x", {"x": "2 * g * x"}),
    Record("x * x, the second use overwrites the first", {"x": "randn(5)"}, "x * x", {"x": "g * x"}),
    Record("x + x, the second use overwrites the first", {"x": "randn(5)"}, "(x + x) + (x + x)", {"x": "2 * g"}),
    Record("x + x, one use counted twice", {"x": "randn(5)"}, "x + x + x", {"x": "4 * g"}),
    Record("x @ x.T, the left use alone", {"x": "randn(4, 3)"}, "x @ x.T", {"x": "g @ x"}),
    Record("x @ x.T, the left use twice", {"x": "randn(4, 3)"}, "x @ x.T", {"x": "2 * (g @ x)"}),
    Record("x times its sum, the sum forgotten", {"x": "randn(5)"}, "x * x.sum()", {"x": "g * x.sum()"}),
    Record("x minus its mean, the mean forgotten", {"x": "randn(5)"}, "x - x.mean()", {"x": "g"}),
    Record(
        "x + 0.0005 sin(x), the faint path forgotten", {"x": "randn(5)"}, "x + 0.0005 * sin(x)", {"x": "g"},
    ),
    Record(
        "residual block, the faint branch transposed", {"x": "randn(3, 4)", "w": "randn(4, 4)"},
        "x + 1e-5 * (x @ w)", {"x": "g + 1e-5 * (g @ w)", "w": "1e-5 * (x.T @ g)"},
    ),
    Record("a row used twice, assigned and not added", {"x": "randn(5, 3)"}, "x[[0, 2, 2, 4]]",
           {"x": "index_put(zeros_like(x), [tensor([0, 2, 4])], g[[0, 2, 3]])"}),
    Record("stacked three times, the middle forgotten", {"x": "randn(4)"}, "stack([x, 2 * x, 3 * x])",
           {"x": "g[0] + 3 * g[2]"}),
)  # fmt: skip

#: A seed of ones, which is what a sum sends, cannot see these.
SEED_OF_ONES = (
    Record("transpose, gradient not transposed", {"x": "randn(4, 4)"}, "x.T", {"x": "g"}, incoming="ones_like(out)"),
    Record("flip, gradient not flipped", {"x": "randn(4, 3)"}, "flip(x, [0])", {"x": "g"}, incoming="ones_like(out)"),
    Record("roll, rolled on and not back", {"x": "randn(7)"}, "roll(x, 2)", {"x": "roll(g, 2)"},
           incoming="ones_like(out)"),
    Record("permute, the permutation again and not its inverse", {"x": "randn(3, 3, 3)"}, "permute(x, [1, 2, 0])",
           {"x": "permute(g, [1, 2, 0])"}, incoming="ones_like(out)"),
    Record("reshape, in another order", {"x": "randn(4, 4)"}, "reshape(x, [2, 8])", {"x": "reshape(g.T, [4, 4])"},
           incoming="ones_like(out)"),
    Record("softmax, always zero", {"x": "randn(3, 4)"}, "softmax(x, 1)", {"x": "zeros_like(x)"},
           incoming="ones_like(out)"),
    Record("log_softmax, weights of the wrong term", {"x": "randn(3, 4)"}, "log_softmax(x, 1)",
           {"x": "(1 - 4 * exp(out)) * g"}, incoming="ones_like(out)"),
)  # fmt: skip
