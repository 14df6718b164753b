"""Reuse: what an earlier run has computed and this one need not compute again.

`result_cache` keeps results that passed, `reference_answers` what the reference engine has answered about a case, and
`cached_reference` is an engine that answers from these and imports torch only for what is not known. Keys hold all that
an answer depends on (`cache/`). A new field of a case or of the options is in the key by itself.
"""
