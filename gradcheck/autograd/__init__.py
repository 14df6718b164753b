"""The home-made autograd core: NumPy only, usable and pleasant on its own."""

from gradcheck.autograd import ops
from gradcheck.autograd.backward import grad
from gradcheck.autograd.modes import no_grad
from gradcheck.autograd.op import ALIASES, TABLE, Op, lookup
from gradcheck.autograd.tensor import Tensor

__all__ = ["ALIASES", "TABLE", "Op", "Tensor", "grad", "lookup", "no_grad", "ops"]
