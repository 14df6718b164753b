"""What the commands other than `run` show: an explained case, a traced pass, conformance, and a run's progress.

One module a command and kind of output, each with `render`. They know what their command has found out, and how
`reports` writes text and numbers; nothing of options or streams, which are `cli`'s. A new command's report is a
module here.
"""
