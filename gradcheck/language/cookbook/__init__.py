"""The cookbook: known gradients, found by expression, whatever its names.

`cookbook_entries` makes one key for all spellings of an expression, reads the index of the cases in `cases/cookbook/`,
which the package ships, and looks a key up. `case_from_expression` guesses shapes for an expression
without an entry, so that its gradient can be derived.
"""
