"""Tensor classes as engines, without adapter code.

The words of `dialects` are tried on a class; another dialect is one more entry there. Nothing here knows a case's
claims, or another engine's results.

dialects      the differences between Tensor classes, a table for each
api           making and reading one class's tensors, and running passes; `api_discovery` finds it out
capabilities  the properties of its passes; `capability_learning` finds them by gradients, from `hypotheses`, and
              `traits` the further ones
call_forms    the forms of a call to an op; `op_lookup` finds those of a class
foreign_engine   the base of all engines for other libraries, with `wrapped_tensor`
user_code_guard  exceptions and output of user code
op_calls      ops on wrapped tensors; missing ones are written in others
engine        the engine of a class of arrays; `scalar_engine` of one that holds a number a node; `backward_engine`
              has their passes, and repeats a problem with its leaves alone before a failure is reported
problem_source  a problem as Python of the class and NumPy alone
"""
