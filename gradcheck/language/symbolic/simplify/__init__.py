"""Formulas as a person would write them: small rewrite rules, applied from the leaves up until none applies.

A rule is a function from a part of a formula, and the facts about it, to something shorter, or None. Whatever it makes
must have the shape, the dtype and, up to rounding, the values of what it replaces, at every point that the facts know,
or it is dropped; so a rule may be simple-minded. Nothing here recurses over a formula; the work is linear in the
number of its different parts.

The next rule is a line in `patterns.PATTERNS` where it can be said as `before` and `after`; else a function in the file
of its kind (`chain` for products of matrices, `guards`, `functions` that have a name, `factoring`, …), and a line in
`rules.RULES`. Sums have a form of their own, in `sums`; `spelling` has the last word.
"""
