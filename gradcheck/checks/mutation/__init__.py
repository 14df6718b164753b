"""Mutation testing: how many mistakes a case would catch, and how small an error in each tensor.

A check that always passes is worth nothing, so mistakes are made on purpose, one at a time, in the rules that a case
uses, in how gradients add up, and in its formulas; the case is judged as ever (DeMillo, Lipton and Sayward 1978, Hints
on Test Data Selection). A mutation that changes nothing, here or at other points, is equivalent to none and is not
counted: a zero gradient's sign, a transpose of what is symmetric.

This folder knows points and claims, and asks them as a run does; it must not know how a failure is explained. A new
mutation is an entry in a table of `core_mutations`, or a line in `formula_mutations`, and a phrase in
`reports/phrases/engines`.
"""
