"""Branches: comparisons of numbers, and numbers on both sides of each.

`margin_recording` logs the margins of all comparisons in a graph, its gradient rules and the claims, by what an op
compares. `branch_search` follows a margin's gradient to an unvisited side; without a gradient, it takes paths.
`branch_coverage` finds the sides whose elements matter, counts over a case's points, and names a side (`x > 6`).
`branch_pairs` finds sides of two comparisons at once, `search_variables` varies cotangents, `size_branches` finds sizes
and integers. Nothing here judges a claim or knows a table of thresholds.
"""
