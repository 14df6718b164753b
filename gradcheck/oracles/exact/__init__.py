"""The exact oracle: gradient formulas, proved or refuted at random points of a finite field.

It evaluates the forward on dual numbers modulo a prime, so it knows the exact derivative along a random direction, and
compares it with what a formula claims (`prove`). It must not know gradient rules, tolerances or floating point.
(Where a formula speaks of `grad(...)` of other tensors, the core's formulas for these become claims of their own.)

From the ground up, each module using only those before it:

- `modular`: arithmetic of arrays modulo a prime; chains of matrices
- `degree`, `point`, `constants`: bounds on polynomials; a random point of the field; floats as elements of the field
- `regions`, `domains`, `whole`: what a graph compares and where it is undefined; where a formula is defined; points of
  small whole numbers, at which comparisons come out
- `dual`, `uninterpreted`: dual numbers, their arithmetic and the table of rules; functions outside the field
- `host`, `evaluation`: who applies ops to dual numbers, and what need not be computed again at another point
- `ops`: how each op acts on dual numbers. To add an op, read the rule in `ops/__init__.py`: one entry in one file
- `leaves`, `dependencies`, `graph`, `tracker`, `prove`: a case at a point, and the claims about it
"""
