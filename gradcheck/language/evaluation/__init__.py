"""The value of an expression: each op goes to a host (NumPy, an engine's tensors), all else is plain Python.

It knows ops by the table and hosts by two methods, never whose tensors they are. `evaluate` compiles an
expression and runs it, `host` applies its ops, `budget` refuses results that are too large before they are made, and
`scalars` does the arithmetic of sizes. Whoever wants to see or change what is computed writes another `host.Host`.
"""
