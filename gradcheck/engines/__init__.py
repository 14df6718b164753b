"""Engines: whoever computes gradients, gradcheck's own core, PyTorch, other libraries, anybody's Tensor class.

An engine runs cases, evaluates, and pulls ops back. It knows the language (problems, expressions) and the op table; it
knows nothing of what a case claims, of tolerances, of other engines or of reports, and it decides nothing.

base           what every engine provides, and what it hands back
resolve        from what is written after `--engine` to an engine; a further engine's name is a line in `ENGINES`
core, torch    the two that the op table was written for; `torch_nodes` asks torch's recorded functions one by one
define_by_run  the base of engines that record a graph; `graph_run` runs a case's graph and steps
forward_mode   Jacobian-vector products of a graph and of ops alone, by an engine's own forward mode or by its gradients
functional     the base of engines that differentiate functions, as `hips` and `jax` do
tensor_class/  anybody's Tensor class, without a line of adapter code; a further dialect is an entry in its `dialects`
recording      which ops a graph applies, and to what
rounding_core  the core with every elementary operation rounded at random; `others_rules`, with others' gradients of ops
raised         a problem and an engine in double precision
trace          a case with every backward pass traced
"""
