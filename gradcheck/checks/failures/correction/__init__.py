"""Corrections: what a wrong formula may have meant, and counterexamples.

`suggestion` starts `formula_search`, which tries one and two `edits` at every `edit_position`, in an
`expression_pool` that evaluates each expression once; it verifies the results. `graph_repair` and `step_edits` do
so for graphs and for steps of a derivation. Nothing here knows engines. Another slip is a function in `edits`, with
its cost.
"""
