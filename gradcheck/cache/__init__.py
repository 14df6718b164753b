"""The cache of results for the next run: bytes by key, in a folder.

`cache_folder` is the folder `.gradcheck_cache/`; `signing_key` is a key in the user's home that signs entries;
`environment_digest` covers everything that results depend on besides the request: gradcheck's own files, libraries,
machine, environment. `cache` combines these, and keeps bytes in a file there, bounded, safe for several runs at once.
This package knows no case, engine or result (`checks/reuse/result_cache.py` does). What cannot be read, written or
determined is computed. A further dependency of results goes into `environment_digest`.
"""
