"""Decide when each case is checked, and by which process.

`run` checks many cases and keeps their order. `sequential` checks one case, which always has a result, or one after
another in this process, and `parallel` sends them to workers or another executor. None of these changes a result. A new
way to distribute cases is a module here and a branch in `parallel.plan_run`.
"""
