"""Explanations of failures; nothing here changes what is compared.

`explain` is the entry. `blame_assignment` compares with independent answers to find the wrong side; `kinks` settles
points without a derivative. `engine_faults`, `fault_localization` and `gradient_flow` find where an engine goes
wrong first. `gather_evidence` collects what is known of a failure, and `diagnosis/` recognises the mistake.
`correction/` searches for the intended formula and for a counterexample. All results are facts: `reports/phrases`
words them. A new mistake is a row of `mistakes` and a function in `diagnosis/`.
"""
