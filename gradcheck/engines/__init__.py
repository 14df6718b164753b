"""Engines compute gradients: the core, torch, libraries, Tensor classes.

An engine evaluates cases, and pulls ops back. It knows the language (problems, expressions) and the op table; it knows
nothing of a case's claims, of tolerances, of other engines or of reports, and it decides nothing.

base           the protocol of an engine, and the values that it exchanges
registry       the engines with a name, one entry each; `resolve` makes an engine of a name or a reference
core, torch    the two engines of the whole op table; `torch_nodes` calls single nodes of torch's graph
define_by_run  the base of engines that record a graph; `graph_run` runs a case's graph and steps
jvp            Jacobian-vector products, by an engine's forward mode or by gradients of gradients
functional_engine  the base of engines that differentiate functions, as `hips` and `jax` do
tensor_class/  Tensor classes, without adapter code; another dialect is an entry in its `dialects`
implementation/    user code for one entry of a graph
recording      the ops that a graph applies, with their arguments
rounding_core  the core with random rounding; `borrowed_vjps` the core with another engine's gradients of ops
double_precision   a problem and an engine in double precision
traced_case    a case with every backward pass traced
"""
