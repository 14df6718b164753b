"""Somebody's own code for an entry of a graph, held to what the entry says.

    own_case      the case of one implementation: the entry, all that it is made of, a random incoming gradient
    examine       an implementation is one more engine, and goes through the stages of a case that are about engines
    explain       why its gradients are wrong
    own_rounding  what rounding makes of the code itself, where it rounds otherwise than its entry
    behaviour     what torch's users may rely on beyond numbers

It knows no words. Another thing that code may do wrong is another probe in `behaviour`, and a phrase.
"""
