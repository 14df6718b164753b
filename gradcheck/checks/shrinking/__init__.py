"""Shrink a failing case to the smallest one that fails in the same way.

This is delta debugging (Zeller and Hildebrandt 2002) on operations, tensors, sizes and numbers. This room writes and
changes cases, and runs them by a given function; it does not know how claims are checked or why they fail. A new
simplification is a function in `simplifications` that yields smaller cases, the smallest first, and an entry in the
table there.
"""
