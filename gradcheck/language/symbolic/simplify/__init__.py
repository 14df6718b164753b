"""Simplification of formulas by small rewrite rules, from the leaves up.

A rule maps a part of a formula, and the properties of parts, to something shorter, or to None. A result is dropped
unless it has the shape, the dtype and, up to rounding, the values of the part at every known point; so a rule may be
simple. Nothing here recurses over a formula; the work is linear in the number of distinct parts.

The next rule is a line in `simplifier.PATTERNS` if it can be said as `before` and `after`; else a function in the file
of its kind (`matrix_chains`, `guards`, `named_functions`, `factoring`, …), and a line in `simplifier.RULES`. Sums have
a normal form in `sums`; `bracket_removal` comes last.
"""
