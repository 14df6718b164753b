"""Formats of a run's report: one module a format, each with `render(result, look)`, which returns the whole text.

A format lays out what the modules above say: `failed` and `passed` a case for people, `problems` in a line each,
`phrases` every sentence. It must not find out anything itself. A new format is a module here and a line in
`reports.FORMATS`.
"""
