"""The numeric oracle: derivatives of the forward alone, with error bars, independent of every gradient rule.

It knows NumPy forwards and no step size that it trusts. It must not know gradient rules, engines or tolerances: what is
allowed is said by whoever asks. What it may cost is counted (`work`), never timed.

From the ground up, each module using only those before it:

- `work`, `perturbed`: what evaluations cost; arrays that depend on a tensor that is moved
- `objective`: what is differentiated, a case's backward passes or one op alone
- `differences`, `derivative`, `gradient`: extrapolated differences; along one direction; elements of a gradient
- `tangents`: how all that is computed changes along one direction
- `audit`: a claimed gradient against all that
- `counterexample`: the smallest sizes and integers at which a formula is wrong

An op needs nothing here but `analytic=True` in its entry, where its forward is an analytic function and computes it for
complex numbers too. A further way to differentiate goes into `derivative`.
"""
