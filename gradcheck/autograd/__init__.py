"""The home-made autograd core: NumPy only, usable and pleasant on its own.

It knows arrays, ops and their rules, graphs and the reverse sweep; never expressions, cases or other engines. Imports
run one way: dtypes, modes, methods → promotion, signature → op → operators, ops/ → node → pullback → prepared/ →
straight → tracing → generated → plans, fast → backward → tensor → trace. A new op is an entry in the file of its family
in `ops/`.
"""

from gradcheck.autograd import ops
from gradcheck.autograd.backward import grad
from gradcheck.autograd.modes import no_grad
from gradcheck.autograd.op import ALIASES, TABLE, Op, lookup
from gradcheck.autograd.tensor import Tensor

__all__ = ["ALIASES", "TABLE", "Op", "Tensor", "grad", "lookup", "no_grad", "ops"]
