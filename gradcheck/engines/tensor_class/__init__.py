"""Anybody's Tensor class as an engine, without a line of adapter code.

How a class is made, read and asked for gradients is found out by trying the words of `dialects`: a class in another
dialect is one more entry there. Nothing here knows what a case claims, or another engine's answers.

dialects      what Tensor classes differ in, a table for each difference
api           how one class is made, read and asked for gradients; `discovery` finds out
capabilities  what its backward pass takes and keeps; `learning` finds that out by gradients, from `hypotheses`, and
              `traits` what else holds under the one that is believed
bare          a problem again as a few lines of Python would run it, before anybody is blamed
conventions   what of that is worth a line at the top of a report
call_forms    how an op might be called; `op_lookup` finds out which of these a class understands
foreign       what is the same for every library that gradcheck did not write, and its tensors, wrapped
guard         what somebody's code raises and prints
calls         ops on wrapped tensors; those that a class lacks are written in others
engine        an engine of a class that holds arrays; `scalars` of one that holds a number a node; where its passes
              begin is `backward`
source_code   a problem as Python that needs the class and NumPy alone
"""
