"""The smallest reproduction: a failing case made smaller, step by step, as long as it fails in the same way.

Delta debugging (Zeller and Hildebrandt 2002) on what a case is made of: operations, tensors, sizes, numbers. This room
knows how to write and change cases, and runs them by a function that it is given; it must not know how claims are
checked or why they fail. A new way to make a case smaller is a function in `moves`, which yields smaller cases, the
smallest first, and an entry in the table of `shrinker`.
"""
