"""Branches: where numbers are compared, and numbers on both sides of each comparison.

`sites` logs the margins of all comparisons in a graph, its gradient rules and the claims about it (`compared`: what an
op compares); `search` follows a margin's gradient to the side that nobody has visited, and where none leads there looks
`along` paths; `showing` tells on which sides elements matter; `coverage` keeps
count over a case's points; `combined` finds numbers on sides of two comparisons at once, `incoming` larger and smaller
incoming gradients, and `choice_sizes` sizes at which what is made of sizes comes out otherwise (`n == 6`); `conditions`
says what a side means in the case's own names (`x > 6`), `smooth` where there can be no kink at all.
Nothing here judges a claim, and there is no table of thresholds.
"""
