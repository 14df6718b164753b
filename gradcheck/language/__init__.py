"""The case language: what a case file says, and how it becomes numbers. It knows no engine, no oracle and no verdict.

From a file to a problem: `loader` reads a `case.Case`, whose expressions are `expr`; `sampling.draw` makes a
`problem.Problem` of it, with concrete arrays (`trials` says what is drawn afresh in a trial, `random` where numbers
come from); `evaluation` computes its expressions on whatever tensors a host provides. Back again: `symbolic` writes
gradients as formulas, `writer` writes a case as a file. `suggest` guesses what a misspelt word was meant to be.

Imports run one way: `expr` → `case`, `evaluation` → `random`, `trials`, `sampling` → `loader`, `symbolic` → `writer`.
"""
