"""Gradients as formulas: the ops' own rules, called on tensors that know how they are written.

`formula` are these tensors and their sizes, `derive` the reverse sweep over them, `simplify` makes what comes out
short. Whether a formula is right is for others to say: nothing here compares gradients.
"""
