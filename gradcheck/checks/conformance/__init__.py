"""Conformance: does an engine keep what every engine must? Cases, every op of the table, properties of backward passes.

This room runs cases and engines and counts what came of it; it must not know how an engine is made or why it fails. A
new property is a function in `properties`, an entry in its table and a phrase in `reports/phrases/engines`; a new
call of an op is a sample in the op's own entry.
"""
