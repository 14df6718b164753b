"""Check user code that implements an entry of a graph against the entry.

    implementation_case   the case of one implementation: the entry, its ancestors, a random incoming gradient
    implementation_check  runs the stages for engines, with the implementation as one more engine
    code_diagnosis        finds why its gradients are wrong
    code_rounding         measures the rounding of the code itself
    behaviour             checks what users of torch rely on beyond numbers

Nothing here writes sentences. A new check of behaviour is a probe in `behaviour`, and a phrase.
"""
