"""The accelerator of the core: everything that makes it fast, and nothing that decides what it computes.

It knows nodes, ops and their rules; never expressions, cases or engines.
"""
