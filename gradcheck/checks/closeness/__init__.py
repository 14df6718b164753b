"""Decide whether two computations of a tensor agree.

`tolerance` holds the rule and `compare` applies it element by element. `rough_rounding` finds differences far beyond
rounding in two runs, `conditioning` measures what rounding explains, and `rounding` compares again with it.
`agreement` finds which of several answers is wrong. Nothing here knows the claims of cases or explains failures.
Change a tolerance in `tolerance`, and what rounding excuses in `conditioning`.
"""
