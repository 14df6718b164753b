"""Decide when each case is checked, and by which process.

`run` checks many cases and keeps their order. `sequential` checks them one after another in this process, and
`parallel` sends them to workers or another executor. `isolated_case` checks one case and always returns a result.
None of these changes a result. A new way to distribute cases is a module here and a branch in `parallel.plan_run`.
"""
