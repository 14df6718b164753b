"""Reuse what an earlier run has computed.

`result_cache` keeps passing results, `cached_reference` what the reference engine computed for a case. The engine in
it uses these answers and imports torch only if one is missing. Keys hold everything that an answer depends on
(`cache/`). A new field of a case or of the options is in the key automatically.
"""
