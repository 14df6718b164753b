"""What may have been meant by a wrong formula: the nearest right one, found by search; and what refutes it.

`suggestion` goes about it and verifies what is found; `search` looks one and two `edits` away, at every `position`, in
an `expression_pool` where each expression is evaluated once. It may ask for derived formulas; it knows nothing of
engines and of why other claims fail. Another slip that people make is a function in `edits`, with its cost.
"""
