"""The case language: case files, expressions, and the arrays of a case.

It knows no engine, no oracle and no verdict. `loader` reads a file as a `case.Case`, whose expressions are `expr`.
`sampling.draw` makes a `problem.Problem` of it, with concrete arrays: `trial_draws` says what a trial draws afresh,
`random_streams` where numbers come from. `evaluation` computes expressions on the tensors of any host. `symbolic`
derives gradients as formulas, `case_writer` writes a case as a file, and `suggest` corrects misspelt words.

Imports run one way: `expr` → `case`, `evaluation` → `random_streams`, `trial_draws`, `sampling` → `loader`, `symbolic`
→ `case_writer`.
"""
