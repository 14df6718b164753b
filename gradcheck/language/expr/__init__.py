"""Expressions: one line of the case language as an immutable tree, read from text and written as text or LaTeX.

It knows the names of ops and how they are called, never arrays or values. `nodes` are the tree, `traverse` is how it is
walked, folded and rewritten; `parser` reads it, with `syntax`, `calls` and `notation`; `printer` and `latex` write it;
`sharing` says which parts it has twice.

A word that is called like a function and is no op is an entry in `calls`; another kind of node is a class in `nodes`,
and a case in `parser`, `printer`, `latex` and `evaluation.evaluate`.
"""
