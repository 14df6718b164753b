"""How close is close enough: the one place that decides whether two computations of a tensor agree.

`tolerance` holds the rule, `compare` applies it element by element, `beyond_rounding` sees at once what is far beyond
rounding, `conditioning` measures what rounding explains where two differ otherwise, `rounding` judges by it,
`agreement` says who of several is wrong. Nothing here knows cases' claims or how a failure is explained. Change how a
tolerance is decided in `tolerance`; what roundings excuse in `conditioning`.
"""
