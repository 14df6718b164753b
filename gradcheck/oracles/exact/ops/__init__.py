"""How ops act on dual numbers modulo a prime, by family. Importing this package fills the table of actions."""

from gradcheck.oracles.exact.ops import arithmetic as arithmetic
from gradcheck.oracles.exact.ops import functions as functions
from gradcheck.oracles.exact.ops import layout as layout
from gradcheck.oracles.exact.ops import linalg as linalg
from gradcheck.oracles.exact.ops import piecewise as piecewise
from gradcheck.oracles.exact.ops import powers as powers
from gradcheck.oracles.exact.ops import products as products
from gradcheck.oracles.exact.ops import selection as selection
