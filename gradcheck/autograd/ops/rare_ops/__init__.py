"""Families that few cases use. Each stands on its own, and says by annotations what kind of thing an argument is that
is no tensor.
"""
