"""Isolation: a case that hangs, dies, warns or takes too much memory costs itself alone.

`worker_processes` are processes that can be killed, `executors` are other people's, `pickling` sends cases and results
between them. `time_limit` and `memory_limit` limit one case, `captured_warnings` collects what libraries warn of, and
`failure_capture` turns an unforeseen exception into a result. Nothing here knows what a case claims.
"""
