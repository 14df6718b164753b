"""Gradients as formulas: gradient rules applied to symbolic tensors.

`formula` holds these tensors and their sizes, `symbolic_gradients` runs the reverse sweep over them, and `simplify`
shortens the result. Nothing here checks a formula against a gradient.
"""
