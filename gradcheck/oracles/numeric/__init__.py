"""The numeric oracle: derivatives of the forward alone, with error bars.

It knows NumPy forwards, and trusts no step size. It knows no gradient rules, engines or tolerances: the caller passes
what is allowed. Its cost is counted (`work_budget`), never timed.

From the ground up, each module using only those before it:

- `work_budget`, `high_precision`, `perturbed_array`: the cost of evaluations; arrays of 120 digits; arrays that
  depend on a moved tensor
- `objective`: the differentiated function, a case's backward passes or one op alone
- `finite_differences`, `directional_derivative`, `numeric_gradient`: differences; one direction; a gradient,
  and a claimed one against it
- `numeric_tangents`: the tangents of all results along one direction
- `counterexample`: the smallest case with small integers at which a formula is wrong

An op needs nothing here but `analytic=True` in its entry, if its forward is an analytic function and computes it for
complex numbers too. An op whose forward is compiled code, and that should be known in high precision, needs its
definition in `high_precision`. A further method of differentiation goes into `directional_derivative`.
"""
