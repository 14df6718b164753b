"""Check an engine by cases, all ops, and backward-pass properties.

This room runs cases and engines and counts the outcomes. It does not know how an engine works or why it fails. A new
property is a function in `properties`, an entry in its table and a phrase in `reports/phrases/engines`. A new call of
an op is a sample in the op's own entry.
"""
