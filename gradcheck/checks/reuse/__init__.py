"""Reuse what an earlier run has computed.

`result_cache` keeps passing results, `reference_answers` what the reference engine computed for a case, and
`cached_reference` is an engine that uses these and imports torch only if one is missing. Keys hold everything that an
answer depends on (`cache/`). A new field of a case or of the options is in the key automatically.
"""
