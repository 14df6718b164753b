"""Oracles compute gradients without any engine and any gradient rule.

- `exact` proves or refutes a formula for all values of the inputs, in arithmetic modulo primes, where nothing rounds.
- `numeric` differentiates the forward numerically, in double precision or better, with an error bar.

An oracle knows cases, problems and ops. It knows no engines, no tolerances and no sentences: it returns data and
`Fact`s, whose sentences stand in `gradcheck/reports/phrases/claim_phrases.py`. No clock decides a result.

A further oracle is a folder beside these two. Its answers enter a failure's verdict in
`gradcheck/checks/failures/blame_assignment.py`.
"""
