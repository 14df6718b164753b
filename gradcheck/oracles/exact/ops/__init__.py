"""How each op acts on dual numbers modulo a prime. Importing this package fills `EXACT_RULES`.

An op is one entry in one file here:

- An op that only moves elements of tensors about, or adds some of them up: its name, in a list of `linear.py`.
- Any other: an `exact_rule("name")`, a decorated function or one line, in the file of its family in
  `gradcheck/autograd/ops`, of which several may share one here:

  | here | families of the op table |
  |---|---|
  | `activation`, `arithmetic`, `rounding`, `trigonometric` | `activations`, `arithmetic`, `rounding`, `trigonometric` |
  | `comparison` | `comparison_where`; `any` and `all` |
  | `exponential`, `power` | `exp_log_pow` (roots and powers in `power`), `softmax_logsumexp`, `special` |
  | `extrema` | `min_max`; `gather` and `scatter_add` at the largest |
  | `linalg` | `inverse_solve`, `determinants` |
  | `products` | `matrix_products`, `contraction` |
  | `reduction` | `reductions`, `cumulative`, `norms_distances` |

- An op that is composed of others needs nothing.

A rule takes the op's arguments in the signature's order, defaults filled in; those at `operands` (by default the first)
arrive as `Dual`s. It is written in operators, in other ops (`x * x.sign()`) and in the functions of `uninterpreted`,
all of which keep tangents and degrees. It must be right for all elements of the field: values that are no fractions of
the arguments are `uninterpreted`, and a choice rests on an `Indicator`.
"""

from gradcheck.oracles.exact.ops import activation as activation
from gradcheck.oracles.exact.ops import arithmetic as arithmetic
from gradcheck.oracles.exact.ops import comparison as comparison
from gradcheck.oracles.exact.ops import exponential as exponential
from gradcheck.oracles.exact.ops import extrema as extrema
from gradcheck.oracles.exact.ops import linalg as linalg
from gradcheck.oracles.exact.ops import linear as linear
from gradcheck.oracles.exact.ops import power as power
from gradcheck.oracles.exact.ops import products as products
from gradcheck.oracles.exact.ops import reduction as reduction
from gradcheck.oracles.exact.ops import rounding as rounding
from gradcheck.oracles.exact.ops import trigonometric as trigonometric
