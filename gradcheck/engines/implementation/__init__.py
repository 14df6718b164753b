"""Somebody's own code for one entry of a graph, as an engine: all other entries are torch's own.

    loading        a reference (`FILE.py:NAME`, `module:NAME`) -> the object
    binding        which of the case's tensors it is called with
    kinds          what the object is: torch's, JAX's, HIPS autograd's, a pair on NumPy arrays -> one torch callable
    pulled         code that hands back gradients itself, as one node of torch's graph
    numpy_pair, jax_function, hips_function   such code
    raised         what it raises, with the person's own traceback
    engine         the engine: a graph is run, and the code stands in for its entry

It knows no claims and no tolerances. Another library's functions are another module like `jax_function`, and a line in
`kinds`.
"""
