"""Expressions: immutable trees, read from text, written as text or LaTeX.

They know the names of ops and how to call them, never arrays or values. `nodes` holds the tree; `traverse` walks, folds
and rewrites it. `parser` reads it, with `syntax`, `call_parser` and `notation_mistakes`. `printer` and `latex` write
it. `common_subexpressions` finds repeated parts.

A word that is called like a function and is no op is an entry in `call_parser`. Another kind of node is a class in
`nodes`, and a case in `parser`, `printer`, `latex` and `evaluation.evaluate`.
"""
