"""The rule of each op on dual numbers. The import fills `EXACT_RULES`.

An op is one entry in one file here:

- An op that only moves elements of tensors, or adds some of them up: its name, in a list of `linear.py`.
- Any other: an `exact_rule("name")`, a decorated function or one line, in the file that lists the module of
  `gradcheck/autograd/ops` in which the op itself stands:
  `elementwise`: arithmetic, comparison_where, rounding_remainder
  `smooth_functions`: exp_log_pow, trigonometric, error_functions
  `activations`: activations, softmax_logsumexp
  `reductions`: reductions, cumulative_sums, norms_distances
  `min_max`: min_max, gather_scatter
  `matrices`: matrix_products, contraction, inverse_solve, determinants
- An op that is composed of others needs nothing.

A rule takes the op's arguments in the signature's order, defaults filled in; those at `operands` (by default the first)
are `Dual`s. It is written in operators, in other ops (`x * x.sign()`) and in the functions of
`uninterpreted_functions`, all of which keep tangents and degrees. It must be right for all elements of the field:
values that are no fractions of the arguments are `uninterpreted`, and a choice depends on an `Indicator`.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
