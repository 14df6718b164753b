"""Keep a case that hangs, dies, warns or exhausts memory from others.

`worker_processes` are processes that can be killed, and `pickling` sends cases and results between them. `time_limit`
and `memory_limit` limit one case, and `failure_capture` collects warnings of libraries and turns an unforeseen
exception into a result. Nothing here knows the claims of cases. Timers, resource limits and signal handlers belong to
the process, and so does the state that restores them.
"""
