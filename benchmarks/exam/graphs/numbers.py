"""Complex numbers, single and half precision."""

from __future__ import annotations

from benchmarks.exam.graph import Graph

NUMBERS = (
    Graph(
        "complex product", {"z": "randn(n)", "w": "randn(n)"}, {"y": "z * w"},
        {"z": "grad(y) * w.conj()", "w": "grad(y) * z.conj()"},
        dims={"n": 3}, backward={"y": "randn_like(y)"}, dtype="complex128",
        spelled={"z": ["(grad(y).conj() * w).conj()", "conj(w) * grad(y)"]},
    ),
    Graph(
        "complex matrices", {"a": "randn(n, k)", "b": "randn(k, m)"}, {"y": "a @ b"},
        {"a": "grad(y) @ b.conj().T", "b": "a.conj().T @ grad(y)"},
        dims={"n": 2, "k": 3, "m": 2}, backward={"y": "randn_like(y)"}, dtype="complex128",
        spelled={"a": ["grad(y) @ b.mH", "(b.conj() @ grad(y).T).T"], "b": ["a.mH @ grad(y)"]},
    ),
    Graph(
        "squared size of complex numbers", {"z": "randn(n)"}, {"s": "z * z.conj()", "loss": "s.real.sum()"},
        {"z": "2 * z"}, dims={"n": 4}, dtype="complex128", spelled={"z": ["z + z", "2 * z.conj().conj()"]},
    ),
    Graph(
        "complex square", {"z": "randn(n)"}, {"y": "z * z"}, {"z": "2 * z.conj() * grad(y)"},
        dims={"n": 3}, backward={"y": "randn_like(y)"}, dtype="complex128",
        spelled={"z": ["(2 * z).conj() * grad(y)"]},
    ),
    Graph(
        "product in half precision", {"x": "randn(n)", "y": "randn(n)"}, {"p": "x * y"},
        {"x": "grad(p) * y", "y": "grad(p) * x"},
        dims={"n": 5}, backward={"p": "randn(n)"}, dtype="float16", spelled={"x": ["y * grad(p)"]},
    ),
    Graph(
        "tanh in half precision", {"x": "randn(n)"}, {"y": "tanh(x)"}, {"x": "grad(y) * (1 - y * y)"},
        dims={"n": 5}, backward={"y": "randn(n)"}, dtype="float16", spelled={"x": ["grad(y) - grad(y) * y**2"]},
    ),
    Graph(
        "a third in half precision", {"x": "randn(n)"}, {"y": "x**3 / 9"}, {"x": "grad(y) * x**2 / 3"},
        dims={"n": 4}, backward={"y": "randn(n)"}, dtype="float16", spelled={"x": ["1/3 * grad(y) * x * x"]},
    ),
    Graph(
        "clamp in half precision", {"x": [0.8, -0.3, 2.0, -1.0]}, {"y": "clamp(x, -0.5, 0.8)"},
        {"x": "grad(y) * ((x >= -0.5) & (x <= 0.8))"}, backward={"y": [1.0, 2.0, 3.0, 4.0]}, dtype="float16",
            pieces=True,
        spelled={"x": ["where((x >= -0.5) & (x <= 0.8), grad(y), 0*x)"]},
    ),
    Graph(
        "matrices in bfloat16", {"a": "randn(n, k)", "b": "randn(k, m)"}, {"y": "a @ b"},
        {"a": "grad(y) @ b.T", "b": "a.T @ grad(y)"},
        dims={"n": 2, "k": 4, "m": 3}, backward={"y": "randn(n, m)"}, dtype="bfloat16",
        spelled={"a": ["(b @ grad(y).T).T"]},
    ),
    Graph(
        "softmax in single precision", {"x": "randn(n, m)"}, {"y": "softmax(x, 1)"},
        {"x": "y * (grad(y) - (grad(y) * y).sum(1, keepdim=True))"},
        dims={"n": 2, "m": 4}, backward={"y": "randn(n, m)"}, dtype="float32",
        spelled={"x": ["y * grad(y) - y * (y * grad(y)).sum(1, keepdim=True)"]},
    ),
    Graph(
        "mean of squares in single precision", {"x": "randn(n, m)"}, {"loss": "(x * x).mean()"},
            {"x": "2 * x / (n * m)"},
        dims={"n": 3, "m": 2}, dtype="float32", spelled={"x": ["x * 2 / n / m"]},
    ),
)  # fmt: skip
