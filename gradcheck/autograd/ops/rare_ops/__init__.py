"""Families that few cases use, each in a file of its own.

Annotations give the kinds of arguments that are no tensors.
"""
