"""Check claims about Jacobians and Hessians.

    claimed_derivative    the claims of a case, such as of `jacobian(y, x)`, and a case that states them as formulas
    derivative_formula    the derived formula, and its parts as suggestions
    derivative_check      compares each at the case's numbers, and runs the derived case for all else
    derivative_mistakes   mistakes that a wrong one shows: Gauss-Newton's approximation, a factor, a term
    entry_mistakes        those of all entries, such as transposed, and of some: a row of the other sign

A claim J about `jacobian(y, x)` is the formula `x: tensordot(grad(y), J)` for any incoming gradient of y, in a case
with the same graph. So trials, branches, kinks, proofs and suggestions are those of formulas. A Hessian is the
Jacobian of the gradient, whose derived formula is an entry of that case's graph, and is itself checked there.
"""
