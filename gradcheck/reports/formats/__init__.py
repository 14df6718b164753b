"""The formats of a run's report: modules with `render(result, look)`.

A format lays out what the modules above say: `failed_case` and `passed_case` for people, `located_messages` in a line
each, `phrases` every sentence. It computes nothing. A new format is a module here and a line in `reports.FORMATS`.
"""
