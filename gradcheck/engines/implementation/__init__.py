"""User code for one entry of a graph, as an engine; torch runs the others.

code_loading    a reference (`FILE.py:NAME`, `module:NAME`) -> the object
binding         the case's tensors that are its arguments; `call_arguments`, those of Python calls, structures included
code_kinds      the kind of the object: torch's, JAX's, HIPS autograd's, a pair on NumPy arrays
foreign_function  code that returns gradients itself, as one node of torch's graph
numpy_pair, jax_function, hips_function   such code; another library is one more module, and a line in `code_kinds`
code_engine     the engine; `code_run` runs a graph with the code in place of its entry

It knows no claims and no tolerances.
"""
