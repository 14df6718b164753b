"""The value of an expression, with its ops applied by a host.

A host is NumPy, or an engine with its own tensors. `evaluate` compiles an expression and runs it. `host` applies ops.
`result_size` rejects too large results before they are computed. `scalar_arithmetic` computes sizes. To see or change
the computation, write another `host.Host`.
"""
