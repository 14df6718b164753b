"""What one run finds out and the next need not compute again: bytes under keys, in `.gradcheck_cache/`.

`folder` is that folder; `entries` keeps bytes in a file there, bounded, safe under several runs at once; `secret` is
the key in the user's home without which nobody can make an entry; `surroundings` is all that results depend on besides
what is asked: gradcheck's own files, libraries, machine, environment. `cache` puts these together. This room knows no
case, engine or result (`checks/reuse/result_cache.py` does), and nothing in it may cost a run more than the cache: what
cannot be read, written or known means that all is computed. What results depend on further goes into `surroundings`.
"""
