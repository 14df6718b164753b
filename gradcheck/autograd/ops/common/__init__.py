"""Helpers that families of ops share; no op is here.

It knows arrays and sizes, and reaches ops by their names alone. A helper that two families need goes into the file of
its subject; one that a single family needs stays with that family.
"""
