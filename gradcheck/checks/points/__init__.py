"""The numbers and sizes at which a case is evaluated.

`point` holds a problem with the engines' evaluations of it. `drawing` decides which points there are, with the one loop
that draws again, and which sizes a trial may change. `degenerate` rejects points. Nothing here knows what is claimed at
a point. A new way to vary a case is a method of `Points` in `drawing`.
"""
