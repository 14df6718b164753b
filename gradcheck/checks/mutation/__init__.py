"""Mutation testing: how many planted mistakes a case catches.

Mistakes are planted one at a time in the rules that a case uses, in the accumulation of gradients, and in its formulas;
the case is then checked as usual (DeMillo, Lipton and Sayward 1978, Hints on Test Data Selection). A mutation that
changes nothing, here or at other points, is equivalent and does not count: a zero gradient's sign, the transpose of a
symmetric matrix. The smallest visible error of each tensor is measured too.

This folder uses points and claims as a run does; it does not know how failures are explained. A new mutation is an
entry in a table of `mutations`, or a line for a formula there, and a phrase in `reports/phrases/engines`.
"""
