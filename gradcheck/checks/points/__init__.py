"""Points: the numbers and sizes at which a case is evaluated.

`point` holds a problem with the engines' evaluations of it. `drawing` decides which points there are: the case's own
numbers, trials with other sizes and values, points beside a kink; it has the one loop that draws again. `free_sizes`
says which sizes a trial may change, `perturbation` changes numbers, `admissible` and `degenerate` say at which points
nothing can be learned. Nothing here knows what is claimed at a point. A new way to vary a case is a method of `Points`
in `drawing`.
"""
