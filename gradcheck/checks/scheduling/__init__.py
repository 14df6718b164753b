"""Scheduling: which case is checked when, and by which process.

`run` checks many cases and keeps their order. `sequential` checks them one after another in this process, `parallel`
hands them to workers or to another executor. `isolated_case` checks one case and returns a result whatever happens.
None of these changes what is found. A new way to distribute cases is a module here and a branch in `parallel.plan_of`.
"""
