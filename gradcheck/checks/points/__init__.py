"""The numbers and sizes at which a case is evaluated.

`point` holds a problem with the engines' evaluations of it. `drawing` decides which points there are, with the one loop
that draws again. `free_sizes` finds the sizes that a trial may change, and `admissible` and `degenerate` reject points.
Nothing here knows what is claimed at a point. A new way to vary a case is a method of `Points` in `drawing`.
"""
