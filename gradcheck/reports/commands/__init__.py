"""The reports of all commands but `run`, and the progress bar of a run.

One module a command and kind of output. A module knows what its command found, and how `reports` writes text and
numbers; it knows no options and no streams, which are `cli`'s. The report of a new command is a module here.
"""
