"""The exact oracle: proofs of gradient formulas at random field points.

It evaluates the forward on dual numbers modulo a prime, which gives the exact derivative along a random direction, and
compares that with a formula's value (`prove`). It knows no gradient rules, tolerances or floating point. (If a formula
uses `grad(...)` of other tensors, the core's formulas for these become claims of their own.)

From the ground up, each module using only those before it:

- `modular_arithmetic`, `modular_matrices`: arithmetic of arrays modulo a prime; chains of matrices
- `degree`, `field_point`, `exact_constants`: bounds on polynomials; a random point, perhaps of small
  integers; floats as elements of the field
- `graph_regions`, `domain_conditions`: comparisons and domains of a graph; conditions of a formula
- `dual_numbers`, `uninterpreted_functions`: dual numbers and the table of rules; functions outside the field
- `partial_evaluation`: ops on dual numbers; values that are equal at all points
- `ops`: how each op acts on dual numbers. To add an op, read the rule in `ops/__init__.py`: one entry in one file
- `leaves`, `dependencies`, `graph_at_point`, `prove`: a case at a point, and the claims about it
"""
