"""A fuzzer: case files nobody would write, under options nobody would combine, and what must hold for all of them.

`python -m benchmarks fuzz --seconds 600`. Each trial is a number: `--only N` does that one again. `texts` spoils the
shipped cases, `graphs` makes new ones of the whole op table, `trial` runs the commands on them and says what does not
hold, `session` does trial after trial.
"""

from benchmarks.fuzz.session import main, rows

__all__ = ["main", "rows"]
